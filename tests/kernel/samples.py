"""Contexts, weights and folds to try the plans of the engine on, and what the slow twin says of them."""

from functools import cache

import numpy as np

from kwis.kernel.blocked import BlockedCV
from kwis.kernel.geometry import Geometry
from kwis.kernel.held_out import Folds
from kwis.kernel.profiles import KERNELS, Kernel
from tests.reference import kernel_regression as twin

CAUCHY = Kernel(
    "cauchy", log_profile=lambda q: -np.log1p(q), slope=lambda q: -1 / (1 + q)
)  # from outside the package
ALL_KERNELS = {**KERNELS, "cauchy": CAUCHY}


@cache
def sample(sizes, d, categorical=(), seed=0):
    """Contexts, weights that depend on them, and folds of the given sizes in random order."""
    rng = np.random.default_rng([seed, d, *sizes])
    n = sum(sizes)
    context = rng.standard_normal((n, d))
    for column in categorical:
        context[:, column] = rng.integers(0, 4, n) * 2.0 - 3
    weight = np.exp(0.6 * np.sin(context[:, -1]) + 0.5 * rng.standard_normal(n))
    return context, weight, rng.permutation(np.repeat(np.arange(len(sizes)), sizes))


@cache
def bandwidths(sizes, d, categorical, ratio, per_feature):
    """``ratio`` times the median distance, for all features or around it."""
    h = ratio * twin.median_distance(sample(sizes, d, categorical)[0], categorical)
    return h * np.linspace(0.7, 1.6, d) if per_feature else h


@cache
def wanted(sizes, d, categorical, ratio, per_feature, kernel="rbf"):
    """Score and gradient according to the twin."""
    context, weight, folds = sample(sizes, d, categorical)
    h = bandwidths(sizes, d, categorical, ratio, per_feature)
    value, gradient, alone = twin.cv_score(context, weight, h, folds, kernel, categorical)
    return value, gradient if per_feature else gradient.sum(keepdims=True), alone


def plan_of(name, context, folds, categorical=(), kernel="rbf"):
    geometry = Geometry.of(context, categorical)
    if name == "blocked":
        return BlockedCV(geometry, Folds.of(folds), ALL_KERNELS[kernel])
    from kwis.kernel.tiles import FusedCV

    return FusedCV.of(geometry, Folds.of(folds), {"fused": np.float64, "single": np.float32}[name])


def gradient_error(got, gradient, value):
    """Largest error relative to the gradient, or to 1e-3 of the score where the gradient is smaller."""
    return np.abs(got - gradient).max() / max(np.abs(gradient).max(), 1e-3 * value)
