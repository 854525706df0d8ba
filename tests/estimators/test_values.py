"""Values, influence and standard errors against the slow twins."""

import itertools
import math

import numpy as np
import pytest

import kwis
from kwis.estimators.state_wis import _hashes, state_codes
from tests.estimators.catalogue import CASES, Case, kernel_similarity, label, some_sample
from tests.reference import estimators as twin


def masses(sample):
    return [1.0] * sample.n if sample.mass is None else sample.mass.tolist()


@pytest.mark.parametrize("case", CASES, ids=label)
@pytest.mark.parametrize("mass", [False, True], ids=["", "mass"])
class TestTwins:
    def test_the_value_is_that_of_the_twin(self, case, mass):
        sample = some_sample(mass=mass)
        assert case.estimator.estimate(sample).value == pytest.approx(
            case.value(sample, masses(sample)), rel=1e-12
        )

    def test_the_influence_is_the_derivative_in_the_mass(self, case, mass):
        sample = some_sample(mass=mass)
        slopes = twin.numerical_influence(lambda trial: case.value(sample, trial), masses(sample))
        np.testing.assert_allclose(case.estimator.estimate(sample).influence, slopes, atol=1e-7)

    def test_the_influence_sums_to_zero(self, case, mass):
        influence = case.estimator.estimate(some_sample(mass=mass)).influence
        assert abs(influence.sum()) < 1e-11 * np.abs(influence).sum()

    def test_the_standard_error_is_that_of_the_influence(self, case, mass):
        for groups in (0, 4):
            sample = some_sample(mass=mass, groups=groups)
            estimate = case.estimator.estimate(sample)
            group = None if sample.group is None else sample.group.tolist()
            assert estimate.std_error == pytest.approx(
                twin.standard_error(estimate.influence.tolist(), group), rel=1e-12
            )

    def test_the_effective_size_is_that_of_the_weights_applied(self, case, mass):
        sample = some_sample(mass=mass)
        expected = twin.effective_size(case.applied(sample, masses(sample)), masses(sample))
        assert case.estimator.estimate(sample).effective_n == pytest.approx(expected, rel=1e-12)

    def test_the_mean_weight_is_that_of_the_weights_applied(self, case, mass):
        sample = some_sample(mass=mass)
        mean = np.average(case.applied(sample, masses(sample)), weights=masses(sample))
        assert case.estimator.estimate(sample).mean_weight == pytest.approx(mean, rel=1e-12)

    def test_the_leverage_is_the_share_of_the_row_in_what_it_is_divided_by(self, case, mass):
        sample = some_sample(mass=mass)
        divides = getattr(case.estimator, "normalised", False)
        applied = case.applied(sample, masses(sample))
        if case.half_normalised:
            loads = [sample.weight, np.array(applied)]
        else:
            loads = [np.array(applied if divides else [1.0] * sample.n)]
        share = np.mean([load * masses(sample) / (load @ masses(sample)) for load in loads], axis=0)
        np.testing.assert_allclose(case.estimator.estimate(sample).leverage, share, rtol=1e-12)

    def test_the_isolation_is_that_of_the_twin(self, case, mass):
        sample = some_sample(mass=mass)
        found = case.estimator.estimate(sample).isolation
        if case.similarity is None:
            assert found is None
        else:
            expected = twin.isolation(
                sample.context.tolist(), sample.weight.tolist(), masses(sample), case.similarity
            )
            assert found == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("normalised", [False, True])
@pytest.mark.parametrize("mass", [False, True], ids=["", "mass"])
def test_the_formulas_of_the_influence_hold(normalised, mass):
    sample = some_sample(mass=mass)
    lists = sample.context.tolist(), sample.weight.tolist(), sample.reward.tolist()
    formulas = twin.local_influence(*lists, masses(sample), kernel_similarity(0.8), normalised)
    estimate = kwis.KernelWIS(0.8, normalised=normalised).estimate(sample)
    np.testing.assert_allclose(estimate.influence, twin.row_influence(formulas, masses(sample)), atol=1e-12)


@pytest.mark.parametrize("kernel", ["rbf", "laplace", "matern32", "matern52", "epanechnikov"])
def test_every_kernel_takes_mixed_columns(kernel):
    rng = np.random.default_rng(3)
    context = np.column_stack([rng.normal(size=15), rng.integers(3, size=15)])
    sample = kwis.WeightedSample(
        context=context, weight=rng.exponential(size=15), reward=rng.random(15), categorical=[1]
    )
    case = Case(kwis.KernelWIS([1.5, 0.9], kernel=kernel), kernel_similarity([1.5, 0.9], kernel, (1,)))
    assert case.estimator.estimate(sample).value == pytest.approx(case.value(sample, [1.0] * 15), rel=1e-12)


def test_a_hand_made_example_has_its_hand_made_values():
    # Two states; weights 1, 3 in the first and 2, 0 in the second, rewards 1, 0, 1, 1.
    sample = kwis.WeightedSample(context=[[0], [0], [5], [5]], weight=[1, 3, 2, 0], reward=[1, 0, 1, 1])
    assert kwis.VIS().estimate(sample).value == pytest.approx(3 / 4)
    assert kwis.TruncatedVIS().estimate(sample).value == pytest.approx(
        3 / 4
    )  # the cap is sqrt(4), and the row above it has reward 0
    assert kwis.TruncatedVIS(cap=1).estimate(sample).value == pytest.approx(2 / 4)
    assert kwis.WIS().estimate(sample).value == pytest.approx(3 / 6)
    assert kwis.StateWIS().estimate(sample).value == pytest.approx((1 / 2 + 2 / 1) / 4)
    assert kwis.StateWIS(normalised=True).estimate(sample).value == pytest.approx(
        (1 / 2 + 2) / (1 / 2 + 3 / 2 + 2)
    )
    k = math.exp(-0.5)
    near, far = (4 + 2 * k) / (2 + 2 * k), (2 + 4 * k) / (2 + 2 * k)
    assert kwis.KernelWIS(5).estimate(sample).value == pytest.approx((1 / near + 2 / far) / 4)


