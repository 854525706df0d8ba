"""The RBF kernel in compiled tiles with one bandwidth per feature, each pair of rows once, in two passes.

The gradient needs the held-out means first. Where memory allows, the kernels these came from are kept, so
that no distance and no exponential is computed twice. An empty ``kept`` says that it does not: then the
second pass computes them again.
"""
# mypy: disable-error-code="no-untyped-def, no-untyped-call, misc"
# Calls exp2.py 50f15fa0e1e2: the cache of compiled code is keyed by this file alone.
# Calls fused.py 738770c38d9e: the cache of compiled code is keyed by this file alone.
# Calls fused_features.py 871d58200680: the cache of compiled code is keyed by this file alone.
# Calls fused_pairs.py bfbf3de45fab: the cache of compiled code is keyed by this file alone.

from __future__ import annotations

import numpy as np
from numba import njit

from kwis.kernel.fused import FAST, GROUP, INNER, TILE
from kwis.kernel.fused_features import add_column_moments, mismatch_moments
from kwis.kernel.fused_pairs import add_tile, both_sides, two_kernels
from kwis.runtime.compile import compiled


@compiled(nogil=True, error_model="numpy", fastmath=FAST)
def kernels(
    strip, starts, later, x, codes, tiles, tile_codes, penalty, base, mass, load, own, kept, rows, columns
):
    """Add ``K @ [mass, load]`` to ``rows`` (n, 2) and ``columns`` (tiles from the strip on, 2, TILE); ``K``
    stays in ``kept``.

    ``kept`` (pairs of tiles, TILE, TILE) holds the strip's pairs in order, or nothing.
    """
    both, spare, unused, pair = np.empty((2, TILE), x.dtype), np.empty((2, TILE), x.dtype), np.zeros(2), 0
    for tile in range(strip[0], strip[1]):
        for met in range(later[tile], tiles.shape[0]):
            both[:] = 0
            for i in range(starts[tile], starts[tile + 1], 2):
                j, place = min(i + 1, starts[tile + 1] - 1), i - starts[tile]
                # TILE is even: after an odd last row there is room for its partner, which is nobody.
                two = kept[pair, place : place + 2] if kept.shape[0] > 0 else spare
                two_kernels(i, j, x, codes, tiles[met], tile_codes[met], penalty, base[met], two[0], two[1])
                other_row = rows[j] if j > i else unused
                both_sides(two[0], two[1], mass[met], load[met], own[i], own[j], rows[i], other_row, both)
            add_tile(both, columns[met - strip[0]])
            pair += 1


@njit(**INNER)
def _pulls(k, other_k, about, own, other, pull, other_pull, column):
    """Effects on the score of the logarithms of two rows of a kernel, both ways; added up by column, and
    returned by row.

    With ``m`` the mass of a row, ``l`` its load, ``f`` the factor of its pulls and ``u`` that times its
    held-out mean (``about`` holds them by column of the tile), the effect of a pair is ``k (f_i l_j - u_i m_j
    + f_j l_i - u_j m_i)``.
    """
    m, load, f, u = own[0], own[1], own[2], own[3]
    other_m, other_load, other_f, other_u = other[0], other[1], other[2], other[3]
    a, b = k[0] - k[0], k[0] - k[0]
    for j in range(TILE):
        s = k[j] * ((f * about[1, j] - u * about[0, j]) + (load * about[2, j] - m * about[3, j]))
        t = other_k[j] * (
            (other_f * about[1, j] - other_u * about[0, j])
            + (other_load * about[2, j] - other_m * about[3, j])
        )
        pull[j] = s
        other_pull[j] = t
        a += s
        b += t
        column[j] += s + t
    return a, b


@njit(**INNER)
def _mixed_moments(q, p, tile, x, y, slopes):
    """Subtract ``2 sum_j (x_l q_j + y_l p_j) t_jl`` from the slope of every feature ``l``."""
    for group in range(tile.shape[0]):
        t, first = tile[group], GROUP * group
        zero = q[0] - q[0]
        a, b, c, d = zero, zero, zero, zero
        e, f, g, h = zero, zero, zero, zero
        for j in range(TILE):
            t0, t1, t2, t3 = t[0, j], t[1, j], t[2, j], t[3, j]
            s, r = q[j], p[j]
            a += s * t0
            b += s * t1
            c += s * t2
            d += s * t3
            e += r * t0
            f += r * t1
            g += r * t2
            h += r * t3
        slopes[first] -= 2.0 * (x[first] * a + y[first] * e)
        slopes[first + 1] -= 2.0 * (x[first + 1] * b + y[first + 1] * f)
        slopes[first + 2] -= 2.0 * (x[first + 2] * c + y[first + 2] * g)
        slopes[first + 3] -= 2.0 * (x[first + 3] * d + y[first + 3] * h)


@compiled(nogil=True, error_model="numpy", fastmath=FAST)
def kernel_slopes(
    strip, starts, later, x, codes, tiles, tile_codes, penalty, base, about, own, kept, slopes, code_slopes
):
    """Add ``sum pull_ij (x_il - t_jl)^2`` over the strip's pairs of rows, both ways, to the slope of every
    feature ``l``.

    ``own`` (n, 4) and ``about`` (tiles, 4, TILE) hold what the pulls are made of, see ``_pulls``.
    """
    pulls, spare, nobody, pair = (
        np.empty((2, TILE), x.dtype),
        np.empty((2, TILE), x.dtype),
        np.zeros(4, x.dtype),
        0,
    )
    columns, from_zero = (
        np.zeros((tiles.shape[0] - strip[0], TILE), x.dtype),
        np.zeros(codes.shape[1], x.dtype),
    )
    for tile in range(strip[0], strip[1]):
        for met in range(later[tile], tiles.shape[0]):
            for i in range(starts[tile], starts[tile + 1], 2):
                j, place = min(i + 1, starts[tile + 1] - 1), i - starts[tile]
                two, other = (
                    kept[pair, place : place + 2] if kept.shape[0] > 0 else spare,
                    own[j] if j > i else nobody,
                )
                if kept.shape[0] == 0:
                    two_kernels(
                        i, j, x, codes, tiles[met], tile_codes[met], penalty, base[met], two[0], two[1]
                    )
                a, b = _pulls(
                    two[0], two[1], about[met], own[i], other, pulls[0], pulls[1], columns[met - strip[0]]
                )
                for feature in range(x.shape[1]):
                    slopes[feature] += a * x[i, feature] * x[i, feature] + b * x[j, feature] * x[j, feature]
                _mixed_moments(pulls[0], pulls[1], tiles[met], x[i], x[j], slopes)
                mismatch_moments(pulls[0], tile_codes[met], codes[i], from_zero, code_slopes)
                mismatch_moments(pulls[1], tile_codes[met], codes[j], from_zero, code_slopes)
            pair += 1
    add_column_moments(columns, tiles[strip[0] :], slopes)
