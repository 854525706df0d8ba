"""What every estimator promises, tried on all of them."""

import pickle
from dataclasses import dataclass

import numpy as np
import pytest

import kwis
from kwis.estimators import Difference, PairedSample
from kwis.estimators.protocol import Resamples
from kwis.estimators.resampling import copies, resamples, resamples_by_taking
from kwis.stats.influence import resampled_errors
from tests.estimators.catalogue import (
    CASES,
    ESTIMATORS,
    NORMALISED,
    SCALE_FREE,
    WITHOUT_DIVISION,
    label,
    some_sample,
)

every_estimator = pytest.mark.parametrize("estimator", ESTIMATORS, ids=label)


def drawn_counts(sample, resamples, seed=1):
    """Counts of rows, or of whole groups, drawn with replacement."""
    rng = np.random.default_rng(seed)
    codes = np.arange(sample.n) if sample.group is None else sample.group
    units = int(codes.max()) + 1
    return rng.multinomial(units, np.full(units, 1 / units), size=resamples).T.astype(float)[codes]


@every_estimator
@pytest.mark.parametrize("mass", [False, True], ids=["", "mass"])
@pytest.mark.parametrize("groups", [0, 5], ids=["", "groups"])
def test_counting_rows_and_taking_them_give_the_same(estimator, mass, groups):
    sample = some_sample(15, mass=mass, groups=groups)
    counts = drawn_counts(sample, 20)
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


PREDICTED = [kwis.DirectMethod(), kwis.DoublyRobust(), kwis.DoublyRobust(kwis.KernelWIS(1.0))]
STATISTICS = [kwis.Quantile(), kwis.TailMean()]


@pytest.mark.parametrize("estimator", [*ESTIMATORS, *STATISTICS, *PREDICTED], ids=label)
def test_influence_on_resamples_comes_on_request_only(estimator):
    sample, counts = some_sample(), np.ones((12, 2))
    sample = kwis.PredictedSample(sample, predicted=sample.reward / 2, predicted_value=sample.reward)
    assert estimator.resampled(sample, counts).influence is None
    pair = PairedSample(sample, sample)
    assert Difference(estimator, estimator).resampled(pair, counts).influence is None
    for found in (resamples, resamples_by_taking):
        assert found(estimator, sample, counts).influence is None
        assert found(estimator, sample, counts, influence=True).influence.shape == (12, 2)


@dataclass(frozen=True)
class WithoutInfluence:
    """VIS, which tells its value only."""

    name: str = "value only"

    def estimate(self, sample):
        return kwis.Estimate(name=self.name, value=kwis.VIS().estimate(sample).value, n=sample.n)

    def resampled(self, sample, counts, *, influence=False):
        return Resamples(kwis.VIS().resampled(sample, counts).values)


def test_influence_that_a_part_does_not_give_is_left_out():
    sample, counts = some_sample(), np.ones((12, 2))
    sample = kwis.PredictedSample(sample, predicted=sample.reward / 2, predicted_value=sample.reward)
    bare, plain = WithoutInfluence(), kwis.VIS()
    for pair in (Difference(bare, plain), Difference(plain, bare)):
        found = pair.resampled(PairedSample(sample, sample), counts, influence=True)
        assert found.influence is None
        assert found.values.tolist() == [0.0, 0.0]
        assert np.isnan(pair.estimate(PairedSample(sample, sample)).std_error)
    found = kwis.DoublyRobust(bare).resampled(sample, counts, influence=True)
    assert found.influence is None
    assert found.values == pytest.approx([kwis.DoublyRobust().estimate(sample).value] * 2)


@every_estimator
def test_counts_of_one_are_the_estimate(estimator):
    sample = some_sample(mass=True)
    resample = estimator.resampled(sample, np.ones((sample.n, 2)), influence=True)
    estimate = estimator.estimate(sample)
    np.testing.assert_allclose(resample.values, estimate.value, rtol=1e-14)
    np.testing.assert_allclose(resample.influence[:, 0], estimate.influence, rtol=0, atol=1e-13)


