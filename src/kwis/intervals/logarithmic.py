"""Bounds that hold at every sample size and for any weights, made for choosing a policy."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from kwis import _validation as check
from kwis.estimators.protocol import Estimator, S
from kwis.estimators.vis import VIS
from kwis.intervals.independent import refuse_dependent_terms
from kwis.intervals.wealth import Wealth, refuted_below
from kwis.results import Interval
from kwis.sample import WeightedSample
from kwis.typing import Floats, Seed


@dataclass(frozen=True, slots=True)
class LogarithmicSmoothing:
    """Interval for the value from the logarithms of ``1 + l w r``, whose lower end holds for any sample size
    and any weights.

    For gains ``x_i = w_i (r_i - low)`` with mean v, ``prod (1 + l x_i) / (1 + l v)`` has mean 1 for every ``l
    > 0``, and so has its average over several l. By Markov's inequality it exceeds ``2 / (1 - level)`` with
    probability ``(1 - level) / 2`` at most: the lower end is the smallest v at which it does not. Losses
    ``w_i (high - r_i)`` give the upper end in the same way. Unlike empirical Bernstein it needs no bound on
    the weights, and logarithms tame the large ones (Sakhi et al. 2024; the average over l is the mixture of
    Waudby-Smith and Ramdas 2024).

    It takes the propensities to be right: the weights then have mean 1. For choosing among m policies take
    the one with the largest lower end, at level ``1 - (1 - level) / m`` if all are to hold together.

    Parameters
    ----------
    bounds
        Range of the rewards, known beforehand.

    See Also
    --------
    kwis.BettingSequence : may be looked at after every row.
    kwis.EmpiricalBernstein : needs a bound on the weights.
    kwis.StudentInterval : narrower, and right for large samples.

    Examples
    --------
    >>> sample = kwis.WeightedSample(
    ...     context=[[0.0]] * 120, weight=[2.0, 1.0, 0.5] * 40, reward=[1.0, 0.0, 1.0] * 40
    ... )
    >>> kwis.LogarithmicSmoothing().interval(kwis.VIS(), sample, level=0.95)
    Interval([0.582914, 0.802519], level=0.95, logarithmic-smoothing)
    """

    bounds: Any = (0.0, 1.0)

    def __post_init__(self) -> None:
        check.reward_range(self.bounds)

    def interval(self, estimator: Estimator[S], sample: S, level: float = 0.95, rng: Seed = 0) -> Interval:
        """Interval at the given level or above, around the value of VIS; ``rng`` is not used."""
        level = check.level(level)
        check.generator(rng)
        low, high = (float(end) for end in self.bounds)
        weight, reward = _clean(estimator, sample, low, high)
        log_chance = math.log(2 / (1 - level))
        span = high - low
        gain = refuted_below(Wealth.of(weight * ((reward - low) / span)).log_capital, log_chance)
        loss = refuted_below(Wealth.of(weight * ((high - reward) / span)).log_capital, log_chance)
        value = VIS().estimate(sample).value if isinstance(sample, WeightedSample) else math.nan
        ends = low + span * gain, high - span * loss
        return Interval(
            low=min(ends), high=max(ends), level=level, value=value, method="logarithmic-smoothing"
        )


def _clean(estimator: Estimator[Any], sample: Any, low: float, high: float) -> tuple[Floats, Floats]:
    """Weights and rewards, once it is clear that the bound applies to them."""
    refuse_dependent_terms(estimator, sample, "logarithmic smoothing")
    check.rewards_within(sample.reward, low, high)
    return sample.weight, sample.reward
