"""Bets on what rewards are above a guess of them, where weights have a known bound.

Weights have mean 1, so ``y_i = w_i (s_i - c) + c``, with s_i the share of the range that reward i makes up,
has the mean v of ``w_i s_i`` for any number c; around ``c = v`` it varies as little as WIS does. A claim v is
put to bets on the centre c nearest to it. Which one that is does not depend on the rows, so every bet is a
fair game, and a mixture over the centres need not be paid for.

For the difference d to the logging policy ``1 + (w_i - 1) (s_i - c)`` has the mean ``1 + d`` for any c. Which
centre is best depends on the rewards and not on the claim, so there the stake is split over a few.

No bet may be so large that the largest weight, with the reward that goes against it, would take more than
what it staked.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kwis.intervals.wealth import SCALES, Wealth, log_capital
from kwis.typing import Floats

CENTRES = np.linspace(0, 1, 9)
EDGES = (CENTRES[1:] + CENTRES[:-1]) / 2
"""Where one centre takes over from the one below."""
DIFFERENCE_CENTRES = np.array([0.125, 0.25, 0.5, 0.75, 0.875])
_STAKED = 0.9
"""Part of the stake that the worst row may take."""


@dataclass(frozen=True, slots=True, eq=False)
class Centred:
    """Bets at every centre: that the mean is higher than claimed, and that it is lower; of a ``difference``,
    or of the value.
    """

    higher: tuple[Wealth, ...]
    lower: tuple[Wealth, ...]
    difference: bool = False

    @classmethod
    def of_value(cls, weight: Floats, share: Floats, largest: float) -> Centred:
        """The sums of some rows, for the value."""
        # Weights that are all 1 vary by nothing that a centre could take away.
        centres = (CENTRES if largest > 1 else CENTRES[:1]).tolist()
        terms = [weight * (share - c) + c for c in centres]
        return cls(
            tuple(Wealth.of(y, higher_scales(c, largest)) for y, c in zip(terms, centres, strict=True)),
            tuple(Wealth.of(y, lower_scales(c, largest)) for y, c in zip(terms, centres, strict=True)),
        )

    @classmethod
    def of_difference(cls, weight: Floats, share: Floats, largest: float) -> Centred:
        """The sums of some rows, for the difference to the logging policy."""
        centres = DIFFERENCE_CENTRES.tolist()
        terms = [(weight - 1) * (share - c) for c in centres]
        return cls(
            tuple(
                Wealth.of(1 + y, difference_scales(c, largest)) for y, c in zip(terms, centres, strict=True)
            ),
            tuple(
                Wealth.of(1 - y, difference_scales(1 - c, largest))
                for y, c in zip(terms, centres, strict=True)
            ),
            difference=True,
        )

    def __add__(self, other: Centred) -> Centred:
        """The sums of the rows of both."""
        return Centred(
            tuple(a + b for a, b in zip(self.higher, other.higher, strict=True)),
            tuple(a + b for a, b in zip(self.lower, other.lower, strict=True)),
            self.difference,
        )

    def against_low(self, v: float) -> float:
        """Logarithm of the capital of bets that the mean is above v; that of a difference is ``1 + d``."""
        if self.difference:
            return log_capital(*(one.log_capital(v) for one in self.higher))
        return self.higher[min(_centre(v), len(self.higher) - 1)].log_capital(v)

    def against_high(self, rest: float) -> float:
        """Logarithm of the capital of bets that the mean is below ``1 - rest``; of a difference, that
        ``1 - d`` is above ``rest``.
        """
        if self.difference:
            return log_capital(*(one.log_capital(rest) for one in self.lower))
        place = len(CENTRES) - 1 - _centre(rest)
        return self.lower[min(place, len(self.lower) - 1)].log_capital(1 - rest)


def higher_scales(centre: float, largest: float) -> Floats:
    """Sizes of bets on a higher value: the least that a term can be is ``-centre (largest - 1)``."""
    return _below(centre * (largest - 1))


def lower_scales(centre: float, largest: float) -> Floats:
    """Sizes of bets on a lower value: the most that a term can be is ``largest (1 - centre) + centre``."""
    return -_below(largest * (1 - centre) + centre)


def difference_scales(centre: float, largest: float) -> Floats:
    """Sizes of bets on a higher mean: the least that a term can be is ``1 - centre (largest - 1)``."""
    return _below(centre * (largest - 1) - 1)


def _below(worst: float) -> Floats:
    """Sizes of bets that survive a loss of ``worst`` times their size."""
    return SCALES if worst <= 0 else np.unique(np.minimum(SCALES, _STAKED / worst))


def _centre(v: float) -> int:
    """Number of the centre nearest to v, the lower of two."""
    return int(np.searchsorted(EDGES, v))
