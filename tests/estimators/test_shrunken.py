"""Shrunken weights: how their parameter is chosen, their names and what an evaluation makes of them."""

import math

import numpy as np
import pytest

import kwis
from kwis.estimators import tuning
from kwis.estimators.registry import all_estimators, further_by_name, further_estimators
from kwis.estimators.resampling import resamples, resamples_by_taking
from kwis.estimators.shrinkage import SHRINKAGES
from tests.estimators.catalogue import some_sample
from tests.reference import estimators as twin

every_shrinkage = pytest.mark.parametrize("rule", SHRINKAGES)
both_forms = pytest.mark.parametrize("normalised", [False, True], ids=["plain", "normalised"])


def heavy_sample(n=60, seed=0):
    return some_sample(n, seed, heavy=1.5)


def thresholds(weight):
    """Twelve from the largest weight down to 1."""
    return [max(weight) ** (1 - step / 11) for step in range(12)]


def parameter_at(rule, threshold, largest):
    return {
        "clipping": threshold,
        "switch": threshold,
        "shrinkage": threshold * threshold,
        "sub-gaussian": 1 / threshold,
        "power-mean": 1 - np.log(threshold) / np.log(largest),
        "implicit-exploration": 1 / threshold,
        "logarithmic-smoothing": 1 / threshold,
    }[rule]


def tuned_by_hand(rule, how, weight, reward, normalised, unit=1.0):
    """The choice, from one estimate after the other; ``unit`` keeps the squares of huge weights in range."""
    weight, reward = weight.tolist(), reward.tolist()
    largest, n = max(weight), len(weight)
    lists = [weight]
    lists += [
        [twin.shrunken(rule, w, parameter_at(rule, t, largest)) for w in weight] for t in thresholds(weight)
    ]
    values, terms = [], []
    for shrunk in lists:
        value = (twin.wis if normalised else twin.vis)(shrunk, reward, [1.0] * n)
        mean = sum(shrunk) / n
        values.append(value)
        terms.append(
            [
                w * (r - value) / mean / (1 - w / sum(shrunk)) if normalised else w * r - value
                for w, r in zip(shrunk, reward, strict=True)
            ]
        )

    small = [value / unit for value in values], [[x / unit for x in parts] for parts in terms]
    return values[chosen(how, *small, [1.0] * n)]


def chosen(how, values, terms, mass):
    """Which of several estimates is used, from their values and the terms that each moves by."""

    def error(parts):
        return sum(c * x * x for x, c in zip(parts, mass, strict=True)) ** 0.5 / sum(mass)

    if how == "slope":
        low, high, best = -np.inf, np.inf, 0
        for index, (value, parts) in enumerate(zip(values, terms, strict=True)):
            low, high = max(low, value - error(parts)), min(high, value + error(parts))
            if low > high:
                break
            best = index
        return best
    risks = []
    for value, parts in zip(values, terms, strict=True):
        chance = error([a - b for a, b in zip(parts, terms[0], strict=True)])
        risks.append(error(parts) ** 2 + max((value - values[0]) ** 2 - chance**2, 0.0))
    return risks.index(min(risks))


@every_shrinkage
@both_forms
@pytest.mark.parametrize("how", ["slope", "mse"])
def test_the_parameter_is_the_choice_by_hand(rule, how, normalised):
    for seed, most in ((0, np.inf), (1, np.inf), (2, np.inf), (3, 1.8), (4, 1.8)):
        sample = heavy_sample(seed=seed)
        sample = kwis.WeightedSample(  # a smallest weight below every threshold, so that something is left
            context=sample.context, weight=np.clip(sample.weight, 0.01, most), reward=sample.reward
        )
        expected = tuned_by_hand(rule, how, sample.weight, sample.reward, normalised)
        found = kwis.ShrunkenIS(rule, how, normalised=normalised).estimate(sample).value
        assert found == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("estimator", list(further_estimators()), ids=lambda one: one.name)
