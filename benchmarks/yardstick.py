"""Kernel-WIS as one would first write it: the fixed measure of speed.

Plain on purpose: for every fold a distance matrix from ``cdist``, one ``exp``, a few products, and all of it
again at every evaluation of the optimiser, in float64. Nothing here may be made faster, or the ratios quoted
against it would change their meaning.
"""

from __future__ import annotations

import contextlib
import math
import time
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.spatial.distance import cdist

STARTS = np.geomspace(0.01, 100, 6)
BOUNDS = (np.log(1e-3), np.log(1e3))


@dataclass(frozen=True)
class Found:
    bandwidth: np.ndarray
    score: float
    evaluations: int
    starts: int


def kernel(x, y, bandwidth):
    """RBF kernel, each row divided by its largest entry so that no row is all zeros."""
    q = cdist(x / bandwidth, y / bandwidth, "sqeuclidean")
    return np.exp(-(q - q.min(axis=1, keepdims=True)) / 2)


def score_and_gradient(context, weight, folds, log_bandwidth):
    """Cross-validated squared error and its gradient in ``log h``, for one bandwidth or one per feature."""
    h = np.exp(np.atleast_1d(log_bandwidth))
    labels = np.unique(folds)
    score, gradient = 0.0, np.zeros(h.size)
    for label in labels:
        inside, outside = folds == label, folds != label
        x, y = context[inside], context[outside]
        k = kernel(x, y, h)
        total = k.sum(axis=1)
        mean = k @ weight[outside] / total
        error = weight[inside] - mean
        score += np.mean(error**2) / labels.size
        # d score / d log k_ij, times d log k_ij / d log h_l = (x_il - y_jl)^2 / h_l^2
        effect = (
            (-2 * error / total / error.size / labels.size)[:, None] * k * (weight[outside] - mean[:, None])
        )
        if h.size == 1:
            gradient += np.sum(effect * cdist(x, y, "sqeuclidean")) / h**2
        else:
            for feature in range(h.size):
                gap = x[:, feature, None] - y[None, :, feature]
                gradient[feature] += np.sum(effect * gap**2) / h[feature] ** 2
    return score, gradient


class _GaveUpError(Exception):
    pass


def minimum(function, starts, seconds=math.inf) -> Found:
    """Best end point of L-BFGS-B over ``log h`` from every start that ended before the time was up."""
    limit = time.perf_counter() + seconds
    evaluations, runs = 0, []

    def counted(x):
        nonlocal evaluations
        evaluations += 1
        if time.perf_counter() > limit:
            raise _GaveUpError
        return function(x)

    with contextlib.suppress(_GaveUpError):
        runs.extend(
            minimize(
                counted,
                np.log(np.atleast_1d(start)),
                jac=True,
                method="L-BFGS-B",
                bounds=[BOUNDS] * np.size(start),
            )
            for start in starts
        )
    if not runs:
        return Found(np.full(np.size(starts[0]), np.nan), math.inf, evaluations, 0)
    best = min(runs, key=lambda run: run.fun)
    return Found(np.exp(best.x), float(best.fun), evaluations, len(runs))


def select(context, weight, folds, *, per_feature=False, seconds=math.inf) -> Found:
    """Bandwidth with the smallest cross-validated error; it gives up after so many seconds."""
    starts = np.outer(STARTS, np.ones(context.shape[1])) if per_feature else STARTS
    return minimum(lambda x: score_and_gradient(context, weight, folds, x), starts, seconds)


def kernel_wis(context, weight, reward, bandwidth) -> float:
    """``mean(r_i w_i / m_i)`` with ``m_i`` the kernel mean of the weights; a row of weight 0
    contributes 0.
    """
    k = kernel(context, context, bandwidth)
    mean = k @ weight / k.sum(axis=1)
    return float(np.mean(reward * np.divide(weight, mean, out=np.zeros_like(weight), where=weight != 0)))
