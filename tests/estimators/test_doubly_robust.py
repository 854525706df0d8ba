"""The direct method and doubly robust estimators: formulas by hand, and everything an estimator promises."""

import math
import pickle

import numpy as np
import pytest

import kwis
from kwis.estimators import Difference, PairedSample
from kwis.estimators.resampling import copies, resamples_by_taking
from kwis.stats.influence import resampled_errors
from tests.estimators.catalogue import some_sample
from tests.reference import doubly_robust as twin
from tests.reference.estimators import numerical_influence

KERNEL = kwis.KernelWIS(0.8)
NORMALISED_KERNEL = kwis.KernelWIS(0.8, normalised=True)
WEIGHTINGS = [kwis.VIS(), kwis.TruncatedVIS(cap=1.2), kwis.WIS(), kwis.StateWIS(), KERNEL, NORMALISED_KERNEL]
ESTIMATORS = [kwis.DirectMethod(), *(kwis.DoublyRobust(weighting) for weighting in WEIGHTINGS)]

every_estimator = pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda estimator: estimator.name)


def predicted_sample(n=14, seed=0, **options):
    rng = np.random.default_rng(seed + 100)
    return kwis.PredictedSample(
        some_sample(n, seed, **options),
        predicted=rng.normal(0.5, 0.5, n),
        predicted_value=rng.normal(0.6, 0.4, n),
    )


def by_hand(estimator, sample, mass):
    """The estimate from its formula, with the given masses."""
    value, weight = sample.predicted_value.tolist(), sample.weight.tolist()
    rest = (sample.reward.tolist(), sample.predicted.tolist(), mass)
    if isinstance(estimator, kwis.DirectMethod):
        return twin.direct(value, mass)
    if isinstance(estimator.weighting, kwis.KernelWIS):
        return twin.kernel_normalised(
            value, weight, *rest, sample.context.tolist(), 0.8, estimator.weighting.normalised
        )
    if isinstance(estimator.weighting, kwis.StateWIS):
        return twin.kernel_normalised(value, weight, *rest, sample.context.tolist(), 1e-3, False)
    if isinstance(estimator.weighting, kwis.WIS):
        return twin.self_normalised(value, weight, *rest)
    cap = 1.2 if isinstance(estimator.weighting, kwis.TruncatedVIS) else math.inf
    return twin.plain(value, [min(w, cap) for w in weight], *rest)


@every_estimator
@pytest.mark.parametrize("mass", [False, True], ids=["", "mass"])
def test_the_value_is_its_formula(estimator, mass):
    sample = predicted_sample(mass=mass)
    masses = np.ones(sample.n).tolist() if sample.mass is None else sample.mass.tolist()
    assert estimator.estimate(sample).value == pytest.approx(by_hand(estimator, sample, masses), rel=1e-12)


@every_estimator
def test_influence_is_the_derivative(estimator):
    sample = predicted_sample(mass=True)
    slopes = numerical_influence(lambda mass: by_hand(estimator, sample, mass), sample.mass.tolist())
    np.testing.assert_allclose(estimator.estimate(sample).influence, slopes, rtol=0, atol=1e-7)


@every_estimator
@pytest.mark.parametrize("mass", [False, True], ids=["", "mass"])
@pytest.mark.parametrize("groups", [0, 5], ids=["", "groups"])
def test_counting_rows_and_taking_them_give_the_same(estimator, mass, groups):
    sample = predicted_sample(mass=mass, groups=groups)
    codes = np.arange(sample.n) if sample.group is None else sample.group
    units = int(codes.max()) + 1
    counts = (
        np.random.default_rng(1).multinomial(units, np.full(units, 1 / units), size=20).T.astype(float)[codes]
    )
    fast = estimator.resampled(sample, counts, influence=True)
    slow = resamples_by_taking(estimator, sample, counts, influence=True)
    np.testing.assert_allclose(fast.values, slow.values, rtol=0, atol=1e-10)
    np.testing.assert_allclose(fast.influence, slow.influence, rtol=0, atol=1e-10)
    errors = resampled_errors(fast.influence, counts, sample.group)
    for column, error in zip(counts.T, errors, strict=True):
        rows, labels = copies(column.astype(int), sample.group)
        assert estimator.estimate(sample.take(rows, group=labels)).std_error == pytest.approx(
            error, abs=1e-10
        )


