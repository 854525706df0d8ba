"""Held-out means of many weight vectors along the bandwidth: distances and kernels of a pair of rows are
worked out once for all vectors.

The sums of a vector are its own, in an order that no other vector changes: its scores have the same bits
whatever they are worked out with.
"""
# mypy: disable-error-code="no-untyped-def, no-untyped-call, misc"
# Calls exp2.py 50f15fa0e1e2: the cache of compiled code is keyed by this file alone.
# Calls fused.py 738770c38d9e: the cache of compiled code is keyed by this file alone.

from __future__ import annotations

from typing import Any

import numpy as np

from kwis.kernel.exp2 import exp2, smaller
from kwis.kernel.fused import FAST, GROUP, RUNGS, TILE, TOGETHER
from kwis.runtime.arrays import aligned
from kwis.runtime.compile import compiled

STEP = 3
"""Bandwidths that a vector is scored at together."""
RUN = 4  # tiles that are summed at once
ABREAST = 4
"""Vectors that are summed together: the sums of one alone would wait for themselves."""


def ladder_many(*arrays: Any, products: Any = None, squares: Any = None) -> None:
    """Add the score of every vector at ``RUNGS`` bandwidths for each of ``stretches`` to ``scores`` (steps,
    rungs, vectors), where it is ``wanted`` (``STEP`` bandwidths each, vectors). The first ``STEP`` bandwidths
    lie twice as far apart where they are ``wide``.

    ``arrays`` are those of :func:`_climb`, the last but what it needs for itself. Distances may be made of
    ``products`` (rows, tiles, TILE), which are ``-2 x t``; the ``squares`` (rows,) of ``x`` are then added to
    them, and those of ``t`` are in the base.
    """
    x, base, stretches, wanted, scores = arrays[1], arrays[6], arrays[12], arrays[14], arrays[15]
    count, vectors, parts = len(stretches), wanted.shape[1], RUNGS // STEP
    # Of each of ``stretches``: as many of its parts as some vector wants.
    places = (wanted.any(axis=1).reshape(count, parts) * np.arange(1, parts + 1)).max(axis=1)
    q = aligned((TOGETHER, *base.shape), x.dtype)
    _climb(
        *arrays[:-2],
        np.empty((0, 0, 0), x.dtype) if products is None else products,
        np.empty(0, x.dtype) if squares is None else squares,
        *_abreast(wanted),
        places,
        q,
        q.reshape(TOGETHER, -1),
        np.empty(TOGETHER, x.dtype),
        aligned((STEP, RUN * TILE), x.dtype),
        np.empty((TOGETHER, count * parts, 2 + vectors, STEP)),
        scores.reshape(count * parts, STEP, vectors),
    )


def _abreast(wanted: Any) -> tuple[Any, Any, Any]:
    """For every row of ``wanted`` (numbers, vectors): the vectors, ``ABREAST`` at a time; where their sums
    go, 0 being that of the masses; and how many they are. The last vector fills up the others' places, and
    what it adds from there goes where nobody reads.
    """
    count, vectors = wanted.shape
    which = np.zeros((count, vectors + ABREAST), np.int64)
    slots = np.full_like(which, 1 + vectors)
    for number, row in enumerate(wanted):
        some = np.flatnonzero(row)
        which[number, : some.size], slots[number, : some.size] = some, 1 + some
        which[number, some.size :] = some[-1] if some.size else 0
    return which, slots, wanted.sum(axis=1)


