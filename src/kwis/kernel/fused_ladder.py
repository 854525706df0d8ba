"""Products with the RBF kernel at several bandwidths in compiled tiles: one exponential at the widest,
squares of it at the others.
"""
# mypy: disable-error-code="no-untyped-def, no-untyped-call, misc"
# Calls exp2.py 9bf39b633443: the cache of compiled code is keyed by this file alone.
# Calls fused.py 8c9cc5bcedd1: the cache of compiled code is keyed by this file alone.

from __future__ import annotations

import numpy as np
from numba import njit

from kwis.kernel.exp2 import exp2
from kwis.kernel.fused import FAST, INNER, TILE, TOGETHER, distances
from kwis.runtime.compile import compiled

_SMALLEST = 2.0**-500  # its square is still a normal number; what is less counts for nothing


@njit(**INNER)
def _climb(q, squarings, vectors, k, sums):
    """Add the tile's two sums at every rung, each with the kernel of the one before squared as often as asked
    for.
    """
    for j in range(TILE):
        k[j] = exp2(-q[j])
    for rung in range(squarings.shape[0]):
        first, second = vectors[rung, 0], vectors[rung, 1]
        a, b = 0.0, 0.0
        for _ in range(squarings[rung] - 1):
            for j in range(TILE):
                k[j] = k[j] * k[j] if k[j] > _SMALLEST else 0.0
        if squarings[rung] > 0:  # the last one along with the sums
            for j in range(TILE):
                square = k[j] * k[j] if k[j] > _SMALLEST else 0.0
                k[j] = square
                a += square * first[j]
                b += square * second[j]
        else:
            for j in range(TILE):
                a += k[j] * first[j]
                b += k[j] * second[j]
        sums[rung, 0] += a
        sums[rung, 1] += b


@compiled(nogil=True, error_model="numpy", fastmath=FAST)
def ladder_products(rows, x, codes, tiles, tile_codes, penalty, base, squarings, vectors, out):
    """Write the two products of every rung to ``out`` (rungs, n, 2); ``vectors`` is (tiles, rungs,
    2, TILE).
    """
    skip = np.zeros(2, np.int64)
    q, least, k = np.empty((TOGETHER, *base.shape)), np.empty(TOGETHER), np.empty(TILE)
    sums = np.empty((TOGETHER, squarings.shape[0], 2))
    for start in range(rows[0], rows[1], TOGETHER):
        last = min(start + TOGETHER, rows[1])
        distances((start, last), x, codes, tiles, tile_codes, penalty, base, skip, q, least)
        sums[:] = 0.0
        for tile in range(tiles.shape[0]):
            for r in range(last - start):
                _climb(q[r, tile], squarings, vectors[tile], k, sums[r])
        for r in range(last - start):
            for rung in range(squarings.shape[0]):
                out[rung, start + r, 0] = sums[r, rung, 0]
                out[rung, start + r, 1] = sums[r, rung, 1]


@compiled(nogil=True, error_model="numpy", fastmath=FAST)
def ladder_from(q, squarings, vectors, out):
    """The same for rows of which the distances ``q`` (rows, tiles, TILE) are known; ``out`` is (rungs, rows,
    2).
    """
    k, sums = np.empty(TILE), np.empty((squarings.shape[0], 2))
    for row in range(q.shape[0]):
        sums[:] = 0.0
        for tile in range(q.shape[1]):
            _climb(q[row, tile], squarings, vectors[tile], k, sums)
        for rung in range(squarings.shape[0]):
            out[rung, row, 0] = sums[rung, 0]
            out[rung, row, 1] = sums[rung, 1]
