"""The kernel mean through its public door."""

import numpy as np
import pytest

import kwis
from tests.kernel.samples import ALL_KERNELS, sample
from tests.reference import kernel_regression as twin

BANDWIDTHS = {
    "shared": 0.8,
    "each": np.array([0.5, 0.9, 1.3]),
    "tiny": 1e-200,
    "dropped": np.array([0.7, np.inf, 0.6]),
    "infinite": np.inf,
}
every_bandwidth = pytest.mark.parametrize("bandwidth", BANDWIDTHS.values(), ids=BANDWIDTHS)


def safely(bandwidth):
    """What the twin can divide by without overflow; nearest rows are nearest rows."""
    return np.maximum(bandwidth, 1e-100)


@every_bandwidth
@pytest.mark.parametrize("kernel", ALL_KERNELS)
def test_it_is_the_twin_s_around_its_own_rows_and_elsewhere(kernel, bandwidth):
    context, weight, _ = sample((70,), 3, (1,))
    at = np.concatenate([context[:9], context[:9] + np.array([0.1, 2.0, -0.4]), [[30.0, 1.0, -40.0]]])
    for where in (None, at):
        got = kwis.kernel_mean(
            weight, context, bandwidth=bandwidth, at=where, kernel=ALL_KERNELS[kernel], categorical=(1,)
        )
        np.testing.assert_allclose(
            got, twin.kernel_mean(weight, context, safely(bandwidth), where, kernel, (1,)), rtol=1e-12
        )


@every_bandwidth
def test_the_compiled_plan_agrees_too(bandwidth):
    context, weight, _ = sample((650,), 3, (1,))
    got = kwis.kernel_mean(weight, context, bandwidth=bandwidth, categorical=1)
    rows = np.arange(0, 650, 13)
    np.testing.assert_allclose(
        got[rows],
        twin.kernel_mean(weight, context, safely(bandwidth), context[rows], "rbf", (1,)),
        rtol=1e-12,
    )


def test_its_own_rows_count_in_their_own_mean():
    context, weight = np.array([[0.0], [1.0]]), np.array([1.0, 3.0])
    k = np.exp(-0.5)
    np.testing.assert_allclose(
        kwis.kernel_mean(weight, context, bandwidth=1.0),
        [(1 + 3 * k) / (1 + k), (k + 3) / (1 + k)],
        rtol=1e-15,
    )
    np.testing.assert_array_equal(
        kwis.kernel_mean(weight, context, bandwidth=0.5),
        kwis.kernel_mean(weight, context, bandwidth=0.5, at=context),
    )


def test_negative_weights_are_averaged_like_any_numbers():
    context, weight, _ = sample((40,), 2)
    shifted = kwis.kernel_mean(weight - 5, context, bandwidth=0.7)
    np.testing.assert_allclose(shifted, kwis.kernel_mean(weight, context, bandwidth=0.7) - 5, rtol=1e-13)


def test_a_far_point_is_predicted_by_its_nearest_rows_whatever_the_kernel():
    context, weight = np.array([[0.0], [1.0], [1.0], [5.0]]), np.array([1.0, 2.0, 4.0, 9.0])
    for kernel in ("rbf", "laplace", "epanechnikov"):
        assert kwis.kernel_mean(weight, context, bandwidth=0.01, at=[[2.5]], kernel=kernel)[
            0
        ] == pytest.approx(3.0)


def test_all_columns_categorical():
    context, weight, _ = sample((900,), 3, (0, 1, 2))
    rows = np.arange(0, 900, 60)
    got = kwis.kernel_mean(weight, context, bandwidth=[0.6, 1.0, 2.0], categorical=range(3))
    expected = twin.kernel_mean(weight, context, [0.6, 1.0, 2.0], context[rows], "rbf", (0, 1, 2))
    np.testing.assert_allclose(got[rows], expected, rtol=1e-12)
