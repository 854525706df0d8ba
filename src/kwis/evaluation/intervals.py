"""Which interval each estimate gets, and the intervals of differences, from what was measured together.

By default Student intervals from the influence function, which cover with few rows and heavy weights and need
no resampling. Where propensities were estimated or repaired, these and influence intervals add the error of
that model to their own: how far estimates are apart if it is learnt without one part of the log or another.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from statistics import NormalDist
from typing import Any

import numpy as np

from kwis.errors import InputError, UnsupportedError
from kwis.estimators import traits
from kwis.estimators.difference import Difference, PairedSample, difference_of
from kwis.estimators.protocol import KernelEstimator
from kwis.evaluation.measure import Measured, finite, p_value
from kwis.intervals import Bootstrap, InfluenceInterval, IntervalMethod, StudentInterval
from kwis.intervals.method import InfluenceMethod, ResamplingMethod, TestMethod, description
from kwis.intervals.square_and_add import square_and_add
from kwis.intervals.student import model_error
from kwis.result.presentation import Presentation
from kwis.results import Estimate, Interval
from kwis.sample import WeightedSample
from kwis.stats.influence import draw_sums, standard_error
from kwis.typing import Floats, Ints

_DEFAULT, _WITHOUT_INFLUENCE, _LAST = StudentInterval(), Bootstrap(), InfluenceInterval()
_ROUNDING = 1e-12
_HIGHEST_LEVEL = 1 - 1e-9
_P_VALUE_STEPS = 20  # each halves the range of the logarithm: to a ten-thousandth of the p-value


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Intervals:
    """Intervals at one level by one method; None is the rule of the module.

    ``notes`` collects what could not be done as asked. With ``few_rows`` differences by Student's method also
    have an interval from those of the two values, and the longer arms: among few rows the heavy ones may
    agree, and then the standard error shows no doubt. ``presentation`` says of which rewards less is better.
    """

    method: IntervalMethod | None
    level: float
    seed: int
    few_rows: bool = False
    presentation: Presentation = field(default_factory=Presentation)
    notes: list[str] = field(default_factory=list)
    _instead: dict[str, str] = field(
        default_factory=dict
    )  # in words, by estimator: what was done where the method did not apply

    @property
    def _used(self) -> IntervalMethod:
        return _DEFAULT if self.method is None else self.method

    @property
    def replicates(self) -> int:
        """Number of the resamples that estimates have in common."""
        return self._used.replicates if isinstance(self._used, ResamplingMethod) else 0

    def resampled(self, one: Measured) -> bool:
        """Whether this estimate is to be resampled together with the others."""
        return (
            one.estimate.influence is not None
            and isinstance(self._used, ResamplingMethod)
            and self._used.shares_resamples
        )

    def describe(self, one: Measured) -> str:
        """The interval method of an estimate, in words."""
        if one.resampled is None and one.estimate.name in self._instead:
            return self._instead[one.estimate.name]
        return _described(self._used, with_model=one.refitted is not None)

    def of(self, one: Measured) -> Interval:
        """Interval of one estimate."""
        return _bounded(
            self._interval(
                self._estimator(one), one.sample, one.estimate, one.resampled, propensity_error(one)
            )
        )

    def p_value_between(self, a: Measured, b: Measured, interval: Interval) -> float:
        """Two-sided p-value of no difference, by the method of its interval if that has p-values and else by
        a normal error.
        """
        if interval.width == 0.0:
            return float(interval.value == 0.0)
        method = self._with_model_error(propensity_error(a, b))
        if isinstance(method, TestMethod) and influence_between(a, b) is not None:
            pair, estimator = (
                PairedSample(a.sample, b.sample),
                Difference(self._estimator(a), self._estimator(b)),
            )
            alone = method.p_value_of(difference_of(a.estimate, b.estimate, estimator.name), estimator, pair)
            return max(alone, self._p_value_from_both(a, b)) if self.few_rows else alone
        return p_value(interval.value, error_between(a, b))

    def _p_value_from_both(self, a: Measured, b: Measured) -> float:
        """Chance outside the longest interval from those of both values that leaves 0 out; on the right side
        of this level.
        """
        low, high = 1 - _HIGHEST_LEVEL, 1.0
        trial = 1 - self.level
        for _ in range(_P_VALUE_STEPS):
            ends = replace(self, level=1 - trial)._from_both(a, b)
            low, high = (trial, high) if ends[0] <= 0 <= ends[1] else (low, trial)
            trial = math.sqrt(low * high)
        return trial

    def _from_both(self, a: Measured, b: Measured) -> tuple[float, float]:
        """Ends of the difference from the intervals of both values."""
        return square_and_add(self.of(a), self.of(b), _correlation(a, b))

    def _with_model_error(self, added: float) -> IntervalMethod:
        return self._used.with_model_error(added) if isinstance(self._used, InfluenceMethod) else self._used

    def jointly(self, a: Measured, b: Measured, interval: Interval, critical: float) -> Interval:
        """The interval of a difference, long enough to hold together with the others of its family.

        The same method at a higher level, the one at which a normal interval reaches ``critical`` standard
        errors: few effective rows stretch a Student quantile by far more than a normal one. Resamples are too
        few for such levels, and their arms are stretched.
        """
        if interval.distribution is not None:
            return widened(interval, critical)
        level = max(self.level, math.erf(critical / math.sqrt(2)))
        found = (
            interval if level == self.level else replace(self, level=min(level, _HIGHEST_LEVEL)).between(a, b)
        )
        return replace(found, level=self.level, method=f"{interval.method}, simultaneous")

    def between(self, a: Measured, b: Measured) -> Interval:
        """Interval of the value of ``a`` minus that of ``b``, paired."""
        both = a.resampled is not None and b.resampled is not None
        drawn = (
            a.resampled - b.resampled
            if both and a.resampled is not None and b.resampled is not None
            else None
        )
        pair, estimator = PairedSample(a.sample, b.sample), Difference(self._estimator(a), self._estimator(b))
        apart = difference_of(a.estimate, b.estimate, estimator.name)
        found = self._interval(estimator, pair, apart, drawn, propensity_error(a, b))
        if self.few_rows and isinstance(self._used, TestMethod) and apart.influence is not None:
            low, high = self._from_both(a, b)
            found = replace(found, low=min(found.low, low), high=max(found.high, high))
        return _bounded(
            _without_rounding(_within_reach(found, a, b), max(abs(a.estimate.value), abs(b.estimate.value)))
        )

    def _estimator(self, one: Measured) -> Any:
        return (
            one.asked if isinstance(self._used, ResamplingMethod) and self._used.reselect else one.estimator
        )

    def _interval(
        self, estimator: Any, sample: Any, estimate: Estimate, drawn: Floats | None, added: float
    ) -> Interval:
        method = self._with_model_error(added)
        if added and (estimate.influence is None or not isinstance(method, InfluenceMethod)):
            used = "Bootstrap" if self.method is None else type(self.method).__name__
            self._note(
                f"{used} takes estimated or repaired propensities for right ones; the default adds the error "
                f"of their model"
            )
        if estimate.influence is not None and drawn is not None and isinstance(method, ResamplingMethod):
            kept = finite(drawn)
            self._note_missing(drawn.size - kept.size, drawn.size, estimate.name)
            if kept.size:
                fixed = (
                    "fixed"
                    if isinstance(estimator, KernelEstimator) and estimator.selects_bandwidth is not None
                    else None
                )
                return replace(method.interval_from(kept, estimate, sample, self.level), bandwidth=fixed)
        elif estimate.influence is not None and isinstance(method, InfluenceMethod):
            return method.interval_of(estimate, estimator, sample, self.level)
        elif not isinstance(method, InfluenceMethod):
            try:
                return method.interval(estimator, sample, self.level, self.seed)
            except UnsupportedError as refusal:
                self._note(
                    f"{type(method).__name__} does not apply to {estimate.name}, which has an influence "
                    f"interval: {refusal}"
                )
        if estimate.influence is None:
            self._instead[estimate.name] = description(_WITHOUT_INFLUENCE)
            return _WITHOUT_INFLUENCE.interval(estimator, sample, self.level, self.seed)
        self._instead[estimate.name] = _described(_LAST, with_model=added > 0)
        return _LAST.with_model_error(added).interval_of(estimate, estimator, sample, self.level)

    def _note_missing(self, missing: int, size: int, name: str) -> None:
        if 2 * missing > size:
            self._note(
                f"{name} has no estimate on most resamples, which hold too few rows of positive weight: "
                f"influence interval instead"
            )
        elif missing:
            self._note(
                f"{name} has no estimate on {missing} of {size} resamples, which are left out: its interval "
                f"may be too short"
            )

    def _note(self, sentence: str) -> None:
        if sentence not in self.notes:
            self.notes.append(sentence)


def _described(method: IntervalMethod, *, with_model: bool) -> str:
    added = with_model and isinstance(method, InfluenceMethod)
    return description(method) + (", with the error of the propensity model" if added else "")


def _within_reach(interval: Interval, a: Measured, b: Measured) -> Interval:
    """Two weighted means of the same rewards are no further apart than the largest reward and the
    smallest.
    """
    if not all(isinstance(one.sample, WeightedSample) and traits.normalised(one.estimator) for one in (a, b)):
        return interval
    reach = float(np.ptp(a.sample.reward))
    low, value, high = (min(max(end, -reach), reach) for end in (interval.low, interval.value, interval.high))
    return replace(interval, low=low, value=value, high=high)


def _without_rounding(interval: Interval, largest: float) -> Interval:
    """No difference at all where all there is may come from the rounding of values up to ``largest``."""
    nothing = max(abs(interval.low), abs(interval.value), abs(interval.high)) <= _ROUNDING * largest
    return replace(interval, low=0.0, value=0.0, high=0.0) if nothing else interval


def propensity_error(a: Measured, b: Measured | None = None) -> float:
    """Standard error that a model of the propensities adds to an estimate, or to a difference of two."""
    values = [one.refitted for one in (a, b) if one is not None and one.refitted is not None]
    if not values:
        return 0.0
    apart = values[0] - values[1] if len(values) == 2 else values[0]
    return float(model_error(apart[:, None])[0])


def influence_between(a: Measured, b: Measured) -> Floats | None:
    """Influence of each row on a difference."""
    if a.estimate.influence is None or b.estimate.influence is None:
        return None
    return a.estimate.influence - b.estimate.influence


def error_between(a: Measured, b: Measured) -> float:
    """Standard error of a difference from the influence values and the model of the propensities; ``nan``
    without the former.
    """
    influence = influence_between(a, b)
    return (
        math.nan
        if influence is None
        else math.hypot(standard_error(influence, a.sample.group), propensity_error(a, b))
    )


def _correlation(a: Measured, b: Measured) -> float:
    """Of two estimates, from their standard errors and that of their difference; 0 where one has no error."""
    apart = error_between(a, b)
    first, second = (error_of(one) for one in (a, b))
    if not (math.isfinite(apart) and first * second > 0):
        return 0.0
    return min(max((first / second + second / first - apart / first * (apart / second)) / 2, -1.0), 1.0)


def error_of(one: Measured) -> float:
    """Standard error of an estimate from its influence and the model of the propensities; 0 without the
    former.
    """
    influence = one.estimate.influence
    return (
        0.0
        if influence is None
        else math.hypot(standard_error(influence, one.sample.group), propensity_error(one))
    )


def critical_value(influences: list[Floats], group: Ints | None, level: float, seed: int) -> float:
    """How many standard errors keep all differences at once within reach: a quantile of the largest of
    correlated normal errors.

    Their correlations are those of the influence values; simulated, so that nothing is lost to a bound such
    as Bonferroni's.
    """
    alone = NormalDist().inv_cdf((1 + level) / 2)
    sums = np.stack([draw_sums(influence, group) for influence in influences], axis=1)
    largest = np.abs(sums).max(axis=0)
    sums = sums[:, largest > 0] / largest[largest > 0]
    if sums.shape[1] < 2:
        return alone
    covariance = sums.T @ sums
    spread = np.sqrt(np.diag(covariance))
    values, vectors = np.linalg.eigh(covariance / np.outer(spread, spread))
    root = vectors * np.sqrt(np.maximum(values, 0))
    draws = np.random.default_rng(seed).standard_normal((_DRAWS, root.shape[1])) @ root.T
    return max(alone, float(np.quantile(np.abs(draws).max(axis=1), level)))


_DRAWS = 40_000


def independent_critical_value(count: int, level: float) -> float:
    """The same for so many independent errors, and at least that for correlated ones (Šidák 1967): for more
    than can be simulated.
    """
    return NormalDist().inv_cdf((1 + level ** (1 / count)) / 2)


def widened(interval: Interval, critical: float) -> Interval:
    """The interval with both arms stretched from the reach of one normal error to ``critical``; its skewness
    stays.
    """
    factor = critical / NormalDist().inv_cdf((1 + interval.level) / 2)
    if math.isinf(factor) or math.isnan(factor):
        return interval
    return _bounded(
        Interval(
            low=interval.value - factor * max(interval.value - interval.low, 0.0),
            high=interval.value + factor * max(interval.high - interval.value, 0.0),
            level=interval.level,
            value=interval.value,
            method=f"{interval.method}, simultaneous",
            bandwidth=interval.bandwidth,
        )
    )


def _bounded(interval: Interval) -> Interval:
    """The interval, unless its ends are beyond all numbers."""
    if not (math.isfinite(interval.low) and math.isfinite(interval.high)):
        found = f"{interval.low:g} to {interval.high:g} around {interval.value:g}"
        raise InputError(
            f"`reward` must not be so large that an interval overflows, got {found}: use a larger unit"
        )
    return interval
