"""Cross-validation and kernel products on top of the compiled kernels."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kwis.kernel import fused, fused_features, pairs
from kwis.kernel.geometry import Geometry
from kwis.kernel.held_out import Folds, Score
from kwis.kernel.points import Points
from kwis.kernel.profiles import RBF
from kwis.kernel.tiling import Layout, Tiles
from kwis.runtime.threads import each_block, row_blocks
from kwis.stats.subsets import drawn_rows
from kwis.typing import Bandwidth, Floats, Ints

_BLOCK_CELLS = 1 << 20  # of kernel in flight per thread, 8 MB
_ROWS = 128  # per block
_PRODUCT_ROWS = 256  # per block of a product of many vectors
_FEW_VECTORS = 16  # up to which every pair computed once beats matrix products
_SAMPLED, _PARTS = 1_000, 50  # rows of a sampled scan, and parts that tell its error
_ROWS_PER_CHUNK, _CHUNKS = 320, 32  # blocks that carry column sums, memory 32 n at most
# A row whose kernels sum to less has all its neighbours at a large distance, which the slope must count from
# the nearest one: more of the digits than these would cancel.
_ENOUGH = {np.dtype(np.float64): 2.0**-64, np.dtype(np.float32): 2.0**-20}


@dataclass(frozen=True, slots=True)
class FusedCV:
    """Held-out error of the RBF kernel from the compiled tiles, in one precision.

    Every pair of rows is computed once, for both; rows too remote for that go row by row.
    """

    tiles: Tiles
    folds: Folds
    _spare: list[Floats] = field(
        default_factory=list, repr=False, compare=False
    )  # memory for kernels, kept between evaluations

    @classmethod
    def of(cls, geometry: Geometry, folds: Folds, dtype: Any = np.float64) -> FusedCV:
        return cls(Tiles.of(geometry, Layout.of(geometry.n, folds), dtype), folds)

    def rough(self) -> FusedCV:
        """The same in float32, precise enough to locate a minimum."""
        return FusedCV(Tiles.of(self.tiles.geometry, self.tiles.layout, np.float32), self.folds)

    def score(self, weight: Floats, bandwidth: Bandwidth) -> Score:
        """Cross-validated squared error and its gradient with respect to the log bandwidth."""
        arrays, vectors, own = (
            self.tiles.scaled(bandwidth),
            self._vectors(weight),
            weight[self.tiles.layout.order],
        )
        if np.ndim(bandwidth) == 0:
            return self._shared(arrays, vectors, own)
        return self._per_feature(arrays, vectors, own)

    def _vectors(self, weight: Floats) -> tuple[Floats, Floats]:
        """Mass and load, which is mass times weight, by tile."""
        layout, dtype = self.tiles.layout, self.tiles.dtype
        return layout.tiled(self.folds.mass, dtype), layout.tiled(self.folds.mass * weight, dtype)

    def _by_row(self, *columns: Floats) -> Floats:
        return np.stack(columns, axis=1).astype(self.tiles.dtype)

    def _shared(self, arrays: tuple[Floats, ...], vectors: tuple[Floats, Floats], own: Floats) -> Score:
        mass, share = self.folds.mass[self.tiles.layout.order], self.folds.share[self.tiles.layout.order]
        sums = pairs.shared_sums(self.tiles.layout, arrays, vectors, self._by_row(mass, mass * own))
        remote = np.flatnonzero(sums[:, 0] < _ENOUGH[self.tiles.dtype])
        sums[remote] = 1.0
        total, load, moment, load_moment = sums.T
        predicted = load / total
        slope = (load_moment - predicted * moment) / total
        if remote.size:
            predicted[remote], slope[remote] = self._row_by_row(arrays, vectors, remote)
        residual = own - predicted
        # slope is in units of 2**-q, and d q / d log h = -2 q
        gradient = -2 * np.sum(share * residual * slope) * 2 * math.log(2)
        return Score(float(np.sum(share * residual**2)), np.array([gradient]))

    def _row_by_row(
        self, arrays: tuple[Floats, ...], vectors: tuple[Floats, Floats], rows: Ints
    ) -> tuple[Floats, Floats]:
        """Held-out means of the given rows and their slopes, each row counted from its nearest neighbour."""
        (x, codes, *columns), skips = arrays, self.tiles.layout.skips[rows]
        x, codes = x[rows], codes[rows]
        predicted, slope = np.empty(rows.size), np.empty(rows.size)

        def block(part: slice) -> None:
            fused.shared(
                np.array([part.start, part.stop]), x, codes, *columns, *vectors, skips, predicted, slope
            )

        each_block(block, row_blocks(rows.size, _ROWS))
        return predicted, slope

    def _per_feature(self, arrays: tuple[Floats, ...], vectors: tuple[Floats, Floats], own: Floats) -> Score:
        layout, geometry = self.tiles.layout, self.tiles.geometry
        remote = _remote(arrays)
        if 2 * np.count_nonzero(remote) < own.size:
            predicted, slopes, code_slopes = self._pair_by_pair(arrays, vectors, own, remote)
        else:
            predicted, slopes, code_slopes = self._features_row_by_row(
                arrays, vectors, own, np.arange(own.size)
            )
        share, penalty = self.folds.share[layout.order], arrays[4].astype(np.float64)
        gradient = np.empty(geometry.d)
        gradient[geometry.numeric_columns] = slopes[: geometry.numeric_columns.size]
        gradient[geometry.categorical_columns] = code_slopes * penalty
        return Score(float(np.sum(share * (own - predicted) ** 2)), gradient * 2 * math.log(2))

    def _pair_by_pair(
        self,
        arrays: tuple[Floats, ...],
        vectors: tuple[Floats, Floats],
        own: Floats,
        remote: NDArray[np.bool_],
    ) -> tuple[Floats, Floats, Floats]:
        """Held-out means and slopes in two passes over the pairs; the remote rows one by one."""
        layout = self.tiles.layout
        mass, share = self.folds.mass[layout.order], self.folds.share[layout.order]
        kept = self._spare.pop() if self._spare else pairs.room_for_kernels(layout, self.tiles.dtype)
        total, load = pairs.first_pass(layout, arrays, vectors, self._by_row(mass, mass * own), kept).T
        alone = remote | (total < _ENOUGH[self.tiles.dtype])
        predicted = np.where(alone, 0.0, load) / np.where(alone, 1.0, total)
        factor = np.where(alone, 0.0, -2 * share * (own - predicted)) / np.where(alone, 1.0, total)
        slopes, code_slopes = pairs.second_pass(
            layout, arrays, self._by_row(mass, mass * own, factor, factor * predicted), kept
        )
        self._spare.append(kept)
        rows = np.flatnonzero(alone)
        if rows.size:
            predicted[rows], more, more_codes = self._features_row_by_row(arrays, vectors, own, rows)
            slopes, code_slopes = slopes + more, code_slopes + more_codes
        return predicted, slopes, code_slopes

    def _features_row_by_row(
        self, arrays: tuple[Floats, ...], vectors: tuple[Floats, Floats], own: Floats, rows: Ints
    ) -> tuple[Floats, Floats, Floats]:
        """Held-out means of the given rows, and what they add to the slopes of numeric and of categorical
        columns.
        """
        (x, codes, *columns), layout = arrays, self.tiles.layout
        x, codes, own, skips, share = (
            x[rows],
            codes[rows],
            own[rows],
            layout.skips[rows],
            self.folds.share[layout.order[rows]],
        )
        predicted = np.empty(rows.size)
        blocks = row_blocks(rows.size, max(_ROWS_PER_CHUNK, -(-rows.size // _CHUNKS)))
        slopes, code_slopes = np.zeros((len(blocks), x.shape[1])), np.zeros((len(blocks), codes.shape[1]))

        def block(job: tuple[int, slice]) -> None:
            index, part = job
            bounds, out = np.array([part.start, part.stop]), (predicted, slopes[index], code_slopes[index])
            fused_features.per_feature(bounds, x, codes, *columns, *vectors, own, share, skips, *out)

        each_block(block, enumerate(blocks))
        return predicted, slopes.sum(axis=0), code_slopes.sum(axis=0)

    def scan(self, weight: Floats, bandwidths: Floats) -> Floats:
        """Scores on a halving grid from one pass: one exponential serves ``RUNGS`` bandwidths, the rest are
        squares.
        """
        layout, (x, codes, *columns) = self.tiles.layout, self.tiles.scaled(float(bandwidths[0]))
        vectors = self._vectors(weight)
        share, own = self.folds.share[layout.order], weight[layout.order]
        ladders = -(-bandwidths.size // fused.RUNGS)
        stretches = (2.0 ** (fused.RUNGS * np.arange(ladders))).astype(self.tiles.dtype)
        blocks = row_blocks(own.size, _ROWS)
        scores = np.zeros((len(blocks), ladders, fused.RUNGS))

        def block(job: tuple[int, slice]) -> None:
            index, part = job
            bounds = np.array([part.start, part.stop])
            fused.ladder(
                bounds, x, codes, *columns, *vectors, own, share, layout.skips, stretches, scores[index]
            )

        each_block(block, enumerate(blocks))
        return scores.reshape(len(blocks), -1)[:, : bandwidths.size].sum(axis=0)

    def scan_many(self, weights: Floats, bandwidths: Floats, wanted: Floats) -> Floats:
        """``(bandwidths, vectors)`` scores of the columns of ``weights`` where they are ``wanted``, nan
        elsewhere. Those of a vector have the same bits whatever else is wanted at the same bandwidths.
        """
        if not wanted.any():
            return np.full(wanted.shape, np.nan)
        from kwis.kernel.scans import scores_at

        every = np.arange(len(weights))
        parts = [every[rows] for rows in row_blocks(every.size, _ROWS)]
        return scores_at(self.tiles, self.folds, weights, bandwidths, wanted, parts).sum(axis=0)

    def sampled_scan(self, weights: Floats, bandwidths: Floats) -> Floats:
        """``(parts, bandwidths, vectors)`` of the scores over the parts of a random sample of rows."""
        from kwis.kernel.scans import scores_at

        n = len(weights)
        # Dealt out like cards, rows of one fold stay neighbours within a part, and every part is a sample.
        dealt = drawn_rows(n, min(n, _SAMPLED)) if n > _SAMPLED else np.arange(n)
        parts = [np.sort(dealt[first::_PARTS]) for first in range(_PARTS)]
        everywhere = np.ones((bandwidths.size, weights.shape[1]), dtype=bool)
        return scores_at(self.tiles, self.folds, weights, bandwidths, everywhere, parts)


def _remote(arrays: tuple[Floats, ...]) -> NDArray[np.bool_]:
    """Rows for which some term of the squared distances is so large that it must cancel exactly."""
    x, penalty = arrays[0], arrays[4]
    if penalty.max(initial=0.0) > fused_features.REMOTE:
        return np.ones(x.shape[0], dtype=bool)
    return np.asarray((np.abs(x) > math.sqrt(fused_features.REMOTE)).any(axis=1))


def kernel_products(geometry: Geometry, bandwidth: Bandwidth, vectors: Floats) -> Floats:
    """``K @ vectors`` with the RBF kernel between all rows; few vectors are summed on the fly, many by matrix
    products.
    """
    if vectors.shape[1] <= _FEW_VECTORS:
        return Points.of(geometry, bandwidth, RBF).all_pairs(vectors)
    layout = Layout.of(geometry.n, None)
    x, codes, tiles, tile_codes, penalty, base = Tiles.of(geometry, layout).scaled(bandwidth)
    out = np.zeros(vectors.shape)

    def block(rows: slice) -> None:
        # Some tiles at a time, so that the piece of kernel in flight stays in cache however many rows there
        # are.
        for part in row_blocks(layout.tile_count, _BLOCK_CELLS // (_PRODUCT_ROWS * fused.TILE)):
            columns = slice(part.start * fused.TILE, min(part.stop * fused.TILE, geometry.n))
            kernel = np.empty((rows.stop - rows.start, columns.stop - columns.start))
            fused.kernel_rows(
                np.array([rows.start, rows.stop]),
                x,
                codes,
                tiles[part],
                tile_codes[part],
                penalty,
                base[part],
                kernel,
            )
            out[rows] += kernel @ vectors[columns]

    each_block(block, row_blocks(geometry.n, _PRODUCT_ROWS))
    return out
