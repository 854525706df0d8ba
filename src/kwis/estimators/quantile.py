"""Quantiles of the rewards that a policy would bring."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from kwis import _validation as check
from kwis._validation import read_only
from kwis.errors import InputError
from kwis.estimators.protocol import Resamples
from kwis.estimators.ratio import leverage, no_weight
from kwis.estimators.traits import ALL_ROWS, Circumstances
from kwis.results import Estimate, Verdict
from kwis.sample import WeightedSample, balanced, effective_size
from kwis.stats.influence import resampled_errors, standard_error
from kwis.typing import Floats

FEW_IN_TAIL = (10, 5)
"""Effective rows beyond a quantile below which its interval is to be taken with care, or not to be trusted:
with fewer than 5 it covered 80 to 100 % instead of 95 (``tests/statistical/test_statistics.py``)."""
_REACH = 2.0  # standard errors of the share, over which the slope of the quantile is taken


@dataclass(frozen=True, slots=True)
class Quantile:
    """The smallest reward t with ``sum w_i [r_i <= t] / sum w_i >= share``.

    Its influence is that of the share of weight at or below it, divided by the density of the rewards there.
    The density is read off the quantiles two standard errors of that share further down and up, so that the
    interval is as long as that of Woodruff (1952), which carries the ends of an interval of the share over.

    Parameters
    ----------
    share
        Between 0 and 1: 0.5 for the median.

    See Also
    --------
    kwis.TailMean : the mean beyond a quantile.
    kwis.reward_distribution : all quantiles at once, with a band.
    kwis.evaluate : takes ``statistic="quantile:0.95"``.

    Examples
    --------
    >>> sample = kwis.WeightedSample(
    ...     context=[[0.0], [0.0], [1.0]], weight=[2.0, 1.0, 0.5], reward=[1.0, 0.0, 1.0]
    ... )
    >>> round(kwis.Quantile(0.5).estimate(sample).value, 3)
    1.0
    """

    sentence: ClassVar[str] = "quantile of the rewards, rows counted by their weights, as in wis"
    normalised: ClassVar[bool] = True
    normalised_over: ClassVar[str] = ALL_ROWS

    share: float = 0.5

    def __post_init__(self) -> None:
        object.__setattr__(self, "share", checked_share(self.share))

    @property
    def name(self) -> str:
        """Its name in results and messages."""
        return f"wis-quantile-{self.share:g}"

    def estimate(self, sample: WeightedSample) -> Estimate:
        """The quantile under the policy."""
        return statistic_estimate(self, sample)

    def caveats(self, circumstances: Circumstances) -> Iterable[Verdict]:
        """Few rows on one side of the quantile."""
        beyond = circumstances.estimate.effective_n * min(self.share, 1 - self.share)
        yield from few_in_tail(beyond, FEW_IN_TAIL)

    def resampled(self, sample: WeightedSample, counts: Floats, *, influence: bool = False) -> Resamples:
        """The same on resamples with the given counts (n, B)."""
        rewards = Ordered.of(sample, counts)
        values = rewards.quantile(np.full(counts.shape[1], self.share))
        if not influence:
            return Resamples(values)
        below = rewards.influence_of((sample.reward[:, None] <= values).astype(np.float64), self.share)
        error = _REACH * resampled_errors(below, counts, sample.group)
        ends = np.maximum(self.share - error, 0.0), np.minimum(self.share + error, 1.0)
        apart = ends[1] - ends[0]
        rise = rewards.quantile(ends[1]) - rewards.quantile(ends[0])
        slope = np.divide(rise, apart, out=np.zeros_like(rise), where=apart > 0)
        return Resamples(values, -below * slope)


def few_in_tail(effective: float, limits: tuple[int, int]) -> Iterable[Verdict]:
    """The verdict on so many effective rows beyond a quantile."""
    care, trust = limits
    if effective < care:
        limit = trust if effective < trust else care
        said = f"only {effective:.1f} effective rows beyond the quantile, fewer than {limit}"
        yield Verdict(level="do not trust" if effective < trust else "with care", reasons=(said,))


def checked_share(value: float) -> float:
    """A number between 0 and 1, both excluded."""
    number = check.positive(value, "share")
    if number >= 1:
        raise InputError(f"`share` must be between 0 and 1, got {value!r}")
    return number


@dataclass(frozen=True, slots=True, eq=False)
class Ordered:
    """Rewards in their order, with the weight at or below each, on B resamples.

    Attributes
    ----------
    reward
        ``(n,)`` in increasing order.
    cumulative
        ``(n, B)`` share of the weight at or below each.
    load, counts
        ``(n, B)`` weights times masses relative to their mean over the rows drawn, and how often each row was
        drawn, in the order of the sample.
    """

    reward: Floats
    cumulative: Floats
    load: Floats
    counts: Floats

    @classmethod
    def of(cls, sample: WeightedSample, counts: Floats) -> Ordered:
        mass = np.ones(sample.n) if sample.mass is None else sample.mass
        weight = balanced(sample.weight, float((counts * mass[:, None]).sum(axis=0).max())) * mass
        order = np.argsort(sample.reward, kind="stable")
        with np.errstate(all="ignore"):
            below = np.cumsum((counts * weight[:, None])[order], axis=0)
            cumulative = below / below[-1]
            load = weight[:, None] * (counts.sum(axis=0) / below[-1])
        return cls(sample.reward[order], cumulative, load, counts)

    def quantile(self, share: Floats) -> Floats:
        """Quantiles (B,) of shares (B,); ``nan`` where no row drawn has a weight."""
        # Shares that differ by rounding are equal, so that whole masses are as many copies of a row.
        reached = self.cumulative >= share * (1 - 1e-12)
        # A row that was not drawn, or has no weight, is never the first to reach a share above 0.
        reached[:, share <= 0] = self.cumulative[:, share <= 0] > 0
        found = self.reward[np.argmax(reached, axis=0)]
        return np.where(np.isnan(self.cumulative[-1]), np.nan, found)

    def influence_of(self, values: Floats, mean: Floats | float) -> Floats:
        """Influence (n, B) of the rows on the weighted mean of ``values`` (n, B)."""
        return np.where(self.counts > 0, self.load * (values - mean), 0.0)


def statistic_estimate(estimator: Any, sample: WeightedSample, load: Floats | None = None) -> Estimate:
    """Estimate from the value and influence on the sample itself; ``load`` is what the rows weigh in it,
    their weights if None.
    """
    found = estimator.resampled(sample, np.ones((sample.n, 1)), influence=True)
    assert found.influence is not None
    value = float(found.values[0])
    if np.isnan(value):
        raise no_weight(estimator.name, sample)
    influence = read_only(found.influence[:, 0])
    load = sample.weight if load is None else load
    largest = float(sample.weight.max())
    relative = sample.weight / largest
    mean = float(np.average(relative, weights=sample.mass)) * largest
    return Estimate(
        name=estimator.name,
        value=value,
        n=sample.n,
        std_error=standard_error(influence, sample.group),
        effective_n=effective_size(load, sample.mass),
        mean_weight=mean,
        influence=influence,
        leverage=leverage(load, sample.mass),
    )
