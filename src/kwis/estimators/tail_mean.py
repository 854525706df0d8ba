"""The mean of the highest or lowest rewards that a policy would bring: conditional value at risk."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kwis.estimators.protocol import Resamples
from kwis.estimators.quantile import Ordered, checked_share, few_in_tail, statistic_estimate
from kwis.estimators.traits import ALL_ROWS, Circumstances
from kwis.results import Estimate, Verdict
from kwis.sample import WeightedSample
from kwis.typing import Floats

FEW_IN_TAIL = (30, 5)
"""Effective rows in the tail below which its mean is to be taken with care, or not to be trusted: with fewer
than 30, and very heavy or short tails, intervals covered 90 to 94 % instead of 95, though they are skewed as
the tail is (``tests/statistical/test_statistics.py``)."""


@dataclass(frozen=True, slots=True)
class TailMean:
    """Mean of the rewards beyond a quantile q (conditional value at risk, expected shortfall).

    The upper tail is ``q + sum w_i max(r_i - q, 0) / ((1 - share) sum w_i)``, the lower one
    ``q - sum w_i max(q - r_i, 0) / (share sum w_i)`` (Rockafellar and Uryasev 2000). To first order it does
    not depend on the quantile, so no density is needed for its influence.

    Parameters
    ----------
    share
        Of the rewards below the quantile: 0.95 for the mean of the highest 5 %.
    upper
        The mean of the rewards above the quantile; otherwise of those below.

    See Also
    --------
    kwis.Quantile : where the tail begins.
    kwis.evaluate : takes ``statistic="cvar:0.95"``.

    Examples
    --------
    >>> sample = kwis.WeightedSample(
    ...     context=[[0.0], [0.0], [1.0]], weight=[2.0, 1.0, 0.5], reward=[1.0, 0.0, 1.0]
    ... )
    >>> round(kwis.TailMean(0.5).estimate(sample).value, 3)
    1.0
    """

    sentence: ClassVar[str] = (
        "mean of the rewards beyond a quantile, rows counted by their weights, as in wis"
    )
    normalised: ClassVar[bool] = False  # the mean of a tail may well lie beyond the rewards that were seen
    normalised_over: ClassVar[str] = ALL_ROWS

    share: float = 0.95
    upper: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "share", checked_share(self.share))

    @property
    def name(self) -> str:
        """Its name in results and messages."""
        return f"wis-{'cvar' if self.upper else 'lower-cvar'}-{self.share:g}"

    def estimate(self, sample: WeightedSample) -> Estimate:
        """The mean of the tail under the policy; its rows alone carry the estimate."""
        edge = self.edge(sample)
        within = sample.reward >= edge if self.upper else sample.reward <= edge
        beyond = np.where(within, sample.weight, 0.0)
        return statistic_estimate(self, sample, beyond)

    def edge(self, sample: WeightedSample) -> float:
        """The quantile at which the tail begins."""
        return float(Ordered.of(sample, np.ones((sample.n, 1))).quantile(np.array([self.share]))[0])

    def caveats(self, circumstances: Circumstances) -> Iterable[Verdict]:
        """Few rows in the tail."""
        yield from few_in_tail(circumstances.estimate.effective_n, FEW_IN_TAIL)

    def resampled(self, sample: WeightedSample, counts: Floats, *, influence: bool = False) -> Resamples:
        """The same on resamples with the given counts (n, B)."""
        rewards = Ordered.of(sample, counts)
        quantile = rewards.quantile(np.full(counts.shape[1], self.share))
        sign, size = (1.0, 1 - self.share) if self.upper else (-1.0, self.share)
        beyond = sign * np.maximum(sign * (sample.reward[:, None] - quantile), 0.0) / size
        total = counts.sum(axis=0)
        mean = np.einsum("ib,ib->b", counts, rewards.load * beyond) / total
        values = quantile + mean
        return Resamples(values, rewards.influence_of(beyond, mean) if influence else None)
