"""Exact kernel sums when the numeric columns are indicators of a few categorical features, however scaled.

One-hot columns side by side, of which each row has exactly one switched on, are one feature; a column with
two values is one by itself. Two rows that differ in a feature differ in its two columns, and the squared
differences add up: each level has a cost of its own, and :mod:`kwis.kernel.sweeps` takes care of the rest. So
indicators, standardised or not, with one bandwidth or one each, cost no more than the categories they stand
for.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kwis.kernel import sweeps
from kwis.kernel.geometry import Geometry
from kwis.kernel.held_out import Folds, Score
from kwis.kernel.lattice import pays
from kwis.kernel.sweeps import Lattice
from kwis.typing import Bandwidth, Floats, Ints

_SMALLEST_SHARE = 1e-140  # of a column's span, as for the distances themselves


@dataclass(frozen=True, slots=True)
class IndicatorGroup:
    """A categorical feature behind indicator columns.

    Attributes
    ----------
    codes
        ``(n,)`` level of each row.
    columns
        Columns of the context it comes from.
    squares
        ``(levels, columns)``: what a level adds to the squared distance from any other, before the bandwidth.
    """

    codes: Ints
    columns: Ints
    squares: Floats


@dataclass(frozen=True, slots=True)
class OneHot:
    """Contexts whose numeric columns are indicators of features."""

    geometry: Geometry
    features: tuple[IndicatorGroup, ...]
    lattice: Lattice

    @classmethod
    def of(cls, geometry: Geometry, folds: int) -> OneHot | None:
        """The features behind the columns, if that is what they are and the product of their levels is small
        enough to pay.
        """
        if geometry.codes.shape[1] or not geometry.numeric.shape[1]:
            return None
        features = _features(geometry.numeric)
        if features is None or not pays(
            math.prod(len(one.squares) for one in features), len(features), geometry.n, folds
        ):
            return None
        return cls(geometry, features, Lattice.of(np.stack([feature.codes for feature in features], axis=1)))

    def costs(self, bandwidth: Bandwidth) -> list[Floats]:
        """Cost of every level of every feature: squared distance from another level is the sum of both."""
        inverse = self._inverse(bandwidth)
        return [feature.squares @ inverse[feature.columns] for feature in self.features]

    def gradient(self, bandwidth: Bandwidth, slopes: Sequence[Floats]) -> Floats:
        """Derivatives by ``log h`` from those by the costs."""
        inverse, result = self._inverse(bandwidth), np.zeros(self.geometry.d)
        for feature, slope in zip(self.features, slopes, strict=True):
            result[feature.columns] = -2 * inverse[feature.columns] * (slope @ feature.squares)
        return result if np.ndim(bandwidth) else np.array([result.sum()])

    def _inverse(self, bandwidth: Bandwidth) -> Floats:
        return self.geometry.usable(bandwidth, _SMALLEST_SHARE) ** -2.0


def _features(numeric: Floats) -> tuple[IndicatorGroup, ...] | None:
    """Features of consecutive columns, constant ones left out; None if there are none, or some column has
    more than two values.
    """
    low, high = numeric.min(axis=0), numeric.max(axis=0)
    varying = np.flatnonzero(high > low)
    if not varying.size or not ((numeric == low) | (numeric == high)).all():
        return None
    on, found = numeric == high, []
    while varying.size:
        group = varying[: _length(on[:, varying])]
        found.append(_feature(on[:, group], group, (high - low)[group] ** 2))
        varying = varying[group.size :]
    return tuple(found)


def _length(on: NDArray[np.bool_]) -> int:
    """How many columns from the first on are indicators of one feature; 1 where the first one
    stands alone.
    """
    lit = np.zeros(len(on), dtype=np.int64)
    for column in range(on.shape[1]):
        lit += on[:, column]
        if lit.max() > 1:
            break
        if lit.min() == 1:
            return column + 1
    return 1


def _feature(on: NDArray[np.bool_], columns: Ints, squares: Floats) -> IndicatorGroup:
    if columns.size == 1:  # its two levels share what is between them
        return IndicatorGroup(on[:, 0].astype(np.int64), columns, np.full((2, 1), 0.5) * squares)
    return IndicatorGroup(np.argmax(on, axis=1), columns, np.diag(squares))


@dataclass(frozen=True, slots=True)
class OneHotCV:
    """Held-out error of the RBF kernel on indicators."""

    points: OneHot
    folds: Folds

    def score(self, weight: Floats, bandwidth: Bandwidth) -> Score:
        """Cross-validated squared error and its gradient with respect to the log bandwidth."""
        costs = self.points.costs(bandwidth)
        found = sweeps.held_out_error(self.points.lattice, self.folds, weight, costs)
        slopes = [
            found.without_noise(slope, cost, found.noise)
            for slope, cost in zip(found.slopes, costs, strict=True)
        ]
        return Score(found.error, self.points.gradient(bandwidth, slopes))

    def scan(self, weight: Floats, bandwidths: Floats) -> Floats:
        """Scores at many shared bandwidths."""
        return np.array([self._errors(weight[:, None], float(h))[0] for h in bandwidths])

    def scan_many(self, weights: Floats, bandwidths: Floats, wanted: Floats) -> Floats:
        """``(bandwidths, vectors)`` scores where ``wanted``, 0 elsewhere."""
        scores = np.zeros(wanted.shape)
        for index, h in enumerate(bandwidths):
            columns = np.flatnonzero(wanted[index])
            if columns.size:
                scores[index, columns] = self._errors(weights[:, columns], float(h))
        return scores

    def _errors(self, weights: Floats, bandwidth: float) -> Floats:
        return sweeps.held_out_errors(self.points.lattice, self.folds, weights, self.points.costs(bandwidth))
