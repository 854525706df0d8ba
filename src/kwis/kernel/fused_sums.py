"""Kernel sums between two sets of rows in compiled tiles: every pair is computed once and serves both sides.

The kernel is symmetric, so one pass over the pairs of two blocks adds ``K @ columns`` to the sums of one
block and ``K' @ rows`` to those of the other. Columns are stored in tiles of fixed width, feature by feature,
so that the inner loops vectorise; contexts arrive scaled such that the kernel is ``2**-q``. A tile stays in
cache while all rows pass by it, two at a time.
"""
# mypy: disable-error-code="no-untyped-def, no-untyped-call, misc, untyped-decorator"
# Calls exp2.py 50f15fa0e1e2: the cache of compiled code is keyed by this file alone.
# Calls fused.py 738770c38d9e: the cache of compiled code is keyed by this file alone.
# Calls fused_pairs.py bfbf3de45fab: the cache of compiled code is keyed by this file alone.

from __future__ import annotations

from typing import Any

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


def add_products(*arrays: Any) -> None:
    """Add ``K @ columns`` to ``row_sums`` (n, p) and ``K' @ rows`` to ``column_sums`` (tiles, q, TILE): the
    last two of ``arrays``, which are those of :func:`_add`.

    With ``same`` the tiles hold the rows themselves, in their order: pairs of two tiles are computed once and
    serve both.
    """
    _add(*arrays, np.empty((2, TILE), arrays[1].dtype))


# Its memory is handed in: an array made in compiled code adds to the time it takes to compile.
@compiled(nogil=True, error_model="numpy", fastmath=FAST)
def _add(same, x, codes, tiles, tile_codes, penalty, base, columns, rows, row_sums, column_sums, k):
    n = x.shape[0]
    first, second = k[0], k[1]
    for t in range(tiles.shape[0]):
        tile, tile_code, far = tiles[t], tile_codes[t], base[t]
        # With ``same``, rows before the tile, then those that it holds, whose pairs are met from both sides.
        begin = t * TILE if same and t * TILE < n else n
        end = begin + TILE if same and begin + TILE < n else n
        for i in range(0, end, 2):
            stop = begin if i < begin else end
            j = i + (i + 1 < stop)
            two_kernels(i, j, x, codes, tile, tile_code, penalty, far, first, second)
            for v in range(columns.shape[1]):
                row_sums[i, v] += _total(first, columns[t, v])
                row_sums[j, v] += _total(second, columns[t, v])
            if i < begin:
                for v in range(rows.shape[1]):
                    one, other, sums = rows[i, v], rows[j, v], column_sums[t, v]
                    for place in range(TILE):
                        sums[place] += first[place] * one + second[place] * other
