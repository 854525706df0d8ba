"""The RBF kernel in compiled tiles: distance, exponential and sums fused, nothing of size n by n ever stored.

Columns are cut into tiles of fixed width, stored feature by feature so that the inner loops run over constant strides and
vectorise. For one row, all squared distances go to a buffer of length n; its minimum is taken off before the exponential
(the ratio is unchanged, the largest term becomes 1, and no bandwidth gives 0/0). Contexts arrive scaled so that the kernel is
``2**-q``. Each row is summed by one thread, in double precision across tiles.

Everything here is compiled for float64 and, to locate a minimum, for float32.
"""
# mypy: disable-error-code="no-untyped-def, no-untyped-call, misc"

from __future__ import annotations

import numpy as np
from numba import njit

from kwis.smoothing.exp2 import exp2, smaller

TILE = 256
GROUP = 4  # features handled together, at constant offsets
RUNGS = 9  # bandwidths from one exponential: squaring the kernel divides the bandwidth by sqrt(2)
_FAST = {"nnan", "ninf", "nsz", "reassoc", "contract", "arcp"}


@njit(fastmath=_FAST)
def _distances(x, codes, tile, tile_codes, penalty, base, q):
    """Squared distances from one row to a tile, on top of ``base`` (huge for padding); returns the smallest."""
    for j in range(TILE):
        q[j] = base[j]
    for group in range(tile.shape[0]):
        t = tile[group]
        x0, x1, x2, x3 = x[GROUP * group], x[GROUP * group + 1], x[GROUP * group + 2], x[GROUP * group + 3]
        for j in range(TILE):
            a, b, c, d = x0 - t[0, j], x1 - t[1, j], x2 - t[2, j], x3 - t[3, j]
            q[j] += (a * a + b * b) + (c * c + d * d)
    for column in range(penalty.shape[0]):
        own, others, cost = codes[column], tile_codes[column], penalty[column]
        for j in range(TILE):
            q[j] += cost if others[j] != own else cost - cost
    least = q[0]
    for j in range(TILE):
        least = smaller(least, q[j])
    return least


@njit(fastmath=_FAST)
def _row_distances(x, codes, tiles, tile_codes, penalty, base, skip, q):
    """Squared distances from one row to all tiles but ``skip[0] <= tile < skip[1]``; returns the smallest."""
    least = np.inf
    for tile in range(tiles.shape[0]):
        if tile < skip[0] or tile >= skip[1]:
            least = min(least, _distances(x, codes, tiles[tile], tile_codes[tile], penalty, base[tile], q[tile]))
    return least


@njit(fastmath=_FAST)
def _mean_and_moment(q, weight, least):
    """``sum k, sum k w, sum k u, sum k u w`` over a tile, with ``u = q - least`` and ``k = 2**-u``."""
    zero = q[0] - q[0]
    g, a, b, c = zero, zero, zero, zero
    for j in range(TILE):
        u = q[j] - least
        k = exp2(-u)
        kw = k * weight[j]
        g += k
        a += kw
        b += k * u
        c += kw * u
    return g, a, b, c


@njit(nogil=True, cache=True, error_model="numpy", fastmath=_FAST)
def shared(rows, x, codes, tiles, tile_codes, penalty, base, weight, skips, predicted, slope):
    """Held-out mean of ``weight`` for each row, and its derivative with respect to ``-log2`` of all kernels together.

    ``predicted = sum k w / sum k`` and ``slope = sum k (w - predicted) q / sum k``; taking the same number off all ``q`` of a
    row changes nothing, so the accurate ``q - least`` is used.
    """
    q = np.empty(base.shape, x.dtype)
    for i in range(rows[0], rows[1]):
        skip = skips[i]
        least = x.dtype.type(_row_distances(x[i], codes[i], tiles, tile_codes, penalty, base, skip, q))
        g, a, b, c = 0.0, 0.0, 0.0, 0.0
        for tile in range(tiles.shape[0]):
            if tile < skip[0] or tile >= skip[1]:
                tile_g, tile_a, tile_b, tile_c = _mean_and_moment(q[tile], weight[tile], least)
                g += tile_g
                a += tile_a
                b += tile_b
                c += tile_c
        predicted[i] = a / g
        slope[i] = (c - a / g * b) / g


