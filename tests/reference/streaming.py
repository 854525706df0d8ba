"""Slow twins of the streaming pieces: Python integers and fractions, nothing imported from the package."""

import hashlib
import math
from fractions import Fraction

_WORD = 2**64
_STEP = 0x9E3779B97F4A7C15


def mix(x):
    x %= _WORD
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 % _WORD
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB % _WORD
    return x ^ (x >> 31)


def word_of(text):
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


def row_key(file, row):
    return mix(mix(row + word_of(file)) + _STEP)


def count(key, seed, replicate, table):
    """Count of a row in a resample: the 16-bit lane ``replicate % 4`` of hash number ``replicate // 4``,
    looked up.
    """
    word = mix(mix(key ^ word_of(str(seed))) + (replicate // 4 + 1) * _STEP)
    return int(table[(word >> (16 * (replicate % 4))) % 65536])


def poisson(k):
    return math.exp(-1) / math.factorial(k)


def exact_sum(values):
    return sum((Fraction(float(value)) for value in values), Fraction(0))


def exact_product(a, b):
    return sum((Fraction(float(x)) * Fraction(float(y)) for x, y in zip(a, b, strict=True)), Fraction(0))


def resampled_ratio(top, bottom, counts):
    """``sum c top / sum c bottom`` for one resample."""
    return sum(c * t for c, t in zip(counts, top, strict=True)) / sum(
        c * b for c, b in zip(counts, bottom, strict=True)
    )


def percentiles(values, level):
    """Values at the places ``p (B + 1)``, counted from 1, the ends where a place is beyond them."""
    ordered, found = sorted(values), []
    for share in ((1 - level) / 2, (1 + level) / 2):
        place = min(max(share * (len(ordered) + 1), 1), len(ordered))
        below = min(int(place), len(ordered) - 1)
        found.append(ordered[below - 1] + (place - below) * (ordered[below] - ordered[below - 1]))
    return tuple(found)


def state_influence(state, weight, reward, mass, normalised):
    """Value and influence of State-WIS, row by row from its definition."""
    total, n = sum(mass), len(state)
    near = {s: sum(m for t, m in zip(state, mass, strict=True) if t == s) for s in set(state)}
    load = {s: sum(m * w for t, m, w in zip(state, mass, weight, strict=True) if t == s) for s in set(state)}
    applied = [w * near[s] / load[s] if w > 0 else 0.0 for s, w in zip(state, weight, strict=True)]
    top = sum(m * v * r for m, v, r in zip(mass, applied, reward, strict=True))
    bottom = sum(m * v for m, v in zip(mass, applied, strict=True)) if normalised else total
    value = top / bottom
    found = []
    for s, w, r, m in zip(state, weight, reward, mass, strict=True):
        mean = (
            sum(c * x * y for t, c, x, y in zip(state, mass, weight, reward, strict=True) if t == s) / load[s]
            if load[s]
            else 0.0
        )
        own = near[s] / load[s] * w * (r - mean) if load[s] else 0.0
        if normalised:
            found.append(m * n / bottom * (own + (mean - value if load[s] else 0.0)))
        else:
            found.append(m * n / total * (own + mean - value))
    return value, found
