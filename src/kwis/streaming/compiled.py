"""Compiled loops over rows: sums to twice the working precision, and Poisson counts hashed from the identity
of a row.

A sum is kept as ``high + low``: what an addition rounds away from ``high`` is exactly known (Knuth) and goes
into ``low``. Sums of a billion terms then agree to the last bit or so whatever their order, which is what
makes results independent of how a log is cut.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from kwis.runtime.compile import compiled

_STEP = np.uint64(0x9E3779B97F4A7C15)
_MIX_1, _MIX_2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_27, _30, _31, _16 = np.uint64(27), np.uint64(30), np.uint64(31), np.uint64(16)
_LOW_16 = np.uint64(0xFFFF)
_SPLIT = (
    134217729.0  # 2^27 + 1 cuts the 53 bits of a double into two halves whose products are exact (Veltkamp)
)


@njit
def _mix(x):  # type: ignore[no-untyped-def]
    """Finaliser of SplitMix64 (Steele, Lea and Flood 2014): every bit of the input changes half of the
    output.
    """
    x = (x ^ (x >> _30)) * _MIX_1
    x = (x ^ (x >> _27)) * _MIX_2
    return x ^ (x >> _31)


@compiled(nogil=True)
def mixed(keys, salt):  # type: ignore[no-untyped-def]
    """A new 64-bit number for every key; another salt gives unrelated ones."""
    out = np.empty_like(keys)
    for i in range(keys.size):
        out[i] = _mix(_mix(keys[i] + salt) + _STEP)
    return out


@compiled(nogil=True)
def chained(hashes, bits):  # type: ignore[no-untyped-def]
    """Take one more column into the hash of every row, in place."""
    for i in range(hashes.size):
        hashes[i] = _mix((hashes[i] ^ _mix(bits[i] + _STEP)) * _MIX_2 + _STEP)


@compiled(nogil=True)
def poisson_counts(keys, seed, table, counts):  # type: ignore[no-untyped-def]
    """Counts ``(n, B)`` of each row in B resamples: 16 bits of a hash of key, seed and resample, looked up in
    a table.
    """
    for i in range(keys.size):
        start = _mix(keys[i] ^ seed)
        for b in range(counts.shape[1]):
            word = _mix(start + (np.uint64(b // 4) + np.uint64(1)) * _STEP)
            counts[i, b] = table[(word >> (np.uint64(b % 4) * _16)) & _LOW_16]


@compiled(nogil=True)
def add_resampled(keys, terms, seed, table, high, low):  # type: ignore[no-untyped-def]
    """Add ``counts[i, b] * terms[i, a]`` to the sums ``[a, b]``; the counts are those of
    :func:`poisson_counts`.
    """
    replicates = high.shape[1]
    words = (replicates + 3) // 4
    counts = np.empty(4 * words)
    for i in range(keys.size):
        start = _mix(keys[i] ^ seed)
        for j in range(words):
            word = _mix(start + np.uint64(j + 1) * _STEP)
            for lane in range(4):
                counts[4 * j + lane] = table[word & _LOW_16]
                word >>= _16
        for a in range(terms.shape[1]):
            term = terms[i, a]
            for b in range(replicates):
                x = counts[b] * term
                before = high[a, b]
                after = before + x
                part = after - before
                low[a, b] += (before - (after - part)) + (x - part)
                high[a, b] = after


@compiled(nogil=True)
def add_sums(terms, high, low):  # type: ignore[no-untyped-def]
    """Add every column of ``terms`` to its sum."""
    for i in range(terms.shape[0]):
        for a in range(terms.shape[1]):
            x = terms[i, a]
            before = high[a]
            after = before + x
            part = after - before
            low[a] += (before - (after - part)) + (x - part)
            high[a] = after


@compiled(nogil=True)
def add_products(terms, high, low):  # type: ignore[no-untyped-def]
    """Add ``terms' terms`` to the sums ``[a, b]``, ``a <= b``; each product is exact, as the sum of two
    doubles.
    """
    width = terms.shape[1]
    upper, lower = np.empty(width), np.empty(width)
    for i in range(terms.shape[0]):
        for a in range(width):
            scaled = _SPLIT * terms[i, a]
            upper[a] = scaled - (scaled - terms[i, a])
            lower[a] = terms[i, a] - upper[a]
        for a in range(width):
            for b in range(a, width):
                x = terms[i, a] * terms[i, b]
                rest = lower[a] * lower[b] - (
                    ((x - upper[a] * upper[b]) - lower[a] * upper[b]) - upper[a] * lower[b]
                )
                before = high[a, b]
                after = before + x
                part = after - before
                low[a, b] += ((before - (after - part)) + (x - part)) + rest
                high[a, b] = after
