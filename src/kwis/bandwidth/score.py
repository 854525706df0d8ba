"""The paper's Algorithm 2: how well the kernel mean of the other folds predicts the weights of each fold."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from kwis import _validation as check
from kwis.bandwidth.standardised import Standardised
from kwis.kernel import exact_cross_validation, kernel_means, kernel_products
from kwis.kernel.geometry import Geometry
from kwis.kernel.held_out import Folds
from kwis.kernel.profiles import RBF, Kernel, as_kernel
from kwis.typing import ArrayLike, Floats


def cv_score(
    context: ArrayLike,
    weight: ArrayLike,
    bandwidth: Any,
    folds: ArrayLike,
    *,
    kernel: Kernel | str = RBF,
    categorical: Iterable[int] | int = (),
    mass: ArrayLike | None = None,
) -> tuple[float, Floats]:
    """Cross-validated squared error of the kernel regression of ``weight`` on ``context``, and its gradient.

    Parameters
    ----------
    context
        ``(n, d)`` numbers, used as given: see :func:`kwis.standardise`.
    weight
        ``(n,)`` numbers to predict.
    bandwidth
        A number, or one per feature.
    folds
        ``(n,)`` integer label of the fold of each row.
    kernel
        A :class:`kwis.Kernel` or the name of one.
    categorical
        Columns of ``context`` that hold integer codes, compared for equality.
    mass
        How often each row counts, as one predicted and as one that predicts; None: once.

    Returns
    -------
    score : float
        Mean over folds of the fold's mean squared error.
    gradient : ndarray
        Derivative of the score with respect to the logarithm of the bandwidth: shape ``(1,)`` for one shared
        bandwidth, ``(d,)`` for one per feature.

    See Also
    --------
    kwis.select_bandwidth : minimises the score.
    kwis.make_folds : draws folds.

    Examples
    --------
    >>> score, gradient = kwis.cv_score([[0.0], [0.0], [1.0], [1.0]], [2.0, 2.0, 1.0, 1.0], 0.2, [0, 1, 0, 1])
    >>> round(score, 6)
    0.0
    """
    contexts = check.contexts(context)
    n, d = contexts.shape
    weights = check.weights(weight, "weight", n)
    columns = check.categorical_columns(categorical, contexts)
    h = check.bandwidth(bandwidth, d)
    labels = Folds.of(check.fold_labels(folds, n), None if mass is None else check.masses(mass, n))
    scaled = Standardised.of(weights, labels)
    score = exact_cross_validation(Geometry.of(contexts, columns), labels, as_kernel(kernel)).score(
        scaled.weight, h
    )
    return scaled.restore(score.value), scaled.restore(score.gradient)


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

    With ``at=None`` around its own rows, each counted in its own mean. Where a compact kernel leaves a row
    without neighbours, its nearest rows are averaged.

    Parameters
    ----------
    weight
        ``(n,)`` numbers to average.
    context
        ``(n, d)`` numbers, used as given: see :func:`kwis.standardise`.
    bandwidth
        A number, or one per feature.
    at
        Contexts to average around; None: those of the rows themselves.
    kernel
        A :class:`kwis.Kernel` or the name of one.
    categorical
        Columns of ``context`` that hold integer codes, compared for equality.

    Returns
    -------
    ndarray
        One average for every row of ``at``.

    See Also
    --------
    kwis.select_bandwidth : chooses the bandwidth.
    kwis.KernelWIS : divides weights by this average.

    Examples
    --------
    >>> kwis.kernel_mean([2.0, 1.0, 0.5], [[0.0], [0.0], [1.0]], bandwidth=0.5).round(3)
    array([1.437, 1.437, 0.713])
    """
    contexts = check.contexts(context)
    n, d = contexts.shape
    weights = check.column(weight, "weight", n)
    columns = check.categorical_columns(categorical, contexts)
    h, profile = check.bandwidth(bandwidth, d), as_kernel(kernel)
    shift = (
        n.bit_length() if np.abs(weights).max() > np.finfo(np.float64).max / n else 0
    )  # or their sum would overflow
    weights = np.ldexp(weights, -shift)
    if at is None:
        sums = kernel_products(
            contexts, h, profile, columns, np.stack([np.ones_like(weights), weights], axis=1)
        )
        return np.ldexp(sums[:, 1] / sums[:, 0], shift)
    where = check.contexts(at, "at")
    check.same_columns(where, d)
    check.categorical_columns(columns, where, "at")
    return np.ldexp(kernel_means(where, contexts, h, profile, columns, weights), shift)
