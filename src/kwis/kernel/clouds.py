"""Kernel sums between two blocks of rows, both sides at once."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from kwis.kernel.geometry import Geometry, Scaled, log_kernel
from kwis.kernel.profiles import RBF, Kernel
from kwis.runtime.arrays import aligned
from kwis.typing import Bandwidth, Floats

_TILE, _GROUP, _SPARE = (
    256,
    4,
    16,
)  # as in the compiled code; places after each feature keep strides off powers of two
_UNIT = math.sqrt(math.log2(math.e) / 2)  # exp(-q/2) = 2**-(q log2(e) / 2)
_FAR = {np.dtype(np.float64): 1e295, np.dtype(np.float32): 1e35}
_SMALLEST_SHARE = 1e-140  # of a column's span, for its bandwidth: below, squares overflow
_ROOMY = 1e3
_CELLS = 1 << 19  # of kernel in flight where nothing is compiled


@dataclass(frozen=True, slots=True, kw_only=True)
class Space:
    """Units of distance: bandwidths of the columns of the context, and the kernel; small, to travel with
    every task.

    ``roomy`` says that no column spans so many bandwidths that single precision would lose its neighbours.
    """

    kernel: Kernel
    bandwidth: tuple[float, ...]
    numeric: tuple[int, ...]
    codes: tuple[int, ...]
    roomy: bool

    @classmethod
    def of(cls, ends: Floats, categorical: tuple[int, ...], bandwidth: Bandwidth, kernel: Kernel) -> Space:
        """Units for contexts whose columns lie between the two rows of ``ends``."""
        # Two rows that span every column: the engine's own rule for constant columns and for vanishing
        # bandwidths then applies.
        usable = Geometry.of(ends, categorical).usable(bandwidth, _SMALLEST_SHARE)
        numeric = tuple(j for j in range(ends.shape[1]) if j not in categorical)
        roomy = bool(np.all(np.ptp(ends, axis=0) <= _ROOMY * usable))
        return cls(
            kernel=kernel, bandwidth=tuple(usable.tolist()), numeric=numeric, codes=categorical, roomy=roomy
        )

    @property
    def infinite(self) -> bool:
        """Whether every row is everyone's neighbour."""
        return all(math.isinf(h) for h in self.bandwidth)

    def place(self, context: Floats, dtype: Any = np.float64) -> Cloud | Scaled:
        """Contexts laid out for :func:`sums`."""
        return self.placed(context[:, list(self.numeric)], context[:, list(self.codes)], dtype)

    def placed(
        self, numeric: Floats, codes: Floats, dtype: Any = np.float64, *, tiles: bool = True
    ) -> Cloud | Scaled:
        """The same for numeric and categorical columns that are apart already; without ``tiles`` where sums
        are taken at these rows alone.
        """
        h = np.array(self.bandwidth)
        penalty = h[list(self.codes)] ** -2.0
        if self.kernel is not RBF:
            return Scaled(numeric / h[list(self.numeric)], codes, penalty)
        scaled = numeric * (_UNIT / h[list(self.numeric)])
        return Cloud.of(scaled, codes, 2 * _UNIT**2 * penalty, np.dtype(dtype), tiles)


