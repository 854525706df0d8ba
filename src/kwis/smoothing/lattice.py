"""Exact kernel sums when every column is categorical and the product of the levels is small.

Rows then live in few cells, and the kernel between two cells is a product over columns of 1 where they agree and
``rho = exp(-1/h^2)`` where they do not: ``(1 - rho) I + rho 11'`` along each axis. Multiplying by it takes one sweep per column over the
cells and no pairs of rows. Without numeric columns all kernels are the same, so this plan serves every one of them.

With one shared bandwidth a kernel sum is a polynomial in ``rho`` whose coefficients are sums by Hamming distance. They do not
depend on the bandwidth, so after one pass an evaluation reads ``columns + 1`` numbers per row.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kwis.smoothing.geometry import Geometry, Scaled
from kwis.smoothing.held_out import Folds, Score
from kwis.smoothing.threads import each_block, row_blocks
from kwis.typing import Bandwidth, Floats, Ints

# A sweep costs as much per cell as this many pairs of rows cost the other plans.
_PAIRS_PER_CELL = 200
_SUMS_PER_ROW = 64  # keeps memory in proportion to the rows
# Beyond this sum of penalties a kernel sum could come near underflow, and the sweeps carry shifts along.
_SAFE_PENALTY = 200.0
_NOWHERE = 1e305
_VECTORS_PER_BLOCK = 16


@dataclass(frozen=True, slots=True)
class Lattice:
    """Cell of each row in the product of the columns' levels."""

    shape: tuple[int, ...]
    cell: Ints

    @classmethod
    def of(cls, codes: Floats) -> Lattice:
        levels = tuple(np.unique(column, return_inverse=True)[1] for column in codes.T)
        shape = tuple(int(level.max()) + 1 for level in levels)
        return cls(shape, np.ravel_multi_index(levels, shape))

    @property
    def lines(self) -> list[tuple[int, int, int]]:
        """For each column, the cells seen as (lines before, its levels, lines after); long inner axes are what numpy is quick on."""
        return [(math.prod(self.shape[:axis]), size, math.prod(self.shape[axis + 1 :])) for axis, size in enumerate(self.shape)]

    def sums(self, rows: Ints, weight: Floats | None = None) -> Floats:
        """Number of the given rows in each cell, or the sum of their weights."""
        return np.bincount(self.cell[rows], None if weight is None else weight[rows], math.prod(self.shape)).astype(np.float64)

    def sums_by_distance(self, mass: Floats) -> Floats:
        """``(columns + 1, cells)``: sum of ``mass`` over the cells at each Hamming distance from each cell."""
        sums = np.zeros((len(self.shape) + 1, mass.size))
        sums[0] = mass
        for done, line in enumerate(reversed(self.lines)):
            part = sums[: done + 1].reshape(-1, *line)
            others = part.sum(axis=-2, keepdims=True) - part
            sums[1 : done + 2] += others.reshape(done + 1, -1)
        return sums


@dataclass(frozen=True, slots=True)
class Sweep:
    """One column's factor of the kernel: ``new_y = (1 - rho) stay_y v_y + out_y sum_z into_z v_z`` along its lines.

    Plainly, ``stay`` and ``into`` are 1 and ``out`` is ``rho``. Where that might underflow, ``v_y exp(-shift_y)`` stands for the value of a
    cell, its shift being the penalty to the nearest occupied cell so far: sums stay of order 1 however far that is.
    """

    line: tuple[int, int, int]
    penalty: float
    stay: Floats | float
    out: Floats | float
    into: Floats | float

    @classmethod
    def plain(cls, line: tuple[int, int, int], penalty: float) -> Sweep:
        return cls(line, penalty, 1.0, math.exp(-penalty), 1.0)

    @classmethod
    def shifted(cls, line: tuple[int, int, int], penalty: float, shift: Floats) -> tuple[Sweep, Floats]:
        """The sweep of values that carry ``shift``, and the shift of its result."""
        before = shift.reshape(line)
        least = before.min(axis=-2, keepdims=True)
        after = np.minimum(before, penalty + least)
        return cls(line, penalty, np.exp(after - before), np.exp(after - (penalty + least)), np.exp(least - before)), after

    def forward(self, values: Floats, result: Floats) -> None:
        view, new = values.reshape(-1, *self.line), result.reshape(-1, *self.line)
        np.multiply(view, -math.expm1(-self.penalty) * self.stay, out=new)
        new += self.out * _along(self.into, view)

    def backward(self, adjoint: Floats, values: Floats) -> tuple[Floats, float]:
        """Adjoint before the sweep, and the derivative with respect to the penalty; shifts cancel in every ratio of sums."""
        view = values.reshape(-1, *self.line)
        here = self.stay * adjoint.reshape(view.shape)
        reached = _along(self.out, adjoint.reshape(view.shape))
        # Both terms vanish with rho: a difference of the sweep's result and its diagonal would leave rounding errors behind.
        slope = math.exp(-self.penalty) * np.vdot(here, view) - np.vdot(reached, _along(self.into, view))
        here *= -math.expm1(-self.penalty)
        here += self.into * reached
        return here, float(slope)


def _along(factor: Floats | float, view: Floats) -> Floats:
    """Sums of ``factor * view`` over the levels of each line."""
    if isinstance(factor, float):
        return factor * view.sum(axis=-2, keepdims=True)
    return (factor * view).sum(axis=-2, keepdims=True)


