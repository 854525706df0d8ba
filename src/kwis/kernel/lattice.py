"""Exact kernel sums when every column is categorical and the product of the levels is small.

Rows then live in few cells, and the kernel between two cells is a product over columns of 1 where they agree
and ``rho = exp(-1/h^2)`` where they do not: see :mod:`kwis.kernel.sweeps`. Without numeric columns all
kernels are the same, so this plan serves every one of them.

With one shared bandwidth a kernel sum is a polynomial in ``rho`` whose coefficients are sums by Hamming
distance. They do not depend on the bandwidth, so after one pass an evaluation reads ``columns + 1`` numbers
per row.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kwis.kernel import sweeps
from kwis.kernel.geometry import Geometry, Scaled
from kwis.kernel.held_out import Folds, Score
from kwis.kernel.sweeps import Lattice
from kwis.runtime.threads import each_block
from kwis.typing import Bandwidth, Floats, Ints

# A sweep costs as much per cell as this many pairs of rows cost the other plans.
_PAIRS_PER_CELL = 200
_SUMS_PER_ROW = 64  # keeps memory in proportion to the rows


def pays(cells: int, columns: int, n: int, folds: int) -> bool:
    """Whether so many cells beat a pass over the pairs of rows, in memory that grows with the rows."""
    return cells * (columns + 1) <= _SUMS_PER_ROW * n and _PAIRS_PER_CELL * cells * folds <= n**2


def kernel_products(points: Scaled, vectors: Floats) -> Floats:
    """``K @ vectors`` over the rows, all columns categorical."""
    lattice = Lattice.of(points.codes)
    return sweeps.kernel_products(lattice, list(points.penalty[:, None]), vectors)


def _sums_by_distance(lattice: Lattice, mass: Floats) -> Floats:
    """``(columns + 1, cells)``: sum of ``mass`` over the cells at each Hamming distance from each cell."""
    sums = np.zeros((len(lattice.shape) + 1, mass.size))
    sums[0] = mass
    for done, line in enumerate(reversed(lattice.lines)):
        part = sums[: done + 1].reshape(-1, *line)
        others = part.sum(axis=-2, keepdims=True) - part
        sums[1 : done + 2] += others.reshape(done + 1, -1)
    return sums


@dataclass(frozen=True, slots=True)
class LatticeCV:
    """Held-out predictions and their error, all columns categorical.

    Sums by distance are kept between evaluations: those of the rows for good, those of the weights until
    other weights come.
    """

    geometry: Geometry
    lattice: Lattice
    folds: Folds
    _kept: dict[str, tuple[Any, Floats]] = field(default_factory=dict, repr=False, compare=False)

    @staticmethod
    def fits(geometry: Geometry, folds: Folds) -> bool:
        """Whether the data have cells, and few enough of them to beat a pass over the pairs of rows."""
        if geometry.numeric.shape[1]:
            return False
        cells = math.prod(np.unique(column).size for column in geometry.codes.T)
        return pays(cells, geometry.d, geometry.n, len(folds.members))

    @classmethod
    def of(cls, geometry: Geometry, folds: Folds) -> LatticeCV:
        return cls(geometry, Lattice.of(geometry.codes), folds)

    def score(self, weight: Floats, bandwidth: Bandwidth) -> Score:
        """Cross-validated squared error and its gradient with respect to the log bandwidth."""
        penalty = self.geometry.scaled(bandwidth).penalty
        return (
            self._feature_score(weight, penalty)
            if np.ndim(bandwidth)
            else self._shared_score(weight, float(penalty[0]))
        )

    def scan(self, weight: Floats, bandwidths: Floats) -> Floats:
        """Scores at many shared bandwidths."""
        return np.array([self.score(weight, float(h)).value for h in bandwidths])

    def _shared_score(self, weight: Floats, penalty: float) -> Score:
        count, sums = self._by_distance(weight)
        steps = np.arange(len(sums))
        powers = (
            math.exp(-penalty) ** steps
        )  # counted from the nearest rows, the first is 1 whatever the bandwidth
        slopes = 2 * penalty * steps * powers  # in log h, for log rho = -1/h^2
        total, total_slope = np.einsum("pk,kn->pn", [powers, slopes], count)
        weighted, weighted_slope = np.einsum("pk,kn->pn", [powers, slopes], sums)
        predicted = weighted / total
        residual = weight - predicted
        pull = self.folds.share * residual
        gradient = -2 * np.sum(pull * (weighted_slope - predicted * total_slope) / total)
        return Score(float(np.sum(pull * residual)), np.array([gradient]))

    def _by_distance(self, weight: Floats) -> tuple[Floats, Floats]:
        """For each row, number and sum of weights of the other folds' rows by their distance beyond the
        nearest: ``(columns + 1, n)``.
        """
        if "count" not in self._kept:
            count = self._by_distance_from_zero(None)
            nearest = np.argmax(count > 0, axis=0)
            self._kept["count"] = nearest, _from(nearest, count)
        nearest, count = self._kept["count"]
        known, sums = self._kept.get("weight", (None, count))
        if known is None or not np.array_equal(known, weight):
            sums = _from(nearest, self._by_distance_from_zero(weight))
            self._kept["weight"] = weight.copy(), sums
        return count, sums

    def _by_distance_from_zero(self, weight: Floats | None) -> Floats:
        lattice, folds = self.lattice, self.folds
        result = np.empty((len(lattice.shape) + 1, len(lattice.cell)))

        def block(fold: int) -> None:
            held_out = folds.members[fold]
            result[:, held_out] = _sums_by_distance(lattice, lattice.sums(folds.others(fold), weight))[
                :, lattice.cell[held_out]
            ]

        each_block(block, range(len(folds.members)))
        return result

    def _feature_score(self, weight: Floats, penalty: Floats) -> Score:
        found = sweeps.held_out_error(self.lattice, self.folds, weight, list(penalty[:, None]))
        # All levels of a column cost its penalty, and d penalty / d log h = -2 penalty.
        slopes = found.without_noise(np.concatenate(found.slopes), penalty, found.noise)
        return Score(found.error, -2 * penalty * slopes)


def _from(nearest: Ints, sums: Floats) -> Floats:
    """Sums by distance, counted from each row's nearest one on; what lies before is empty."""
    rows = nearest + np.arange(len(sums))[:, None]
    return np.where(rows < len(sums), np.take_along_axis(sums, np.minimum(rows, len(sums) - 1), axis=0), 0.0)