def test_resamples_choose_anew(estimator):
    sample = heavy_sample(20)
    if getattr(estimator, "needs_predictions", False):
        rng = np.random.default_rng(1)
        sample = kwis.PredictedSample(sample, predicted=rng.random(20), predicted_value=rng.random(20))
    counts = np.random.default_rng(2).multinomial(20, np.full(20, 0.05), size=5).T.astype(float)
    fast = estimator.resampled(sample, counts, influence=True)
    slow = resamples_by_taking(estimator, sample, counts, influence=True)
    np.testing.assert_allclose(fast.values, slow.values, rtol=1e-9)
    np.testing.assert_allclose(fast.influence, slow.influence, rtol=0, atol=1e-8)


@every_shrinkage
def test_no_weight_grows_beyond_itself_and_the_order_stays(rule):
    weight = np.geomspace(1.0, 1e6, 50)
    for threshold in (1.5, 10.0, 1e3):
        parameter = parameter_at(rule, threshold, 1e6)
        if rule in ("sub-gaussian", "power-mean"):
            parameter = min(parameter, 1.0)
        shrunk = SHRINKAGES[rule].shrunken(weight, np.array(parameter))
        assert (shrunk <= weight * (1 + 1e-12)).all()
        if rule not in ("switch", "shrinkage"):
            assert (np.diff(shrunk) >= -1e-9).all()


def test_heavy_weights_are_met_by_shrinkage():
    # A lognormal weight with one enormous value: the choice leaves it out of the mean.
    rng = np.random.default_rng(0)
    weight = np.append(rng.lognormal(-0.5, 1.0, 400), 5000.0)
    sample = kwis.WeightedSample(
        context=np.zeros((401, 1)), weight=weight, reward=np.append(rng.random(400), 1.0)
    )
    plain = kwis.VIS().estimate(sample).value
    for rule in SHRINKAGES:
        assert kwis.ShrunkenIS(rule).estimate(sample).value < 0.5 * plain


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("trim",), "`shrinkage` must be"),
        (("switch", "lepski"), "`parameter` must be"),
        (("switch", -1.0), "`parameter` must be"),
        (("sub-gaussian", 2.0), "`parameter` must be at most 1 for sub-gaussian, got 2"),
        (("sub-gaussian", 1.2), "`parameter` must be at most 1 for sub-gaussian"),
        (("power-mean", 1.2), "`parameter` must be at most 1 for power-mean"),
    ],
)
def test_settings_are_checked(arguments, message):
    with pytest.raises(kwis.InputError, match=message):
        kwis.ShrunkenIS(*arguments)


def test_the_support_of_empirical_likelihood_is_checked():
    for wrong in ((2.0, 3.0), (0.0, 1.0), "data", (0.0, 1.0, 2.0)):
        with pytest.raises(kwis.InputError, match="`support` must be"):
            kwis.EmpiricalLikelihood(wrong)
    with pytest.raises(kwis.InputError, match=r"outside \[0.0, 1.5\] at row"):
        kwis.EmpiricalLikelihood((0.0, 1.5)).estimate(heavy_sample())


@pytest.mark.parametrize("support", [(0.0, np.inf), (0.0, 200.0), "sample"])
def test_probabilities_of_the_rows_make_the_mean_weight_one_where_they_can(support):
    sample = some_sample(200, heavy=1.0)
    for factor in (0.7, 1.5):
        weight = sample.weight * factor / sample.weight.mean()
        scaled = kwis.WeightedSample(context=sample.context, weight=weight, reward=sample.reward)
        applied = kwis.EmpiricalLikelihood(support).applied(scaled, np.ones((200, 1))).weight[:, 0]
        reached = applied.mean() == pytest.approx(1.0, rel=1e-9)
        assert reached or (factor == 0.7 and support != "sample")
    if support == (0.0, np.inf):  # too few large weights: nothing is known of those that are missing
        low = kwis.WeightedSample(context=sample.context, weight=sample.weight * 0.1, reward=sample.reward)
        assert kwis.EmpiricalLikelihood().estimate(low).value == pytest.approx(kwis.WIS().estimate(low).value)


