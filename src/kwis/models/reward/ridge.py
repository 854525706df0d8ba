"""Ridge regression whose penalty has the smallest leave-one-out error, as scikit-learn's ``RidgeCV`` chooses
it, from one decomposition and three matrix products for all penalties.
"""

from __future__ import annotations

import numpy as np

from kwis.typing import Floats

_LEAST = 1e-12  # share of a row's residual that leaving it out takes at least


class Ridge:
    """A linear model with an intercept; what may be penalised is everything else.

    Parameters
    ----------
    alphas
        Penalties to choose from.
    """

    def __init__(self, alphas: Floats) -> None:
        self.alphas = alphas
        self.coefficients: Floats = np.zeros(0)
        self.intercept = 0.0

    def fit(self, design: Floats, outcome: Floats, sample_weight: Floats | None = None) -> Ridge:
        """Learn from rows, each counted by its weight."""
        mass = np.ones(outcome.size) if sample_weight is None else sample_weight
        middle, level = np.average(design, axis=0, weights=mass), float(np.average(outcome, weights=mass))
        root = np.sqrt(mass)
        x, y = (design - middle) * root[:, None], (outcome - level) * root
        values, vectors, along = _decomposed(x)
        pull = along.T @ y
        shrunk = 1 / (values[:, None] + self.alphas)
        left = y[:, None] - along @ (pull[:, None] * shrunk)
        own = np.square(along) @ shrunk + (mass / mass.sum())[:, None]
        errors = np.square(left / np.maximum(1 - own, _LEAST)).sum(axis=0)
        best = int(np.argmin(errors))
        self.coefficients = vectors @ (pull * shrunk[:, best])
        self.intercept = level - float(middle @ self.coefficients)
        return self

    def predict(self, design: Floats) -> Floats:
        """Predictions for rows."""
        return np.asarray(design @ self.coefficients + self.intercept)


def _decomposed(x: Floats) -> tuple[Floats, Floats, Floats]:
    """Squared singular values (r,), directions (p, r), and the rows along them (n, r)."""
    if x.shape[0] >= x.shape[1]:
        values, vectors = np.linalg.eigh(x.T @ x)
        return np.maximum(values, 0.0), vectors, x @ vectors
    left, singular, right = np.linalg.svd(x, full_matrices=False)
    return singular**2, right.T, left * singular