def test_wis_has_its_textbook_influence():
    sample = some_sample()
    estimate = kwis.WIS().estimate(sample)
    np.testing.assert_allclose(
        estimate.influence,
        sample.weight * (sample.reward - estimate.value) / sample.weight.mean(),
        atol=1e-12,
    )


def test_one_row_has_a_value_but_no_standard_error():
    sample = kwis.WeightedSample(context=[[0.0]], weight=[2.0], reward=[3.0])
    for case in CASES:
        if np.ndim(getattr(case.estimator, "bandwidth", 0)) == 0:
            estimate = case.estimator.estimate(sample)
            assert estimate.value == pytest.approx(3.0 if local(case) else case.value(sample, [1.0]))
            assert math.isnan(estimate.std_error)
            assert estimate.effective_n == (0 if case.estimator.name == "switch" else 1)


def local(case):
    return case.self_normalised or case.similarity is not None


def test_one_group_has_no_standard_error():
    sample = kwis.WeightedSample(
        context=[[0.0], [1.0]], weight=[2.0, 1.0], reward=[3.0, 1.0], group=["a", "a"]
    )
    assert math.isnan(kwis.WIS().estimate(sample).std_error)


def test_rows_of_one_group_each_are_rows():
    sample = some_sample(20)
    alone = kwis.WeightedSample(
        context=sample.context, weight=sample.weight, reward=sample.reward, group=np.arange(20)[::-1]
    )
    assert kwis.WIS().estimate(alone).std_error == pytest.approx(
        kwis.WIS().estimate(sample).std_error, rel=1e-14
    )


def test_an_estimate_is_a_number_and_says_what_it_is():
    estimate = kwis.KernelWIS(0.8, normalised=True).estimate(some_sample())
    assert float(estimate) == estimate.value
    assert estimate.name == "normalised-kernel-wis"
    assert estimate.bandwidth == 0.8
    assert repr(estimate).startswith("Estimate(normalised-kernel-wis: ")
    with pytest.raises(ValueError, match="read-only"):
        estimate.influence[0] = 0.0


@pytest.mark.parametrize("alike", [False, True], ids=["hashed", "all of one hash"])
def test_states_are_compared_by_value_over_all_columns(alike, monkeypatch):
    if alike:
        monkeypatch.setattr("kwis.estimators.state_wis._hashes", lambda bits: np.zeros(len(bits)))
    context = [[0.0, 1.0], [-0.0, 1.0], [0.0, math.nextafter(1.0, 2.0)], [0.0, 1.0]]
    sample = kwis.WeightedSample(context=context, weight=[1, 2, 5, 3], reward=[1, 1, 1, 0])
    assert kwis.StateWIS().estimate(sample).value == pytest.approx((1 / 2 + 2 / 2 + 1) / 4)


def test_states_of_few_round_numbers_have_hashes_of_their_own():
    context = np.array(list(itertools.product([0.0, 1.0, 2.0, -1.0, 0.5, 1024.0], repeat=4)))
    rows = np.random.default_rng(0).permutation(np.repeat(np.arange(len(context)), 2))
    codes = state_codes(context[rows])
    assert len(np.unique(_hashes(context.view(np.uint64)))) == len(context)
    np.testing.assert_array_equal(codes[:, None] == codes, rows[:, None] == rows)


def test_equal_weights_leave_a_control_variate_the_mean_and_its_influence():
    reward = np.array([1.0, 0.0, 3.0, 2.0])
    for weight in (1.0, 0.7):
        sample = kwis.WeightedSample(context=np.zeros((4, 1)), weight=np.full(4, weight), reward=reward)
        estimate = kwis.ControlVariate().estimate(sample)
        assert estimate.value == pytest.approx(1.5)
        np.testing.assert_allclose(estimate.influence, reward - 1.5, atol=1e-12)


def test_a_control_variate_knows_the_rows_drawn_only():
    weight, reward = np.array([1e300, 2e-300, 1e-300, 4e-300]), np.array([5.0, 1.0, 2.0, 3.0])
    sample = kwis.WeightedSample(context=np.zeros((4, 1)), weight=weight, reward=reward)
    counts = np.array([[0.0], [1.0], [2.0], [1.0]])
    found = kwis.ControlVariate().resampled(sample, counts).values[0]
    assert found == pytest.approx(kwis.ControlVariate().estimate(sample.take([1, 2, 2, 3])).value, rel=1e-9)
    assert found > 0.1


def test_kernel_sums_are_over_all_pairs_up_to_ten_thousand_rows():
    for n, exact in ((10_000, True), (10_001, False)):
        sample = kwis.WeightedSample(context=np.arange(n)[:, None], weight=np.ones(n), reward=np.ones(n))
        assert (kwis.KernelWIS(1.0).sampling(sample) is None) is exact


def test_without_any_weight_nothing_is_sampled():
    nothing = kwis.WeightedSample(context=np.arange(5)[:, None], weight=np.zeros(5), reward=np.ones(5))
    with pytest.raises(kwis.InputError, match="`weight` must be positive in at least one row"):
        kwis.KernelWIS(1.0, exact=False).estimate(nothing)
