"""The RBF kernel in compiled tiles with one bandwidth per feature: held-out means and the gradient of the
score.
"""
# mypy: disable-error-code="no-untyped-def, no-untyped-call, misc"
# Calls exp2.py 50f15fa0e1e2: the cache of compiled code is keyed by this file alone.
# Calls fused.py 738770c38d9e: the cache of compiled code is keyed by this file alone.

from __future__ import annotations

import numpy as np
from numba import njit

from kwis.kernel.exp2 import exp2
from kwis.kernel.fused import FAST, GROUP, INNER, TILE, TOGETHER, distances, last_together
from kwis.runtime.compile import compiled

REMOTE = (
    1e3  # squared distance from the centre at which products of contexts lose digits that the gradient needs
)


@njit(**INNER)
def _kernel_in_place(q, mass, load, least):
    """Replace ``q`` by ``2**-(q - least)``; returns ``sum k m, sum k l``."""
    g, a = q[0] - q[0], q[0] - q[0]
    for j in range(TILE):
        k = exp2(least - q[j])
        q[j] = k
        g += k * mass[j]
        a += k * load[j]
    return g, a


@njit(**INNER)
def _pull_in_place(k, mass, load, mean, factor, column_sum):
    """Replace ``k`` by ``factor k (l - mean m)``, the effect of each pair on the score, and add it up by
    column.
    """
    for j in range(TILE):
        pull = factor * k[j] * (load[j] - mean * mass[j])
        k[j] = pull
        column_sum[j] += pull


@njit(**INNER)
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


@njit(**INNER)
def _remote_moments(pull, tile, x, origin, slopes):
    """Add ``sum_j pull_j ((x_l - t_jl)^2 - (x_l - origin_l)^2)`` to the slope of every feature ``l``."""
    for group in range(tile.shape[0]):
        for offset in range(GROUP):
            feature, t = GROUP * group + offset, tile[group, offset]
            own, nearest = x[feature], origin[feature]
            total = pull[0] - pull[0]
            for j in range(TILE):
                total += pull[j] * (nearest - t[j]) * ((own - t[j]) + (own - nearest))
            slopes[feature] += total


@njit(**INNER)
def mismatch_moments(pull, tile_codes, codes, origin, slopes):
    """Add ``sum_j pull_j ([codes differ] - origin)`` to the slope of every categorical column."""
    for column in range(tile_codes.shape[0]):
        others, own = tile_codes[column], codes[column]
        total = pull[0] - pull[0]
        match, differ = -origin[column], origin.dtype.type(1) - origin[column]
        for j in range(TILE):
            total += pull[j] * (differ if others[j] != own else match)
        slopes[column] += total


@njit(**INNER)
def _is_remote(x, penalty):
    """Whether some term of the squared distances is so large that it must cancel exactly."""
    largest = 0.0
    for value in x:
        largest = max(largest, value * value)
    for cost in penalty:
        largest = max(largest, cost)
    return largest > REMOTE


@njit(**INNER)
def _set_origin(k, skip, codes, tiles, tile_codes, origin, code_origin):
    """Context of the nearest column and its mismatches: counted from there, terms of columns that are alike
    cancel exactly.
    """
    nearest, column = 0 if skip[0] > 0 else skip[1], 0
    for tile in range(tiles.shape[0]):
        if tile < skip[0] or tile >= skip[1]:
            for j in range(TILE):
                if k[tile, j] > k[nearest, column]:
                    nearest, column = tile, j
    for feature in range(origin.shape[0]):
        origin[feature] = tiles[nearest, feature // GROUP, feature % GROUP, column]
    for code in range(codes.shape[0]):
        code_origin[code] = codes[code] != tile_codes[nearest, code, column]


@compiled(nogil=True, error_model="numpy", fastmath=FAST)
def per_feature(
    rows,
    x,
    codes,
    tiles,
    tile_codes,
    penalty,
    base,
    mass,
    load,
    own_weight,
    share,
    skips,
    predicted,
    slopes,
    code_slopes,
):
    """Held-out means, and ``sum_ij pull_ij (x_il - t_jl)^2`` for every feature ``l``, added to ``slopes``.

    With ``l`` the load of a column, its mass ``m`` times its weight, ``pull_ij = -2 share_i (w_i - mean_i)
    k_ij (l_j - mean_i m_j) / sum_j k_ij m_j`` is the effect of ``log k_ij`` on the score. It sums to 0 along
    rows, so of the square only the column sums of ``pull`` times ``t^2`` and the mixed term remain. For rows
    far from the centre, in units of the bandwidth, those two would cancel badly: their squares are summed one
    by one.
    """
    q, least = np.empty((TOGETHER, *base.shape), x.dtype), np.empty(TOGETHER, x.dtype)
    column_sum, unused = np.zeros(base.shape, x.dtype), np.zeros(TILE, x.dtype)
    mean, factor, remote = (
        np.empty(TOGETHER, x.dtype),
        np.empty(TOGETHER, x.dtype),
        np.empty(TOGETHER, np.bool_),
    )
    origin, code_origin = (
        np.zeros((TOGETHER, x.shape[1]), x.dtype),
        np.zeros((TOGETHER, codes.shape[1]), x.dtype),
    )
    first = rows[0]
    while first < rows[1]:
        last, skip = last_together(first, rows[1], skips), skips[first]
        distances((first, last), x, codes, tiles, tile_codes, penalty, base, skip, q, least)
        code_origin[:] = 0
        for r in range(last - first):
            i = first + r
            g, a = 0.0, 0.0
            for tile in range(tiles.shape[0]):
                if tile < skip[0] or tile >= skip[1]:
                    tile_g, tile_a = _kernel_in_place(q[r, tile], mass[tile], load[tile], least[r])
                    g += tile_g
                    a += tile_a
            predicted[i] = a / g
            mean[r] = a / g
            factor[r] = -2.0 * share[i] * (own_weight[i] - a / g) / g
            remote[r] = _is_remote(x[i], penalty)
            if remote[r]:
                _set_origin(q[r], skip, codes[i], tiles, tile_codes, origin[r], code_origin[r])
        for tile in range(tiles.shape[0]):
            if tile < skip[0] or tile >= skip[1]:
                for r in range(last - first):
                    pull, own = q[r, tile], x[first + r]
                    _pull_in_place(
                        pull,
                        mass[tile],
                        load[tile],
                        mean[r],
                        factor[r],
                        unused if remote[r] else column_sum[tile],
                    )
                    if remote[r]:
                        _remote_moments(pull, tiles[tile], own, origin[r], slopes)
                    else:
                        _tile_moments(pull, tiles[tile], own, slopes)
                    mismatch_moments(pull, tile_codes[tile], codes[first + r], code_origin[r], code_slopes)
        first = last
    add_column_moments(column_sum, tiles, slopes)


@njit(**INNER)
def add_column_moments(column_sum, tiles, slopes):
    """Add ``sum_j column_sum_j t_jl^2`` to the slope of every feature ``l``."""
    for tile in range(tiles.shape[0]):
        for group in range(tiles.shape[1]):
            for offset in range(GROUP):
                t = tiles[tile, group, offset]
                total = 0.0
                for j in range(TILE):
                    total += column_sum[tile, j] * t[j] * t[j]
                slopes[GROUP * group + offset] += total
