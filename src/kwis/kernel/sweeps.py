"""Products with a kernel that is one along each axis of a lattice, one sweep per axis.

Between two levels ``y`` and ``z`` of a column the kernel is 1 where they agree and ``exp(-(cost_y + cost_z) /
2)`` where they do not: a diagonal plus a product of a column and a row, so that multiplying by it takes two
looks at every cell. The costs of a column are one number per level, or a single one for all.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kwis.kernel.held_out import Folds
from kwis.runtime.threads import each_block, row_blocks
from kwis.typing import Floats, Ints

# Beyond this sum of costs a kernel sum could come near underflow, and the sweeps carry shifts along.
SAFE_COST = 200.0
_NOWHERE = 1e305
_VECTORS_PER_BLOCK = 16
_VECTORS_AT_ONCE = 8  # whose sums by cell stay in cache

Line = tuple[int, int, int]
"""The cells seen from a column: lines before, its levels, lines after; long inner axes are what numpy is
quick on.
"""


@dataclass(frozen=True, slots=True)
class Lattice:
    """Cell of each row in the product of the columns' levels."""

    shape: tuple[int, ...]
    cell: Ints

    @classmethod
    def of(cls, codes: Floats | Ints) -> Lattice:
        levels = tuple(np.unique(column, return_inverse=True)[1] for column in codes.T)
        shape = tuple(int(level.max()) + 1 for level in levels)
        return cls(shape, np.ravel_multi_index(levels, shape))

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def lines(self) -> list[Line]:
        return [
            (math.prod(self.shape[:axis]), size, math.prod(self.shape[axis + 1 :]))
            for axis, size in enumerate(self.shape)
        ]

    def sums(self, rows: Ints, weight: Floats | None = None) -> Floats:
        """Number of the given rows in each cell, or the sum of their weights."""
        return np.bincount(self.cell[rows], None if weight is None else weight[rows], self.size).astype(
            np.float64
        )


@dataclass(frozen=True, slots=True)
class Sweep:
    """One column's factor of the kernel: ``new_y = left_y stay_y v_y + out_y sum_z into_z v_z`` along its
    lines.

    Plainly, ``stay`` is 1 and ``out`` and ``into`` are ``exp(-cost / 2)``. Where that might underflow, ``v_y
    exp(-shift_y)`` stands for the value of a cell, its shift being the cost to the nearest occupied cell so
    far: sums stay of order 1 however far that is.
    """

    line: Line
    cost: Floats
    stay: Floats | float
    out: Floats
    into: Floats

    @classmethod
    def plain(cls, line: Line, cost: Floats) -> Sweep:
        cost = cost[:, None]
        factor = np.exp(-0.5 * cost)
        return cls(line, cost, 1.0, factor, factor)

    @classmethod
    def shifted(cls, line: Line, cost: Floats, shift: Floats) -> tuple[Sweep, Floats]:
        """The sweep of values that carry ``shift``, and the shift of its result."""
        cost = cost[:, None]
        before = shift.reshape(line)
        leaving = before + 0.5 * cost
        least = leaving.min(axis=-2, keepdims=True)
        arriving = least + 0.5 * cost
        after = np.minimum(before, arriving)
        return cls(
            line, cost, np.exp(after - before), np.exp(after - arriving), np.exp(least - leaving)
        ), after

    @property
    def left(self) -> Floats:
        """What the diagonal has beyond the product of column and row."""
        return -np.expm1(-self.cost)

    def forward(self, values: Floats, result: Floats) -> None:
        view, new = values.reshape(-1, *self.line), result.reshape(-1, *self.line)
        np.multiply(view, self.left * self.stay, out=new)
        new += self.out * _along(self.into, view)

    def backward(self, adjoint: Floats, values: Floats) -> tuple[Floats, Floats]:
        """Adjoint before the sweep, and the derivative with respect to the costs; shifts cancel in every
        ratio of sums.
        """
        view = values.reshape(-1, *self.line)
        above = adjoint.reshape(view.shape)
        here = self.stay * above
        reached, reaching = _along(self.out, above), _along(self.into, view)
        # All terms vanish with the kernel: a difference of the sweep's result and its diagonal would leave
        # rounding errors behind.
        slope = np.exp(-self.cost[:, 0]) * self._by_cost(here, view)
        if self.cost.size == 1:  # then both sums below are the same
            slope -= np.vdot(reached, reaching)
        else:
            slope -= 0.5 * (
                self._by_cost(self.out * above, reaching) + self._by_cost(self.into * view, reached)
            )
        here *= self.left
        here += self.into * reached
        return here, slope

    def _by_cost(self, a: Floats, b: Floats) -> Floats:
        """Sums of ``a * b`` by the level they belong to, or over all where one cost serves all levels."""
        if self.cost.size == 1:
            return np.array([np.vdot(a, b)])
        return np.einsum("bkzj,bkzj->z", a, np.broadcast_to(b, a.shape))


