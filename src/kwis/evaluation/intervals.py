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
from kwis.estimators.joint import Contrast
from kwis.evaluation.measure import Measured
from kwis.intervals import Bootstrap, InfluenceInterval, IntervalMethod, StudentInterval
from kwis.intervals import method as methods
from kwis.intervals.square_and_add import square_and_add
from kwis.result.presentation import Presentation
from kwis.results import Interval

_DEFAULT, _WITHOUT_INFLUENCE, _LAST = StudentInterval(), Bootstrap(), InfluenceInterval()
_ROUNDING = 1e-12
HIGHEST_LEVEL = 1 - 1e-9
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
    def used(self) -> IntervalMethod:
        """The method of estimates that it applies to."""
        return _DEFAULT if self.method is None else self.method

    @property
    def replicates(self) -> int:
        """Number of the resamples that estimates have in common."""
        return methods.common_resamples(self.used)

    def resampled(self, one: Measured) -> bool:
        """Whether this estimate is to be resampled together with the others."""
        return one.estimate.influence is not None and self.replicates > 0

    def describe(self, one: Measured) -> str:
        """The interval method of an estimate, in words."""
        if one.resampled is None and one.estimate.name in self._instead:
            return self._instead[one.estimate.name]
        return _described(self.used, with_model=one.refitted is not None)

    def of(self, contrast: Contrast) -> Interval:
        """Interval of an estimate, or of a difference."""
        found = self._interval(contrast)
        if contrast.sides is None:
            return bounded(found)
        if self._looks_at_both(contrast):
            low, high = self._from_both(contrast)
            found = replace(found, low=min(found.low, low), high=max(found.high, high))
        most = contrast.most
        low, value, high = (min(max(end, -most), most) for end in (found.low, found.value, found.high))
        largest = max(abs(side.value) for side in contrast.sides)
        return bounded(without_rounding(replace(found, low=low, value=value, high=high), largest))

    def p_value(self, difference: Contrast, interval: Interval) -> float:
        """Two-sided p-value of no difference, by the method of its interval if that has p-values and else by
        a normal error.
        """
        if interval.width == 0.0:
            return float(interval.value == 0.0)
        if not methods.has_p_values(self.used) or difference.influence is None:
            return _normal_p_value(interval.value, difference.std_error)
        alone = methods.p_value_of(self.used, difference)
        return max(alone, self._p_value_from_both(difference)) if self.few_rows else alone

    def _looks_at_both(self, difference: Contrast) -> bool:
        return self.few_rows and methods.has_p_values(self.used) and difference.influence is not None

    def _p_value_from_both(self, difference: Contrast) -> float:
        """Chance outside the longest interval from those of both values that leaves 0 out; on the right side
        of this level.
        """
        low, high = 1 - HIGHEST_LEVEL, 1.0
        trial = 1 - self.level
        for _ in range(_P_VALUE_STEPS):
            ends = replace(self, level=1 - trial)._from_both(difference)
            low, high = (trial, high) if ends[0] <= 0 <= ends[1] else (low, trial)
            trial = math.sqrt(low * high)
        return trial

    def _from_both(self, difference: Contrast) -> tuple[float, float]:
        """Ends of a difference from the intervals of both values."""
        assert difference.sides is not None
        first, second = difference.sides
        return square_and_add(self.of(first), self.of(second), difference.correlation)

    def jointly(self, difference: Contrast, interval: Interval, critical: float) -> Interval:
        """The interval of a difference, long enough to hold together with the others of its family.

        The same method at a higher level, the one at which a normal interval reaches ``critical`` standard
        errors: few effective rows stretch a Student quantile by far more than a normal one. Resamples are too
        few for such levels, and their arms are stretched.
        """
        if interval.distribution is not None:
            return widened(interval, critical)
        level, longer = self.level_jointly(critical), interval
        if level != self.level:
            longer = replace(self, level=level).of(difference)
        return replace(longer, level=self.level, method=f"{interval.method}, simultaneous")

    def level_jointly(self, critical: float) -> float:
        """The level at which a normal interval reaches so many standard errors, but no less than the own."""
        return min(max(self.level, math.erf(critical / math.sqrt(2))), max(self.level, HIGHEST_LEVEL))

    def _interval(self, contrast: Contrast) -> Interval:
        method, name = self.used, contrast.estimate.name
        adds = methods.adds_model_error(method)
        if contrast.model_error and (contrast.influence is None or not adds):
            used = "Bootstrap" if self.method is None else type(self.method).__name__
            self._note(
                f"{used} takes estimated or repaired propensities for right ones; the default adds the error "
                f"of their model"
            )
        missing = 0 if contrast.resampled is None else int(np.isnan(contrast.resampled).sum())
        size = 0 if contrast.resampled is None else contrast.resampled.size
        self._note_missing(missing, size, name)
        if not size or 2 * missing < size:
            try:
                return methods.of(method, contrast, self.level, self.seed)
            except UnsupportedError as refusal:
                if not adds:
                    self._note(
                        f"{type(method).__name__} does not apply to {name}, which has an influence "
                        f"interval: {refusal}"
                    )
        last: IntervalMethod = _WITHOUT_INFLUENCE if contrast.influence is None else _LAST
        self._instead[name] = _described(last, with_model=contrast.model_error > 0)
        return methods.of(last, contrast, self.level, self.seed)

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
    added = with_model and methods.adds_model_error(method)
    return methods.description(method) + (", with the error of the propensity model" if added else "")


def without_rounding(interval: Interval, largest: float) -> Interval:
    """No difference at all where all there is may come from the rounding of values up to ``largest``."""
    size = max(abs(interval.low), abs(interval.value), abs(interval.high))
    return replace(interval, low=0.0, value=0.0, high=0.0) if is_rounding(size, largest) else interval


def is_rounding(size: Any, largest: Any) -> Any:
    """Whether a difference of this size may come from the rounding of values up to ``largest``."""
    return size <= _ROUNDING * largest


def _normal_p_value(value: float, std_error: float) -> float:
    """Two-sided p-value of 0 under a normal error; ``nan`` without a standard error."""
    if math.isnan(std_error):
        return math.nan
    if std_error == 0:
        return 1.0 if value == 0 else 0.0
    return math.erfc(abs(value) / std_error / math.sqrt(2))


def widened(interval: Interval, critical: float) -> Interval:
    """The interval with both arms stretched from the reach of one normal error to ``critical``; its skewness
    stays.
    """
    factor = critical / NormalDist().inv_cdf((1 + interval.level) / 2)
    if math.isinf(factor) or math.isnan(factor):
        return interval
    return bounded(
        Interval(
            low=interval.value - factor * max(interval.value - interval.low, 0.0),
            high=interval.value + factor * max(interval.high - interval.value, 0.0),
            level=interval.level,
            value=interval.value,
            method=f"{interval.method}, simultaneous",
            bandwidth=interval.bandwidth,
        )
    )


def bounded(interval: Interval) -> Interval:
    """Raise InputError if an end is not finite."""
    if not (math.isfinite(interval.low) and math.isfinite(interval.high)):
        found = f"{interval.low:g} to {interval.high:g} around {interval.value:g}"
        raise InputError(
            f"`reward` must not be so large that an interval overflows, got {found}: use a larger unit"
        )
    return interval
