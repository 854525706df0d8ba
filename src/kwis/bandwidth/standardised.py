"""Weights in the units in which bandwidths are searched."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from kwis.kernel.held_out import Folds
from kwis.typing import Floats

Number = TypeVar("Number", float, Floats)


@dataclass(frozen=True, slots=True)
class Standardised:
    """Weights shifted and scaled so that an infinite bandwidth scores 1: neither changes where the minimum
    is.

    ``score`` is that of an infinite bandwidth in units of the squared largest weight; 0 if all weights are
    equal.
    """

    weight: Floats
    score: float
    unit: float

    @classmethod
    def of(cls, weight: Floats, folds: Folds) -> Standardised:
        unit = float(weight.max()) or 1.0
        centred = weight / unit
        centred = centred - centred.mean()
        score = folds.score_of_mean(centred)
        if score <= np.finfo(np.float64).eps ** 2:  # rounding errors of equal weights
            return cls(centred, 0.0, unit)
        return cls(centred / math.sqrt(score), score, unit)

    def restore(self, score: Number) -> Number:
        """A score, or its gradient, in units of the squared weight: infinite or 0 where no float holds it."""
        with np.errstate(over="ignore"):
            return score * self.score * self.unit * self.unit
