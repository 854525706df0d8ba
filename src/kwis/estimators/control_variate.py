"""Importance sampling with the mean weight as control variate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kwis.estimators.ratio import Applied, RuleEstimator
from kwis.sample import WeightedSample, safe_ratio
from kwis.typing import Floats


@dataclass(frozen=True, slots=True)
class ControlVariate(RuleEstimator):
    """``mean(w_i r_i) - b (mean(w) - 1)`` with b the slope of ``w r`` on ``w``.

    What the mean weight is off by is taken out of the estimate. The same as weights
    ``w_i (1 - (m - 1)(w_i - m) / V)`` with mean m and variance V of the weights: the
    Euclidean member of the family of empirical likelihood, in closed form. Weights of rows far out may turn
    negative. Where all weights are equal it is WIS.

    See Also
    --------
    kwis.EmpiricalLikelihood : the same idea with weights that stay positive.
    kwis.WIS : divides by the mean weight instead.

    Examples
    --------
    >>> sample = kwis.WeightedSample(
    ...     context=[[0.0], [0.0], [1.0]], weight=[2.0, 1.0, 0.5], reward=[1.0, 0.0, 1.0]
    ... )
    >>> round(kwis.ControlVariate().estimate(sample).value, 3)
    0.643
    """

    name: ClassVar[str] = "control-variate"
    aliases: ClassVar[tuple[str, ...]] = ("regression",)
    sentence: ClassVar[str] = (
        "vis, less what the mean weight is off by times the slope of the terms on the weights"
    )
    normalised: ClassVar[bool] = False
    mostly_within_rewards: ClassVar[bool] = True

    def applied(self, sample: WeightedSample, counts: Floats) -> Applied:
        """Weights whose mean is 1."""
        # Squares of huge weights would overflow: everything is in units of the largest weight drawn.
        drawn = np.where(counts > 0, sample.weight[:, None], 0.0)
        scale = np.frexp(drawn.max(axis=0))[1]
        weight, one = np.ldexp(drawn, -scale), np.ldexp(1.0, -scale)
        total = counts.sum(axis=0)
        mean = np.einsum("ib,ib->b", counts, weight) / total
        apart = weight - mean
        variance = np.einsum("ib,ib->b", counts, np.square(apart)) / total
        flat = variance <= np.square(np.finfo(np.float64).eps * mean)
        safe = np.where(flat, 1.0, variance)
        slope = np.where(flat, 0.0, (mean - one) / safe)
        factor = np.where(flat, one / mean, 1 - slope * apart)

        def reaction(terms: Floats) -> Floats:
            inner = safe_ratio(terms, factor)
            plain = np.einsum("ib->b", inner)
            tilted = np.einsum("ib,ib->b", inner, np.broadcast_to(apart, inner.shape))
            by_mean = slope * plain - tilted / safe
            by_variance = tilted * slope / safe
            return (by_mean * apart + by_variance * (np.square(apart) - variance)) / total

        return Applied(drawn * factor, reaction)
