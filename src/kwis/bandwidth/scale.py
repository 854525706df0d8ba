"""The typical distance between contexts, which every search starts from."""

from __future__ import annotations

import numpy as np

from kwis.smoothing.geometry import Geometry, mismatches, squared_distances
from kwis.typing import Floats

_ROWS = 500


def typical_distance(geometry: Geometry) -> float:
    """Median distance between rows (a categorical mismatch counts 2 squared), from up to 500 evenly spaced ones."""
    rows = np.unique(np.linspace(0, geometry.n - 1, min(geometry.n, _ROWS)).astype(np.int64))
    unit = _unit(geometry)
    points = geometry.take(rows).scaled(unit)
    q = squared_distances(points.numeric, points.numeric, by_difference=True) + 2 * mismatches(points, points)
    distances = np.sqrt(q[np.triu_indices(rows.size, 1)])
    positive = distances[distances > 0]
    return float(np.median(positive)) * unit if positive.size else 1.0


def _unit(geometry: Geometry) -> float:
    """A length of the order of the contexts, so that squares neither overflow nor vanish; 1 beside categorical columns."""
    if geometry.categorical_columns.size or not geometry.span().any():
        return 1.0
    return float(geometry.span().max())


def default_starts(typical: float) -> Floats:
    """Initial bandwidths, log-spaced around the typical distance."""
    return typical * np.array([0.1, 0.25, 0.6, 1.5])
