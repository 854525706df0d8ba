"""Poisson(1) counts of a row in every resample, from its identity alone.

A Poisson bootstrap draws each row independently, so nobody has to know how many rows there are. Here the
count of a row in resample b is a function of the row's key, the seed and b: whatever batch, file order or
worker it comes in, it counts the same.
"""

from __future__ import annotations

import math
from functools import cache
from hashlib import blake2b

import numpy as np

from kwis.streaming.compiled import mixed, poisson_counts
from kwis.typing import Floats, Ints

_SIZE = 1 << 16


@cache
def count_table() -> Ints:
    """Counts for each of 65,536 equally likely numbers: Poisson(1) to 16 bits, with mean and variance exactly
    1.
    """
    shares = np.array([_SIZE / (math.e * math.factorial(k)) for k in range(9)])
    numbers = np.rint(shares).astype(np.int64)
    # Three of the numbers are adjusted, by a few units each, so that total, mean and mean square are exact.
    ks = np.arange(9)
    gaps = _SIZE * np.array([1, 1, 2]) - np.array(
        [numbers.sum(), (ks * numbers).sum(), (ks * ks * numbers).sum()]
    )
    twos = (gaps[2] - gaps[1]) // 2
    numbers[2] += twos
    numbers[1] += gaps[1] - 2 * twos
    numbers[0] += gaps[0] - twos - (gaps[1] - 2 * twos)
    table = np.repeat(ks, numbers).astype(np.uint8)
    table.flags.writeable = False
    return table


def seed_word(seed: int) -> np.uint64:
    """A seed as 64 well-mixed bits."""
    return np.uint64(int.from_bytes(blake2b(str(seed).encode(), digest_size=8).digest(), "little"))


def text_key(text: str | bytes) -> np.uint64:
    """64 bits for a name, the same on every machine."""
    data = text.encode() if isinstance(text, str) else text
    return np.uint64(int.from_bytes(blake2b(data, digest_size=8).digest(), "little"))


def row_keys(name: str, start: int, n: int) -> Ints:
    """Keys of the rows ``start`` to ``start + n - 1`` of the file ``name``."""
    return np.asarray(mixed(np.arange(start, start + n, dtype=np.uint64), text_key(name)))


def counts_of(keys: Ints, seed: int, replicates: int) -> Floats:
    """``(n, B)`` how often each row is in each resample."""
    counts = np.empty((keys.size, replicates))
    poisson_counts(keys, seed_word(seed), count_table(), counts)
    return counts
