"""Minimisation of a convex loss of linear scores, with coefficients pulled towards 0: one place for every
regression of a repair.

The loss is a function of ``(n, K)`` scores ``Z c`` and of one scale ``s``; the penalty is
``sum_jk (c_jk / spread_j)^2 / 2 + (s - 1)^2 / 2``. A spread of 0 leaves a column out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from kwis.runtime.threads import each_block, row_blocks
from kwis.stats.descent import lowest_point
from kwis.typing import Floats, Ints

Mask = NDArray[np.bool_]

_MOST_STEPS = 200
_ROWS = 2048  # whose scores stay in cache
_SMALL_TRIANGLE = 64
_WORTH_THREADS = 4  # blocks; fewer are done sooner than handed over


@dataclass(frozen=True, slots=True, eq=False)
class Coefficients:
    """The scale ``s`` and the ``(D, K)`` coefficients ``c``."""

    scale: float
    matrix: Floats


class Loss(Protocol):
    """A loss over the rows of a design."""

    def __call__(self, shift: float, scores: Floats, rows: slice, /) -> tuple[float, float, Floats]:
        """Loss of some rows at ``s = 1 + shift`` and their scores, and its derivatives by the shift and the
        scores; may overwrite these.
        """


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Shrunk:
    """A loss ready to be minimised for many spreads.

    Attributes
    ----------
    gram
        ``(D, D)`` products of the columns of ``design``, rows counted by their mass.
    curvature, scale_curvature
        Second derivative of the loss in the coefficients of a column per unit of ``gram``, and in the scale,
        roughly.
    size
        What the loss is divided by, so that its tolerance means the same for any number of rows.
    """

    design: Floats
    gram: Floats
    actions: int
    loss: Loss
    curvature: float
    scale_curvature: float
    size: float

    def fit(
        self,
        spread: Floats,
        start: Coefficients | None = None,
        *,
        tolerance: float = 1e-9,
        threads: bool = False,
    ) -> Coefficients:
        """Coefficients with the least loss, penalty included.

        Parameters
        ----------
        spread
            ``(D,)`` how far each column's coefficients may be expected to lie from 0.
        start
            Coefficients of a neighbouring spread, from which few steps lead to the new ones.
        tolerance
            Relative change of the loss at which to stop.
        threads
            Whether to share the rows among the threads of the engine; the result is the same.
        """
        used = np.flatnonzero(spread > 0)
        near, reach = spread[used][:, None], spread[used][:, None] ** 2
        basis, root = self._basis(used, spread[used])
        shape, unit = (basis.shape[1], self.actions), 1 / np.sqrt(self.scale_curvature + 1)
        point = np.zeros(1 + shape[0] * shape[1])
        if start is not None:
            point[0] = (start.scale - 1) / unit
            point[1:] = (root.T @ (start.matrix[used] / near)).ravel()
        design = self.design if len(used) == len(spread) else self.design[:, used]
        blocks = row_blocks(len(design), _ROWS)

        def loss(at: Floats) -> tuple[float, Floats]:
            shift, coefficients = unit * float(at[0]), basis @ at[1:].reshape(shape)

            def part(rows: slice) -> tuple[float, float, Floats]:
                value, slope, by_score = self.loss(shift, design[rows] @ coefficients, rows)
                return value, slope, design[rows].T @ by_score

            parts = (
                each_block(part, blocks)
                if threads and len(blocks) >= _WORTH_THREADS
                else [part(rows) for rows in blocks]
            )
            pull = coefficients / reach
            value = sum(one[0] for one in parts) + 0.5 * float((pull * coefficients).sum()) + 0.5 * shift**2
            slope = sum(one[1] for one in parts) + shift
            inner_slope = basis.T @ (sum(one[2] for one in parts) + pull)
            return value / self.size, np.concatenate([[unit * slope], inner_slope.ravel()]) / self.size

        found = lowest_point(loss, point, curvature=1 / self.size, tolerance=tolerance, most=_MOST_STEPS)
        matrix = np.zeros((len(spread), self.actions))
        matrix[used] = basis @ found[1:].reshape(shape)
        return Coefficients(1 + unit * float(found[0]), matrix)

    def _basis(self, used: Ints, spread: Floats) -> tuple[Floats, Floats]:
        """Directions in which loss and penalty together curve about equally, so that few steps suffice; and
        the triangle that coefficients in units of their spread are turned by to lie along them.
        """
        curvature = self.gram[np.ix_(used, used)] * (self.curvature * spread[:, None] * spread)
        curvature[np.diag_indices(len(used))] += 1.0
        root = np.linalg.cholesky(curvature)
        return spread[:, None] * inverse_of_triangle(root).T, root


def gram(design: Floats, mass: Floats) -> Floats:
    """``(D, D)`` products of the columns, rows counted by their mass; half the work of a product of two
    designs.
    """
    counted = design if (mass == 1).all() else design * np.sqrt(mass)[:, None]
    return np.asarray(counted.T @ counted)


def inverse_of_triangle(lower: Floats) -> Floats:
    """Inverse of a lower triangle, by halves, in a sixth of the time that takes no notice of the zeros."""
    size = len(lower)
    if size <= _SMALL_TRIANGLE:
        return np.asarray(np.linalg.inv(lower))
    half = size // 2
    out = np.zeros_like(lower)
    out[:half, :half] = inverse_of_triangle(lower[:half, :half])
    out[half:, half:] = inverse_of_triangle(lower[half:, half:])
    out[half:, :half] = -out[half:, half:] @ (lower[half:, :half] @ out[:half, :half])
    return out
