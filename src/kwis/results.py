"""What kwis returns: small frozen records, arrays read-only."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from kwis.typing import Bandwidth, Floats


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BandwidthChoice:
    """Outcome of a bandwidth selection.

    Attributes
    ----------
    value
        The chosen bandwidth: a number, or one per feature. ``inf`` says that smoothing over everything (WIS)
        predicts the held-out weights best.
    score
        Cross-validated squared error at ``value``, in units of the squared weight.
    end_points, end_scores
        Where each start or local search ended, and its score there.
    evaluations
        Passes over the pairs that the search needed.
    isolated
        Held-out rows without a neighbour at ``value`` (compact kernels only), predicted by their nearest
        rows.
    uncertainty
        How far ``log(value)`` may be from the minimum, where its place need not be exact; 0 where it is.

    See Also
    --------
    kwis.select_bandwidth : makes it.
    kwis.KernelWIS : uses the bandwidth.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.linspace(0, 1, 60)[:, None]
    >>> choice = kwis.select_bandwidth(x, 1 + x[:, 0])
    >>> isinstance(choice, kwis.BandwidthChoice)
    True
    >>> round(choice.value, 4), round(choice.score, 6)
    (0.0215, 5e-05)
    """

    value: Bandwidth
    score: float
    end_points: Floats
    end_scores: Floats
    evaluations: int
    isolated: int = 0
    uncertainty: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Precision:
    """How Kernel-WIS of a large log was approximated, and how well.

    Attributes
    ----------
    neighbours, checked
        Rows in the sample of neighbours, all of them if only rounding is left; and rows whose exact weights
        corrected the estimate.
    error
        Standard deviation of the difference to the value from all pairs: 1.96 times that covers it in 95 % of
        samples. The standard error of the estimate, and its influence, include it but for ``bandwidth``.
    bandwidth
        The part of ``error`` that comes of a bandwidth near that of the smallest held-out error.
    """

    neighbours: int
    checked: int
    error: float
    bandwidth: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Estimate:
    """Estimated value of a policy.

    Attributes
    ----------
    name
        Of the estimator.
    value
        The estimate; ``float(estimate)`` is the same number.
    std_error
        From the influence function; ``nan`` for a single row (or a single group).
    n
        Rows used.
    effective_n
        ``(sum v)^2 / sum v^2`` of the weights ``v`` the estimator applies.
    mean_weight
        Mean of the weights ``v``: by this factor an estimate that does not divide by it is off if every
        reward is the same.
    isolation
        Kernel-WIS and State-WIS only: share of a row in the weight around it, on average over rows with a
        weight. The inverse of n where every row is everyone's neighbour; 1 where nobody has one, and the
        estimate is the mean of those rows whatever their weights.
    influence
        ``(n,)`` first-order effect of each row on the estimate, times n; they sum to 0. None if the estimator
        gives none.
    leverage
        ``(n,)`` share of each row in what the estimate divides by; they sum to 1. None if the estimator gives
        none.
    bandwidth, choice
        Kernel estimators only: the bandwidth used, and how it was selected, if it was.
    precision
        Kernel-WIS of a large log only: how it was approximated. None: from all pairs of rows.

    See Also
    --------
    kwis.WIS : an estimator that makes one.
    kwis.Interval : how far the value may be off by chance.
    kwis.Verdict : whether to trust it.

    Examples
    --------
    >>> sample = kwis.WeightedSample(
    ...     context=[[0.0], [0.0], [1.0]], weight=[2.0, 1.0, 0.5], reward=[1.0, 0.0, 1.0]
    ... )
    >>> estimate = kwis.WIS().estimate(sample)
    >>> isinstance(estimate, kwis.Estimate)
    True
    >>> estimate
    Estimate(wis: 0.714286 ± 0.32, n=3, effective_n=2.3)
    """

    name: str
    value: float
    n: int
    std_error: float = math.nan
    effective_n: float = math.nan
    mean_weight: float = math.nan
    isolation: float | None = None
    influence: Floats | None = None
    leverage: Floats | None = None
    bandwidth: Bandwidth | None = None
    choice: BandwidthChoice | None = None
    precision: Precision | None = None

    def __float__(self) -> float:
        return self.value

    def __repr__(self) -> str:
        return (
            f"Estimate({self.name}: {self.value:.6g} ± {self.std_error:.2g}, n={self.n}, "
            f"effective_n={self.effective_n:.1f})"
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Interval:
    """Confidence interval for the value of a policy, or for a difference of two.

    Attributes
    ----------
    low, high
        Its ends.
    level
        Its confidence level.
    value
        The point estimate the interval belongs to.
    method
        Name of the method that made it.
    distribution
        Estimates on the resamples, for bootstrap intervals.
    bandwidth
        For kernel estimators, whether the bandwidth was held ``"fixed"`` or ``"reselected"`` on every
        resample.

    See Also
    --------
    kwis.StudentInterval : the default method of :func:`kwis.evaluate`.
    kwis.Bootstrap : another method.
    kwis.difference : for the difference of two policies.

    Examples
    --------
    >>> sample = kwis.WeightedSample(
    ...     context=[[0.0], [0.0], [1.0]], weight=[2.0, 1.0, 0.5], reward=[1.0, 0.0, 1.0]
    ... )
    >>> interval = kwis.InfluenceInterval().interval(kwis.WIS(), sample, level=0.9)
    >>> isinstance(interval, kwis.Interval)
    True
    >>> round(interval.low, 3), round(interval.value, 3), round(interval.high, 3), interval.level
    (0.181, 0.714, 1.247, 0.9)
    """

    low: float
    high: float
    level: float
    value: float
    method: str
    distribution: Floats | None = None
    bandwidth: str | None = None

    @property
    def width(self) -> float:
        return self.high - self.low

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high

    def __repr__(self) -> str:
        return f"Interval([{self.low:.6g}, {self.high:.6g}], level={self.level:g}, {self.method})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Whether to trust an estimate, and why.

    Attributes
    ----------
    level
        ``"trust"``, ``"with care"`` or ``"do not trust"``.
    reasons
        Sentences with the numbers that led to it.

    See Also
    --------
    kwis.evaluate : gives one for every estimate.
    kwis.propensity_report : gives one for the propensities.

    Examples
    --------
    >>> kwis.Verdict(level="with care", reasons=("few rows",)).level
    'with care'
    """

    level: Literal["trust", "with care", "do not trust"]
    reasons: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.level