@every_estimator
def test_a_whole_mass_is_as_many_copies_of_the_row(estimator):
    sample = some_sample()
    mass = np.random.default_rng(2).integers(1, 4, sample.n)
    heavy = kwis.WeightedSample(context=sample.context, weight=sample.weight, reward=sample.reward, mass=mass)
    repeated = sample.take(np.repeat(np.arange(sample.n), mass))
    assert estimator.estimate(heavy).value == pytest.approx(estimator.estimate(repeated).value, rel=1e-12)


@every_estimator
def test_the_order_of_the_rows_does_not_matter(estimator):
    sample = some_sample(mass=True, groups=4)
    order = np.random.default_rng(0).permutation(sample.n)
    estimate, shuffled = estimator.estimate(sample), estimator.estimate(sample.take(order))
    assert shuffled.value == pytest.approx(estimate.value, rel=1e-12)
    assert shuffled.std_error == pytest.approx(estimate.std_error, rel=1e-12)
    np.testing.assert_allclose(shuffled.influence, estimate.influence[order], rtol=0, atol=1e-12)


@every_estimator
def test_a_row_of_weight_zero_adds_nothing_to_the_sum(estimator):
    sample = some_sample()
    reward = np.where(sample.weight == 0, 1e6, sample.reward)
    moved = kwis.WeightedSample(context=sample.context, weight=sample.weight, reward=reward)
    assert estimator.estimate(moved).value == pytest.approx(estimator.estimate(sample).value, rel=1e-12)


@every_estimator
def test_huge_and_tiny_weights_stay_finite(estimator):
    rng = np.random.default_rng(5)
    context, reward = rng.normal(size=(30, 2)), rng.random(30)
    counts = rng.multinomial(30, np.full(30, 1 / 30), size=8).T.astype(float)
    for scale in ([1e300], [1e-300], [1e300, 1e-300], [1e300, 1.0, 1e-300, 0.0]):
        weight = rng.uniform(0.5, 1.5, 30) * np.resize(scale, 30)
        estimate = estimator.estimate(kwis.WeightedSample(context=context, weight=weight, reward=reward))
        assert np.isfinite([estimate.value, estimate.std_error, estimate.effective_n]).all()
        assert np.isfinite(estimate.influence).all()
        resample = estimator.resampled(
            kwis.WeightedSample(context=context, weight=weight, reward=reward), counts, influence=True
        )
        assert np.isfinite(resample.values).all()
        assert np.isfinite(resampled_errors(resample.influence, counts, None)).all()


@pytest.mark.parametrize("estimator", SCALE_FREE, ids=label)
@pytest.mark.parametrize("factor", [1e-300, 1e-20, 3.0, 1e290])
def test_a_common_factor_of_the_weights_cancels(estimator, factor):
    sample = some_sample()
    scaled = kwis.WeightedSample(context=sample.context, weight=sample.weight * factor, reward=sample.reward)
    estimate, other = estimator.estimate(sample), estimator.estimate(scaled)
    assert other.value == pytest.approx(estimate.value, rel=1e-12)
    assert other.std_error == pytest.approx(estimate.std_error, rel=1e-12)


@pytest.mark.parametrize("estimator", NORMALISED, ids=label)
def test_a_tiny_weight_still_counts_where_it_is_drawn_alone(estimator):
    sample = kwis.WeightedSample(context=[[0.0, 0.0], [9.0, 9.0]], weight=[1e300, 1e-300], reward=[1.0, 5.0])
    assert estimator.resampled(sample, np.array([[0.0], [2.0]])).values[0] == pytest.approx(5.0, rel=1e-15)


