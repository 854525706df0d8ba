"""Actions drawn anew from the propensities, one log after another.

Random numbers are a function of the seed, the draw and the row, so whatever is made of them has the same bits
whatever the number of threads, and all tests see the same redrawn logs.
"""
# mypy: disable-error-code="no-untyped-def, no-untyped-call, misc"

from __future__ import annotations

import numpy as np

from kwis.checks.null import Null
from kwis.runtime.compile import compiled
from kwis.runtime.threads import each_block, row_blocks
from kwis.typing import Ints

_CELLS = 1 << 21  # entries of the largest array of a block


def redrawn_actions(null: Null, group: Ints | None, first: int, draws: int, seed: int = 0) -> Ints:
    """``(draws, n)`` actions of so many redrawn logs, from the one numbered ``first``."""
    n, k = null.chance.shape
    labels = np.empty(0, dtype=np.int64) if group is None else group.astype(np.int64)
    actions = np.empty((draws, n), dtype=np.int64)
    keys = keys_of(seed, first, draws)

    def draw(rows: slice) -> None:
        ends = null.chance[rows].cumsum(axis=1)
        own = labels[rows] if labels.size else labels
        _draw(
            keys,
            rows.start,
            ends / ends[:, -1:],
            own,
            np.sqrt(null.shared),
            actions[:, rows],
        )

    each_block(draw, row_blocks(n, max(1, _CELLS // k)))
    return actions


@compiled(nogil=True, error_model="numpy", inline="always")
def mixed(x):
    """SplitMix64."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@compiled(nogil=True, error_model="numpy", inline="always")
def uniform(key, number):
    """A number from 0 to 1 for each row, or group, of a key."""
    return (mixed(key + np.uint64(number) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(11)) * (
        1.0 / 9007199254740992.0
    )


@compiled(nogil=True, error_model="numpy", inline="always")
def place_in(ends, i, u):
    """First place of row ``i`` whose end is above ``u``."""
    low, high = 0, ends.shape[1] - 1
    while low < high:
        middle = (low + high) // 2
        if ends[i, middle] > u:
            high = middle
        else:
            low = middle + 1
    return low


def keys_of(seed, first, draws):
    """``(3, draws)`` keys, from the draw numbered ``first``: for rows, for groups, and for which of the two a
    row looks up.
    """
    mix = mixed.py_func
    numbers = np.arange(first + 1, first + draws + 1, dtype=np.uint64)
    key = mix(np.array([seed], dtype=np.uint64) * np.uint64(4) + numbers * np.uint64(0xD1342543DE82EF95))
    return np.stack([key, mix(key + np.uint64(1)), mix(key + np.uint64(2))])


@compiled(nogil=True, error_model="numpy")
def _draw(keys, start, ends, group, sharing, out):
    """Actions of some rows; each row looks up a uniform number of its own or, as often as ``sharing`` says,
    that of its group.
    """
    for draw in range(out.shape[0]):
        own, of_group, which = keys[0, draw], keys[1, draw], keys[2, draw]
        for i in range(out.shape[1]):
            u = uniform(own, start + i)
            if group.shape[0] > 0 and uniform(which, start + i) < sharing:
                u = uniform(of_group, group[i])
            out[draw, i] = place_in(ends, i, u)
