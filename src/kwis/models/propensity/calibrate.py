"""Calibration of predicted distributions: ``softmax(t log p + b)``, with one slope and one shift per action.

The slope undoes over- or under-confidence, the shifts put each action's mean where it belongs. They are
learnt on the held-out predictions of the other folds, with a standard normal prior that keeps ``b`` and ``log
t`` finite when an action is rare.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kwis.typing import Floats, Ints

_LARGEST_LOG_SLOPE = 30.0  # no data ask for as much, and a line search that goes further must not overflow


@dataclass(frozen=True, slots=True, eq=False)
class Calibration:
    """``log t`` and the shifts ``b``."""

    parameters: Floats

    @classmethod
    def of(cls, distribution: Floats, action: Ints, mass: Floats | None) -> Calibration:
        return cls(_fitted(_logs(distribution), action, np.ones(len(action)) if mass is None else mass))

    def __call__(self, distribution: Floats) -> Floats:
        """``(n, K)`` calibrated distribution."""
        return np.exp(_apply(_logs(distribution), self.parameters))


def calibrations(
    distribution: Floats, action: Ints, folds: Ints, mass: Floats | None
) -> tuple[Calibration, ...]:
    """Of the rows of each fold, learnt without them."""
    others = (folds != fold for fold in range(int(folds.max()) + 1))
    return tuple(
        Calibration.of(distribution[rows], action[rows], None if mass is None else mass[rows])
        for rows in others
    )


def calibrated(distribution: Floats, folds: Ints, known: Sequence[Calibration]) -> Floats:
    """``(n, K)`` distribution, the rows of each fold calibrated by their own."""
    result = np.empty_like(distribution)
    for fold, calibration in enumerate(known):
        held = folds == fold
        result[held] = calibration(distribution[held])
    return result


def likeliest_exponent(distribution: Floats, action: Ints, mass: Floats | None) -> float:
    """The slope that makes the actions most likely, without shifts."""
    logs, weight = _logs(distribution), np.ones(len(action)) if mass is None else mass / mass.mean()

    def loss(log_slope: float) -> float:
        predicted = _apply(logs, np.array([log_slope, *np.zeros(logs.shape[1])]))
        return float(0.5 * log_slope**2 - weight @ predicted[np.arange(len(action)), action])

    from scipy.optimize import minimize_scalar

    return float(np.exp(minimize_scalar(loss, bounds=(-2.0, 2.0), method="bounded").x))


def to_power(distribution: Floats, exponent: float) -> Floats:
    """``(n, K)`` distribution proportional to ``p^exponent``."""
    return np.exp(_apply(_logs(distribution), np.array([np.log(exponent), *np.zeros(distribution.shape[1])])))


def _logs(distribution: Floats) -> Floats:
    """Logarithms; minus infinity for actions that are not available, which have probability 0 and keep it."""
    with np.errstate(divide="ignore"):
        return np.log(distribution)


def _apply(logs: Floats, parameters: Floats) -> Floats:
    """Logarithm of the calibrated distribution."""
    scores = _slope(parameters) * logs + parameters[1:]
    scores -= scores.max(axis=1, keepdims=True)
    return scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))


def _slope(parameters: Floats) -> float:
    return float(np.exp(min(parameters[0], _LARGEST_LOG_SLOPE)))


def _fitted(logs: Floats, action: Ints, mass: Floats) -> Floats:
    """``log t`` and the shifts ``b`` that make the actions most likely, prior included."""
    rows = np.arange(len(action))
    finite = np.where(np.isfinite(logs), logs, 0.0)

    def loss(parameters: Floats) -> tuple[float, Floats]:
        predicted = _apply(logs, parameters)
        surplus = np.exp(predicted)
        surplus[rows, action] -= 1.0
        surplus *= mass[:, None]
        value = -(mass @ predicted[rows, action]) + 0.5 * parameters @ parameters
        slope = _slope(parameters) * (surplus * finite).sum()
        return float(value), np.concatenate([[slope], surplus.sum(axis=0)]) + parameters

    from scipy.optimize import minimize

    start = np.zeros(logs.shape[1] + 1)
    return np.asarray(minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 100}).x)