@every_estimator
def test_a_difference_pairs_the_rows(estimator):
    a, b = predicted_sample(groups=4), predicted_sample(groups=4)
    b = kwis.PredictedSample(b, predicted=b.predicted, predicted_value=b.predicted_value[::-1])
    estimate = Difference(estimator, estimator).estimate(PairedSample(a, b))
    first, second = estimator.estimate(a), estimator.estimate(b)
    assert estimate.value == first.value - second.value
    np.testing.assert_array_equal(estimate.influence, first.influence - second.influence)
    interval = kwis.difference(estimator, a, a, kwis.Bootstrap(20))
    assert (interval.low, interval.high) == (0, 0)


@every_estimator
@pytest.mark.parametrize(
    "method",
    [kwis.Bootstrap(50), kwis.Bootstrap(50, "studentised"), kwis.InfluenceInterval()],
    ids=["bca", "studentised", "influence"],
)
def test_every_interval_method_works(estimator, method):
    interval = method.interval(estimator, predicted_sample(40, groups=20))
    assert interval.low < interval.value < interval.high


@pytest.mark.parametrize("weighting", WEIGHTINGS, ids=lambda weighting: weighting.name)
def test_without_predictions_it_is_the_weighting_itself(weighting):
    sample = some_sample(groups=4, mass=True)
    blank = kwis.PredictedSample(sample, predicted=np.zeros(sample.n), predicted_value=np.zeros(sample.n))
    plain, robust = weighting.estimate(sample), kwis.DoublyRobust(weighting).estimate(blank)
    assert (robust.value, robust.std_error, robust.effective_n) == (
        plain.value,
        plain.std_error,
        plain.effective_n,
    )


def test_a_perfect_model_leaves_nothing_to_the_weights():
    sample = some_sample(zeros=False)
    perfect = kwis.PredictedSample(sample, predicted=sample.reward, predicted_value=np.full(sample.n, 0.3))
    for estimator in ESTIMATORS:
        estimate = estimator.estimate(perfect)
        assert estimate.value == pytest.approx(0.3, rel=1e-14)
        assert estimate.std_error == pytest.approx(0, abs=1e-14)


def test_a_constant_reward_predicted_wrongly_comes_back_with_normalised_weights():
    sample = some_sample()
    ones = kwis.WeightedSample(context=sample.context, weight=sample.weight, reward=np.ones(sample.n))
    wrong = kwis.PredictedSample(
        ones, predicted=np.full(sample.n, 0.2), predicted_value=np.full(sample.n, 0.2)
    )
    for weighting in (kwis.WIS(), NORMALISED_KERNEL):
        interval = kwis.Bootstrap(50).interval(kwis.DoublyRobust(weighting), wrong)
        assert (interval.low, interval.high) == pytest.approx((1, 1), rel=1e-12)


def test_it_equals_the_formulas_of_open_bandit_pipeline():
    rng = np.random.default_rng(3)
    n, actions = 500, 4
    behaviour, policy = rng.dirichlet(np.ones(actions), n), rng.dirichlet(np.ones(actions), n)
    action = np.array([rng.choice(actions, p=row) for row in behaviour])
    reward, guesses = rng.binomial(1, 0.3, n).astype(float), rng.random((n, actions))
    rows = np.arange(n)
    weight = policy[rows, action] / behaviour[rows, action]
    value = twin.value_under(policy.tolist(), guesses.tolist())
    sample = kwis.PredictedSample(
        kwis.WeightedSample(context=rng.normal(size=(n, 2)), weight=weight, reward=reward),
        predicted=guesses[rows, action],
        predicted_value=value,
    )
    arrays = (weight.tolist(), reward.tolist(), guesses[rows, action].tolist(), [1.0] * n)
    expected = {
        "vis": sum(w * r for w, r in zip(weight, reward, strict=True)) / n,
        "wis": sum(w * r for w, r in zip(weight, reward, strict=True)) / sum(weight),
        "direct-method": sum(value) / n,
        "doubly-robust": twin.plain(value, *arrays),
        "doubly-robust-wis": twin.self_normalised(value, *arrays),
    }
    for estimator in (
        kwis.VIS(),
        kwis.WIS(),
        kwis.DirectMethod(),
        kwis.DoublyRobust(),
        kwis.DoublyRobust(kwis.WIS()),
    ):
        assert estimator.estimate(sample).value == pytest.approx(expected[estimator.name], rel=0, abs=1e-10)


