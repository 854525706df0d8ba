"""Contexts prepared for distances: numeric columns apart from categorical ones, both divided by the
bandwidth.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kwis.kernel.profiles import RBF, Kernel
from kwis.runtime.arrays import room
from kwis.typing import Bandwidth, Floats, Ints

# Below this share of a column's span a bandwidth only tells nearest rows from others, and squares of what it
# divides would overflow.
_SMALLEST_SHARE = 1e-140
_WIDEST_RATIO = (
    1e100  # between bandwidths below that share; beyond, one column alone decides which rows are nearest
)
_MOST_LEVELS = 64  # of all categorical columns, for mismatches by a matrix product
EXPANSION_ERROR = 1e-12  # of a squared distance written as a product, in units of the bandwidth


@dataclass(frozen=True, slots=True)
class Scaled:
    """Contexts in units of the bandwidth; ``penalty`` is ``1/h^2`` of each categorical column."""

    numeric: Floats
    codes: Floats
    penalty: Floats

    def take(self, rows: slice | Ints) -> Scaled:
        return Scaled(self.numeric[rows], self.codes[rows], self.penalty)


@dataclass(frozen=True, slots=True)
class Geometry:
    """Contexts split into centred numeric columns and categorical codes."""

    numeric: Floats
    codes: Floats
    numeric_columns: Ints
    categorical_columns: Ints

    @classmethod
    def of(cls, context: Floats, categorical: tuple[int, ...]) -> Geometry:
        """Split ``context`` and centre it, which keeps products of contexts small.

        The middle is a value of each column near its median: constant columns become exactly 0, and an
        outlier costs the others no digits.
        """
        columns = np.arange(context.shape[1])
        is_code = np.isin(columns, categorical)
        n, half = context.shape[0], context.shape[0] // 2
        numeric, codes = room((n, int((~is_code).sum()))), room((n, int(is_code.sum())))
        for place, column in enumerate(columns[~is_code]):
            values = context[:, column]
            numeric[:, place] = values - np.partition(values, half)[half]
        codes[:] = context[:, is_code]
        return cls(numeric, codes, columns[~is_code], columns[is_code])

    @property
    def n(self) -> int:
        return int(self.codes.shape[0])

    @property
    def d(self) -> int:
        return int(self.numeric_columns.size + self.categorical_columns.size)

    def take(self, rows: slice | Ints) -> Geometry:
        return Geometry(self.numeric[rows], self.codes[rows], self.numeric_columns, self.categorical_columns)

    def scaled(self, bandwidth: Bandwidth) -> Scaled:
        """Divide by the bandwidth: a number or one per column of the original context; infinity drops a
        column.
        """
        h = self.usable(bandwidth, _SMALLEST_SHARE)
        return Scaled(self.numeric / h[self.numeric_columns], self.codes, h[self.categorical_columns] ** -2.0)

    def usable(self, bandwidth: Bandwidth, smallest_share: float) -> Floats:
        """One bandwidth per column, infinite for constant ones.

        Those below ``smallest_share`` of their column's span are enlarged together, so that the nearest rows
        stay nearest.
        """
        span = np.ones(self.d)
        span[self.numeric_columns] = self.span()
        h = np.where(span > 0, bandwidth, np.inf)
        floor = np.maximum(smallest_share * span, np.finfo(np.float64).tiny)
        low = h < floor
        if low.any():
            ratio = np.maximum(h[low] / h[low].max(), 1 / _WIDEST_RATIO)
            h[low] = ratio * (floor[low] / ratio).max()
        return h

    def span(self) -> Floats:
        """Range of each numeric column."""
        return np.ptp(self.numeric, axis=0) if self.numeric.shape[1] else np.zeros(0)


def compact(codes: Floats) -> Floats:
    """Codes renumbered from 0 column by column, so that single precision holds them exactly."""
    out = np.empty_like(codes)
    for column in range(codes.shape[1]):
        out[:, column] = np.unique(codes[:, column], return_inverse=True)[1]
    return out


def expands(a: Floats, b: Floats, error: float = EXPANSION_ERROR) -> bool:
    """Whether ``|x|^2 + |y|^2 - 2xy`` may stand for ``|x - y|^2``: it loses about ``eps |x|^2``, which must
    stay below ``error``.
    """
    largest = np.einsum("ij,ij->i", a, a).max(initial=0.0) + np.einsum("ij,ij->i", b, b).max(initial=0.0)
    return bool(np.finfo(np.float64).eps * largest <= error)


def squared_distances(a: Floats, b: Floats, *, by_difference: bool, error: float = EXPANSION_ERROR) -> Floats:
    """``(rows of a, rows of b)`` squared Euclidean distances, by a matrix product where that is accurate
    enough.
    """
    if a.shape[1] == 0:
        return np.zeros((a.shape[0], b.shape[0]))
    if by_difference or not expands(a, b, error):
        from scipy.spatial.distance import cdist

        return np.asarray(cdist(a, b, "sqeuclidean"))
    q = a @ b.T
    q *= -2.0
    q += np.einsum("ij,ij->i", a, a)[:, None]
    q += np.einsum("ij,ij->i", b, b)
    return np.maximum(q, 0.0, out=q)


def mismatches(a: Scaled, b: Scaled) -> Floats:
    """Sum of the penalties of the categorical columns in which two rows differ."""
    if a.penalty.size and (a.penalty == a.penalty[0]).all():
        levels = [np.unique(column) for column in b.codes.T]
        if sum(level.size for level in levels) <= _MOST_LEVELS:  # whole numbers: a product counts exactly
            left, right = (_indicators(one.codes, levels) for one in (a, b))
            return a.penalty[0] * (a.penalty.size - (left @ right.T).astype(np.float64))
        # Counted in few bytes, and multiplied once.
        differ = np.zeros((a.codes.shape[0], b.codes.shape[0]), np.min_scalar_type(a.penalty.size))
        for here, there in zip(a.codes.T, b.codes.T, strict=True):
            differ += here[:, None] != there[None, :]
        return np.asarray(a.penalty[0] * differ, dtype=np.float64)
    total = np.zeros((a.codes.shape[0], b.codes.shape[0]))
    for column, penalty in enumerate(a.penalty):
        total += penalty * (a.codes[:, column, None] != b.codes[None, :, column])
    return total


def _indicators(codes: Floats, levels: Sequence[Floats]) -> NDArray[np.float32]:
    """``(n, levels)`` 0/1 columns of all categorical columns beside each other."""
    parts = [column[:, None] == level for column, level in zip(codes.T, levels, strict=True)]
    return np.hstack(parts).astype(np.float32)


def log_kernel(a: Scaled, b: Scaled, kernel: Kernel, error: float = EXPANSION_ERROR) -> tuple[Floats, Floats]:
    """Logarithm of the kernel between the rows of ``a`` and ``b``, and the numeric ``q`` it came from."""
    # Other kernels may have a root of q in them, which magnifies any error near q = 0.
    q = squared_distances(a.numeric, b.numeric, by_difference=kernel is not RBF, error=error)
    log_k = -0.5 * q if kernel is RBF else kernel.log_profile(q)
    if a.penalty.size:
        log_k = log_k - mismatches(a, b)
    return log_k, q
