"""Kernel sums by blocks of rows: all pairs, all rows from some, some rows from all."""

from __future__ import annotations

import numpy as np
import pytest

from kwis.kernel import points
from kwis.kernel.geometry import Geometry
from kwis.kernel.points import Points
from kwis.kernel.profiles import RBF, as_kernel
from kwis.runtime.threads import engine
from tests.reference import kernel_regression as twin

N, H = 150, np.array([0.9, 0.7, 1.1])
PRECISIONS = [(np.float64, 1e-12), (np.float32, 2e-6)]


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(points, "_BLOCK", 37)
    monkeypatch.setattr(points, "_AT_ONCE", 4)


def contexts() -> np.ndarray:
    rng = np.random.default_rng(0)
    return np.column_stack([1e9 + rng.integers(0, 3, N), rng.normal(size=(N, 2)) + 50])


def kernel_matrix(context: np.ndarray, kernel: str) -> np.ndarray:
    exact = context.astype(twin.REAL)
    return np.array([twin.kernel_row(row, exact, H, kernel, (0,))[0] for row in exact], dtype=np.float64)


@pytest.mark.parametrize(("dtype", "tolerance"), PRECISIONS)
@pytest.mark.parametrize("kernel", ["rbf", "laplace"])
def test_sums_are_those_of_the_dense_kernel(dtype, tolerance, kernel):
    context = contexts()
    vectors = np.random.default_rng(1).random((N, 3)) * [1e-60, 1.0, 1e60]
    found, k = Points.of(Geometry.of(context, (0,)), H, as_kernel(kernel)), kernel_matrix(context, kernel)
    rows = np.array([3, 70, 71, 149])
    np.testing.assert_allclose(found.all_pairs(vectors, dtype), k @ vectors, rtol=tolerance)
    np.testing.assert_allclose(
        found.from_rows(rows, vectors[rows], dtype), k[:, rows] @ vectors[rows], rtol=tolerance
    )
    np.testing.assert_allclose(found.at_rows(rows, vectors, dtype), k[rows] @ vectors, rtol=tolerance)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_bits_do_not_depend_on_the_number_of_threads(dtype):
    found = Points.of(Geometry.of(contexts(), (0,)), H, RBF)
    vectors = np.random.default_rng(1).random((N, 3))
    rows = np.arange(0, N, 3)
    sets = []
    for threads in (1, 3):
        with engine(threads):
            sets.append(
                [
                    found.all_pairs(vectors, dtype),
                    found.from_rows(rows, vectors[rows], dtype),
                    found.at_rows(rows, vectors, dtype),
                ]
            )
    for one, other in zip(*sets, strict=True):
        np.testing.assert_array_equal(one, other)
