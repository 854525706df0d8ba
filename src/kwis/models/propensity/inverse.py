"""Regression of inverse propensities, for logs that know no propensity but the logged action's.

If propensities are right, ``y_k = 1{action = k} / p(action)`` has mean 1 for every action ``k`` in every
context in which it is available. Where its mean is ``m_k(x)`` instead, propensities of ``k`` are wrong by
that factor on average, and ``p m_k(x)`` has what is missing. With ``m_k(x) = exp(z' c_k)`` the loss ``sum_k
(m_k - y_k log m_k)`` is convex, least at the true means, and needs no variance.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kwis.models.propensity.penalised import Coefficients, Mask, Shrunk, gram
from kwis.typing import Floats, Ints

_LARGEST = 30.0  # no mean is as large, and a line search that goes further must not overflow


@dataclass(frozen=True, slots=True, eq=False)
class Inverses:
    """Rows with the inverse propensity of the action taken."""

    design: Floats
    action: Ints
    inverse: Floats
    available: Mask | None = None

    def take(self, rows: Mask | Ints) -> Inverses:
        available = None if self.available is None else self.available[rows]
        return Inverses(self.design[rows], self.action[rows], self.inverse[rows], available)

    def logs(self, coefficients: Coefficients) -> Floats:
        """``(n,)`` gain of each row over means of 1: ``y log m - sum_k (m_k - 1)``, not above 0 on average if
        1 is right.
        """
        scores = self._scores(coefficients)
        taken = scores[np.arange(len(self.action)), self.action]
        return np.asarray(self.inverse * taken - np.expm1(scores).sum(axis=1))

    def surplus(self, coefficients: Coefficients) -> Floats:
        """``(n,)`` sum over the actions of ``(y_k - 1) max(log m_k, 0)``: of mean 0 if propensities are
        right.

        Means below 1 take no part, as an action that is not always on offer has one; then the surplus is
        below 0 on average.
        """
        scores = np.maximum(self._scores(coefficients), 0.0)
        taken = scores[np.arange(len(self.action)), self.action]
        return np.asarray(self.inverse * taken - scores.sum(axis=1))

    def _scores(self, coefficients: Coefficients) -> Floats:
        """``(n, K)`` logarithms of the means, 0 for actions that were not available."""
        scores = np.minimum(self.design @ coefficients.matrix, _LARGEST)
        return scores if self.available is None else np.where(self.available, scores, 0.0)


def factors(design: Floats, action: Ints, coefficients: Coefficients) -> Floats:
    """``(n,)`` mean inverse propensity of the action taken."""
    scores = np.minimum(design @ coefficients.matrix, _LARGEST)
    return np.asarray(np.exp(scores[np.arange(len(action)), action]))


def inverse_means(rows: Inverses, actions: int, mass: Floats) -> Shrunk:
    """The loss of mean inverse propensities, rows counted by their mass."""
    target = mass * rows.inverse

    def loss(_shift: float, scores: Floats, part: slice) -> tuple[float, float, Floats]:
        np.minimum(scores, _LARGEST, out=scores)
        places = np.arange(len(scores)), rows.action[part]
        taken = scores[places]
        means = np.exp(scores)
        if rows.available is not None:
            means *= rows.available[part]
        means *= mass[part, None]
        value = float(means.sum() - target[part] @ taken)
        means[places] -= target[part]
        return value, 0.0, means

    return Shrunk(
        design=rows.design,
        gram=gram(rows.design, mass),
        actions=actions,
        loss=loss,
        curvature=1.0,
        scale_curvature=0.0,
        size=float(mass.sum()),
    )
