"""Multinomial regression that starts from given log-probabilities and is pulled back to them.

The probability of action ``k`` in row ``i`` is proportional to ``exp(s l_ik + z_i' c_k)``, with ``l`` the logarithm of the given
probability, ``s`` one scale for all and ``z`` a design. The penalty ``sum_jk (c_jk / spread_j)^2 / 2 + (s - 1)^2 / 2`` pulls towards
``s = 1, c = 0``, the given probabilities; a spread of 0 leaves a column out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from kwis.typing import Floats, Ints

_NEGLIGIBLE = 1e-10  # eigenvalues of the design, as a share of the largest
_MOST_STEPS = 200


@dataclass(frozen=True, slots=True, eq=False)
class Coefficients:
    """The scale ``s`` and the ``(D, K)`` coefficients ``c``."""

    scale: float
    matrix: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """What is known of some rows before any coefficient.

    Attributes
    ----------
    logs
        ``(n, K)`` given log-probabilities, finite; any constant may be added to a row.
    design
        ``(n, D)``.
    closed
        ``(n, K)`` actions that are impossible in a row; None: none.
    """

    logs: Floats
    design: Floats
    closed: Floats | None = None

    def take(self, rows: Floats | Ints) -> Scores:
        return Scores(self.logs[rows], self.design[rows], None if self.closed is None else self.closed[rows])

    def distribution(self, coefficients: Coefficients) -> Floats:
        """``(n, K)`` probabilities."""
        return self._softmax(coefficients.scale * self.logs + self.design @ coefficients.matrix)[1]

    def _softmax(self, scores: Floats) -> tuple[Floats, Floats]:
        """Logarithm of the sum of exponentials of every row, ``(n,)``, and its softmax."""
        if self.closed is not None:
            scores[self.closed] = -np.inf
        top = scores.max(axis=1, keepdims=True)
        part = np.exp(scores - top)
        total = part.sum(axis=1, keepdims=True)
        part /= total
        return (top + np.log(total))[:, 0], part


class Likelihood:
    """The actions of some rows as a function of the coefficients, ready to be maximised for many spreads."""

    def __init__(self, scores: Scores, action: Ints, mass: Floats, *, free_scale: bool = True) -> None:
        self._scores, self._action, self._mass, self._free = scores, action, mass, free_scale
        given = scores._softmax(scores.logs.copy())[1]
        self._gram = (scores.design * mass[:, None]).T @ scores.design
        # Curvature of the log-likelihood in the coefficients of a column, on average over the actions, and in the scale.
        self._curvature = float((given * (1 - given)).mean())
        centred = scores.logs - (given * scores.logs).sum(axis=1, keepdims=True)
        self._scale_unit = 1 / float(np.sqrt(1 + (mass[:, None] * given * centred**2).sum()))

    def fit(self, spread: Floats, start: Coefficients | None = None, *, tolerance: float = 1e-9) -> Coefficients:
        """Coefficients that make the actions most likely, penalty included.

        Parameters
        ----------
        spread
            ``(D,)`` how far each column's coefficients may be expected to lie from 0.
        start
            Coefficients of a neighbouring spread, from which few steps lead to the new ones.
        tolerance
            Relative change of the loss at which to stop.
        """
        used = np.flatnonzero(spread > 0)
        basis = self._basis(used, spread[used])
        width, k = basis.shape[1], self._scores.logs.shape[1]
        design = self._scores.design[:, used] @ basis
        # In the basis the penalty of a column is not 1: it is what the metric made of it.
        inner = basis / spread[used][:, None]
        penalty = (inner * inner).sum(axis=0)
        point = np.zeros(1 + width * k)
        if start is not None:
            point[0] = (start.scale - 1) / self._scale_unit
            point[1:] = ((inner.T @ (start.matrix[used] / spread[used][:, None])) / penalty[:, None]).ravel()

        def loss(at: Floats) -> tuple[float, Floats]:
            return self._loss(at, design, penalty)

        found = minimize(loss, point, jac=True, method="L-BFGS-B", options={"maxiter": _MOST_STEPS, "ftol": tolerance, "gtol": 1e-6}).x
        matrix = np.zeros((len(spread), k))
        matrix[used] = basis @ found[1:].reshape(width, k)
        return Coefficients(1 + self._scale_unit * float(found[0]) * self._free, matrix)

    def _basis(self, used: Ints, spread: Floats) -> Floats:
        """Directions in which loss and penalty together curve about equally, so that few steps suffice."""
        gram = self._gram[np.ix_(used, used)] * spread[:, None] * spread
        values, vectors = np.linalg.eigh(gram) if len(used) else (np.zeros(0), np.zeros((0, 0)))
        kept = values > _NEGLIGIBLE * values.max(initial=0.0)
        return np.asarray(spread[:, None] * vectors[:, kept] / np.sqrt(values[kept] * self._curvature + 1))

    def _loss(self, point: Floats, design: Floats, penalty: Floats) -> tuple[float, Floats]:
        """Penalised loss per unit of mass, and its gradient."""
        logs, action, mass = self._scores.logs, self._action, self._mass
        shift = self._scale_unit * point[0] * self._free
        matrix = point[1:].reshape(design.shape[1], logs.shape[1])
        scores = (1 + shift) * logs
        scores += design @ matrix
        rows = np.arange(len(action))
        taken = scores[rows, action]
        total, surplus = self._scores._softmax(scores)
        surplus[rows, action] -= 1.0
        surplus *= mass[:, None]
        pull = penalty[:, None] * matrix
        value = mass @ (total - taken) + 0.5 * (pull * matrix).sum() + 0.5 * shift**2
        slope = self._scale_unit * self._free * ((surplus * logs).sum() + shift)
        gradient = np.concatenate([[slope], (design.T @ surplus + pull).ravel()])
        size = mass.sum()
        return float(value / size), gradient / size
