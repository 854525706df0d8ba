"""Kernel sums between two sets of rows in compiled tiles: every pair is computed once and serves both sides.

The kernel is symmetric, so one pass over the pairs of two blocks adds ``K @ columns`` to the sums of one
block and ``K' @ rows`` to those of the other. Columns are stored in tiles of fixed width, feature by feature,
so that the inner loops vectorise; contexts arrive scaled such that the kernel is ``2**-q``. A tile stays in
cache while all rows pass by it, two at a time.
"""
# mypy: disable-error-code="no-untyped-def, no-untyped-call, misc, untyped-decorator"
# Calls exp2.py 50f15fa0e1e2: the cache of compiled code is keyed by this file alone.
# Calls fused.py fecfd48e00cf: the cache of compiled code is keyed by this file alone.
# Calls fused_pairs.py 1fb637bdca0f: the cache of compiled code is keyed by this file alone.

from __future__ import annotations

import numpy as np
from numba import njit

from kwis.kernel.fused import FAST, INNER, TILE
from kwis.kernel.fused_pairs import two_kernels
from kwis.runtime.compile import compiled


@njit(**INNER)
def _total(k, vector):
    total = k[0] - k[0]
    for j in range(TILE):
        total += k[j] * vector[j]
    return total


@njit(**INNER)
def _pass_by(
    bounds, both, x, codes, tile, tile_codes, penalty, base, columns, rows, row_sums, column_sums, k
):
    """Rows of ``bounds`` against one tile; the tile's own sums are added to only if ``both``."""
    for i in range(bounds[0], bounds[1], 2):
        j = min(i + 1, bounds[1] - 1)
        two_kernels(i, j, x, codes, tile, tile_codes, penalty, base, k[0], k[1])
        for v in range(columns.shape[0]):
            row_sums[i, v] += _total(k[0], columns[v])
            row_sums[j, v] += _total(k[1], columns[v])
        if both:
            for v in range(rows.shape[1]):
                first, second, sums = rows[i, v], rows[j, v], column_sums[v]
                for place in range(TILE):
                    sums[place] += k[0, place] * first + k[1, place] * second


@compiled(nogil=True, error_model="numpy", fastmath=FAST)
def add_products(same, x, codes, tiles, tile_codes, penalty, base, columns, rows, row_sums, column_sums):
    """Add ``K @ columns`` to ``row_sums`` (n, p) and ``K' @ rows`` to ``column_sums`` (tiles, q, TILE).

    With ``same`` the tiles hold the rows themselves, in their order: pairs of two tiles are computed once and
    serve both.
    """
    n = x.shape[0]
    k = np.empty((2, TILE), x.dtype)
    for t in range(tiles.shape[0]):
        before = min(t * TILE, n) if same else n
        tile, tile_code, far, vectors, sums = tiles[t], tile_codes[t], base[t], columns[t], column_sums[t]
        _pass_by((0, before), True, x, codes, tile, tile_code, penalty, far, vectors, rows, row_sums, sums, k)
        if same:
            own = (before, min(before + TILE, n))
            _pass_by(own, False, x, codes, tile, tile_code, penalty, far, vectors, rows, row_sums, sums, k)
