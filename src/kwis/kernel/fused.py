"""The RBF kernel in compiled tiles: distance, exponential and sums fused, nothing of size n by n ever stored.

Columns are cut into tiles of fixed width, stored feature by feature so that the inner loops run over constant
strides and vectorise. A few rows go through the tiles together, since a tile read from memory for one row
would keep the arithmetic waiting. Their squared distances go to buffers of length n; a row's minimum is taken
off before the exponential (the ratio is unchanged, the largest term becomes 1, and no bandwidth gives 0/0).
Contexts arrive scaled so that the kernel is ``2**-q``. Each row is summed by one thread, in double precision
across tiles.

Everything here is compiled for float64 and, to locate a minimum, for float32.
"""
# mypy: disable-error-code="no-untyped-def, no-untyped-call, misc"
# Calls exp2.py 50f15fa0e1e2: the cache of compiled code is keyed by this file alone.

from __future__ import annotations

import numpy as np
from numba import njit

from kwis.kernel.exp2 import UNWRAPPED, exp2, smaller
from kwis.runtime.compile import compiled

TILE = 256
GROUP = 4  # features handled together, at constant offsets
TOGETHER = 4  # rows that go through the tiles together, an even number
# Bandwidths from one exponential, a multiple of three: squaring the kernel divides the bandwidth by sqrt(2).
RUNGS = 9
FAST = {"nnan", "ninf", "nsz", "reassoc", "contract", "arcp"}
INNER = {"fastmath": FAST, **UNWRAPPED}


@njit(**INNER)
def numeric_distances(x, y, tile, base, q, p):
    """Squared distances ``q`` and ``p`` from two rows to a tile, on top of ``base`` (huge for padding).

    Two at a time, because loading a tile takes as long as the arithmetic of one row.
    """
    for j in range(TILE):
        q[j] = base[j]
        p[j] = base[j]
    for group in range(tile.shape[0]):
        t, first = tile[group], GROUP * group
        t0, t1 = t[0], t[1]
        t2, t3 = t[2], t[3]
        x0, x1 = x[first], x[first + 1]
        x2, x3 = x[first + 2], x[first + 3]
        y0, y1 = y[first], y[first + 1]
        y2, y3 = y[first + 2], y[first + 3]
        for j in range(TILE):
            a = x0 - t0[j]
            b = x1 - t1[j]
            c = x2 - t2[j]
            d = x3 - t3[j]
            q[j] += (a * a + b * b) + (c * c + d * d)
            a = y0 - t0[j]
            b = y1 - t1[j]
            c = y2 - t2[j]
            d = y3 - t3[j]
            p[j] += (a * a + b * b) + (c * c + d * d)


@njit(**INNER)
def add_mismatches(codes, tile_codes, penalty, q):
    """Add the penalty of every categorical column that differs; returns the smallest distance."""
    for column in range(penalty.shape[0]):
        own, others, cost = codes[column], tile_codes[column], penalty[column]
        for j in range(TILE):
            q[j] += cost if others[j] != own else cost - cost
    least = q[0]
    for j in range(TILE):
        least = smaller(least, q[j])
    return least


@njit(**INNER)
def last_together(i, stop, skips):
    """End of the rows from ``i`` that can go through the tiles together: few, and of one fold."""
    last = i + 1
    while last < min(i + TOGETHER, stop) and skips[last, 0] == skips[i, 0]:
        last += 1
    return last


@njit(**INNER)
def distances(rows, x, codes, tiles, tile_codes, penalty, base, skip, q, least):
    """Squared distances ``q`` from up to ``TOGETHER`` rows to all tiles but ``skip[0] <= tile < skip[1]``,
    and the smallest of each row.
    """
    for r in range(rows[1] - rows[0]):
        least[r] = np.finfo(
            least.dtype
        ).max  # above the padding; infinity is not for code compiled to do without
    for tile in range(tiles.shape[0]):
        if tile < skip[0] or tile >= skip[1]:
            for r in range(0, rows[1] - rows[0], 2):
                # The partner of an odd last row is itself, written to a buffer that nobody reads.
                i, j = rows[0] + r, min(rows[0] + r + 1, rows[1] - 1)
                numeric_distances(x[i], x[j], tiles[tile], base[tile], q[r, tile], q[r + 1, tile])
            for r in range(rows[1] - rows[0]):
                nearest = add_mismatches(codes[rows[0] + r], tile_codes[tile], penalty, q[r, tile])
                least[r] = smaller(least[r], nearest)


@njit(**INNER)
def _mean_and_moment(q, mass, load, least):
    """``sum k m, sum k l, sum k u m, sum k u l`` over a tile, with ``u = q - least`` and ``k = 2**-u``."""
    zero = q[0] - q[0]
    g, a, b, c = zero, zero, zero, zero
    for j in range(TILE):
        u = q[j] - least
        k = exp2(-u)
        km, kl = k * mass[j], k * load[j]
        g += km
        a += kl
        b += km * u
        c += kl * u
    return g, a, b, c