def test_further_estimators_have_names_of_their_own_and_take_no_part_unasked():
    known = [one.name for one in (*all_estimators(), *further_estimators())]
    aliases = [alias for one in further_estimators() for alias in getattr(one, "aliases", ())]
    assert len({*known, *aliases}) == len(known) + len(aliases)
    assert all(one.sentence for one in further_estimators())
    assert not set(further_by_name()) & {one.name for one in all_estimators()}


def test_an_evaluation_knows_them_by_name_and_alias():
    rng = np.random.default_rng(0)
    action, x = rng.integers(0, 3, 300), rng.normal(size=300)
    frame = {
        "x": x,
        "action": action,
        "reward": x * action + rng.normal(size=300),
        "propensity": np.full(300, 1 / 3),
    }
    names = ["empirical-likelihood", "control-variate", "dros", "switch-dr", "lse", "wis"]
    target = np.tile([0.1, 0.2, 0.7], (300, 1))
    found = kwis.evaluate(kwis.read_log(frame, context=["x"]), target, estimators=names, repair="never")
    rows = {row.estimator: row for row in found.rows}
    assert {"doubly-robust-shrinkage", "doubly-robust-switch", "log-sum-exponential"} <= set(rows)
    assert any("biases it" in reason for reason in rows["doubly-robust-switch"].verdict.reasons)
    interval = rows["doubly-robust-shrinkage"].interval
    assert interval.low < interval.value < interval.high


def test_the_interval_of_a_shrunken_estimate_allows_for_the_bias_it_hides():
    """SLOPE shrinks as far as chance hides the bias; an interval of chance alone is far too short."""
    rng, held, held_by_chance = np.random.default_rng(7), [], []
    logging, target, mean = np.array([0.9, 0.07, 0.03]), np.array([0.1, 0.3, 0.6]), np.array([0.2, 0.4, 0.8])
    for _ in range(80):
        action = rng.choice(3, size=400, p=logging)
        sample = kwis.WeightedSample(
            context=np.zeros((400, 1)),
            weight=(target / logging)[action],
            reward=mean[action] + 0.3 * rng.normal(size=400),
        )
        estimator = kwis.ShrunkenIS("clipping", normalised=True)
        interval = kwis.StudentInterval().interval(estimator, sample)
        alone = kwis.StudentInterval(bias_aware=False).interval(estimator, sample)
        held.append(float(target @ mean) in interval)
        held_by_chance.append(float(target @ mean) in alone)
    # It does not make up for all of it: the reference is itself uncertain, so the verdict says "with care".
    assert np.mean(held) >= np.mean(held_by_chance) + 0.25


@pytest.mark.parametrize("rule", ["slope", "mse"])
def test_the_log_sum_exponential_chooses_between_hardly_any_shrinkage_and_that_of_ordinary_terms(
    rule: str,
) -> None:
    rng = np.random.default_rng(8)
    weight, reward = np.exp(1.5 * rng.normal(size=400)), rng.random(400)
    sample = kwis.WeightedSample(context=np.zeros((400, 1)), weight=weight, reward=reward)
    terms = weight * reward
    least, most = (
        kwis.LogSumExp(parameter).estimate(sample).value
        for parameter in (1e-3 / terms.max(), 1 / terms.mean())
    )
    assert most < kwis.LogSumExp(rule).estimate(sample).value < least < terms.mean()


def soft_mean(terms, mass, strength):
    """The log-sum-exponential of the terms, and what it moves by with the mass of each."""
    total, value, moves = sum(mass), 0.0, [0.0] * len(terms)
    for sign in (1, -1):
        decays = [math.exp(-strength * max(sign * x, 0.0)) for x in terms]
        mean = sum(c * d for c, d in zip(mass, decays, strict=True)) / total
        value -= sign * math.log(mean) / strength
        moves = [move - sign * (d - mean) / (mean * strength) for move, d in zip(moves, decays, strict=True)]
    return value, moves


