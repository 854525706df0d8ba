"""Products at many bandwidths from one pass are those of one bandwidth at a time."""

from __future__ import annotations

import numpy as np
import pytest

from kwis.kernel import kernel_products
from kwis.kernel.ladder import kernel_products_along, ladders
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
    vectors = np.random.default_rng(2).normal(size=(bandwidths.size, N, 2))
    found = kernel_products_along(context, bandwidths, RBF, categorical, vectors)
    for bandwidth, pair, made in zip(bandwidths.tolist(), vectors, found, strict=True):
        expected = kernel_products(context, bandwidth, RBF, categorical, pair)
        np.testing.assert_allclose(made, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("coded", [False, True])
@pytest.mark.parametrize("far", [0.0, 1e4])
def test_distances_between_many_columns_are_products_where_these_are_exact(coded: bool, far: float) -> None:
    context = example(60, coded)
    context[7, :3] = far  # one row so far away that products would cancel
    categorical = (59,) if coded else ()
    bandwidths = 8.0 * 2.0 ** (np.arange(-5, 6) / 2)
    vectors = np.random.default_rng(5).random((bandwidths.size, N, 2))
    found = kernel_products_along(context, bandwidths, RBF, categorical, vectors)
    apart = np.zeros((N, N))
    for place, column in enumerate(context.T):
        own = column[:, None] - column
        apart += 2.0 * (own != 0) if place in categorical else own**2
    for bandwidth, pair, made in zip(bandwidths.tolist(), vectors, found, strict=True):
        np.testing.assert_allclose(made, np.exp(-0.5 * apart / bandwidth**2) @ pair, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("columns", [3, 60])
def test_the_number_of_threads_changes_no_bit(columns: int) -> None:
    context, bandwidths = example(columns), 2.0 ** np.arange(3.0, -4.0, -1.0)
    vectors = np.random.default_rng(3).random((7, N, 2))
    found = []
    for threads in (1, 2):
        with engine(threads):
            found.append(kernel_products_along(context, bandwidths, RBF, (), vectors))
    np.testing.assert_array_equal(*found)


def test_a_kernel_that_has_no_ladder_goes_one_by_one() -> None:
    context, bandwidths = example(), np.array([0.5, 1.0])
    vectors = np.random.default_rng(4).random((2, N, 2))
    found = kernel_products_along(context, bandwidths, Laplace, (), vectors)
    for place in range(2):
        np.testing.assert_array_equal(
            found[place], kernel_products(context, float(bandwidths[place]), Laplace, (), vectors[place])
        )


def test_bandwidths_that_square_the_kernel_share_a_ladder() -> None:
    found = [
        (rungs.tolist(), squarings.tolist())
        for rungs, squarings in ladders(np.array([1.0, 3.0, 4.0, 0.5, 0.75, 2.0**-9]))
    ]
    assert found == [([2, 0, 3], [0, 4, 2]), ([1, 4], [0, 4]), ([5], [0])]
    roots = 5.6 * 2.0 ** (np.arange(-6, 7) / 2)
    assert [len(rungs) for rungs, _ in ladders(roots)] == [13]
