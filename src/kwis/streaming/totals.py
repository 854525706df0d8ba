"""Estimates that are means or ratios of means, from the sums of one pass.

With ``z_i`` the terms of a row, an estimate's influence values are ``(n / total mass) z_i'a`` for
coefficients ``a``; the sum of the products of two of them is ``a'Pb`` with ``P`` the sums of products of
terms. All of it is done in exact fractions, so that nothing is lost where large terms cancel.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from kwis.streaming.rows import Layout
from kwis.streaming.sums import Sums
from kwis.typing import Floats

Coefficients = Mapping[int, Fraction]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ratio:
    """A mean or a ratio of means: its value, the coefficients of its influence values, and the same on every
    resample.
    """

    value: float
    coefficients: Coefficients
    resampled: Floats
    effective_n: float


@dataclass(frozen=True, slots=True, eq=False)
class Totals:
    """Sums over all rows, of the terms and of the terms with capped weights."""

    layout: Layout
    sums: Sums
    rows: int

    @property
    def mass(self) -> Fraction:
        return self.sums.total.fraction(0)

    def log_mean(self, k: int) -> Ratio:
        """Mean of a logged reward."""
        return self._ratio(self.layout.reward(k), 0, weight=0)

    def mean_weight(self, t: int) -> Ratio:
        weight = self.layout.weight(t)
        return self._ratio(weight, 0, weight=weight)

    def vis(self, t: int, k: int) -> Ratio:
        return self._ratio(self.layout.load(t, k), 0, weight=self.layout.weight(t))

    def truncated_vis(self, t: int, k: int) -> Ratio:
        width = self.layout.width
        return self._ratio(width + self.layout.load(t, k), 0, weight=width + self.layout.weight(t))

    def wis(self, t: int, k: int) -> Ratio:
        weight = self.layout.weight(t)
        return self._ratio(self.layout.load(t, k), weight, weight=weight)

    def _ratio(self, above: int, below: int, *, weight: int) -> Ratio:
        total, products, resampled = self.sums.total, self.sums.products, self.sums.resampled.rounded
        top, bottom = total.fraction(above), total.fraction(below)
        value = top / bottom if bottom else Fraction(0)
        scale = self.mass / bottom if bottom else Fraction(0)
        squares = products.fraction(weight, weight)
        with np.errstate(divide="ignore", invalid="ignore"):
            values = resampled[above] / resampled[below]
        return Ratio(
            value=float(value) if bottom else math.nan,
            coefficients={above: scale, below: -value * scale},
            resampled=np.where(np.isfinite(values), values, np.nan),
            effective_n=float(total.fraction(weight) ** 2 / squares) if squares else 0.0,
        )

    def product(self, a: Coefficients, b: Coefficients) -> Fraction:
        """Sum over the rows of the product of two influence values."""
        found = Fraction(0)
        for i, x in a.items():
            for j, y in b.items():
                found += x * y * self.sums.products.fraction(min(i, j), max(i, j))
        return found * (Fraction(self.rows) / self.mass) ** 2

    def std_error(self, a: Coefficients) -> float:
        """``sqrt(sum IF^2 / (n (n - 1)))``."""
        if self.rows < 2:
            return math.nan
        return math.sqrt(max(self.product(a, a), Fraction(0)) / (self.rows * (self.rows - 1)))