@pytest.mark.parametrize("case", [case for case in CASES if case.linear], ids=label)
def test_a_constant_reward_comes_back_times_the_mean_weight_applied(case):
    sample = some_sample()
    constant = kwis.WeightedSample(
        context=sample.context, weight=sample.weight, reward=np.full(sample.n, 0.7)
    )
    mean = 1.0 if case.self_normalised else np.mean(case.applied(constant, [1.0] * sample.n))
    assert case.estimator.estimate(constant).value == pytest.approx(0.7 * mean, rel=1e-12)


@every_estimator
def test_all_weights_zero_is_zero_or_refused(estimator):
    sample = kwis.WeightedSample(context=[[0.0, 0.0], [1.0, 1.0]], weight=[0, 0], reward=[1, 1])
    if estimator in WITHOUT_DIVISION:
        estimate = estimator.estimate(sample)
        assert (estimate.value, estimate.std_error, estimate.effective_n) == (0.0, 0.0, 0.0)
    else:
        message = f"`weight` must be positive in at least one row for {estimator.name}, got 0.0 in all 2 rows"
        with pytest.raises(kwis.InputError) as caught:
            estimator.estimate(sample)
        assert str(caught.value) == message


@every_estimator
def test_a_resample_without_positive_weights_has_no_value(estimator):
    sample = kwis.WeightedSample(context=[[0.0, 0.0], [1.0, 1.0]], weight=[0, 1], reward=[1, 1])
    values = estimator.resampled(sample, np.array([[2.0, 1.0], [0.0, 1.0]])).values
    assert np.isnan(values[0]) == (estimator not in WITHOUT_DIVISION)
    assert np.isfinite(values[1])


@every_estimator
def test_integer_read_only_and_strided_arrays_are_fine(estimator):
    rng = np.random.default_rng(0)
    wide = rng.integers(0, 3, size=(20, 4))
    weight, reward = rng.integers(1, 5, 40)[::2], rng.integers(0, 2, 20)
    weight.flags.writeable = False
    sample = kwis.WeightedSample(context=wide[:, ::2], weight=weight, reward=reward)
    plain = kwis.WeightedSample(
        context=wide[:, ::2].astype(float).copy(),
        weight=weight.astype(float).copy(),
        reward=reward.astype(float),
    )
    assert estimator.estimate(sample).value == estimator.estimate(plain).value
    assert wide.flags.writeable


@every_estimator
def test_constant_features_are_fine(estimator):
    sample = some_sample()
    flat = kwis.WeightedSample(context=np.ones((sample.n, 2)), weight=sample.weight, reward=sample.reward)
    expected = (
        kwis.WIS().estimate(sample).value if estimator.name.endswith(("state-wis", "kernel-wis")) else None
    )
    value = estimator.estimate(flat).value
    assert np.isfinite(value)
    assert expected is None or value == pytest.approx(expected, rel=1e-12)


@every_estimator
def test_estimators_are_values(estimator):
    copy = pickle.loads(pickle.dumps(estimator)) if getattr(estimator, "kernel", None) is None else estimator
    assert copy == estimator
    assert hash(copy) == hash(estimator)
    assert isinstance(estimator.name, str)


@every_estimator
def test_a_difference_has_the_difference_of_the_influences(estimator):
    a, b = some_sample(groups=4), some_sample(groups=4)
    b = kwis.WeightedSample(context=b.context, weight=b.weight[::-1], reward=b.reward, group=b.group)
    estimate = Difference(estimator, estimator).estimate(PairedSample(a, b))
    first, second = estimator.estimate(a), estimator.estimate(b)
    assert estimate.value == first.value - second.value
    np.testing.assert_array_equal(estimate.influence, first.influence - second.influence)
    counts = drawn_counts(a, 10)
    fast = Difference(estimator, estimator).resampled(PairedSample(a, b), counts, influence=True)
    slow = resamples_by_taking(Difference(estimator, estimator), PairedSample(a, b), counts, influence=True)
    np.testing.assert_allclose(fast.values, slow.values, rtol=0, atol=1e-10)
    np.testing.assert_allclose(fast.influence, slow.influence, rtol=0, atol=1e-10)
