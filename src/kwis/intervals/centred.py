"""Bets on what rewards are above a guess of them, where weights have a known bound.

Weights have mean 1, so ``y_i = w_i (s_i - c) + c``, with s_i the share of the range that reward i makes up,
has the mean v of ``w_i s_i`` for any number c; around ``c = v`` it varies as little as WIS does. A claim v is
put to bets on the centre c nearest to it. Which one that is does not depend on the rows, so every bet is a
fair game, and a mixture over the centres need not be paid for. No bet may be so large that the largest
weight, with the reward that goes against it, would take more than what it staked.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kwis.intervals.wealth import SCALES, Wealth
from kwis.typing import Floats

CENTRES = np.linspace(0, 1, 9)
EDGES = (CENTRES[1:] + CENTRES[:-1]) / 2
"""Where one centre takes over from the one below."""
_STAKED = 0.9
"""Part of the stake that the worst row may take."""


@dataclass(frozen=True, slots=True, eq=False)
class Centred:
    """Bets at every centre: that the mean is higher than claimed, and that it is lower."""

    higher: tuple[Wealth, ...]
    lower: tuple[Wealth, ...]

    @classmethod
    def of(cls, weight: Floats, share: Floats, largest: float) -> Centred:
        """The sums of some rows."""
        # Weights that are all 1 vary by nothing that a centre could take away.
        centres = CENTRES if largest > 1 else CENTRES[:1]
        terms = [weight * (share - c) + c for c in centres]
        return cls(
            tuple(Wealth.of(y, higher_scales(c, largest)) for y, c in zip(terms, centres, strict=True)),
            tuple(Wealth.of(y, lower_scales(c, largest)) for y, c in zip(terms, centres, strict=True)),
        )

    def __add__(self, other: Centred) -> Centred:
        """The sums of the rows of both."""
        both = ((self.higher, other.higher), (self.lower, other.lower))
        return Centred(*(tuple(a + b for a, b in zip(*sides, strict=True)) for sides in both))

    def against_low(self, v: float) -> float:
        """Logarithm of the capital of bets that the mean is above v."""
        return self.higher[min(_centre(v), len(self.higher) - 1)].log_capital(v)

    def against_high(self, rest: float) -> float:
        """Logarithm of the capital of bets that the mean is below ``1 - rest``."""
        place = len(CENTRES) - 1 - _centre(rest)
        return self.lower[min(place, len(self.lower) - 1)].log_capital(1 - rest)


def higher_scales(centre: float, largest: float) -> Floats:
    """Sizes of bets on a higher mean: the least that a term can be is ``-centre (largest - 1)``."""
    worst = centre * (largest - 1)
    return SCALES if worst <= 0 else np.unique(np.minimum(SCALES, _STAKED / worst))


def lower_scales(centre: float, largest: float) -> Floats:
    """Sizes of bets on a lower mean: the most that a term can be is ``largest (1 - centre) + centre``."""
    worst = largest * (1 - centre) + centre
    return -np.unique(np.minimum(SCALES, _STAKED / worst))


def _centre(v: float) -> int:
    """Number of the centre nearest to v, the lower of two."""
    return int(np.searchsorted(EDGES, v))
