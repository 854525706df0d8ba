"""Kernel products at several bandwidths from one pass over the pairs of rows, where each is the one before
divided by the root of 2, once or several times.

Dividing the bandwidth of the RBF kernel by the root of 2 squares it, so the exponential, and the distance it
is taken of, serve a whole ladder. A rung below the widest by a factor of 64 has lost four of sixteen digits
to the squares. Distances between few rows of many columns are matrix products.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from kwis.kernel import distances_are_products, kernel_products, one_pass_per_bandwidth
from kwis.kernel.geometry import Geometry, Scaled, expands, mismatches, squared_distances
from kwis.kernel.profiles import Kernel
from kwis.kernel.tiling import UNIT, Layout, Tiles
from kwis.runtime.threads import each_block, row_blocks
from kwis.typing import Floats, Ints

_ROWS = 128  # per block
_DEEPEST = 16  # squarings of one ladder


def kernel_products_along(
    context: Floats, bandwidths: Floats, kernel: Kernel, categorical: tuple[int, ...], vectors: Floats
) -> Floats:
    """``K_h @ vectors_h``, (G, n, 2), for finite positive bandwidths ``h`` (G,) and two vectors for each, (G,
    n, 2).
    """
    geometry = Geometry.of(context, categorical)
    out = np.empty(vectors.shape)
    if distances_are_products(geometry, kernel):
        smallest = geometry.scaled(float(bandwidths.min()))
        if expands(smallest.numeric, smallest.numeric):
            for rungs, squarings in ladders(bandwidths):
                widest = geometry.scaled(float(bandwidths[rungs[0]]))
                out[rungs] = _from_products(widest, squarings, vectors[rungs])
            return out
    if one_pass_per_bandwidth(geometry, kernel):
        for place, bandwidth in enumerate(bandwidths.tolist()):
            out[place] = kernel_products(context, bandwidth, kernel, categorical, vectors[place])
        return out
    for rungs, squarings in ladders(bandwidths):
        out[rungs] = _products(geometry, float(bandwidths[rungs[0]]), squarings, vectors[rungs])
    return out


def ladders(bandwidths: Floats) -> Iterator[tuple[Ints, Ints]]:
    """Bandwidths that follow from one another by squaring the kernel: their places, widest first, and how
    often to square it before each.
    """
    left = np.argsort(-bandwidths, kind="stable")
    while left.size:
        squarings = 2 * np.log2(bandwidths[left[0]] / bandwidths[left])
        whole = np.rint(squarings)
        on = (np.abs(squarings - whole) < 1e-12) & (whole <= _DEEPEST)
        yield left[on], np.diff(whole[on], prepend=0.0).astype(np.int64)
        left = left[~on]


def _products(geometry: Geometry, widest: float, squarings: Ints, vectors: Floats) -> Floats:
    from kwis.kernel import fused_ladder

    layout = Layout.of(geometry.n, None)
    arrays = Tiles.of(geometry, layout).scaled(widest)
    by_tile = _by_tile(layout, vectors)
    out = np.empty(vectors.shape)

    def block(rows: slice) -> None:
        fused_ladder.ladder_products(np.array([rows.start, rows.stop]), *arrays, squarings, by_tile, out)

    each_block(block, row_blocks(geometry.n, _ROWS))
    return out


def _by_tile(layout: Layout, vectors: Floats) -> Floats:
    """``(tiles, rungs, 2, TILE)``, 0 where a tile has no row."""
    tiled = np.stack([[layout.tiled(column, np.float64) for column in pair.T] for pair in vectors])
    return np.ascontiguousarray(tiled.transpose(2, 0, 1, 3))


def _from_products(points: Scaled, squarings: Ints, vectors: Floats) -> Floats:
    """The same for contexts in units of the widest bandwidth."""
    from kwis.kernel import fused_ladder

    n = points.codes.shape[0]
    by_tile = _by_tile(Layout.of(n, None), vectors)
    # In the places of the last tile that no row has, any row does: what they are summed with is 0.
    columns = points.take(np.minimum(np.arange(by_tile.shape[0] * by_tile.shape[3]), n - 1))

    def block(rows: slice) -> Floats:
        here = points.take(rows)
        q = squared_distances(here.numeric, columns.numeric, by_difference=False)
        if here.penalty.size:
            q += 2 * mismatches(here, columns)
        q *= UNIT**2
        out = np.empty((len(vectors), len(q), 2))
        fused_ladder.ladder_from(q.reshape(len(q), len(by_tile), -1), squarings, by_tile, out)
        return out

    return np.concatenate(each_block(block, row_blocks(n, _ROWS)), axis=1)