def _sweeps(lattice: Lattice, penalty: Floats, occupied: Floats) -> list[Sweep]:
    """One sweep per column, shifted if the penalties are large."""
    columns = zip(lattice.lines, penalty.tolist(), strict=True)
    if penalty.sum() <= _SAFE_PENALTY:
        return [Sweep.plain(line, cost) for line, cost in columns]
    shift = np.where(occupied > 0, 0.0, _NOWHERE)
    sweeps = []
    for line, cost in columns:
        sweep, shift = Sweep.shifted(line, cost, shift)
        sweeps.append(sweep)
    return sweeps


def kernel_products(points: Scaled, vectors: Floats) -> Floats:
    """``K @ vectors`` over the rows, all columns categorical; ``K`` is 1 on its diagonal, so sums never vanish."""
    lattice = Lattice.of(points.codes)
    by_cell = np.argsort(lattice.cell, kind="stable")
    occupied, starts = np.unique(lattice.cell[by_cell], return_index=True)

    def block(columns: slice) -> Floats:
        part = vectors[:, columns]
        values = np.zeros((math.prod(lattice.shape), part.shape[1]))
        values[occupied] = np.add.reduceat(part[by_cell], starts, axis=0)
        result = np.empty_like(values)
        for (before, size, after), cost in zip(lattice.lines, points.penalty.tolist(), strict=True):
            Sweep.plain((before, size, after * part.shape[1]), cost).forward(values, result)
            values, result = result, values
        return values[lattice.cell]

    return np.concatenate(each_block(block, row_blocks(vectors.shape[1], _VECTORS_PER_BLOCK)), axis=1)


@dataclass(frozen=True, slots=True)
class LatticeCV:
    """Held-out predictions and their error, all columns categorical.

    Sums by distance are kept between evaluations: those of the rows for good, those of the weights until other weights come.
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
        within_memory = cells * (geometry.d + 1) <= _SUMS_PER_ROW * geometry.n
        return within_memory and _PAIRS_PER_CELL * cells * len(folds.members) <= geometry.n**2

    @classmethod
    def of(cls, geometry: Geometry, folds: Folds) -> LatticeCV:
        return cls(geometry, Lattice.of(geometry.codes), folds)

    def score(self, weight: Floats, bandwidth: Bandwidth) -> Score:
        """Cross-validated squared error and its gradient with respect to the log bandwidth."""
        penalty = self.geometry.scaled(bandwidth).penalty
        return self._feature_score(weight, penalty) if np.ndim(bandwidth) else self._shared_score(weight, float(penalty[0]))

    def scan(self, weight: Floats, bandwidths: Floats) -> Floats:
        """Scores at many shared bandwidths."""
        return np.array([self.score(weight, float(h)).value for h in bandwidths])

    def _shared_score(self, weight: Floats, penalty: float) -> Score:
        count, sums = self._by_distance(weight)
        steps = np.arange(len(sums))
        powers = math.exp(-penalty) ** steps  # counted from the nearest rows, the first is 1 whatever the bandwidth
        slopes = 2 * penalty * steps * powers  # in log h, for log rho = -1/h^2
        total, total_slope = np.einsum("pk,kn->pn", [powers, slopes], count)
        weighted, weighted_slope = np.einsum("pk,kn->pn", [powers, slopes], sums)
        predicted = weighted / total
        residual = weight - predicted
        pull = self.folds.share * residual
        gradient = -2 * np.sum(pull * (weighted_slope - predicted * total_slope) / total)
        return Score(float(np.sum(pull * residual)), np.array([gradient]))

    def _by_distance(self, weight: Floats) -> tuple[Floats, Floats]:
        """For each row, number and sum of weights of the other folds' rows by their distance beyond the nearest: ``(columns + 1, n)``."""
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
            result[:, held_out] = lattice.sums_by_distance(lattice.sums(folds.others(fold), weight))[:, lattice.cell[held_out]]

        each_block(block, range(len(folds.members)))
        return result

    def _feature_score(self, weight: Floats, penalty: Floats) -> Score:
        def block(fold: int) -> Score:
            held_out, rest = self.folds.members[fold], self.folds.others(fold)
            cell = self.lattice.cell[held_out]
            values = np.empty((len(penalty) + 1, 2, math.prod(self.lattice.shape)))  # before and after each sweep
            values[0] = self.lattice.sums(rest), self.lattice.sums(rest, weight)
            sweeps = _sweeps(self.lattice, penalty, values[0, 0])
            for column, sweep in enumerate(sweeps):
                sweep.forward(values[column], values[column + 1])
            total, weighted = values[-1][:, cell]
            predicted = weighted / total
            residual = weight[held_out] - predicted
            pull = self.folds.share[held_out] * residual
            push = -2 * pull / total  # d score / d weighted
            adjoint: Floats = np.stack([np.bincount(cell, part, values.shape[2]) for part in (-push * predicted, push)])
            slopes = np.empty(len(penalty))
            for column in reversed(range(len(penalty))):
                adjoint, slopes[column] = sweeps[column].backward(adjoint, values[column])
            # Where all neighbours differ in a column its slope cancels to rounding errors, which a huge penalty must not magnify.
            noise = 8 * np.finfo(np.float64).eps * np.abs(push * weighted).sum()
            slopes[(np.abs(slopes) <= noise) & (penalty > _SAFE_PENALTY)] = 0.0
            return Score(float(pull @ residual), -2 * penalty * slopes)  # d penalty / d log h = -2 penalty

        return Score.total(each_block(block, range(len(self.folds.members))))


def _from(nearest: Ints, sums: Floats) -> Floats:
    """Sums by distance, counted from each row's nearest one on; what lies before is empty."""
    rows = nearest + np.arange(len(sums))[:, None]
    return np.where(rows < len(sums), np.take_along_axis(sums, np.minimum(rows, len(sums) - 1), axis=0), 0.0)
