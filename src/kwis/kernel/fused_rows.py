"""Kernel sums at some rows over others in compiled tiles: :mod:`kwis.kernel.fused_sums` for one side only."""
# mypy: disable-error-code="no-untyped-def, no-untyped-call, misc"
# Calls exp2.py 50f15fa0e1e2: the cache of compiled code is keyed by this file alone.
# Calls fused.py 738770c38d9e: the cache of compiled code is keyed by this file alone.

from __future__ import annotations

from kwis.kernel.exp2 import exp2
from kwis.kernel.fused import FAST, GROUP, TILE
from kwis.runtime.compile import compiled


# One body, and its memory handed in: calls for every pair of rows would take as long as their sums.
@compiled(nogil=True, error_model="numpy", fastmath=FAST)
def add_row_products(x, codes, tiles, tile_codes, penalty, base, columns, k, sums):
    """Add ``K @ columns`` to ``sums`` (n, p); ``columns`` is (tiles, p, TILE), ``k`` (2, TILE).

    A tile stays in cache while all rows pass by it, two at a time: loading it takes as long as the
    arithmetic of one.
    """
    near, also = k[0], k[1]
    zero = near[0] - near[0]
    n, count = sums.shape
    for tile in range(tiles.shape[0]):
        far = base[tile]
        for i in range(0, n, 2):
            other = i + (i + 1 < n)
            here, there = x[i], x[other]
            for j in range(TILE):
                near[j] = far[j]
                also[j] = far[j]
            for group in range(tiles.shape[1]):
                t, at = tiles[tile, group], GROUP * group
                t0, t1 = t[0], t[1]
                t2, t3 = t[2], t[3]
                x0, x1 = here[at], here[at + 1]
                x2, x3 = here[at + 2], here[at + 3]
                y0, y1 = there[at], there[at + 1]
                y2, y3 = there[at + 2], there[at + 3]
                for j in range(TILE):
                    a = x0 - t0[j]
                    b = x1 - t1[j]
                    c = x2 - t2[j]
                    d = x3 - t3[j]
                    near[j] += (a * a + b * b) + (c * c + d * d)
                    a = y0 - t0[j]
                    b = y1 - t1[j]
                    c = y2 - t2[j]
                    d = y3 - t3[j]
                    also[j] += (a * a + b * b) + (c * c + d * d)
            for column in range(penalty.shape[0]):
                code, partner = codes[i, column], codes[other, column]
                others, cost = tile_codes[tile, column], penalty[column]
                for j in range(TILE):
                    near[j] += cost if others[j] != code else zero
                    also[j] += cost if others[j] != partner else zero
            for j in range(TILE):
                near[j] = exp2(-near[j])
                also[j] = exp2(-also[j])
            for v in range(0, count, 2):
                w = v + (v + 1 < count)
                first, second = columns[tile, v], columns[tile, w]
                a0, a1, b0, b1 = zero, zero, zero, zero
                for j in range(TILE):
                    a0 += near[j] * first[j]
                    a1 += near[j] * second[j]
                    b0 += also[j] * first[j]
                    b1 += also[j] * second[j]
                sums[i, v] += a0
                if w > v:
                    sums[i, w] += a1
                if other > i:
                    sums[other, v] += b0
                    if w > v:
                        sums[other, w] += b1
