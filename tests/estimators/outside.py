"""Estimators as somebody would write them outside of the package."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

import kwis


@dataclass(frozen=True)
class ClippedMean:
    """Mean of ``min(w_i, cap) r_i``, with all that an estimator may say about itself."""

    cap: float = 3.0
    name = "clipped-mean"
    aliases = ("clipped",)
    sentence = "mean of reward times a weight of at most the cap"

    def estimate(self, sample: kwis.WeightedSample) -> kwis.Estimate:
        terms = np.minimum(sample.weight, self.cap) * sample.reward
        influence = terms - terms.mean()
        error = float(np.sqrt(np.square(influence).sum() / sample.n / (sample.n - 1)))
        return kwis.Estimate(
            name=self.name, value=float(terms.mean()), n=sample.n, std_error=error, influence=influence
        )

    def caveats(self, circumstances: object) -> Iterable[kwis.Verdict]:
        yield kwis.Verdict(level="with care", reasons=("clipped weights draw the value towards 0",))


class Bare:
    """Only what an estimator must have: a name and an estimate."""

    name = "bare"

    def estimate(self, sample: kwis.WeightedSample) -> kwis.Estimate:
        return kwis.Estimate(
            name=self.name, value=float(np.median(sample.reward * sample.weight)), n=sample.n
        )