def _along(factor: Floats, view: Floats) -> Floats:
    """Sums of ``factor * view`` over the levels of each line."""
    if factor.size == 1:
        return factor * view.sum(axis=-2, keepdims=True)
    if factor.shape[-1] == 1 and factor.ndim == 2:
        return np.einsum("z,bkzj->bkj", factor[:, 0], view)[..., None, :]
    return (factor * view).sum(axis=-2, keepdims=True)


def sweeps(lattice: Lattice, costs: Sequence[Floats], occupied: Floats) -> list[Sweep]:
    """One sweep per column, shifted if the costs are large."""
    columns = zip(lattice.lines, costs, strict=True)
    if sum(float(cost.max()) for cost in costs) <= SAFE_COST:
        return [Sweep.plain(line, cost) for line, cost in columns]
    shift = np.where(occupied > 0, 0.0, _NOWHERE)
    found = []
    for line, cost in columns:
        sweep, shift = Sweep.shifted(line, cost, shift)
        found.append(sweep)
    return found


def kernel_products(lattice: Lattice, costs: Sequence[Floats], vectors: Floats) -> Floats:
    """``K @ vectors`` over the rows; ``K`` is 1 on its diagonal, so sums never vanish."""
    by_cell = np.argsort(lattice.cell, kind="stable")
    occupied, starts = np.unique(lattice.cell[by_cell], return_index=True)

    def block(columns: slice) -> Floats:
        part = vectors[:, columns]
        values = np.zeros((lattice.size, part.shape[1]))
        values[occupied] = np.add.reduceat(part[by_cell], starts, axis=0)
        result = np.empty_like(values)
        for (before, size, after), cost in zip(lattice.lines, costs, strict=True):
            Sweep.plain((before, size, after * part.shape[1]), cost).forward(values, result)
            values, result = result, values
        return values[lattice.cell]

    return np.concatenate(each_block(block, row_blocks(vectors.shape[1], _VECTORS_PER_BLOCK)), axis=1)


@dataclass(frozen=True, slots=True)
class HeldOut:
    """Cross-validated squared error, its derivatives by the costs of the levels of each column, and how far
    these are noise.
    """

    error: float
    slopes: list[Floats]
    noise: float

    @staticmethod
    def without_noise(slope: Floats, cost: Floats, noise: float) -> Floats:
        """Where all neighbours differ in a column slopes cancel to rounding errors, which a huge cost must
        not magnify.
        """
        return np.where((np.abs(slope) <= noise) & (cost > SAFE_COST), 0.0, slope)


def held_out_error(lattice: Lattice, folds: Folds, weight: Floats, costs: Sequence[Floats]) -> HeldOut:
    """Cross-validated squared error at the given costs."""

    def block(fold: int) -> HeldOut:
        held_out, rest = folds.members[fold], folds.others(fold)
        cell = lattice.cell[held_out]
        values = np.empty((len(costs) + 1, 2, lattice.size))  # before and after each sweep
        values[0] = lattice.sums(rest), lattice.sums(rest, weight)
        steps = sweeps(lattice, costs, values[0, 0])
        for column, step in enumerate(steps):
            step.forward(values[column], values[column + 1])
        total, weighted = values[-1][:, cell]
        predicted = weighted / total
        residual = weight[held_out] - predicted
        pull = folds.share[held_out] * residual
        push = -2 * pull / total  # d score / d weighted
        adjoint: Floats = np.stack(
            [np.bincount(cell, part, lattice.size) for part in (-push * predicted, push)]
        )
        slopes: list[Floats] = [np.zeros(0)] * len(costs)
        for column in reversed(range(len(costs))):
            adjoint, slopes[column] = steps[column].backward(adjoint, values[column])
        return HeldOut(
            float(pull @ residual),
            slopes,
            8 * np.finfo(np.float64).eps * float(np.abs(push * weighted).sum()),
        )

    parts = each_block(block, range(len(folds.members)))
    slopes = [np.sum([part.slopes[column] for part in parts], axis=0) for column in range(len(costs))]
    return HeldOut(sum(part.error for part in parts), slopes, sum(part.noise for part in parts))


def held_out_errors(lattice: Lattice, folds: Folds, weights: Floats, costs: Sequence[Floats]) -> Floats:
    """Cross-validated squared error of every column of ``weights``."""

    def block(fold: int) -> Floats:
        held_out, rest = folds.members[fold], folds.others(fold)
        cell, share = lattice.cell[held_out], folds.share[held_out]
        count = lattice.sums(rest)[None]
        steps = sweeps(lattice, costs, count)
        total = _swept(steps, count)[0, cell]
        scores = np.empty(weights.shape[1])
        for part in row_blocks(weights.shape[1], _VECTORS_AT_ONCE):
            columns = weights[:, part]
            weighted = _swept(steps, np.stack([lattice.sums(rest, column) for column in columns.T]))[:, cell]
            scores[part] = (columns[held_out].T - weighted / total) ** 2 @ share
        return scores

    return np.sum(each_block(block, range(len(folds.members))), axis=0)


def _swept(steps: Sequence[Sweep], values: Floats) -> Floats:
    result = np.empty_like(values)
    for step in steps:
        step.forward(values, result)
        values, result = result, values
    return values
