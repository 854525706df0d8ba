"""Properties that hold for any sample."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kwis
from tests.estimators.catalogue import BANDWIDTHS, weighted_samples

UNIT = st.floats(0, 1)
KERNELS = st.sampled_from(["rbf", "laplace", "matern32", "matern52", "epanechnikov"])


def close(a, b, scale=1.0):
    return abs(a - b) <= 1e-9 * max(1.0, scale)


def largest(sample):
    return float(np.abs(sample.reward).max()) * sample.n


@given(
    sample=weighted_samples(),
    bandwidth=BANDWIDTHS,
    kernel=KERNELS,
    normalised=st.booleans(),
    factor=st.floats(1e-3, 1e3),
)
def test_the_scale_of_the_weights_does_not_matter(sample, bandwidth, kernel, normalised, factor):
    scaled = kwis.WeightedSample(context=sample.context, weight=sample.weight * factor, reward=sample.reward)
    for estimator in (
        kwis.WIS(),
        kwis.StateWIS(normalised),
        kwis.KernelWIS(bandwidth, kernel=kernel, normalised=normalised),
    ):
        assert close(estimator.estimate(scaled).value, estimator.estimate(sample).value, largest(sample))


@given(sample=weighted_samples(), bandwidth=BANDWIDTHS, kernel=KERNELS, seed=st.integers(0, 99))
def test_the_order_of_the_rows_does_not_matter(sample, bandwidth, kernel, seed):
    shuffled = sample.take(np.random.default_rng(seed).permutation(sample.n))
    for estimator in (kwis.VIS(), kwis.WIS(), kwis.StateWIS(), kwis.KernelWIS(bandwidth, kernel=kernel)):
        assert close(estimator.estimate(shuffled).value, estimator.estimate(sample).value, largest(sample))


@given(sample=weighted_samples(), bandwidth=BANDWIDTHS, kernel=KERNELS, shift=st.integers(-50, 50))
def test_a_shift_of_the_contexts_does_not_matter(sample, bandwidth, kernel, shift):
    moved = kwis.WeightedSample(context=sample.context + shift, weight=sample.weight, reward=sample.reward)
    for estimator in (kwis.StateWIS(), kwis.KernelWIS(bandwidth, kernel=kernel)):
        assert close(estimator.estimate(moved).value, estimator.estimate(sample).value, largest(sample))


@given(sample=weighted_samples(), bandwidth=BANDWIDTHS, factor=st.sampled_from([0.25, 2.0, 8.0]))
def test_contexts_and_bandwidth_may_be_scaled_together(sample, bandwidth, factor):
    scaled = kwis.WeightedSample(context=sample.context * factor, weight=sample.weight, reward=sample.reward)
    a, b = kwis.KernelWIS(bandwidth).estimate(sample), kwis.KernelWIS(bandwidth * factor).estimate(scaled)
    assert close(a.value, b.value, largest(sample))


@given(sample=weighted_samples(), bandwidth=BANDWIDTHS, kernel=KERNELS, constant=st.floats(-5, 5))
def test_the_normalised_forms_return_a_constant_reward_and_follow_a_shift(
    sample, bandwidth, kernel, constant
):
    shifted = kwis.WeightedSample(
        context=sample.context, weight=sample.weight, reward=sample.reward + constant
    )
    flat = kwis.WeightedSample(
        context=sample.context, weight=sample.weight, reward=np.full(sample.n, constant)
    )
    for estimator in (
        kwis.WIS(),
        kwis.StateWIS(True),
        kwis.KernelWIS(bandwidth, kernel=kernel, normalised=True),
    ):
        assert close(estimator.estimate(flat).value, constant)
        assert close(
            estimator.estimate(shifted).value, estimator.estimate(sample).value + constant, largest(sample)
        )


@given(sample=weighted_samples(), bandwidth=BANDWIDTHS, kernel=KERNELS)
def test_the_normalised_forms_stay_within_the_rewards(sample, bandwidth, kernel):
    for estimator in (
        kwis.WIS(),
        kwis.StateWIS(True),
        kwis.KernelWIS(bandwidth, kernel=kernel, normalised=True),
    ):
        value = estimator.estimate(sample).value
        assert sample.reward.min() - 1e-9 <= value <= sample.reward.max() + 1e-9


@given(sample=weighted_samples(), kernel=KERNELS, normalised=st.booleans())
def test_an_infinite_bandwidth_is_wis(sample, kernel, normalised):
    estimate = kwis.KernelWIS(np.inf, kernel=kernel, normalised=normalised).estimate(sample)
    expected = kwis.WIS().estimate(sample)
    assert estimate.value == pytest.approx(expected.value, rel=1e-12, abs=1e-12)
    np.testing.assert_allclose(
        estimate.influence, expected.influence, rtol=0, atol=1e-9 * max(1.0, largest(sample))
    )


@given(sample=weighted_samples())
def test_a_huge_bandwidth_is_nearly_wis(sample):
    estimate = kwis.KernelWIS(1e9).estimate(sample)
    assert estimate.value == pytest.approx(kwis.WIS().estimate(sample).value, rel=1e-9, abs=1e-9)


@given(
    sample=weighted_samples(),
    kernel=KERNELS,
    normalised=st.booleans(),
    bandwidth=st.sampled_from([1e-3, 1e-30, 1e-200, 1e-308]),
)
def test_a_vanishing_bandwidth_is_state_wis(sample, kernel, normalised, bandwidth):
    estimate = kwis.KernelWIS(bandwidth, kernel=kernel, normalised=normalised).estimate(sample)
    expected = kwis.StateWIS(normalised).estimate(sample)
    assert estimate.value == pytest.approx(expected.value, rel=1e-12, abs=1e-12)


@given(sample=weighted_samples(most=8), kernel=KERNELS, bandwidth=BANDWIDTHS)
def test_an_infinite_entry_drops_its_feature(sample, kernel, bandwidth):
    wider = np.column_stack([sample.context, np.arange(sample.n)])
    extended = kwis.WeightedSample(context=wider, weight=sample.weight, reward=sample.reward)
    entries = [bandwidth] * sample.context.shape[1]
    a = kwis.KernelWIS(entries, kernel=kernel).estimate(sample).value
    b = kwis.KernelWIS([*entries, np.inf], kernel=kernel).estimate(extended).value
    assert close(a, b, largest(sample))


@given(sample=weighted_samples())
def test_without_repeated_states_state_wis_counts_the_rows_of_positive_weight(sample):
    unique = kwis.WeightedSample(
        context=np.arange(sample.n)[:, None], weight=sample.weight, reward=sample.reward
    )
    expected = sample.reward[sample.weight > 0].sum() / sample.n
    assert kwis.StateWIS().estimate(unique).value == pytest.approx(expected, rel=1e-12, abs=1e-12)


@given(sample=weighted_samples(rewards=UNIT, least_weight=1e-3), bandwidth=BANDWIDTHS, kernel=KERNELS)
def test_kernel_wis_keeps_to_its_bound(sample, bandwidth, kernel):
    similarity = np.column_stack([row_similarity(sample, i, bandwidth, kernel) for i in range(sample.n)])
    bound = np.minimum(sample.weight / sample.weight.min(), similarity.sum(axis=0)).mean()
    value = kwis.KernelWIS(bandwidth, kernel=kernel).estimate(sample).value
    assert 0 <= value <= bound * (1 + 1e-12)


def row_similarity(sample, row, bandwidth, kernel):
    from tests.reference.estimators import kernel_between

    return [
        kernel_between(sample.context[row].tolist(), other, bandwidth, kernel)
        for other in sample.context.tolist()
    ]


@given(sample=weighted_samples(rewards=UNIT), cap=st.floats(0.1, 60))
def test_a_cap_can_only_lower_the_value_of_non_negative_rewards(sample, cap):
    assert kwis.TruncatedVIS(cap).estimate(sample).value <= kwis.VIS().estimate(sample).value + 1e-12


@settings(max_examples=30)
@given(sample=weighted_samples(), bandwidth=BANDWIDTHS, kernel=KERNELS, normalised=st.booleans())
def test_the_influence_sums_to_zero(sample, bandwidth, kernel, normalised):
    estimate = kwis.KernelWIS(bandwidth, kernel=kernel, normalised=normalised).estimate(sample)
    assert abs(estimate.influence.sum()) <= 1e-9 * max(1.0, np.abs(estimate.influence).sum())


@given(sample=weighted_samples(), bandwidth=BANDWIDTHS)
def test_the_effective_size_is_between_one_and_the_rows_in_use(sample, bandwidth):
    for estimator in (kwis.VIS(), kwis.WIS(), kwis.StateWIS(), kwis.KernelWIS(bandwidth)):
        assert 1 - 1e-9 <= estimator.estimate(sample).effective_n <= np.count_nonzero(sample.weight) + 1e-9
