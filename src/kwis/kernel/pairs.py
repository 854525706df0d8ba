"""Held-out sums of all rows from one pass over the unordered pairs of rows, strip by strip."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kwis.kernel import fused, fused_kept, fused_pairs
from kwis.kernel.tiling import Layout, Strip
from kwis.runtime.threads import each_block
from kwis.typing import Floats

KEPT_CELLS = 12 << 20  # of kernel that may be kept between two passes, 96 MB in double precision


def room_for_kernels(layout: Layout, dtype: Any) -> Floats:
    """Memory for the kernels of all pairs of tiles, none if they are too many."""
    pairs = layout.pair_count if layout.pair_count * fused.TILE**2 <= KEPT_CELLS else 0
    return np.empty((pairs, fused.TILE, fused.TILE), dtype)


def _both_sides(layout: Layout, kinds: int, add: Callable[[Strip, Floats, Floats], None]) -> Floats:
    """``(n, kinds)`` sums, where ``add`` adds a strip's to those of its rows and of the columns it meets."""
    rows = np.zeros((layout.order.size, kinds))

    def strip_sums(strip: Strip) -> Floats:
        columns = np.zeros((layout.tile_count - strip.bounds[0], kinds, fused.TILE))
        add(strip, rows, columns)
        return columns

    total = np.zeros((layout.tile_count, kinds, fused.TILE))
    for strip, columns in zip(layout.strips, each_block(strip_sums, layout.strips), strict=True):
        total[strip.bounds[0] :] += columns
    rows += total.transpose(0, 2, 1).reshape(-1, kinds)[layout.slot]
    return rows


def shared_sums(
    layout: Layout, arrays: tuple[Floats, ...], vectors: tuple[Floats, Floats], own: Floats
) -> Floats:
    """``K @ vectors`` and ``(q K) @ vectors`` over the rows of other folds, ``(n, 4)``; ``own`` (n, 2) holds
    the vectors by row.
    """

    def add(strip: Strip, rows: Floats, columns: Floats) -> None:
        fused_pairs.shared_sums(
            strip.bounds, layout.starts, layout.later, *arrays, *vectors, own, rows, columns
        )

    return _both_sides(layout, 4, add)


def first_pass(
    layout: Layout, arrays: tuple[Floats, ...], vectors: tuple[Floats, Floats], own: Floats, kept: Floats
) -> Floats:
    """``K @ vectors`` over the rows of other folds, ``(n, 2)``; the kernels stay in ``kept`` if there is
    room.
    """

    def add(strip: Strip, rows: Floats, columns: Floats) -> None:
        fused_kept.kernels(
            strip.bounds,
            layout.starts,
            layout.later,
            *arrays,
            *vectors,
            own,
            kept[strip.pairs],
            rows,
            columns,
        )

    return _both_sides(layout, 2, add)


def second_pass(
    layout: Layout, arrays: tuple[Floats, ...], own: Floats, kept: Floats
) -> tuple[Floats, Floats]:
    """Slopes of the score by numeric and by categorical column; ``own`` (n, 4): mass, load, factor, factor
    times held-out mean.
    """
    x, codes = arrays[:2]
    slopes, code_slopes = (
        np.zeros((len(layout.strips), x.shape[1])),
        np.zeros((len(layout.strips), codes.shape[1])),
    )
    about = np.zeros((layout.tile_count * fused.TILE, 4), x.dtype)
    about[layout.slot] = own
    by_tile = np.ascontiguousarray(about.reshape(layout.tile_count, fused.TILE, 4).transpose(0, 2, 1))

    def strip_slopes(job: tuple[int, Strip]) -> None:
        index, strip = job
        shape = strip.bounds, layout.starts, layout.later
        fused_kept.kernel_slopes(
            *shape, *arrays, by_tile, own, kept[strip.pairs], slopes[index], code_slopes[index]
        )

    each_block(strip_slopes, enumerate(layout.strips))
    return slopes.sum(axis=0), code_slopes.sum(axis=0)
