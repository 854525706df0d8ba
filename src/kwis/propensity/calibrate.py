"""Calibration of predicted distributions: ``softmax(t log p + b)``, with one slope and one shift per action.

The slope undoes over- or under-confidence, the shifts put each action's mean where it belongs. They are learnt on the
held-out predictions of the other folds, with a standard normal prior that keeps ``b`` and ``log t`` finite when an action is rare.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize

from kwis.typing import Floats, Ints


def calibrated(distribution: Floats, action: Ints, folds: Ints, mass: Floats) -> Floats:
    """``(n, K)`` calibrated distribution; row ``i`` uses parameters learnt without its fold."""
    logs = np.log(distribution)
    result = np.empty_like(distribution)
    for fold in range(int(folds.max()) + 1):
        held = folds == fold
        parameters = _fitted(logs[~held], action[~held], mass[~held])
        result[held] = _apply(logs[held], parameters)
    return result


def _apply(logs: Floats, parameters: Floats) -> Floats:
    scores = np.exp(parameters[0]) * logs + parameters[1:]
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def _fitted(logs: Floats, action: Ints, mass: Floats) -> Floats:
    """``log t`` and the shifts ``b`` that make the actions most likely, prior included."""
    rows = np.arange(len(action))

    def loss(parameters: Floats) -> tuple[float, Floats]:
        predicted = _apply(logs, parameters)
        surplus = predicted.copy()
        surplus[rows, action] -= 1.0
        surplus *= mass[:, None]
        value = -(mass @ np.log(predicted[rows, action])) + 0.5 * parameters @ parameters
        slope = np.exp(parameters[0]) * (surplus * logs).sum()
        return float(value), np.concatenate([[slope], surplus.sum(axis=0)]) + parameters

    start = np.zeros(logs.shape[1] + 1)
    return np.asarray(minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 100}).x)
