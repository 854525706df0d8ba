"""Measures of a cell that errors are drawn against: how wrong its propensities are, and how smooth its
policies.
"""

from __future__ import annotations

import numpy as np

from kwis.kernel.geometry import Geometry, squared_distances
from kwis.runtime.threads import each_block, row_blocks
from kwis.typing import Floats, Ints
from kwis_paper.policies import Policy
from kwis_paper.simulate import Laboratory

_ROWS = 512


def divergence(truth: Floats, said: Floats) -> float:
    """Mean over rows of the Kullback-Leibler divergence of what is said from the truth; 0 where
    they agree.
    """
    positive = truth > 0
    ratio = np.divide(truth, said, out=np.ones_like(truth), where=positive)
    return float((truth * np.log(ratio)).sum(axis=1).mean())


def nearest_rows(context: Floats) -> Ints:
    """The nearest other row of every row; ties go to the first."""
    points = Geometry.of(context, ()).numeric

    def nearest(rows: slice) -> Ints:
        distances = squared_distances(points[rows], points, by_difference=False)
        distances[np.arange(distances.shape[0]), np.arange(rows.start, rows.stop)] = np.inf
        return distances.argmin(axis=1)

    return np.concatenate(each_block(nearest, row_blocks(context.shape[0], _ROWS)))


class Smoothness:
    """How alike policies act on neighbouring test rows."""

    def __init__(self, laboratory: Laboratory) -> None:
        self._laboratory = laboratory
        self._nearest: Ints | None = None
        self._found: dict[Policy, float] = {}

    def of(self, *policies: Policy) -> float:
        """One minus the mean total variation between a row and its nearest: 1 for a policy that never
        changes; the least of several.
        """
        return min(self._one(policy) for policy in policies)

    def _one(self, policy: Policy) -> float:
        if policy not in self._found:
            if self._nearest is None:
                self._nearest = nearest_rows(self._laboratory.test_context)
            table = self._laboratory.probabilities(policy)[self._laboratory.rows[1]]
            self._found[policy] = 1 - float(0.5 * np.abs(table - table[self._nearest]).sum(axis=1).mean())
        return self._found[policy]