@dataclass(frozen=True, slots=True, eq=False)
class Cloud:
    """Contexts in units in which the kernel is ``2**-q``, by row and by tile."""

    rows: Floats
    codes: Floats
    tiles: Floats
    tile_codes: Floats
    penalty: Floats
    base: Floats

    @classmethod
    def of(cls, numeric: Floats, codes: Floats, penalty: Floats, dtype: Any, in_tiles: bool) -> Cloud:
        """Rows, in tiles as well or not."""
        n, p = numeric.shape
        groups, shown = -(-p // _GROUP), n if in_tiles else 0
        count = -(-shown // _TILE)
        rows, coded = np.zeros((n, groups * _GROUP), dtype), codes.astype(dtype)
        rows[:, :p] = numeric
        tiles = aligned((count, groups, _GROUP, _TILE + _SPARE), dtype)
        flat = _padded(rows[:shown], count)
        tiles[..., :_TILE] = flat.reshape(count, _TILE, groups, _GROUP).transpose(0, 2, 3, 1)
        base = np.full((count, _TILE), _FAR[dtype], dtype)
        base.reshape(-1)[:shown] = 0
        return cls(rows, coded, tiles, tiled(coded[:shown], count), penalty.astype(dtype), base)

    @property
    def n(self) -> int:
        return int(self.rows.shape[0])


def _padded(rows: Floats, count: int) -> Floats:
    flat = np.zeros((count * _TILE, rows.shape[1]), rows.dtype)
    flat[: rows.shape[0]] = rows
    return flat


def tiled(vectors: Floats, count: int) -> Floats:
    """``(n, p)`` vectors as ``(count, p, tile)``."""
    out = aligned((count, vectors.shape[1], _TILE), vectors.dtype)
    out[:] = _padded(vectors, count).reshape(count, _TILE, vectors.shape[1]).transpose(0, 2, 1)
    return out


def sums(one: Any, other: Any, columns: Floats, rows: Floats | None, kernel: Kernel) -> tuple[Floats, Floats]:
    """``K @ columns`` for the rows of ``one`` and ``K' @ rows`` for those of ``other``, ``K`` the kernel
    between them.

    If ``other is one``, every pair is computed once and ``columns`` alone counts: the second answer is empty.
    So it is without ``rows``.
    """
    if isinstance(one, Scaled):
        return _numpy_sums(one, other, columns, rows, kernel)
    if rows is None and other is not one:
        return _row_sums(one, other, columns), np.empty((0, 0))
    from kwis.kernel.fused_sums import add_products

    same, dtype, count = other is one, one.rows.dtype, other.tiles.shape[0]
    ours = columns if same else np.empty((one.n, 0)) if rows is None else rows
    row_sums, column_sums = np.zeros((one.n, columns.shape[1])), np.zeros((count, ours.shape[1], _TILE))
    vectors = tiled(columns.astype(dtype), count)
    place = (one.rows, one.codes, other.tiles, other.tile_codes, one.penalty, other.base)
    add_products(same, *place, vectors, np.ascontiguousarray(ours, dtype=dtype), row_sums, column_sums)
    back = column_sums.transpose(0, 2, 1).reshape(count * _TILE, ours.shape[1])[: other.n]
    return (row_sums + back, np.empty((0, 0))) if same else (row_sums, back)


def _row_sums(one: Cloud, other: Cloud, columns: Floats) -> Floats:
    from kwis.kernel.fused_rows import add_row_products

    out, dtype = np.zeros((one.n, columns.shape[1])), one.rows.dtype
    vectors = tiled(columns.astype(dtype), other.tiles.shape[0])
    place = (one.rows, one.codes, other.tiles, other.tile_codes, one.penalty, other.base)
    add_row_products(*place, vectors, aligned((2, _TILE), dtype), out)
    return out


def _numpy_sums(
    one: Scaled, other: Scaled, columns: Floats, rows: Floats | None, kernel: Kernel
) -> tuple[Floats, Floats]:
    same = other is one
    n, m = one.codes.shape[0], other.codes.shape[0]
    mine, theirs = (
        np.empty((n, columns.shape[1])),
        np.zeros((m, 0 if rows is None or same else rows.shape[1])),
    )
    step = max(1, _CELLS // max(1, m))
    for start in range(0, n, step):
        part = slice(start, start + step)
        k = log_kernel(one.take(part), other, kernel)[0]
        np.exp(k, out=k)
        mine[part] = k @ columns
        if theirs.size and rows is not None:
            theirs += k.T @ rows[part]
    return mine, theirs if not same else np.empty((0, 0))
