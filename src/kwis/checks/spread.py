"""Sums of scores in standard deviations: those that right propensities give them, or the sample's own."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kwis.checks.regions import Mask
from kwis.typing import Floats

_FARTHEST = 35.0  # standard errors beyond which a p-value is 0 in double precision


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Spread:
    """How the sums of m tests vary if the propensities are right.

    Attributes
    ----------
    variance, third, absolute
        Variance, third moment and third absolute moment of each sum, the last two added up over the draws.
    inflation
        How many times as large the variance is as it would be with independent rows.
    draws
        How many take part.
    known
        Whether the variance is known for certain. If not, the sample's is used for sums on the long side of
        their distribution, and the larger of both on the other.
    """

    variance: Floats
    third: Floats
    absolute: Floats
    inflation: Floats
    draws: Floats
    known: Mask

    @property
    def events(self) -> Floats:
        """Of how many equally important draws each sum consists: ``n p`` for a rare event of
        probability p.
        """
        return (
            np.where(self.variance > 0, self.variance, 0.0) ** 1.5
            / np.where(self.absolute > 0, self.absolute, 1.0)
        ) ** 2

    def z(self, score: Floats, squares: Floats | None = None, cubes: Floats | None = None) -> Floats:
        """Sums of scores in standard deviations, corrected for skewness; with the sums of their squares and
        cubes by row where used.
        """
        positive = self.variance > 0
        variance = np.where(positive, self.variance, 1.0)
        skewness = self.third / variance**1.5
        if squares is None or cubes is None:
            z = standardised(score / np.sqrt(variance), skewness)
        else:
            squares, cubes = squares * self.inflation, cubes * self.inflation**2
            larger = np.where(self.known, variance, np.maximum(squares, variance))
            z = standardised(score / np.sqrt(larger), skewness)
            # On the long side the sample's squares grow with the sum, so the sample tells its own spread; on
            # the short side they collapse.
            own = ~self.known & (score * skewness > 0)
            z = np.where(own, _studentised(score, squares, cubes, self.draws), z)
        return np.clip(z, -_FARTHEST, _FARTHEST) * positive


def standardised(z: Floats, skewness: Floats) -> Floats:
    """Wilson and Hilferty's cube root, for sums divided by their own standard deviation."""
    some = np.abs(skewness) > 1e-6
    a = np.where(some, skewness, 1.0)
    return np.where(some, 6 / a * (np.cbrt(1 + a * z / 2) - 1) + a / 6, z)


def _studentised(score: Floats, squares: Floats, cubes: Floats, draws: Floats) -> Floats:
    """Student's ratio, corrected by Hall's cubic (1992), for sums divided by what the sample says of their
    spread.
    """
    n = np.maximum(draws, 2)
    part = score / np.sqrt(np.where(squares > 0, squares, 1.0))
    # From the sum over the root of the squares to Student's ratio, whose spread is around the mean.
    t = part * np.sqrt((n - 1) / np.maximum(n - part**2, 1e-9))
    mean, second = score / n, squares / n
    variance = second - mean**2
    third = cubes / n - 3 * mean * second + 2 * mean**3
    spread = variance > 1e-9 * second
    a = np.where(spread, third / np.where(spread, variance, 1.0) ** 1.5, 0.0) / np.sqrt(n)
    return t + a * t**2 / 3 + a**2 * t**3 / 27 + a / 6
