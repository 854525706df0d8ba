"""Contexts laid out for the compiled kernels, and cross-validation on top of them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from kwis.smoothing import fused, fused_features
from kwis.smoothing.geometry import Geometry
from kwis.smoothing.held_out import Folds, Score
from kwis.smoothing.threads import each_block, row_blocks
from kwis.typing import Bandwidth, Floats, Ints

_BLOCK_CELLS = 1 << 20  # of kernel in flight per thread, 8 MB
_ROWS = 128  # per block
_SPARE = 16  # unused places after each feature of a tile: at a stride of a power of two the features would evict each other from cache
_PRODUCT_ROWS = 256  # per block of a product
_ROWS_PER_CHUNK, _CHUNKS = 320, 32  # blocks that carry column sums, memory 32 n at most
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
class Layout:
    """Where each row stands: rows in fold order, columns in tiles that never mix two folds."""

    order: Ints
    slot: Ints
    skips: Ints
    tile_count: int

    @classmethod
    def of(cls, n: int, folds: Folds | None) -> Layout:
        members = [np.arange(n)] if folds is None else list(folds.members)
        first, slots, skips = 0, [], []
        for rows in members:
            tiles = -(-len(rows) // fused.TILE)
            slots.append(first * fused.TILE + np.arange(len(rows)))
            skips.append(np.tile([first, first + tiles], (len(rows), 1)))
            first += tiles
        return cls(np.concatenate(members), np.concatenate(slots), np.concatenate(skips), first)

    def tiled(self, column: Floats, dtype: Any, fill: float = 0.0) -> Floats:
        """One number per row, spread over the tiles."""
        out = np.full(self.tile_count * fused.TILE, fill, dtype)
        out[self.slot] = column[self.order]
        return out.reshape(self.tile_count, fused.TILE)


@dataclass(frozen=True, slots=True)
class Tiles:
    """Contexts by row and by tile, in one precision; ``unit`` brings every column to a span near 1, which single precision holds."""

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
        columns[..., : fused.TILE] = flat.reshape(layout.tile_count, fused.TILE, groups, fused.GROUP).transpose(0, 2, 3, 1)
        codes = _compact(geometry.codes)[layout.order].astype(dtype)
        code_flat = np.zeros((layout.tile_count * fused.TILE, codes.shape[1]), dtype)
        code_flat[layout.slot] = codes
        column_codes = code_flat.reshape(layout.tile_count, fused.TILE, codes.shape[1]).transpose(0, 2, 1)
        base = layout.tiled(np.zeros(n), dtype, fill=_LIMITS[np.dtype(dtype)].padding)
        return cls(layout, geometry, unit, rows, columns, codes, np.ascontiguousarray(column_codes), base)

    @property
    def dtype(self) -> Any:
        return self.rows.dtype

    def scaled(self, bandwidth: Bandwidth) -> tuple[Floats, ...]:
        """The leading arguments of the compiled kernels: contexts in units in which the kernel is ``2**-q``."""
        h = self.geometry.usable(bandwidth, _LIMITS[self.dtype].smallest_share)
        scale = np.zeros(self.rows.shape[1], self.dtype)
        scale[: self.unit.size] = _UNIT * (self.unit / h[self.geometry.numeric_columns])
        penalty = (2 * _UNIT**2 * h[self.geometry.categorical_columns] ** -2.0).astype(self.dtype)
        grouped = scale.reshape(-1, fused.GROUP, 1)
        return self.rows * scale, self.row_codes, self.columns * grouped, self.column_codes, penalty, self.base


def _compact(codes: Floats) -> Floats:
    """Codes renumbered from 0 column by column, so that single precision holds them exactly."""
    out = np.empty_like(codes)
    for column in range(codes.shape[1]):
        out[:, column] = np.unique(codes[:, column], return_inverse=True)[1]
    return out


@dataclass(frozen=True, slots=True)
class FusedCV:
    """Held-out error of the RBF kernel from the compiled tiles, in one precision."""

    tiles: Tiles
    folds: Folds

    @classmethod
    def of(cls, geometry: Geometry, folds: Folds, dtype: Any = np.float64) -> FusedCV:
        return cls(Tiles.of(geometry, Layout.of(geometry.n, folds), dtype), folds)

    def in_single_precision(self) -> FusedCV:
        """The same in float32, precise enough to locate a minimum."""
        return FusedCV(Tiles.of(self.tiles.geometry, self.tiles.layout, np.float32), self.folds)

    def score(self, weight: Floats, bandwidth: Bandwidth) -> Score:
        """Cross-validated squared error and its gradient with respect to the log bandwidth."""
        return self._per_feature(weight, bandwidth) if np.ndim(bandwidth) == 1 else self._shared(weight, bandwidth)

    def _shared(self, weight: Floats, bandwidth: Bandwidth) -> Score:
        layout, arrays = self.tiles.layout, self.tiles.scaled(bandwidth)
        tiled = layout.tiled(weight, self.tiles.dtype)
        predicted, slope = np.empty(weight.size), np.empty(weight.size)

        def block(rows: slice) -> None:
            fused.shared(np.array([rows.start, rows.stop]), *arrays, tiled, layout.skips, predicted, slope)

        each_block(block, row_blocks(weight.size, _ROWS))
        residual = weight[layout.order] - predicted
        share = self.folds.share[layout.order]
        # slope is in units of 2**-q, and d q / d log h = -2 q
        gradient = -2 * np.sum(share * residual * slope) * 2 * math.log(2)
        return Score(float(np.sum(share * residual**2)), np.array([gradient]))

    def _per_feature(self, weight: Floats, bandwidth: Bandwidth) -> Score:
        layout, arrays = self.tiles.layout, self.tiles.scaled(bandwidth)
        tiled = layout.tiled(weight, self.tiles.dtype)
        share, own = self.folds.share[layout.order], weight[layout.order]
        predicted = np.empty(weight.size)
        blocks = row_blocks(weight.size, max(_ROWS_PER_CHUNK, -(-weight.size // _CHUNKS)))
        slopes = np.zeros((len(blocks), self.tiles.rows.shape[1]))
        code_slopes = np.zeros((len(blocks), self.tiles.row_codes.shape[1]))

        def block(job: tuple[int, slice]) -> None:
            index, rows = job
            bounds = np.array([rows.start, rows.stop])
            fused_features.per_feature(bounds, *arrays, tiled, own, share, layout.skips, predicted, slopes[index], code_slopes[index])

        each_block(block, enumerate(blocks))
        geometry, penalty = self.tiles.geometry, arrays[4].astype(np.float64)
        gradient = np.empty(geometry.d)
        gradient[geometry.numeric_columns] = slopes.sum(axis=0)[: geometry.numeric_columns.size]
        gradient[geometry.categorical_columns] = code_slopes.sum(axis=0) * penalty
        return Score(float(np.sum(share * (own - predicted) ** 2)), gradient * 2 * math.log(2))

    def scan(self, weight: Floats, bandwidths: Floats) -> Floats:
        """Scores on a halving grid from one pass: one exponential serves ``RUNGS`` bandwidths, the rest are squares."""
        layout, arrays = self.tiles.layout, self.tiles.scaled(float(bandwidths[0]))
        tiled = layout.tiled(weight, self.tiles.dtype)
        share, own = self.folds.share[layout.order], weight[layout.order]
        ladders = -(-bandwidths.size // fused.RUNGS)
        stretches = (2.0 ** (fused.RUNGS * np.arange(ladders))).astype(self.tiles.dtype)
        blocks = row_blocks(weight.size, _ROWS)
        scores = np.zeros((len(blocks), ladders, fused.RUNGS))

        def block(job: tuple[int, slice]) -> None:
            index, rows = job
            bounds = np.array([rows.start, rows.stop])
            fused.ladder(bounds, *arrays, tiled, own, share, layout.skips, stretches, scores[index])

        each_block(block, enumerate(blocks))
        return scores.sum(axis=0).ravel()[: bandwidths.size]


def kernel_products(geometry: Geometry, bandwidth: Bandwidth, vectors: Floats) -> Floats:
    """``K @ vectors`` with the RBF kernel between all rows; two vectors are summed on the fly, many by matrix products."""
    layout = Layout.of(geometry.n, None)
    arrays = Tiles.of(geometry, layout).scaled(bandwidth)
    out = np.zeros(vectors.shape)
    if vectors.shape[1] == 2:
        first, second = (layout.tiled(column, np.float64) for column in vectors.T)

        def block(rows: slice) -> None:
            fused.two_products(np.array([rows.start, rows.stop]), *arrays, first, second, out)
    else:
        x, codes, tiles, tile_codes, penalty, base = arrays

        def block(rows: slice) -> None:
            # Some tiles at a time, so that the piece of kernel in flight stays in cache however many rows there are.
            for part in row_blocks(layout.tile_count, _BLOCK_CELLS // (_PRODUCT_ROWS * fused.TILE)):
                columns = slice(part.start * fused.TILE, min(part.stop * fused.TILE, geometry.n))
                kernel = np.empty((rows.stop - rows.start, columns.stop - columns.start))
                fused.kernel_rows(np.array([rows.start, rows.stop]), x, codes, tiles[part], tile_codes[part], penalty, base[part], kernel)
                out[rows] += kernel @ vectors[columns]

    each_block(block, row_blocks(geometry.n, _PRODUCT_ROWS))
    return out
