"""Products at many bandwidths from one pass are those of one bandwidth at a time."""

from __future__ import annotations

import numpy as np
import pytest

from kwis.kernel import kernel_products
from kwis.kernel.geometry import Geometry
from kwis.kernel.ladder import kernel_products_along, sums_around
from kwis.kernel.profiles import RBF, Laplace
from kwis.runtime.threads import engine

N = 700


def example(columns: int = 3, coded: bool = False) -> np.ndarray:
    rng = np.random.default_rng(1)
    context = rng.normal(size=(N, columns))
    if coded:
        context[:, -1] = rng.integers(0, 3, N)
    return context


@pytest.mark.parametrize("coded", [False, True])
@pytest.mark.parametrize("scale", [1.0, 1e-120, 1e120])
def test_products_along_bandwidths_are_those_of_each(coded: bool, scale: float) -> None:
    context = example(5, coded)
    context[:, :4] *= scale
    categorical = (4,) if coded else ()
    bandwidths = np.array([0.3, 2.0, 8.0, 0.7, 4.0, 0.5, 1.0, 0.125, 1e3, 2.0**0.5, 2.0**-1.5]) * (
        1.0 if coded and scale != 1 else scale
    )
    rng = np.random.default_rng(2)
    vectors = [rng.normal(size=(N, 2 if place % 3 else 1 + 6 * place)) for place in range(bandwidths.size)]
    found = kernel_products_along(context, bandwidths, RBF, categorical, vectors)
    for bandwidth, own, made in zip(bandwidths.tolist(), vectors, found, strict=True):
        expected = kernel_products(context, bandwidth, RBF, categorical, own)
        np.testing.assert_allclose(made, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("coded", [False, True])
@pytest.mark.parametrize("far", [0.0, 1e4])
def test_distances_between_many_columns_are_exact(coded: bool, far: float) -> None:
    context = example(60, coded)
    context[7, :3] = far  # one row so far away that distances as products would cancel
    categorical = (59,) if coded else ()
    bandwidths = 8.0 * 2.0 ** (np.arange(-5, 6) / 2)
    vectors = list(np.random.default_rng(5).random((bandwidths.size, N, 2)))
    found = kernel_products_along(context, bandwidths, RBF, categorical, vectors)
    apart = np.zeros((N, N))
    for place, column in enumerate(context.T):
        own = column[:, None] - column
        apart += 2.0 * (own != 0) if place in categorical else own**2
    for bandwidth, pair, made in zip(bandwidths.tolist(), vectors, found, strict=True):
        np.testing.assert_allclose(made, np.exp(-0.5 * apart / bandwidth**2) @ pair, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("count", [2, 40])
def test_the_number_of_threads_changes_no_bit(count: int) -> None:
    context, bandwidths = example(), 2.0 ** np.arange(3.0, -4.0, -1.0)
    vectors = np.random.default_rng(3).random((7, N, count))
    found = []
    for threads in (1, 2):
        with engine(threads):
            found.append(kernel_products_along(context, bandwidths, RBF, (), list(vectors)))
    np.testing.assert_array_equal(*found)


def test_a_kernel_that_has_no_ladder_goes_one_by_one() -> None:
    context, bandwidths = example(), np.array([0.5, 1.0])
    vectors = np.random.default_rng(4).random((2, N, 2))
    found = kernel_products_along(context, bandwidths, Laplace, (), list(vectors))
    for place in range(2):
        np.testing.assert_array_equal(
            found[place], kernel_products(context, float(bandwidths[place]), Laplace, (), vectors[place])
        )


def test_sums_around_some_rows_are_those_of_all() -> None:
    context, bandwidths = example(), np.array([0.4, 1.3, 0.4 * 2**0.5])
    vectors = list(np.random.default_rng(5).random((3, N, 3)))
    rows = np.array([0, 5, 17, 699])
    whole = kernel_products_along(context, bandwidths, RBF, (), vectors)
    for some, every in zip(
        sums_around(Geometry.of(context, ()), rows, bandwidths, vectors), whole, strict=True
    ):
        np.testing.assert_allclose(some, every[rows], rtol=1e-12)
