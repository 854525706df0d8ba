"""Bets on what rewards are above a guess of them, where weights have a known bound.

Weights have mean 1, so ``y_i = w_i (s_i - c) + c``, with s_i the share of the range that reward i makes up,
has the mean v of ``w_i s_i`` for any guess c. Around ``c = v`` it varies as little as WIS does. Other guesses
allow larger bets: no bet may be so large that the largest weight, with the reward that goes against it, takes
more than was staked, and the smaller c, the less it can take. With rare rewards that is worth more than a
small variance. For the difference d to the logging policy ``1 + (w_i - 1) (s_i - c)`` has the mean ``1 + d``.

Stakes are split over guesses and sizes, and over bets on more and on less than claimed. How depends on the
claim that is bet against, never on the rows, so that all bets together are a fair game.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from kwis._validation import read_only
from kwis.intervals.wealth import log_mean_exp, sums_of_logs
from kwis.typing import Floats

GUESSES = np.linspace(0, 1, 9)
EDGES = (GUESSES[1:] + GUESSES[:-1]) / 2
"""Where one guess takes over from the one below."""
SIZES = 2.0 ** np.arange(-14, 6)
"""Sizes of the bets, as far as the largest weight allows them."""
# How stakes are split was chosen on simulated logs of 1,000 to 500,000 rows, other than those of
# `test_guarantees.py`. Widths depend little on it: by a few percent on half or twice any of these numbers.
_LIKELIEST = {"value": 2**-3.0, "difference": 2**-1.5}
"""Size with the largest stake. Differences vary less, so that larger bets pay."""
_SPREAD = 3.0
"""Doublings away from it at which half the stake remains; beyond, stakes fall with their third power."""
_NEAREST, _FREEST = 0.5, 0.05
"""Parts of the stakes at the guess nearest to the claim, and at 0, where no weight is too large."""
_FADING = 2 / 3
"""What is left of the stake with each step to another guess."""
_ON_HIGHER = 0.2, 0.8
"""Parts of all stakes that are on a higher mean than one near 0, and near 1; the others are on a lower one.
Where rewards are rare it takes little to tell that they are not rarer still, and much that they are not more.
"""
_STAKED = 0.98
"""Part of the stake that the worst row may take."""


@dataclass(frozen=True, slots=True, eq=False)
class Centred:
    """Sums over the rows seen so far, of bets that the mean is higher than claimed.

    Attributes
    ----------
    n
        Number of rows.
    difference
        Whether they are about ``1 + d`` instead of a value.
    sizes, logs
        ``(G, S)`` sizes of the bets around each guess, and the sums of ``log(1 + size y_i)``.
    """

    n: int
    difference: bool
    sizes: Floats
    logs: Floats

    @classmethod
    def of(cls, weight: Floats, share: Floats, largest: float, *, difference: bool) -> Centred:
        """The sums of some rows: about the mean of ``w_i s_i``, or about ``1 + d``."""
        sizes, distinct = _sizes(largest, difference)
        logs = np.empty(sizes.shape)
        for place, c in enumerate(GUESSES[: len(sizes)].tolist()):
            above = share - c
            terms = weight * above + (1 - above if difference else c)
            allowed = distinct[place]
            logs[place, : len(allowed)] = sums_of_logs(terms, allowed)
            logs[place, len(allowed) :] = logs[place, len(allowed) - 1]
        return cls(n=len(weight), difference=difference, sizes=sizes, logs=read_only(logs))

    def __add__(self, other: Centred) -> Centred:
        """The sums of the rows of both."""
        return replace(self, n=self.n + other.n, logs=read_only(self.logs + other.logs))

    def log_capital(self, mean: float, guess: int) -> float:
        """Logarithm of what bets against a mean, with stakes for the guess of this number, have made of 1."""
        won = self.logs - self.n * np.log1p(self.sizes * mean)
        stakes = _log_stakes(min(guess, len(won) - 1), len(won), self.difference)
        return log_mean_exp((won + stakes).ravel())


def nearest(v: float) -> int:
    """Number of the guess nearest to v, the lower of two."""
    return int(np.searchsorted(EDGES, v))


def mirrored(guess: int) -> int:
    """Number of the same guess for losses, of which it says what is left of the range."""
    return len(GUESSES) - 1 - guess


def log_part(guess: int) -> float:
    """Logarithm of the part of all stakes that is on a higher mean than one near this guess."""
    first, last = _ON_HIGHER
    return math.log(first + (last - first) * float(GUESSES[guess]))


@lru_cache(maxsize=64)
def _sizes(largest: float, difference: bool) -> tuple[Floats, tuple[Floats, ...]]:
    """Sizes of the bets around each guess, and those that differ: the bound makes large ones equal."""
    # Weights that are all 1 vary by nothing that a guess could take away.
    guesses = GUESSES if largest > 1 else GUESSES[:1]
    worst = guesses * (largest - 1) - (1.0 if difference else 0.0)
    bound = np.divide(_STAKED, worst, out=np.full(len(worst), np.inf), where=worst > 0)
    sizes = read_only(np.minimum(SIZES, bound[:, None]))
    return sizes, tuple(np.unique(row) for row in sizes)


@lru_cache(maxsize=64)
def _log_stakes(guess: int, guesses: int, difference: bool) -> Floats:
    """Stakes of all guesses and sizes, for claims nearest to one of the guesses."""
    away = np.abs(np.arange(guesses) - guess)
    stakes = np.where(away == 0, 0.0, _FADING**away)
    stakes *= (1 - _NEAREST - _FREEST) / stakes.sum() if guesses > 1 else 0.0
    stakes[0] += _FREEST
    stakes[guess] += 1 - stakes.sum()
    doublings = np.abs(np.log2(SIZES / _LIKELIEST["difference" if difference else "value"]))
    of_sizes = 1 / (1 + (doublings / _SPREAD) ** 3)
    stakes = np.multiply.outer(stakes, of_sizes / of_sizes.sum())
    return read_only(np.log(stakes * stakes.size))  # `log_mean_exp` divides by the number of bets
