"""The paper's Algorithm 2: how well the kernel mean of the other folds predicts the weights of each fold."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from kwis import _validation as check
from kwis.kernels import RBF, Kernel, as_kernel
from kwis.smoothing import cross_validation, kernel_means, kernel_products
from kwis.smoothing.geometry import Geometry
from kwis.smoothing.held_out import Folds
from kwis.typing import ArrayLike, Floats


def cv_score(
    context: ArrayLike,
    weight: ArrayLike,
    bandwidth: Any,
    folds: ArrayLike,
    *,
    kernel: Kernel | str = RBF,
    categorical: Iterable[int] | int = (),
) -> tuple[float, Floats]:
    """Cross-validated squared error of the kernel regression of ``weight`` on ``context``, and its gradient.

    Returns the mean over folds of the fold's mean squared error, and its derivative with respect to the logarithm of the
    bandwidth: shape ``(1,)`` for one shared bandwidth, ``(d,)`` for one per feature.
    """
    contexts = check.contexts(context)
    n, d = contexts.shape
    weights = check.weights(weight, "weight", n)
    columns = check.categorical_columns(categorical, contexts)
    h = check.bandwidth(bandwidth, d)
    plan = cross_validation(Geometry.of(contexts, columns), Folds.of(check.fold_labels(folds, n)), as_kernel(kernel))
    score = plan.finish.score(weights, h)
    return score.value, score.gradient


def kernel_mean(
    weight: ArrayLike,
    context: ArrayLike,
    *,
    bandwidth: Any,
    at: ArrayLike | None = None,
    kernel: Kernel | str = RBF,
    categorical: Iterable[int] | int = (),
) -> Floats:
    """Kernel average of ``weight`` around each row of ``at``: ``sum_j k(x, s_j) w_j / sum_j k(x, s_j)``.

    With ``at=None`` around its own rows, each counted in its own mean. Where a compact kernel leaves a row without neighbours, its
    nearest rows are averaged.
    """
    contexts = check.contexts(context)
    d = contexts.shape[1]
    weights = check.column(weight, "weight", contexts.shape[0])
    columns = check.categorical_columns(categorical, contexts)
    h, profile = check.bandwidth(bandwidth, d), as_kernel(kernel)
    if at is None:
        sums = kernel_products(contexts, h, profile, columns, np.stack([np.ones_like(weights), weights], axis=1))
        return sums[:, 1] / sums[:, 0]
    where = check.contexts(at, "at")
    check.same_columns(where, d)
    check.categorical_columns(columns, where, "at")
    return kernel_means(where, contexts, h, profile, columns, weights)