@compiled(nogil=True, error_model="numpy", fastmath=FAST)
def shared(rows, x, codes, tiles, tile_codes, penalty, base, mass, load, skips, predicted, slope):
    """Held-out mean weight for each row, and its derivative with respect to ``-log2`` of all kernels
    together.

    With ``l`` the load of a column, its mass ``m`` times its weight, ``predicted = sum k l / sum k m`` and
    ``slope = sum k (l - predicted m) q / sum k m``; taking the same number off all ``q`` of a row changes
    nothing, so the accurate ``q - least`` is used.
    """
    q, least = np.empty((TOGETHER, *base.shape), x.dtype), np.empty(TOGETHER, x.dtype)
    first = rows[0]
    while first < rows[1]:
        last, skip = last_together(first, rows[1], skips), skips[first]
        distances((first, last), x, codes, tiles, tile_codes, penalty, base, skip, q, least)
        for r in range(last - first):
            g, a, b, c = 0.0, 0.0, 0.0, 0.0
            for tile in range(tiles.shape[0]):
                if tile < skip[0] or tile >= skip[1]:
                    tile_g, tile_a, tile_b, tile_c = _mean_and_moment(
                        q[r, tile], mass[tile], load[tile], least[r]
                    )
                    g += tile_g
                    a += tile_a
                    b += tile_b
                    c += tile_c
            predicted[first + r] = a / g
            slope[first + r] = (c - a / g * b) / g
        first = last


@njit(**INNER)
def _climb(q, mass, load, least, stretch, k, sums):
    """Add the tile's ``sum k m`` and ``sum k l`` at ``RUNGS`` bandwidths, each squaring the kernel of the one
    before.
    """
    zero = q[0] - q[0]
    tiny = exp2(zero - 60)
    for j in range(TILE):
        k[j] = exp2((least - q[j]) * stretch)
    for rung in range(0, RUNGS, 3):  # three at a time: a kernel is read and written once for them
        g, a, g2, a2, g3, a3 = zero, zero, zero, zero, zero, zero
        for j in range(TILE):
            here, count, amount = k[j], mass[j], load[j]
            g += here * count
            a += here * amount
            here = here * here if here > tiny else zero
            g2 += here * count
            a2 += here * amount
            here = here * here if here > tiny else zero
            g3 += here * count
            a3 += here * amount
            k[j] = here * here if here > tiny else zero
        sums[rung, 0] += g
        sums[rung, 1] += a
        sums[rung + 1, 0] += g2
        sums[rung + 1, 1] += a2
        sums[rung + 2, 0] += g3
        sums[rung + 2, 1] += a3


@compiled(nogil=True, error_model="numpy", fastmath=FAST)
def ladder(
    rows, x, codes, tiles, tile_codes, penalty, base, mass, load, own_weight, share, skips, stretches, scores
):
    """Add the score at ``RUNGS`` bandwidths for each of ``stretches`` to ``scores``."""
    q, least = np.empty((TOGETHER, *base.shape), x.dtype), np.empty(TOGETHER, x.dtype)
    k = np.empty(TILE, x.dtype)
    sums = np.empty((RUNGS, 2))
    first = rows[0]
    while first < rows[1]:
        last, skip = last_together(first, rows[1], skips), skips[first]
        distances((first, last), x, codes, tiles, tile_codes, penalty, base, skip, q, least)
        for r in range(last - first):
            i = first + r
            for step in range(stretches.shape[0]):
                sums[:] = 0.0
                for tile in range(tiles.shape[0]):
                    if tile < skip[0] or tile >= skip[1]:
                        _climb(q[r, tile], mass[tile], load[tile], least[r], stretches[step], k, sums)
                for rung in range(RUNGS):
                    scores[step, rung] += share[i] * (own_weight[i] - sums[rung, 1] / sums[rung, 0]) ** 2
        first = last


@compiled(nogil=True, error_model="numpy", fastmath=FAST)
def kernel_rows(rows, x, codes, tiles, tile_codes, penalty, base, out):
    """Write the kernel between each row and all columns."""
    skip = np.zeros(2, np.int64)
    q, least = np.empty((TOGETHER, *base.shape), x.dtype), np.empty(TOGETHER, x.dtype)
    for first in range(rows[0], rows[1], TOGETHER):
        last = min(first + TOGETHER, rows[1])
        distances((first, last), x, codes, tiles, tile_codes, penalty, base, skip, q, least)
        for r in range(last - first):
            flat, row = q[r].ravel(), out[first + r - rows[0]]
            for j in range(row.shape[0]):
                row[j] = exp2(-flat[j])


@compiled(nogil=True, error_model="numpy", fastmath=FAST)
def kernel_from_distances(q, stretch, out):
    """``out = 2**(-stretch q)``, elementwise."""
    flat, flat_out = q.ravel(), out.ravel()
    for j in range(flat.size):
        flat_out[j] = exp2(-stretch * flat[j])