# One body, and its memory handed in: functions that it called, and arrays that it made, would be compiled on
# their own first, which takes as long as all of this.
@compiled(nogil=True, error_model="numpy", fastmath=FAST)
def _climb(
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
    products,
    squares,
    which,
    slots,
    ends,
    places,
    q,
    flat,
    least,
    k,
    sums,
    scores,
):
    """See :func:`ladder_many` and :func:`_abreast`. ``mass`` is (places), ``loads`` (vectors, places),
    ``own`` (rows, vectors).

    The distances ``q`` from a few rows to all tiles come first, as in ``fused.distances``. ``sums`` are then
    ``sum k m``, and ``sum k l`` for the vectors that want it, each bandwidth with the squared kernel of the
    one before.
    """
    zero = q[0, 0, 0] - q[0, 0, 0]
    tiny = exp2(zero - 60)
    parts = RUNGS // STEP
    one, two, three = k[0], k[1], k[2]
    first = rows[0]
    while first < rows[1]:
        begin, end = skips[first, 0], skips[first, 1]
        start = 0 if begin > 0 else end
        together = 1
        while together < TOGETHER and first + together < rows[1] and skips[first + together, 0] == begin:
            together += 1
        for tile in range(tiles.shape[0]):
            if begin <= tile < end:
                continue
            for r in range(min(together, products.shape[0])):
                near, far = q[r, tile], base[tile]
                also = products[first - rows[0] + r, tile]
                for j in range(TILE):
                    near[j] = -smaller(zero, -(far[j] + (squares[first - rows[0] + r] + also[j])))
            for r in range(0, 0 if products.shape[0] else together, 2):
                # The partner of an odd last row is itself, written to a buffer that nobody reads.
                near, also = q[r, tile], q[r + 1, tile]
                here, there = x[first + r], x[first + r + (r + 1 < together)]
                far = base[tile]
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
            for r in range(together):
                near = q[r, tile]
                for column in range(penalty.shape[0]):
                    code, others, cost = codes[first + r, column], tile_codes[tile, column], penalty[column]
                    for j in range(TILE):
                        near[j] += cost if others[j] != code else zero
                low = near[0] if tile == start else least[r]
                for j in range(TILE):
                    low = smaller(low, near[j])
                least[r] = low
        sums[:] = 0.0
        tile = 0
        while tile < tiles.shape[0]:
            if begin <= tile < end:
                tile = end
                continue
            # Some tiles at once: adding up the parts of a sum would take as long as those of a single tile.
            stop = min(tile + RUN, begin if tile < begin else tiles.shape[0])
            low_place, high_place = tile * TILE, stop * TILE
            size, tile = high_place - low_place, stop
            m = mass[low_place:high_place]
            for r in range(together):
                near, low = flat[r, low_place:high_place], least[r]
                for step in range(stretches.shape[0]):
                    stretch = stretches[step]
                    for place in range(places[step]):
                        number = step * parts + place
                        twice = wide and number == 0
                        g, g2, g3 = zero, zero, zero
                        for j in range(size):
                            before = three[j]
                            kernel = exp2((low - near[j]) * stretch) if place == 0 else before * before
                            one[j] = kernel
                            g += kernel * m[j]
                            kernel = kernel * kernel if kernel > tiny else zero
                            if twice:
                                kernel = kernel * kernel if kernel > tiny else zero
                            two[j] = kernel
                            g2 += kernel * m[j]
                            kernel = kernel * kernel if kernel > tiny else zero
                            if twice:
                                kernel = kernel * kernel if kernel > tiny else zero
                            three[j] = kernel if kernel > tiny else zero  # it is squared next
                            g3 += kernel * m[j]
                        into = sums[r, number]
                        into[0, 0] += g
                        into[0, 1] += g2
                        into[0, 2] += g3
                        for at in range(0, ends[number], ABREAST):
                            v0, v1 = which[number, at], which[number, at + 1]
                            v2, v3 = which[number, at + 2], which[number, at + 3]
                            load0, load1 = loads[v0, low_place:high_place], loads[v1, low_place:high_place]
                            load2, load3 = loads[v2, low_place:high_place], loads[v3, low_place:high_place]
                            a0, b0, c0 = zero, zero, zero
                            a1, b1, c1 = zero, zero, zero
                            a2, b2, c2 = zero, zero, zero
                            a3, b3, c3 = zero, zero, zero
                            for j in range(size):
                                k0, k1, k2 = one[j], two[j], three[j]
                                l0, l1, l2, l3 = load0[j], load1[j], load2[j], load3[j]
                                a0 += k0 * l0
                                b0 += k1 * l0
                                c0 += k2 * l0
                                a1 += k0 * l1
                                b1 += k1 * l1
                                c1 += k2 * l1
                                a2 += k0 * l2
                                b2 += k1 * l2
                                c2 += k2 * l2
                                a3 += k0 * l3
                                b3 += k1 * l3
                                c3 += k2 * l3
                            v0, v1 = slots[number, at], slots[number, at + 1]
                            v2, v3 = slots[number, at + 2], slots[number, at + 3]
                            into[v0, 0] += a0
                            into[v0, 1] += b0
                            into[v0, 2] += c0
                            into[v1, 0] += a1
                            into[v1, 1] += b1
                            into[v1, 2] += c1
                            into[v2, 0] += a2
                            into[v2, 1] += b2
                            into[v2, 2] += c2
                            into[v3, 0] += a3
                            into[v3, 1] += b3
                            into[v3, 2] += c3
        for r in range(together):
            i = first + r
            for number in range(ends.shape[0]):
                for some in range(ends[number]):
                    vector = which[number, some]
                    for at in range(STEP):
                        mean = sums[r, number, 1 + vector, at] / sums[r, number, 0, at]
                        scores[number, at, vector] += share[i] * (own[i, vector] - mean) ** 2
        first += together
