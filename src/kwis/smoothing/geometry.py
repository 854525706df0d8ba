"""Contexts prepared for distances: numeric columns apart from categorical ones, both divided by the bandwidth."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kwis.kernels import RBF, Kernel
from kwis.typing import Bandwidth, Floats, Ints

# Below this share of a column's span a bandwidth only separates what differs from what is equal,
# and dividing by it would overflow.
_SMALLEST_SHARE = 1e-120
_LARGEST_PENALTY = 1e300
_EXPANSION_ERROR = 1e-12


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
    def of(cls, context: Floats, categorical: tuple[int, ...], centre: Floats | None = None) -> Geometry:
        """Split ``context``; ``centre`` (default its own mean) is taken off, which keeps products of contexts small."""
        columns = np.arange(context.shape[1])
        is_code = np.isin(columns, categorical)
        middle = context.mean(axis=0) if centre is None else centre
        return cls(
            np.ascontiguousarray(context[:, ~is_code] - middle[~is_code]),
            np.ascontiguousarray(context[:, is_code]),
            columns[~is_code],
            columns[is_code],
        )

    @property
    def n(self) -> int:
        return int(self.codes.shape[0])

    @property
    def d(self) -> int:
        return int(self.numeric_columns.size + self.categorical_columns.size)

    def take(self, rows: slice | Ints) -> Geometry:
        return Geometry(self.numeric[rows], self.codes[rows], self.numeric_columns, self.categorical_columns)

    def scaled(self, bandwidth: Bandwidth, span: Floats | None = None) -> Scaled:
        """Divide by the bandwidth: a number or one per column of the original context; infinity drops a column."""
        h = np.broadcast_to(np.asarray(bandwidth, dtype=np.float64), self.d)
        floor = _SMALLEST_SHARE * (self.span() if span is None else span)
        with np.errstate(over="ignore", divide="ignore"):
            numeric = self.numeric / np.maximum(h[self.numeric_columns], floor)
            penalty = np.minimum(h[self.categorical_columns] ** -2.0, _LARGEST_PENALTY)
        return Scaled(numeric, self.codes, penalty)

    def span(self) -> Floats:
        """Range of each numeric column."""
        return np.ptp(self.numeric, axis=0) if self.numeric.shape[1] else np.zeros(0)


def squared_distances(a: Floats, b: Floats, *, by_difference: bool) -> Floats:
    """``(rows of a, rows of b)`` squared Euclidean distances, by a matrix product where that is accurate enough."""
    if a.shape[1] == 0:
        return np.zeros((a.shape[0], b.shape[0]))
    squares_a, squares_b = np.einsum("ij,ij->i", a, a), np.einsum("ij,ij->i", b, b)
    # The expansion loses about eps * |x|^2, which must stay far below 1.
    if by_difference or np.finfo(np.float64).eps * (squares_a.max() + squares_b.max()) > _EXPANSION_ERROR:
        from scipy.spatial.distance import cdist

        return np.asarray(cdist(a, b, "sqeuclidean"))
    q = a @ b.T
    q *= -2.0
    q += squares_a[:, None]
    q += squares_b
    return np.maximum(q, 0.0, out=q)


def mismatches(a: Scaled, b: Scaled) -> Floats:
    """Sum of the penalties of the categorical columns in which two rows differ."""
    total = np.zeros((a.codes.shape[0], b.codes.shape[0]))
    for column, penalty in enumerate(a.penalty):
        total += penalty * (a.codes[:, column, None] != b.codes[None, :, column])
    return total


def log_kernel(a: Scaled, b: Scaled, kernel: Kernel) -> tuple[Floats, Floats]:
    """Logarithm of the kernel between the rows of ``a`` and ``b``, and the numeric ``q`` it came from."""
    # Other kernels may have a root of q in them, which magnifies any error near q = 0.
    q = squared_distances(a.numeric, b.numeric, by_difference=kernel is not RBF)
    log_k = -0.5 * q if kernel is RBF else kernel.log_profile(q)
    if a.penalty.size:
        log_k = log_k - mismatches(a, b)
    return log_k, q
