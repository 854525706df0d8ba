"""Held-out means of many weight vectors along the bandwidth: distances and kernels of a pair of rows are
worked out once for all vectors.

The sums of a vector are its own, in an order that no other vector changes: its scores have the same bits
whatever they are worked out with.
"""
# mypy: disable-error-code="no-untyped-def, no-untyped-call, misc"
# Calls exp2.py 9bf39b633443: the cache of compiled code is keyed by this file alone.
# Calls fused.py 8c9cc5bcedd1: the cache of compiled code is keyed by this file alone.

from __future__ import annotations

import numpy as np
from numba import njit

from kwis.kernel.exp2 import exp2
from kwis.kernel.fused import FAST, INNER, RUNGS, TILE, TOGETHER, distances, last_together
from kwis.runtime.compile import compiled

STEP = 3
"""Bandwidths that a vector is scored at together."""


@njit(**INNER)
def _climb(q, mass, loads, least, stretch, k, step, places, wide, wanted, sums):
    """Add the tile's ``sum k m``, and ``sum k l`` for the vectors that want it, at ``STEP`` bandwidths for
    each of ``places``: each squares the kernel of the one before, the first ones twice where ``wide``.
    """
    zero = q[0] - q[0]
    tiny = exp2(zero - 60)
    first, second, third = k[0], k[1], k[2]
    for place in range(places):
        number = step * (RUNGS // STEP) + place
        g, g2, g3 = zero, zero, zero
        if wide and place == 0:
            for j in range(TILE):
                count = mass[j]
                here = exp2((least - q[j]) * stretch)
                first[j] = here
                g += here * count
                here = here * here if here > tiny else zero
                here = here * here if here > tiny else zero
                second[j] = here
                g2 += here * count
                here = here * here if here > tiny else zero
                here = here * here if here > tiny else zero
                third[j] = here if here > tiny else zero
                g3 += here * count
        else:
            for j in range(TILE):
                count, before = mass[j], third[j]
                here = exp2((least - q[j]) * stretch) if place == 0 else before * before
                first[j] = here
                g += here * count
                here = here * here if here > tiny else zero
                second[j] = here
                g2 += here * count
                here = here * here if here > tiny else zero
                third[j] = here if here > tiny else zero  # it is squared next
                g3 += here * count
        rung = STEP * place
        sums[rung, 0] += g
        sums[rung + 1, 0] += g2
        sums[rung + 2, 0] += g3
        for vector in range(wanted.shape[1]):
            if wanted[number, vector]:
                load = loads[vector]
                a, a2, a3 = zero, zero, zero
                for j in range(TILE):
                    amount = load[j]
                    a += first[j] * amount
                    a2 += second[j] * amount
                    a3 += third[j] * amount
                sums[rung, 1 + vector] += a
                sums[rung + 1, 1 + vector] += a2
                sums[rung + 2, 1 + vector] += a3


@compiled(nogil=True, error_model="numpy", fastmath=FAST)
def ladder_many(
    rows,
    x,
    codes,
    tiles,
    tile_codes,
    penalty,
    base,
    mass,
    loads,
    own,
    share,
    skips,
    stretches,
    wide,
    wanted,
    scores,
):
    """Add the score of every vector at ``RUNGS`` bandwidths for each of ``stretches`` to ``scores`` (steps,
    rungs, vectors), where it is ``wanted`` (``STEP`` bandwidths each, vectors). The first ``STEP`` bandwidths
    lie twice as far apart where they are ``wide``.

    ``loads`` is (tiles, vectors, TILE), ``own`` (rows, vectors).
    """
    q, least = np.empty((TOGETHER, *base.shape), x.dtype), np.empty(TOGETHER, x.dtype)
    k = np.empty((STEP, TILE), x.dtype)
    count, vectors, parts = stretches.shape[0], wanted.shape[1], RUNGS // STEP
    places = np.zeros(count, np.int64)
    for number in range(wanted.shape[0]):
        if wanted[number].any():
            places[number // parts] = number % parts + 1
    sums = np.empty((TOGETHER, count, RUNGS, 1 + vectors))
    first = rows[0]
    while first < rows[1]:
        last, skip = last_together(first, rows[1], skips), skips[first]
        distances((first, last), x, codes, tiles, tile_codes, penalty, base, skip, q, least)
        sums[:] = 0.0
        for tile in range(tiles.shape[0]):
            if tile < skip[0] or tile >= skip[1]:
                for r in range(last - first):
                    for step in range(count):
                        if places[step]:
                            _climb(
                                q[r, tile],
                                mass[tile],
                                loads[tile],
                                least[r],
                                stretches[step],
                                k,
                                step,
                                places[step],
                                wide and step == 0,
                                wanted,
                                sums[r, step],
                            )
        for r in range(last - first):
            i = first + r
            for number in range(wanted.shape[0]):
                step, rung = number // parts, STEP * (number % parts)
                for vector in range(vectors):
                    if wanted[number, vector]:
                        for at in range(rung, rung + STEP):
                            mean = sums[r, step, at, 1 + vector] / sums[r, step, at, 0]
                            scores[step, at, vector] += share[i] * (own[i, vector] - mean) ** 2
        first = last
