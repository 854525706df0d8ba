"""The RBF kernel in compiled tiles, each pair of rows once: its kernel serves both.

Only rows of different folds predict each other, so every tile meets the tiles of later folds, and sums are
kept for both sides. No row's nearest distance is taken off here, since it differs between the sides: rows so
remote that their sums are tiny are left to ``fused``.

A strip of tiles is summed by one thread. It writes the sums of its own rows, and those of the columns to an
array of its own.
"""
# mypy: disable-error-code="no-untyped-def, no-untyped-call, misc"
# Calls exp2.py 50f15fa0e1e2: the cache of compiled code is keyed by this file alone.
# Calls fused.py 738770c38d9e: the cache of compiled code is keyed by this file alone.

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from kwis.kernel.exp2 import exp2
from kwis.kernel.fused import FAST, INNER, TILE, add_mismatches, numeric_distances
from kwis.runtime.compile import compiled


@njit(**INNER)
def two_distances(i, j, x, codes, tile, tile_codes, penalty, base, q, p):
    """Squared distances from rows ``i`` and ``j`` to a tile; where both are the same row, the second is far
    from everything.
    """
    numeric_distances(x[i], x[j], tile, base, q, p)
    if penalty.shape[0] > 0:
        add_mismatches(codes[i], tile_codes, penalty, q)
        add_mismatches(codes[j], tile_codes, penalty, p)
    if i == j:
        for place in range(TILE):
            p[place] = 1e35  # what padding is made of in single precision: no kernel is left there


@njit(**INNER)
def _kernel_in_place(q):
    for j in range(TILE):
        q[j] = exp2(-q[j])


@njit(**INNER)
def two_kernels(i, j, x, codes, tile, tile_codes, penalty, base, k, other_k):
    """Kernels from rows ``i`` and ``j`` to a tile; 0 from the second where both are the same row."""
    two_distances(i, j, x, codes, tile, tile_codes, penalty, base, k, other_k)
    _kernel_in_place(k)
    _kernel_in_place(other_k)


@njit(**INNER)
def _kernel_and_moment(q, k):
    """``k = 2**-q``, and ``q k`` in place of ``q``."""
    for j in range(TILE):
        kernel = exp2(-q[j])
        k[j] = kernel
        q[j] *= kernel


@njit(**INNER)
def both_sides(k, other_k, mass, load, own, other, row, other_row, columns):
    """Add ``K @ [mass, load]`` of two rows of a kernel to ``row`` and ``other_row``, and the same of its
    columns to ``columns``.

    Apart from the exponential: together they would need more registers than there are.
    """
    zero = k[0] - k[0]
    a, b = zero, zero
    c, d = zero, zero
    own_mass, own_load = own[0], own[1]
    other_mass, other_load = other[0], other[1]
    for j in range(TILE):
        s, t = k[j], other_k[j]
        a += s * mass[j]
        b += s * load[j]
        c += t * mass[j]
        d += t * load[j]
        columns[0, j] += s * own_mass + t * other_mass
        columns[1, j] += s * own_load + t * other_load
    row[0] += a
    row[1] += b
    other_row[0] += c
    other_row[1] += d


@njit(**INNER)
def add_tile(part, total):
    """Add the sums over one pair of tiles to the strip's, which are in double precision."""
    for kind in range(part.shape[0]):
        for j in range(TILE):
            total[kind, j] += part[kind, j]


def shared_sums(*arrays: Any) -> None:
    """Add ``K @ [mass, load]`` and ``(q K) @ [mass, load]`` to ``rows`` (n, 4) and ``columns`` (tiles from
    the strip on, 4, TILE): the last two of ``arrays``, which are those of :func:`_add`.

    Tile ``t`` has the rows from ``starts[t]`` on and meets the tiles from ``later[t]`` on. ``own`` (n, 2)
    holds mass and load by row.
    """
    dtype = arrays[3].dtype
    _add(*arrays, np.empty((4, TILE), dtype), np.empty((4, TILE), dtype), np.zeros(4))


# Its memory is handed in: an array made in compiled code adds to the time it takes to compile.
@compiled(nogil=True, error_model="numpy", fastmath=FAST)
def _add(
    strip,
    starts,
    later,
    x,
    codes,
    tiles,
    tile_codes,
    penalty,
    base,
    mass,
    load,
    own,
    rows,
    columns,
    kernels,
    both,
    unused,
):
    q, p, k, other_k = kernels[0], kernels[1], kernels[2], kernels[3]
    first, moments = both[:2], both[2:]
    for tile in range(strip[0], strip[1]):
        for met in range(later[tile], tiles.shape[0]):
            both[:] = 0
            for i in range(starts[tile], starts[tile + 1], 2):
                j = i + (i + 1 < starts[tile + 1])
                row, other_row = rows[i], rows[j] if j > i else unused
                two_distances(i, j, x, codes, tiles[met], tile_codes[met], penalty, base[met], q, p)
                _kernel_and_moment(q, k)
                _kernel_and_moment(p, other_k)
                both_sides(k, other_k, mass[met], load[met], own[i], own[j], row, other_row, first)
                both_sides(q, p, mass[met], load[met], own[i], own[j], row[2:], other_row[2:], moments)
            add_tile(both, columns[met - strip[0]])
