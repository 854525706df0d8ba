"""Contexts laid out for the compiled kernels."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from kwis.kernel import fused
from kwis.kernel.geometry import Geometry, compact
from kwis.kernel.held_out import Folds
from kwis.runtime.arrays import aligned
from kwis.typing import Bandwidth, Floats, Ints

_STRIPS = 24  # each has sums of its own for the columns: enough for as many threads, and memory 24 n at most
# unused places after each feature of a tile: at a stride of a power of two the features would evict each
# other from cache
_SPARE = 16
# exp(-q/2) = 2**-(q log2(e) / 2)
_UNIT = math.sqrt(math.log2(math.e) / 2)


class _Limits(NamedTuple):
    """What keeps squared distances finite: real ones below the padding of tiles, and that below overflow."""

    smallest_share: float  # of a column's span, for the bandwidth
    padding: float


_LIMITS = {
    np.dtype(np.float64): _Limits(1e-140, 1e295),
    np.dtype(np.float32): _Limits(1e-13, 1e35),
}


@dataclass(frozen=True, slots=True)
class Strip:
    """Consecutive tiles ``bounds[0] <= tile < bounds[1]``, and which pairs of tiles they are the first of."""

    bounds: Ints
    pairs: slice

    @classmethod
    def all(cls, later: Ints) -> tuple[Strip, ...]:
        """Strips with about as many pairs of tiles each, the same for any number of threads."""
        before = np.append(0, np.cumsum(later.size - later))
        cuts = np.unique(
            [0, *np.searchsorted(before, before[-1] * np.arange(1, _STRIPS) / _STRIPS), later.size]
        )
        return tuple(
            cls(np.array([first, last]), slice(int(before[first]), int(before[last])))
            for first, last in pairwise(cuts.tolist())
        )


@dataclass(frozen=True, slots=True)
class Layout:
    """Where each row stands: rows in fold order, columns in tiles that never mix two folds.

    ``skips`` holds, for each row, the first tile of its fold and the first after it; ``starts`` the first row
    of each tile, and the number of rows; ``later``, for each tile, the first one of a later fold; ``strips``
    cuts the tiles into what one thread does at a time.
    """

    order: Ints
    slot: Ints
    skips: Ints
    starts: Ints
    later: Ints
    strips: tuple[Strip, ...]

    @classmethod
    def of(cls, n: int, folds: Folds | None) -> Layout:
        members = [np.arange(n)] if folds is None else list(folds.members)
        sizes = np.array([len(rows) for rows in members])
        tiles = -(-sizes // fused.TILE)
        ends = np.cumsum(tiles)
        within = np.arange(n) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        slot = np.repeat((ends - tiles) * fused.TILE, sizes) + within
        skips = np.repeat(np.stack([ends - tiles, ends], axis=1), sizes, axis=0)
        starts = np.searchsorted(slot, fused.TILE * np.arange(ends[-1] + 1))
        later = np.repeat(ends, tiles)
        return cls(np.concatenate(members), slot, skips, starts, later, Strip.all(later))

    @property
    def tile_count(self) -> int:
        return int(self.later.size)

    @property
    def pair_count(self) -> int:
        """Number of pairs of tiles of different folds."""
        return self.strips[-1].pairs.stop

    def tiled(self, column: Floats, dtype: Any, fill: float = 0.0) -> Floats:
        """One number per row, spread over the tiles."""
        out = aligned((self.tile_count * fused.TILE,), dtype)
        out[:] = fill
        out[self.slot] = column[self.order]
        return out.reshape(self.tile_count, fused.TILE)


@dataclass(frozen=True, slots=True)
class Tiles:
    """Contexts by row and by tile, in one precision; ``unit`` brings every column to a span near 1, which
    single precision holds.
    """

    layout: Layout
    geometry: Geometry
    unit: Floats
    rows: Floats
    columns: Floats
    row_codes: Floats
    column_codes: Floats
    base: Floats

    @classmethod
    def of(cls, geometry: Geometry, layout: Layout, dtype: Any = np.float64) -> Tiles:
        n, p = geometry.numeric.shape
        groups = -(-p // fused.GROUP)
        unit = np.ldexp(1.0, np.frexp(geometry.span())[1] - 1)  # a power of two: dividing by it is exact
        rows = np.zeros((n, groups * fused.GROUP), dtype)
        rows[:, :p] = geometry.numeric[layout.order] / unit
        flat = np.zeros((layout.tile_count * fused.TILE, groups * fused.GROUP), dtype)
        flat[layout.slot] = rows
        columns = np.zeros((layout.tile_count, groups, fused.GROUP, fused.TILE + _SPARE), dtype)
        columns[..., : fused.TILE] = flat.reshape(
            layout.tile_count, fused.TILE, groups, fused.GROUP
        ).transpose(0, 2, 3, 1)
        codes = compact(geometry.codes)[layout.order].astype(dtype)
        code_flat = np.zeros((layout.tile_count * fused.TILE, codes.shape[1]), dtype)
        code_flat[layout.slot] = codes
        column_codes = code_flat.reshape(layout.tile_count, fused.TILE, codes.shape[1]).transpose(0, 2, 1)
        base = layout.tiled(np.zeros(n), dtype, fill=_LIMITS[np.dtype(dtype)].padding)
        return cls(layout, geometry, unit, rows, columns, codes, np.ascontiguousarray(column_codes), base)

    @property
    def dtype(self) -> Any:
        return self.rows.dtype

    def scaled(self, bandwidth: Bandwidth) -> tuple[Floats, ...]:
        """The leading arguments of the compiled kernels: contexts in units in which the kernel is
        ``2**-q``.
        """
        h = self.geometry.usable(bandwidth, _LIMITS[self.dtype].smallest_share)
        scale = np.zeros(self.rows.shape[1], self.dtype)
        scale[: self.unit.size] = _UNIT * (self.unit / h[self.geometry.numeric_columns])
        penalty = (2 * _UNIT**2 * h[self.geometry.categorical_columns] ** -2.0).astype(self.dtype)
        columns = aligned(self.columns.shape, self.dtype)
        np.multiply(self.columns, scale.reshape(-1, fused.GROUP, 1), out=columns)
        return (
            self.rows * scale,
            self.row_codes,
            columns,
            self.column_codes,
            penalty,
            self.base,
        )
