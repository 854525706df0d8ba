"""Estimates of one pass in the form in which policies are compared.

Comparisons need the influence of every row, of which a pass keeps only sums of products. Vectors with the
same inner products serve as well: every standard error, and every correlation of two estimates, comes out as
if all rows were there.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from statistics import NormalDist
from typing import Any, cast

import numpy as np

from kwis._validation import read_only
from kwis.estimators.registry import by_name
from kwis.evaluation.intervals import Intervals, error_between, influence_between
from kwis.evaluation.measure import Measured, finite, p_value
from kwis.results import Estimate, Interval
from kwis.stats.influence import standard_error
from kwis.streaming.state_totals import StateEstimate
from kwis.streaming.totals import Coefficients, Ratio, Totals
from kwis.typing import Floats


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Side:
    """One policy by one estimator for one reward.

    Attributes
    ----------
    linear
        Coefficients of the part of its influence that is linear in the terms of a row.
    squares
        Sum of its squared influence values; what the linear part leaves of it goes with no other estimate.
    """

    target: str
    reward: str
    estimate: Estimate
    linear: Coefficients
    squares: float
    resampled: Floats | None = None


@dataclass(frozen=True, slots=True, eq=False)
class _Stream:
    """Stands where a comparison asks for the rows: their number, and that none of them are grouped."""

    n: int
    group: None = None


@dataclass(frozen=True, slots=True, eq=False)
class Sides:
    """Makes sides from totals; with groups, spreads are those of the resamples, which draw whole groups."""

    totals: Totals
    grouped: bool

    def ratio(self, target: str, reward: str, name: str, found: Ratio) -> Side:
        drawn = found.resampled
        error = float(np.nanstd(drawn, ddof=1)) if self.grouped else self.totals.std_error(found.coefficients)
        estimate = Estimate(
            name=name, value=found.value, n=self.totals.rows, std_error=error, effective_n=found.effective_n
        )
        return Side(
            target=target,
            reward=reward,
            estimate=estimate,
            linear=found.coefficients,
            squares=self._squares(error),
            resampled=drawn if drawn.size else None,
        )

    def state(self, target: str, reward: str, name: str, found: StateEstimate, t: int, k: int) -> Side:
        n = self.totals.rows
        error = math.sqrt(found.squares / (n * (n - 1)))
        estimate = Estimate(name=name, value=found.value, n=n, std_error=error, effective_n=found.effective_n)
        return Side(
            target=target,
            reward=reward,
            estimate=estimate,
            linear=self._projected(found, t, k),
            squares=found.squares,
        )

    def other(self, target: str, reward: str, estimate: Estimate) -> Side:
        """An estimate of which only the standard error is known: as if it went with no other."""
        return Side(
            target=target,
            reward=reward,
            estimate=estimate,
            linear={},
            squares=self._squares(estimate.std_error),
        )

    def _squares(self, error: float) -> float:
        return error**2 * self.totals.rows * (self.totals.rows - 1)

    def _projected(self, found: StateEstimate, t: int, k: int) -> Coefficients:
        """The linear part of the influence of State-WIS: its least-squares fit by the terms of a row."""
        layout, totals = self.totals.layout, self.totals
        places = (0, layout.reward(k), layout.weight(t), layout.load(t, k))
        products = totals.sums.products.rounded
        gram = np.array([[products[min(i, j), max(i, j)] for j in places] for i in places])
        size = np.sqrt(np.diag(gram))
        size[size == 0] = 1.0
        fitted = np.linalg.lstsq(gram / np.outer(size, size), found.products / size, rcond=1e-12)[0] / size
        scale = float(totals.mass) / totals.rows
        return {place: Fraction(float(value * scale)) for place, value in zip(places, fitted, strict=True)}

    def measured(self, sides: Sequence[Side]) -> list[Measured]:
        """The same for the machinery of comparisons."""
        vectors, known = self._vectors(sides), by_name()
        sample = cast(Any, _Stream(self.totals.rows))
        return [
            Measured(
                target=side.target,
                reward=side.reward,
                estimator=None,
                asked=known.get(side.estimate.name),
                sample=sample,
                estimate=replace(side.estimate, influence=read_only(vectors[:, index])),
                resampled=side.resampled,
            )
            for index, side in enumerate(sides)
        ]

    def _vectors(self, sides: Sequence[Side]) -> Floats:
        """A column per side whose inner products are those of the influence values, scaled to their own
        length.
        """
        n, count = self.totals.rows, len(sides)
        products = np.array([[float(self._product(a, b)) for b in sides] for a in sides])
        size = np.sqrt(np.diag(products))
        size[size == 0] = 1.0
        values, directions = np.linalg.eigh(products / np.outer(size, size))
        root = (directions * np.sqrt(np.maximum(values, 0))).T * size
        root = np.concatenate([root, np.zeros((2, count))])  # a standard error needs two entries at least
        length = len(root)
        return root * math.sqrt(length * (length - 1) / (n * (n - 1)))

    def _product(self, a: Side, b: Side) -> Fraction | float:
        if a is b:
            return a.squares
        if not self.grouped:
            return self.totals.product(a.linear, b.linear)
        if a.resampled is None or b.resampled is None:
            return 0.0
        both = np.isfinite(a.resampled) & np.isfinite(b.resampled)
        n = self.totals.rows
        return float(np.cov(a.resampled[both], b.resampled[both])[0, 1]) * n * (n - 1)


def percentiles(values: Floats, level: float) -> tuple[float, float]:
    """Ends between which another draw would fall with probability ``level``, whatever the number of
    resamples.

    The usual quantiles of B values miss by a factor ``(B - 1) / (B + 1)``: with 200 of them, 94 % where 95 %
    are meant. The places ``p (B + 1)`` (Weibull) do not.
    """
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2], method="weibull")
    return float(low), float(high)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StreamIntervals(Intervals):
    """Percentiles of the Poisson resamples where there are any, otherwise the normal interval of the standard
    error.

    Without ``percentile`` it is always the latter: resamples then only give the standard errors of groups.
    """

    method: None = None
    percentile: bool = True
    notes: list[str] = field(default_factory=list)

    def describe(self, one: Measured) -> str:
        if one.resampled is None:
            return "influence function"
        return (
            f"Poisson bootstrap ({'percentile' if self.percentile else 'normal'}, {one.resampled.size:,} "
            f"resamples)"
        )

    def of(self, one: Measured) -> Interval:
        return self._from(one.resampled, one.estimate.value, one.estimate.std_error)

    def between(self, a: Measured, b: Measured) -> Interval:
        influence = influence_between(a, b)
        assert influence is not None
        drawn = None if a.resampled is None or b.resampled is None else a.resampled - b.resampled
        return self._from(drawn, a.estimate.value - b.estimate.value, standard_error(influence, None))

    def p_value_between(self, a: Measured, b: Measured, interval: Interval) -> float:
        return (
            float(interval.value == 0.0)
            if interval.width == 0.0
            else p_value(interval.value, error_between(a, b))
        )

    def _from(self, drawn: Floats | None, value: float, error: float) -> Interval:
        kept = None if drawn is None else finite(drawn)
        if self.percentile and kept is not None and kept.size:
            low, high = percentiles(kept, self.level)
            return Interval(
                low=low,
                high=high,
                level=self.level,
                value=value,
                method="poisson-bootstrap",
                distribution=read_only(kept),
            )
        reach = NormalDist().inv_cdf((1 + self.level) / 2) * error
        method = "influence" if drawn is None else "poisson-normal"
        return Interval(low=value - reach, high=value + reach, level=self.level, value=value, method=method)