@pytest.mark.parametrize("how", ["slope", "mse"])
@pytest.mark.parametrize("mass", [False, True], ids=["", "mass"])
@pytest.mark.parametrize("losses", [False, True], ids=["gains", "losses too"])
def test_the_strength_of_a_log_sum_exponential_is_the_choice_by_hand(how, mass, losses):
    places = set()
    for seed, n in enumerate((13, 40, 150, 600) * 2):
        sample = some_sample(n, seed, mass=mass, heavy=0.2 + 0.2 * seed)
        reward = (sample.reward if losses else np.abs(sample.reward)) * (0.01 if seed % 2 else 1.0)
        sample = kwis.WeightedSample(
            context=sample.context, weight=sample.weight, reward=reward, mass=sample.mass
        )
        masses = [1.0] * sample.n if sample.mass is None else sample.mass.tolist()
        terms = (sample.weight * sample.reward).tolist()
        least = 1e-3 / max(abs(x) for x in terms)
        most = sum(masses) / sum(c * abs(x) for x, c in zip(terms, masses, strict=True))
        strengths = [least * (most / least) ** (step / 11) for step in range(12)]
        values, moves = zip(*(soft_mean(terms, masses, one) for one in strengths), strict=True)
        place = chosen(how, values, moves, masses)
        assert kwis.LogSumExp(how).estimate(sample).value == pytest.approx(values[place], rel=1e-9)
        places.add(place)
    assert len(places) > 2  # or the choice would not have been tried


@pytest.mark.parametrize("rule", ["slope", "mse"])
def test_a_log_sum_exponential_of_nothing_is_0(rule):
    nothing = kwis.WeightedSample(context=np.zeros((3, 1)), weight=np.ones(3), reward=np.zeros(3))
    found = kwis.LogSumExp(rule).estimate(nothing)
    assert (found.value, found.std_error) == (0.0, 0.0)


def test_terms_beyond_all_numbers_are_refused():
    huge = kwis.WeightedSample(context=np.zeros((2, 1)), weight=[1e300, 1e300], reward=[1e300, 1e300])
    with pytest.raises(kwis.InputError, match="`weight` times `reward` must have a finite sum for log-sum"):
        kwis.LogSumExp(0.5).estimate(huge)


@every_shrinkage
@pytest.mark.parametrize("how", ["slope", "mse"])
def test_without_a_weight_above_1_nothing_is_shrunk(rule, how):
    weight, reward = np.array([1.0, 0.4, 0.0, 0.9]), np.array([1.0, -2.0, 3.0, 0.5])
    sample = kwis.WeightedSample(context=np.zeros((4, 1)), weight=weight, reward=reward)
    assert kwis.ShrunkenIS(rule, how).estimate(sample).value == pytest.approx((weight @ reward) / 4)


def test_a_parameter_may_be_the_largest_there_is():
    sample = heavy_sample(9)
    everything = np.count_nonzero(sample.weight)
    for rule in ("sub-gaussian", "power-mean"):  # all weights are 1
        applied = kwis.ShrunkenIS(rule, 1.0).applied(sample, np.ones((9, 1)))
        assert applied.weight.sum() == pytest.approx(everything)


SUPPORTS = [(0.0, 6.0), (0.1, 6.0), (0.1, np.inf), "sample"]


def bounded_sample(factor, mass):
    """Weights of 0.15 to 5.5; with a factor of None they all are near 1."""
    rng = np.random.default_rng(5)
    spread = 0.7 if factor else 0.05
    weight = np.clip((factor or 1.0) * rng.lognormal(0, spread, 13), 0.15, 5.5)
    return kwis.WeightedSample(
        context=np.zeros((13, 1)),
        weight=weight,
        reward=rng.normal(size=13),
        mass=rng.uniform(0.5, 2, 13) if mass else None,
    )


