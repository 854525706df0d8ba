"""Multinomial regression that starts from given log-probabilities and is pulled back to them.

The probability of action ``k`` in row ``i`` is proportional to ``exp(s l_ik + z_i' c_k)``, with ``l`` the
logarithm of the given probability, ``s`` one scale for all and ``z`` a design. At ``s = 1, c = 0``, where the
penalty pulls, it is the given one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kwis.models.propensity.penalised import Coefficients, Mask, Shrunk, gram
from kwis.typing import Floats, Ints


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
    closed: Mask | None = None

    def take(self, rows: Mask | Ints) -> Scores:
        return Scores(self.logs[rows], self.design[rows], None if self.closed is None else self.closed[rows])

    def distribution(self, coefficients: Coefficients) -> Floats:
        """``(n, K)`` probabilities."""
        return self.softmax(coefficients.scale * self.logs + self.design @ coefficients.matrix)[1]

    def softmax(self, scores: Floats, rows: slice = slice(None)) -> tuple[Floats, Floats]:
        """Logarithm of the sum of exponentials of some rows, ``(n,)``, and its softmax; overwrites impossible
        actions.
        """
        if self.closed is not None:
            scores[self.closed[rows]] = -np.inf
        top = scores.max(axis=1, keepdims=True)
        part = np.exp(scores - top)
        total = part.sum(axis=1, keepdims=True)
        part /= total
        return (top + np.log(total))[:, 0], part


@dataclass(frozen=True, slots=True, eq=False)
class HeldOut:
    """Rows that were not learnt from, and the actions taken there."""

    scores: Scores
    action: Ints

    def logs(self, coefficients: Coefficients) -> Floats:
        """``(n,)`` log-probability of the action taken."""
        distribution = self.scores.distribution(coefficients)
        return np.asarray(np.log(np.maximum(distribution[np.arange(len(self.action)), self.action], 1e-300)))


def likelihood(known: Scores, action: Ints, mass: Floats, *, free_scale: bool = True) -> Shrunk:
    """The actions taken in some rows as a loss: minus their log-probability, rows counted by their mass."""
    given = known.softmax(known.logs.copy())[1]
    centred = known.logs - (given * known.logs).sum(axis=1, keepdims=True)

    def loss(shift: float, scores: Floats, rows: slice) -> tuple[float, float, Floats]:
        logs, places = known.logs[rows], (np.arange(len(scores)), action[rows])
        scores += (1 + shift * free_scale) * logs
        taken = scores[places]
        total, surplus = known.softmax(scores, rows)
        surplus[places] -= 1.0
        surplus *= mass[rows, None]
        slope = float((surplus * logs).sum()) if free_scale else 0.0
        return float(mass[rows] @ (total - taken)), slope, surplus

    return Shrunk(
        design=known.design,
        gram=gram(known.design, mass),
        actions=known.logs.shape[1],
        loss=loss,
        curvature=float((given * (1 - given)).mean()),
        scale_curvature=float((mass[:, None] * given * centred**2).sum()),
        size=float(mass.sum()),
    )