@njit(fastmath=_FAST)
def _kernel_in_place(q, weight, least):
    """Replace ``q`` by ``2**-(q - least)``; returns ``sum k, sum k w``."""
    g, a = q[0] - q[0], q[0] - q[0]
    for j in range(TILE):
        k = exp2(least - q[j])
        q[j] = k
        g += k
        a += k * weight[j]
    return g, a


@njit(fastmath=_FAST)
def _pull_in_place(k, weight, mean, factor, column_sum):
    """Replace ``k`` by ``factor k (w - mean)``, the effect of each pair on the score, and add it up by column."""
    for j in range(TILE):
        pull = factor * k[j] * (weight[j] - mean)
        k[j] = pull
        column_sum[j] += pull


@njit(fastmath=_FAST)
def _tile_moments(pull, tile, x, slopes):
    """Subtract ``2 x_l sum_j pull_j t_jl`` from the slope of every feature ``l``."""
    for group in range(tile.shape[0]):
        t = tile[group]
        zero = pull[0] - pull[0]
        a, b, c, d = zero, zero, zero, zero
        for j in range(TILE):
            a += pull[j] * t[0, j]
            b += pull[j] * t[1, j]
            c += pull[j] * t[2, j]
            d += pull[j] * t[3, j]
        first = GROUP * group
        slopes[first] -= 2.0 * x[first] * a
        slopes[first + 1] -= 2.0 * x[first + 1] * b
        slopes[first + 2] -= 2.0 * x[first + 2] * c
        slopes[first + 3] -= 2.0 * x[first + 3] * d


@njit(fastmath=_FAST)
def _mismatch_moments(pull, tile_codes, codes, slopes):
    for column in range(tile_codes.shape[0]):
        others, own = tile_codes[column], codes[column]
        zero = pull[0] - pull[0]
        total = zero
        for j in range(TILE):
            total += pull[j] if others[j] != own else zero
        slopes[column] += total


@njit(nogil=True, cache=True, error_model="numpy", fastmath=_FAST)
def per_feature(rows, x, codes, tiles, tile_codes, penalty, base, weight, own_weight, share, skips, predicted, slopes, code_slopes):
    """Held-out means, and ``sum_ij pull_ij (x_il - t_jl)^2`` for every feature ``l``, added to ``slopes``.

    ``pull_ij = -2 share_i (w_i - mean_i) k_ij (w_j - mean_i) / sum_j k_ij`` is the effect of ``log k_ij`` on the score. It
    sums to 0 along rows, so of the square only the column sums of ``pull`` times ``t^2`` and the mixed term remain.
    """
    q = np.empty(base.shape, x.dtype)
    column_sum = np.zeros(base.shape, x.dtype)
    for i in range(rows[0], rows[1]):
        skip = skips[i]
        least = x.dtype.type(_row_distances(x[i], codes[i], tiles, tile_codes, penalty, base, skip, q))
        g, a = 0.0, 0.0
        for tile in range(tiles.shape[0]):
            if tile < skip[0] or tile >= skip[1]:
                tile_g, tile_a = _kernel_in_place(q[tile], weight[tile], least)
                g += tile_g
                a += tile_a
        predicted[i] = a / g
        mean = x.dtype.type(a / g)
        factor = x.dtype.type(-2.0 * share[i] * (own_weight[i] - a / g) / g)
        for tile in range(tiles.shape[0]):
            if tile < skip[0] or tile >= skip[1]:
                _pull_in_place(q[tile], weight[tile], mean, factor, column_sum[tile])
                _tile_moments(q[tile], tiles[tile], x[i], slopes)
                _mismatch_moments(q[tile], tile_codes[tile], codes[i], code_slopes)
    for tile in range(tiles.shape[0]):
        for group in range(tiles.shape[1]):
            for offset in range(GROUP):
                t = tiles[tile, group, offset]
                total = 0.0
                for j in range(TILE):
                    total += column_sum[tile, j] * t[j] * t[j]
                slopes[GROUP * group + offset] += total


