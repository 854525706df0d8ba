"""What bets against a mean have won: a few sums over rows, which can be added up in any order.

For terms ``x_i`` of mean v, ``prod (1 + l x_i) / (1 + l v)`` has mean 1 at every number of rows, for any l
that keeps its factors positive, and so has its average over several l: the capital of a gambler in a fair
game. By Ville's inequality it ever exceeds ``1 / a`` with probability ``a`` at most. A mean v at which it
does is refuted, whenever one looks. Bets with ``l > 0`` win if the mean is higher than v, and go with any
``x >= 0``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from kwis._validation import read_only
from kwis.typing import Floats

SCALES = 2.0 ** np.arange(-14, 3)
"""Sizes ``l`` of the bets that are mixed, from nearly none at 16,000 rows to large ones at a handful."""
_HALVINGS = 60
_LARGEST = 1e300  # less than was gained keeps the bound, and products stay finite
_ROWS_AT_ONCE = 1 << 16


@dataclass(frozen=True, slots=True, eq=False)
class Wealth:
    """Sums over the rows seen so far.

    Attributes
    ----------
    n
        Number of rows.
    scales, logs
        ``(L,)`` sizes l of the bets, and the sums of ``log(1 + l x_i)``.
    """

    n: int
    scales: Floats
    logs: Floats

    @classmethod
    def of(cls, terms: Floats, scales: Floats = SCALES) -> Wealth:
        """The sums of some rows."""
        return cls(n=terms.size, scales=scales, logs=read_only(sums_of_logs(terms, scales)))

    def __add__(self, other: Wealth) -> Wealth:
        """The sums of the rows of both."""
        return Wealth(n=self.n + other.n, scales=self.scales, logs=read_only(self.logs + other.logs))

    def log_capital(self, v: float) -> float:
        """Logarithm of what bets against a mean of v have made of 1."""
        return log_mean_exp(self.logs - self.n * np.log1p(self.scales * v))


def sums_of_logs(terms: Floats, scales: Floats) -> Floats:
    """The sum of ``log(1 + l x_i)`` for each l."""
    terms = np.minimum(terms, _LARGEST)
    logs = np.zeros(scales.size)
    for start in range(0, terms.size, _ROWS_AT_ONCE):
        part = terms[start : start + _ROWS_AT_ONCE]
        logs += np.log1p(np.multiply.outer(scales, part)).sum(axis=1)
    return logs


def log_mean_exp(logs: Floats) -> float:
    """Logarithm of the capital of a gambler who splits the stake evenly, from those of the parts."""
    top = float(logs.max())
    return top + math.log(np.exp(logs - top).mean())


def refuted_below(
    capital: Callable[[float], float], log_chance: float, most: float = 1.0, edges: Sequence[float] = ()
) -> float:
    """The largest v up to ``most`` below which every value is refuted, for a capital that falls with v up to
    each of the increasing ``edges``; the mean is below it at any look with probability ``exp(-log_chance)``
    at most.
    """
    if capital(0.0) <= log_chance:
        return 0.0
    below, above = 0.0, most
    for edge in edges:
        if capital(edge) <= log_chance:
            above = edge
            break
        below = edge
    for _ in range(_HALVINGS):
        middle = (below + above) / 2
        below, above = (middle, above) if capital(middle) > log_chance else (below, middle)
    return below