def test_a_selected_bandwidth_is_that_of_the_weights():
    sample = predicted_sample(60, seed=2, repeats=False)
    robust = kwis.DoublyRobust(kwis.KernelWIS("cv"))
    assert robust.selects_bandwidth
    chosen = kwis.KernelWIS("cv").estimate(sample).bandwidth
    assert robust.estimate(sample).bandwidth == chosen
    held = robust.held(sample)
    assert held.weighting.bandwidth == chosen
    assert held.estimate(sample).value == robust.estimate(sample).value
    assert kwis.DoublyRobust(kwis.WIS()).selects_bandwidth is None
    assert kwis.DoublyRobust(kwis.WIS()).held(sample) == kwis.DoublyRobust(kwis.WIS())


@every_estimator
def test_a_sample_without_predictions_is_refused(estimator):
    message = (
        f"`sample` must be a PredictedSample for {estimator.name}, got one without predicted rewards; "
        f"kwis.predict_rewards supplies them"
    )
    with pytest.raises(kwis.InputError) as caught:
        estimator.estimate(some_sample())
    assert str(caught.value) == message


def test_only_importance_weightings_are_accepted():
    for wrong in ("wis", kwis.DirectMethod(), kwis.DoublyRobust()):
        with pytest.raises(kwis.InputError, match="`weighting` must be an importance weighting such as VIS"):
            kwis.DoublyRobust(wrong)


def test_predictions_must_fit_the_sample():
    sample = some_sample()
    with pytest.raises(
        kwis.InputError, match=r"`predicted` must have one entry per row of `context`, got 3 for 12 rows"
    ):
        kwis.PredictedSample(sample, predicted=[1, 2, 3], predicted_value=np.zeros(12))
    with pytest.raises(kwis.InputError, match=r"`predicted_value` must be finite, got nan at row 0"):
        kwis.PredictedSample(sample, predicted=np.zeros(12), predicted_value=np.full(12, np.nan))


def test_estimators_are_values():
    assert pickle.loads(pickle.dumps(kwis.DoublyRobust(kwis.WIS()))) == kwis.DoublyRobust(kwis.WIS())
    assert hash(kwis.DoublyRobust()) == hash(kwis.DoublyRobust(kwis.VIS()))
    names = [estimator.name for estimator in ESTIMATORS]
    assert names[:2] == ["direct-method", "doubly-robust"]
    assert len(set(names)) == len(names)


def test_a_bandwidth_is_held_at_what_the_weighting_selects_on_what_the_model_leaves():
    rng = np.random.default_rng(5)
    n = 120
    context = rng.normal(size=(n, 1))
    reward = 3 * context[:, 0] + rng.normal(0, 0.3, n)
    sample = kwis.PredictedSample(
        kwis.WeightedSample(
            context=context, weight=rng.exponential(np.exp(context[:, 0] / 2)), reward=reward
        ),
        predicted=3 * context[:, 0],
        predicted_value=3 * context[:, 0],
    )
    estimator = kwis.DoublyRobust(kwis.KernelWIS(normalised=True))
    held = estimator.held(sample)
    rest = kwis.WeightedSample(context=context, weight=sample.weight, reward=reward - 3 * context[:, 0])
    assert held.weighting.bandwidth == kwis.KernelWIS(normalised=True).choose(rest).value
    assert held.estimate(sample).value == estimator.estimate(sample).value