@pytest.mark.parametrize("support", SUPPORTS, ids=str)
@pytest.mark.parametrize("factor", [0.4, 0.8, 1.0, 2.5, None])
@pytest.mark.parametrize("mass", [False, True], ids=["", "mass"])
def test_empirical_likelihood_with_any_support_is_the_twin(support, factor, mass):
    sample = bounded_sample(factor, mass)
    weight, reward = sample.weight.tolist(), sample.reward.tolist()
    masses = [1.0] * 13 if sample.mass is None else sample.mass.tolist()
    low, high = (min(weight), max(weight)) if support == "sample" else support

    def value(trial):
        return twin.wis(twin.empirical_likelihood_weights(weight, trial, low, high), reward, trial)

    estimate = kwis.EmpiricalLikelihood(support).estimate(sample)
    assert estimate.value == pytest.approx(value(masses), rel=1e-9)
    slopes = twin.numerical_influence(value, masses)
    np.testing.assert_allclose(estimate.influence, slopes, atol=1e-6 * np.abs(slopes).max())


@pytest.mark.parametrize("support", SUPPORTS, ids=str)
def test_empirical_likelihood_works_out_its_tilt_on_every_resample(support):
    sample = bounded_sample(1.0, mass=True)
    counts = np.random.default_rng(2).multinomial(13, np.full(13, 1 / 13), size=8).T.astype(float)
    fast, slow = (
        found(kwis.EmpiricalLikelihood(support), sample, counts, influence=True)
        for found in (resamples, resamples_by_taking)
    )
    np.testing.assert_allclose(fast.values, slow.values, rtol=1e-10)
    np.testing.assert_allclose(fast.influence, slow.influence, atol=1e-9)


@pytest.mark.parametrize(
    "weight", [[1.5, 2.0, 4.0], [0.2, 0.5, 0.9], [1.0, 1.0, 1.0], [0.2, 0.5, 1.0], [1.0, 2.0, 4.0]]
)
def test_weights_all_on_one_side_of_1_cannot_average_to_it(weight):
    sample = kwis.WeightedSample(context=np.zeros((3, 1)), weight=weight, reward=[1.0, 5.0, -2.0])
    found = kwis.EmpiricalLikelihood("sample").estimate(sample)
    assert found.value == pytest.approx(kwis.WIS().estimate(sample).value)


def test_rows_that_were_not_drawn_have_no_weight_wherever_the_tilt_lies():
    sample = kwis.WeightedSample(context=np.zeros((3, 1)), weight=[0.5, 2.0, 3.0], reward=[1.0, 5.0, -2.0])
    # five draws of 0.5 and one of 2: the tilt is -1/2, at which a weight of 3 has no probability
    applied = kwis.EmpiricalLikelihood("sample").applied(sample, np.array([[5.0], [1.0], [0.0]]))
    np.testing.assert_allclose(applied.weight[:, 0], [0.4, 4.0, 0.0], atol=1e-12)


def test_supports_have_1_between_their_ends():
    for right in ((0, 1.5), (0.5, 1.5), (0.99, 1.01), (0, np.inf)):
        assert kwis.EmpiricalLikelihood(right).support == right
    for wrong in ((1.0, 2.0), (0.5, 1.0), (-0.1, 2.0), ("0", "2"), ((0, 2),)):
        with pytest.raises(kwis.InputError, match="`support` must be"):
            kwis.EmpiricalLikelihood(wrong)
    sample = kwis.WeightedSample(context=np.zeros((3, 1)), weight=[1.0, 0.2, 3.0], reward=np.ones(3))
    for support, row in (((0.5, 4.0), 1), ((0.1, 2.0), 2)):
        with pytest.raises(kwis.InputError, match=rf"got {sample.weight[row]} outside .* at row {row}$"):
            kwis.EmpiricalLikelihood(support).estimate(sample)
    assert kwis.EmpiricalLikelihood((0.2, 3.0)).estimate(sample).value == 1.0


