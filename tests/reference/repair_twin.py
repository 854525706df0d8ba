"""Slow twins of the repair of propensities, written from the formulas, importing nothing they check."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize


def distribution(logs: np.ndarray, design: np.ndarray, scale: float, matrix: np.ndarray) -> np.ndarray:
    """Rowwise softmax of ``s l + Z c``."""
    result = np.empty(logs.shape)
    for i in range(len(logs)):
        scores = [
            scale * logs[i, k] + sum(design[i, j] * matrix[j, k] for j in range(design.shape[1]))
            for k in range(logs.shape[1])
        ]
        top = max(scores)
        parts = [np.exp(score - top) for score in scores]
        result[i] = np.array(parts) / sum(parts)
    return result


def penalised_loss(
    logs: np.ndarray,
    design: np.ndarray,
    action: np.ndarray,
    mass: np.ndarray,
    spread: np.ndarray,
    scale: float,
    matrix: np.ndarray,
) -> float:
    """``-sum m log p(action) + sum (c / spread)^2 / 2 + (s - 1)^2 / 2``."""
    chances = distribution(logs, design, scale, matrix)
    loss = -sum(mass[i] * np.log(chances[i, action[i]]) for i in range(len(action)))
    return float(loss + 0.5 * ((matrix / spread[:, None]) ** 2).sum() + 0.5 * (scale - 1) ** 2)


def fitted(
    logs: np.ndarray, design: np.ndarray, action: np.ndarray, mass: np.ndarray, spread: np.ndarray
) -> tuple[float, np.ndarray]:
    """Minimiser of the penalised loss by a general-purpose method, with numerical derivatives."""
    shape = (design.shape[1], logs.shape[1])

    def loss(point: np.ndarray) -> float:
        return penalised_loss(logs, design, action, mass, spread, point[0], point[1:].reshape(shape))

    found = minimize(
        loss, np.concatenate([[1.0], np.zeros(shape[0] * shape[1])]), method="BFGS", options={"gtol": 1e-5}
    ).x
    return float(found[0]), found[1:].reshape(shape)


def averaged_ratio_p_value(gains: list[np.ndarray], tried: int) -> float:
    """Inverse of the mean likelihood ratio over the splits, times the number of models tried, at most 1."""
    ratios = [float(np.exp(gain.sum())) for gain in gains]
    return min(1.0, tried / (sum(ratios) / len(ratios)))


def mean_inverse_loss(
    design: np.ndarray,
    action: np.ndarray,
    propensity: np.ndarray,
    mass: np.ndarray,
    spread: np.ndarray,
    matrix: np.ndarray,
) -> float:
    """``sum m sum_k (m_k - y_k log m_k)`` with ``m_k = exp(z' c_k)`` and ``y_k = 1{action = k} / p``, and the
    penalty.
    """
    total = 0.5 * float(((matrix / spread[:, None]) ** 2).sum())
    for i in range(len(action)):
        for k in range(matrix.shape[1]):
            log_mean = float(design[i] @ matrix[:, k])
            total += mass[i] * (np.exp(log_mean) - (action[i] == k) / propensity[i] * log_mean)
    return float(total)
