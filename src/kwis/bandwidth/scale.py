"""The typical distance between contexts, which every search starts from."""

from __future__ import annotations

import numpy as np

from kwis.kernel.geometry import Geometry, mismatches, squared_distances
from kwis.typing import Floats

_ROWS = 500


def typical_distance(geometry: Geometry) -> float:
    """Median distance between rows (a categorical mismatch counts 2 squared), from up to 500 evenly spaced
    ones.
    """
    rows = np.unique(np.linspace(0, geometry.n - 1, min(geometry.n, _ROWS)).astype(np.int64))
    unit = _unit(geometry)
    points = geometry.take(rows).scaled(unit)
    q = squared_distances(points.numeric, points.numeric, by_difference=True) + 2 * mismatches(points, points)
    distances = np.sqrt(q[np.triu_indices(rows.size, 1)])
    positive = distances[distances > 0]
    return float(np.median(positive)) * unit if positive.size else 1.0


def _unit(geometry: Geometry) -> float:
    """A length of the order of the contexts, so that squares neither overflow nor vanish; at least 1 beside
    categorical columns.
    """
    largest = float(geometry.span().max(initial=0.0))
    return max(largest, 1.0) if geometry.categorical_columns.size else largest or 1.0


def feature_scales(geometry: Geometry, typical: float) -> Floats:
    """Typical distance of each column: in proportion to its spread, and ``typical`` for all where all spread
    alike.
    """
    span, spread = geometry.span(), np.zeros(geometry.d)
    spread[geometry.numeric_columns] = span * np.std(geometry.numeric / np.where(span > 0, span, 1.0), axis=0)
    for column, codes in zip(geometry.categorical_columns, geometry.codes.T, strict=True):
        _, counts = np.unique(codes, return_counts=True)
        spread[column] = np.sqrt(1 - np.sum((counts / geometry.n) ** 2))
    if not spread.any():
        return np.full(geometry.d, typical)
    relative = spread / spread.max()
    return typical * np.where(relative > 0, relative / np.sqrt(np.mean(relative[relative > 0] ** 2)), 1.0)


def default_starts(typical: float | Floats) -> Floats:
    """Initial bandwidths, log-spaced around the typical distance (or each column's)."""
    return np.multiply.outer([0.1, 0.25, 0.6, 1.5], typical)