def test_a_row_of_weight_0_that_is_not_drawn_has_no_say():
    sample = kwis.WeightedSample(context=np.zeros((3, 1)), weight=[0.0, 3.0, 2.0], reward=[9.0, 1.0, 4.0])
    found = kwis.EmpiricalLikelihood().resampled(sample, np.array([[0.0], [2.0], [1.0]]), influence=True)
    assert found.values == pytest.approx([2.0])  # all weights above 1: as far as it goes, each row counts 1
    assert found.influence[:, 0] == pytest.approx([0.0, -1.0, 2.0])


@every_shrinkage
@both_forms
@pytest.mark.parametrize("how", ["slope", "mse"])
def test_the_choice_does_not_depend_on_the_unit_of_the_rewards(rule, how, normalised):
    sample, unit = heavy_sample(30), 2.0**600
    huge = kwis.WeightedSample(
        context=sample.context, weight=sample.weight, reward=unit * sample.reward, mass=sample.mass
    )
    estimator = kwis.ShrunkenIS(rule, how, normalised=normalised)
    assert estimator.estimate(huge).value == pytest.approx(unit * estimator.estimate(sample).value, rel=1e-12)


@both_forms
@pytest.mark.parametrize("how", ["slope", "mse"])
def test_huge_weights_are_clipped_by_the_choice_by_hand(how, normalised):
    unit = 2.0**600
    for seed in range(4):
        sample = heavy_sample(30, seed)
        weight = unit * np.clip(sample.weight, 1e-3, None) ** 3
        weight[:5] = 0.5
        huge = kwis.WeightedSample(context=sample.context, weight=weight, reward=sample.reward)
        expected = tuned_by_hand(
            "clipping", how, weight, sample.reward, normalised, 1.0 if normalised else unit
        )
        found = kwis.ShrunkenIS("clipping", how, normalised=normalised).estimate(huge).value
        assert found == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("how", ["slope", "mse"])
def test_a_threshold_that_leaves_no_weight_is_not_chosen(how):
    reward = np.array([1.0, -1.0, 0.3])
    sample = kwis.WeightedSample(context=np.zeros((3, 1)), weight=np.full(3, 5.0), reward=reward)
    assert kwis.ShrunkenIS("switch", how, normalised=True).estimate(sample).value == pytest.approx(0.1)


def test_a_row_that_carries_all_the_weight_does_not_pass_for_a_sure_estimate():
    """It draws the estimate to its own reward and leaves no residual; left out, the estimate is another."""
    weight, reward = np.ones(200), np.random.default_rng(0).normal(size=200)
    weight[0], reward[0] = 1e4, 30.0
    sample = kwis.WeightedSample(context=np.zeros((200, 1)), weight=weight, reward=reward)
    assert kwis.WIS().estimate(sample).value > 29
    assert kwis.ShrunkenIS("clipping", normalised=True).estimate(sample).value < 1


def test_slope_goes_on_while_all_intervals_share_a_point():
    def chosen_of(values, errors):
        columns = np.array(values, dtype=float)[:, None], np.array(errors, dtype=float)[:, None]
        return tuning.choose("slope", *columns, np.zeros((len(values), 1))).tolist()

    assert chosen_of([1, 1, 1], [0, 0, 0]) == [2]
    assert chosen_of([1, 2, 3], [0.5, 0.5, 0.5]) == [1]  # the first two share the point 1.5
    assert chosen_of([1, 2.1, 1], [0.5, 0.5, 0.5]) == [0]  # what comes after a gap does not count
    assert chosen_of([math.nan, 1], [0, 0]) == [0]


def test_mse_takes_the_bias_beyond_chance_into_account():
    values, errors = np.array([[1.0], [1.5], [3.0]]), np.array([[1.0], [0.7], [0.1]])
    for apart, best in (([0.0, 0.5, 2.0], 2), ([0.0, 0.5, 0.1], 1), ([0.0, 0.1, 0.1], 1)):
        assert tuning.choose("mse", values, errors, np.array(apart)[:, None]).tolist() == [best]
