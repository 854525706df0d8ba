"""Kernel sums between two sets of rows in compiled tiles: every pair is computed once and serves both sides.

The kernel is symmetric, so one pass over the pairs of two blocks adds ``K @ columns`` to the sums of one
block and ``K' @ rows`` to those of the other. Columns are stored in tiles of fixed width, feature by feature,
so that the inner loops vectorise; contexts arrive scaled such that the kernel is ``2**-q``. A tile stays in
cache while all rows pass by it, two at a time.
"""
# mypy: disable-error-code="no-untyped-def, no-untyped-call, misc, untyped-decorator"
# Calls exp2.py 9bf39b633443: the cache of compiled code is keyed by this file alone.

from __future__ import annotations

import numpy as np
from numba import njit

from kwis.kernel.exp2 import exp2
from kwis.runtime.compile import compiled

TILE = 256
GROUP = 4  # features handled together
FAST = {"nnan", "ninf", "nsz", "reassoc", "contract", "arcp"}


@njit(fastmath=FAST)
def _distances(x, y, tile, base, q, p):
    """Squared distances ``q`` and ``p`` of two rows to the columns of a tile; ``base`` is huge where a tile
    has no row.
    """
    for j in range(TILE):
        q[j] = base[j]
        p[j] = base[j]
    for group in range(tile.shape[0]):
        t, first = tile[group], GROUP * group
        x0, x1, x2, x3 = x[first], x[first + 1], x[first + 2], x[first + 3]
        y0, y1, y2, y3 = y[first], y[first + 1], y[first + 2], y[first + 3]
        for j in range(TILE):
            t0, t1, t2, t3 = t[0, j], t[1, j], t[2, j], t[3, j]
            a, b, c, d = x0 - t0, x1 - t1, x2 - t2, x3 - t3
            q[j] += (a * a + b * b) + (c * c + d * d)
            e, f, g, h = y0 - t0, y1 - t1, y2 - t2, y3 - t3
            p[j] += (e * e + f * f) + (g * g + h * h)


@njit(fastmath=FAST)
def _mismatches(codes, tile_codes, penalty, q):
    for column in range(penalty.shape[0]):
        own, others, cost = codes[column], tile_codes[column], penalty[column]
        for j in range(TILE):
            q[j] += cost if others[j] != own else cost - cost


@njit(fastmath=FAST)
def _to_kernel(q):
    for j in range(TILE):
        q[j] = exp2(-q[j])


@njit(fastmath=FAST)
def _total(k, vector):
    total = k[0] - k[0]
    for j in range(TILE):
        total += k[j] * vector[j]
    return total


@njit(fastmath=FAST)
def _pass_by(
    bounds, both, x, codes, tile, tile_codes, penalty, base, columns, rows, row_sums, column_sums, k
):
    """Rows of ``bounds`` against one tile; the tile's own sums are added to only if ``both``."""
    for i in range(bounds[0], bounds[1], 2):
        single = i + 1 == bounds[1]
        other = i if single else i + 1
        _distances(x[i], x[other], tile, base, k[0], k[1])
        _mismatches(codes[i], tile_codes, penalty, k[0])
        _mismatches(codes[other], tile_codes, penalty, k[1])
        _to_kernel(k[0])
        _to_kernel(k[1])
        for v in range(columns.shape[0]):
            row_sums[i, v] += _total(k[0], columns[v])
            if not single:
                row_sums[other, v] += _total(k[1], columns[v])
        if both:
            for v in range(rows.shape[1]):
                first = rows[i, v]
                second = first - first if single else rows[other, v]
                sums = column_sums[v]
                for j in range(TILE):
                    sums[j] += k[0, j] * first + k[1, j] * second


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