@njit(fastmath=_FAST)
def _climb(q, weight, least, stretch, k, sums):
    """Add the tile's ``sum k`` and ``sum k w`` at ``RUNGS`` bandwidths, each squaring the kernel of the one before."""
    zero = q[0] - q[0]
    tiny = exp2(zero - 60)
    for j in range(TILE):
        k[j] = exp2((least - q[j]) * stretch)
    for rung in range(RUNGS):
        g, a = zero, zero
        for j in range(TILE):
            g += k[j]
            a += k[j] * weight[j]
        sums[rung, 0] += g
        sums[rung, 1] += a
        for j in range(TILE):
            k[j] = k[j] * k[j] if k[j] > tiny else zero


@njit(nogil=True, cache=True, error_model="numpy", fastmath=_FAST)
def ladder(rows, x, codes, tiles, tile_codes, penalty, base, weight, own_weight, share, skips, stretches, scores):
    """Add the score at ``RUNGS`` bandwidths for each of ``stretches`` to ``scores``."""
    q = np.empty(base.shape, x.dtype)
    k = np.empty(TILE, x.dtype)
    sums = np.empty((RUNGS, 2))
    for i in range(rows[0], rows[1]):
        skip = skips[i]
        least = x.dtype.type(_row_distances(x[i], codes[i], tiles, tile_codes, penalty, base, skip, q))
        for step in range(stretches.shape[0]):
            sums[:] = 0.0
            for tile in range(tiles.shape[0]):
                if tile < skip[0] or tile >= skip[1]:
                    _climb(q[tile], weight[tile], least, stretches[step], k, sums)
            for rung in range(RUNGS):
                scores[step, rung] += share[i] * (own_weight[i] - sums[rung, 1] / sums[rung, 0]) ** 2


@njit(nogil=True, cache=True, error_model="numpy", fastmath=_FAST)
def kernel_rows(rows, x, codes, tiles, tile_codes, penalty, base, out):
    """Write the kernel between each row and all columns."""
    skip = np.zeros(2, np.int64)
    q = np.empty(base.shape, x.dtype)
    for i in range(rows[0], rows[1]):
        _row_distances(x[i], codes[i], tiles, tile_codes, penalty, base, skip, q)
        flat, row = q.ravel(), out[i - rows[0]]
        for j in range(row.shape[0]):
            row[j] = exp2(-flat[j])


@njit(nogil=True, cache=True, error_model="numpy", fastmath=_FAST)
def kernel_from_distances(q, stretch, out):
    """``out = 2**(-stretch q)``, elementwise."""
    flat, flat_out = q.ravel(), out.ravel()
    for j in range(flat.size):
        flat_out[j] = exp2(-stretch * flat[j])


@njit(fastmath=_FAST)
def _two_sums(q, first, second):
    a, b = 0.0, 0.0
    for j in range(TILE):
        k = exp2(-q[j])
        a += k * first[j]
        b += k * second[j]
    return a, b


@njit(nogil=True, cache=True, error_model="numpy", fastmath=_FAST)
def two_products(rows, x, codes, tiles, tile_codes, penalty, base, first, second, out):
    """``K @ [first, second]`` for the rows, with the kernel unshifted."""
    skip = np.zeros(2, np.int64)
    q = np.empty(base.shape, x.dtype)
    for i in range(rows[0], rows[1]):
        _row_distances(x[i], codes[i], tiles, tile_codes, penalty, base, skip, q)
        a, b = 0.0, 0.0
        for tile in range(tiles.shape[0]):
            tile_a, tile_b = _two_sums(q[tile], first[tile], second[tile])
            a += tile_a
            b += tile_b
        out[i, 0] = a
        out[i, 1] = b
