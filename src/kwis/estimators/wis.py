"""Weighted (self-normalised) importance sampling."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from kwis.estimators.ratio import Applied, RuleEstimator
from kwis.estimators.traits import ALL_ROWS
from kwis.sample import WeightedSample, balanced
from kwis.typing import Floats


@dataclass(frozen=True, slots=True)
class WIS(RuleEstimator):
    """``sum w_i r_i / sum w_i``: a weighted mean of the rewards, so always within their range.

    See Also
    --------
    kwis.KernelWIS : normalises the weights around each context.
    kwis.VIS : does not normalise.
    kwis.EmpiricalLikelihood : uses that weights have mean 1.

    Examples
    --------
    >>> sample = kwis.WeightedSample(
    ...     context=[[0.0], [0.0], [1.0]], weight=[2.0, 1.0, 0.5], reward=[1.0, 0.0, 1.0]
    ... )
    >>> round(kwis.WIS().estimate(sample).value, 3)
    0.714
    """

    name: ClassVar[str] = "wis"
    aliases: ClassVar[tuple[str, ...]] = ("snips", "snipw")
    sentence: ClassVar[str] = "weighted mean of the rewards: weights are divided by their overall mean"
    normalised: ClassVar[bool] = True
    normalised_over: ClassVar[str] = ALL_ROWS

    def applied(self, sample: WeightedSample, counts: Floats) -> Applied:
        """The weights, up to a factor that cancels."""
        return Applied(balanced(sample.weight, float(counts.sum(axis=0).max()))[:, None])
