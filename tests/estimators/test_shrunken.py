"""Shrunken weights: how their parameter is chosen, their names and what an evaluation makes of them."""

import numpy as np
import pytest

import kwis
from kwis.estimators.registry import all_estimators, further_by_name, further_estimators
from kwis.estimators.resampling import resamples_by_taking
from kwis.estimators.shrinkage import SHRINKAGES
from kwis.estimators.shrunken import STRENGTHS
from tests.estimators.catalogue import some_sample
from tests.reference import estimators as twin

every_shrinkage = pytest.mark.parametrize("rule", SHRINKAGES)
both_forms = pytest.mark.parametrize("normalised", [False, True], ids=["plain", "normalised"])


def heavy_sample(n=60, seed=0):
    return some_sample(n, seed, heavy=1.5)


def thresholds(weight):
    return [max(weight) ** (1 - step / (STRENGTHS - 1)) for step in range(STRENGTHS)]


def parameter_at(rule, threshold, largest):
    return {
        "clipping": threshold,
        "switch": threshold,
        "shrinkage": threshold**2,
        "sub-gaussian": 1 / threshold,
        "power-mean": 1 - np.log(threshold) / np.log(largest),
        "implicit-exploration": 1 / threshold,
        "logarithmic-smoothing": 1 / threshold,
    }[rule]


def tuned_by_hand(rule, how, weight, reward, normalised):
    """The choice, from one estimate after the other."""
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
                w * (r - value) / mean if normalised else w * r - value
                for w, r in zip(shrunk, reward, strict=True)
            ]
        )

    def error(parts):
        return sum(x * x for x in parts) ** 0.5 / n

    if how == "slope":
        low, high, best = -np.inf, np.inf, 0
        for index, (value, parts) in enumerate(zip(values, terms, strict=True)):
            low, high = max(low, value - error(parts)), min(high, value + error(parts))
            if low > high:
                break
            best = index
        return values[best]
    risks = []
    for value, parts in zip(values, terms, strict=True):
        chance = error([a - b for a, b in zip(parts, terms[0], strict=True)])
        risks.append(error(parts) ** 2 + max((value - values[0]) ** 2 - chance**2, 0.0))
    return values[risks.index(min(risks))]


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
