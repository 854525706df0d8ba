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
from kwis.kernel.fused import FAST, GROUP, TILE, TOGETHER
from kwis.runtime.arrays import aligned
from kwis.runtime.compile import compiled

RUN = 4  # tiles that are summed at once
ABREAST = 2
"""Vectors that are summed together, each for ``TOGETHER`` rows: a load from memory serves all of these."""


def ladder_many(*arrays: Any) -> None:
    """Add the score of every vector at every bandwidth to ``scores`` (bandwidths, vectors), where it is
    ``wanted`` (bandwidths, vectors). The kernel of a bandwidth is ``2**(-stretch q)``, made of the one before
    by ``squarings`` where these are not 0.

    ``arrays`` are those of :func:`_climb` up to the squares, ``wanted`` and ``scores``. Distances may be made
    of ``products`` (rows, tiles, TILE), which are ``-2 x t``, empty if not; the ``squares`` (rows,) of ``x``
    are then added to them, and those of ``t`` are in the base.
    """
    *given, wanted, scores = arrays
    base, dtype = arrays[6], arrays[1].dtype
    q = aligned((TOGETHER, *base.shape), dtype)
    _climb(
        *given,
        *_abreast(wanted),
        q,
        q.reshape(TOGETHER, -1),
        np.empty(TOGETHER, dtype),
        aligned((TOGETHER, RUN * TILE), dtype),
        np.empty((TOGETHER, wanted.shape[0], 2 + wanted.shape[1])),
        scores,
    )


def _abreast(wanted: Any) -> tuple[Any, Any, Any]:
    """For every row of ``wanted`` (bandwidths, vectors): the vectors, ``ABREAST`` at a time; where their sums
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
    squarings,
    products,
    squares,
    which,
    slots,
    ends,
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
    ``sum k m``, and ``sum k l`` for the vectors that want it, of ``TOGETHER`` rows at once; where fewer are
    left, what stands for the others is not read.
    """
    zero = q[0, 0, 0] - q[0, 0, 0]
    tiny = exp2(zero - 60)
    k0, k1, k2, k3 = k[0], k[1], k[2], k[3]
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
            for node in range(stretches.shape[0]):
                stretch, again = stretches[node], squarings[node]
                for r in range(together):
                    kernel, g = k[r], zero
                    if again == 0:
                        near, low = flat[r, low_place:high_place], least[r]
                        for j in range(size):
                            here = exp2((low - near[j]) * stretch)
                            kernel[j] = here if here > tiny else zero  # it is squared next
                            g += here * m[j]
                    for _ in range(again):
                        g = zero
                        for j in range(size):
                            here = kernel[j] * kernel[j]
                            here = here if here > tiny else zero
                            kernel[j] = here
                            g += here * m[j]
                    sums[r, node, 0] += g
                for at in range(0, ends[node], ABREAST):
                    v, w = which[node, at], which[node, at + 1]
                    one, other = loads[v, low_place:high_place], loads[w, low_place:high_place]
                    a0, a1, a2, a3 = zero, zero, zero, zero
                    b0, b1, b2, b3 = zero, zero, zero, zero
                    for j in range(size):
                        a, b = one[j], other[j]
                        a0 += k0[j] * a
                        b0 += k0[j] * b
                        a1 += k1[j] * a
                        b1 += k1[j] * b
                        a2 += k2[j] * a
                        b2 += k2[j] * b
                        a3 += k3[j] * a
                        b3 += k3[j] * b
                    v, w = slots[node, at], slots[node, at + 1]
                    sums[0, node, v] += a0
                    sums[1, node, v] += a1
                    sums[2, node, v] += a2
                    sums[3, node, v] += a3
                    sums[0, node, w] += b0
                    sums[1, node, w] += b1
                    sums[2, node, w] += b2
                    sums[3, node, w] += b3
        for r in range(together):
            i = first + r
            for node in range(ends.shape[0]):
                for some in range(ends[node]):
                    vector = which[node, some]
                    mean = sums[r, node, 1 + vector] / sums[r, node, 0]
                    scores[node, vector] += share[i] * (own[i, vector] - mean) ** 2
        first += together
