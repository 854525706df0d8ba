"""Kernels: what their profiles are, and how they are named."""

import math

import numpy as np
import pytest

import kwis
from kwis.kernel.profiles import KERNELS, as_kernel
from tests.reference import kernel_regression as twin

Q = np.array([1e-8, 0.01, 0.2, 0.6, 0.97, 1.5, 4.0, 30.0, 1e4])


@pytest.mark.parametrize("name", KERNELS)
def test_profiles_and_slopes_are_those_of_the_formulas(name):
    log_k, slope = twin.KERNELS[name](Q.astype(twin.REAL))
    np.testing.assert_allclose(KERNELS[name].log_profile(Q), log_k.astype(float), rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(KERNELS[name].slope(Q), slope.astype(float), rtol=1e-13)


@pytest.mark.parametrize("name", KERNELS)
def test_a_kernel_is_one_at_distance_zero_and_falls(name):
    values = np.exp(KERNELS[name].log_profile(np.linspace(0, 9, 50)))
    assert values[0] == 1
    assert (np.diff(values) <= 0).all()
    assert np.isfinite(KERNELS[name].slope(np.zeros(1))).all()


@pytest.mark.parametrize("name", KERNELS)
def test_slopes_are_derivatives(name):
    q, step = Q[(Q > 1e-3) & (Q < 0.9)], 1e-6
    up, down = (KERNELS[name].log_profile(q + sign * step) for sign in (1, -1))
    np.testing.assert_allclose(KERNELS[name].slope(q), (up - down) / (2 * step), rtol=1e-7)


def test_golden_values_by_hand():
    """At distance 1 in units of the bandwidth."""
    one = np.ones(1)
    assert np.exp(kwis.RBF.log_profile(one))[0] == pytest.approx(math.exp(-0.5))
    assert np.exp(kwis.Laplace.log_profile(one))[0] == pytest.approx(math.exp(-1))
    assert np.exp(kwis.Matern32.log_profile(one))[0] == pytest.approx(
        (1 + math.sqrt(3)) * math.exp(-math.sqrt(3))
    )
    assert np.exp(kwis.Matern52.log_profile(one))[0] == pytest.approx(
        (1 + math.sqrt(5) + 5 / 3) * math.exp(-math.sqrt(5))
    )
    assert np.exp(kwis.Epanechnikov.log_profile(one / 4))[0] == pytest.approx(0.75)


def test_only_epanechnikov_ends_somewhere():
    assert [name for name, kernel in KERNELS.items() if kernel.compact] == ["epanechnikov"]


def test_kernels_are_found_by_name_and_shown_by_it():
    assert as_kernel("matern32") is kwis.Matern32
    assert as_kernel(kwis.Laplace) is kwis.Laplace
    assert repr(kwis.RBF) == "Kernel('rbf')"


@pytest.mark.parametrize("unknown", ["gauss", "RBF", 3, None, np.exp])
def test_an_unknown_kernel_is_refused(unknown):
    with pytest.raises(kwis.InputError) as caught:
        kwis.kernel_mean([1.0, 2.0], [[0.0], [1.0]], bandwidth=1.0, kernel=unknown)
    names = ", ".join(KERNELS)
    assert str(caught.value) == f"`kernel` must be a kwis.Kernel or one of {names}, got {unknown!r}"


@pytest.mark.parametrize(("lambda_", "levels"), [(0.1, 2), (0.4, 2), (0.3, 3), (0.79, 5)])
def test_a_converted_lambda_weighs_levels_as_aitchison_and_aitken_do(lambda_, levels):
    codes, weight = np.arange(levels)[:, None], np.arange(1.0, levels + 1)
    kernel = np.full((levels, levels), lambda_ / (levels - 1)) + np.eye(levels) * (
        1 - lambda_ - lambda_ / (levels - 1)
    )
    expected = kernel @ weight / kernel.sum(axis=1)
    h = kwis.bandwidth_from_lambda(lambda_, levels)
    np.testing.assert_allclose(
        kwis.kernel_mean(weight, codes, bandwidth=h, categorical=0), expected, rtol=1e-13
    )


def test_the_largest_lambda_counts_all_levels_alike():
    assert kwis.bandwidth_from_lambda(0.5, 2) == math.inf
    assert kwis.bandwidth_from_lambda(0.75, 4) == math.inf


@pytest.mark.parametrize(
    ("lambda_", "levels", "sentence"),
    [
        (0.0, 2, "`lambda_` must be in (0, 0.5] for 2 levels, got 0.0"),
        (0.7, 3, "`lambda_` must be in (0, 0.666667] for 3 levels, got 0.7"),
        (math.nan, 3, "`lambda_` must be in (0, 0.666667] for 3 levels, got nan"),
        (0.1, 1, "`levels` must be at least 2, got 1"),
    ],
)
def test_a_lambda_out_of_range_is_refused(lambda_, levels, sentence):
    with pytest.raises(kwis.InputError) as caught:
        kwis.bandwidth_from_lambda(lambda_, levels)
    assert str(caught.value) == sentence
