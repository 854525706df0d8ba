"""Weights for logs that several policies made, each with known probabilities (Agarwal et al., 2017).

``naive``
    ``pi(a|s) / p_l(a|s)`` with the logger ``l`` that acted.
``balanced``
    ``pi(a|s) / sum_k share_k p_k(a|s)``: as if one policy, the mixture of all loggers, had logged. Its
    variance is never above that of the naive weights, and a logger that nearly never takes the target's
    actions no longer makes huge weights.
``weighted``
    Naive weights times a factor of each logger, which is proportional to one over its mean squared weight
    and 1 on average: rows of loggers far from the target count less.

All three are 1 on average under right propensities. Balanced and weighted ones need the contexts to come from
the same distribution for every logger, which :mod:`kwis.evaluation.pooling` tests.
"""

from __future__ import annotations

import numpy as np

from kwis.typing import Floats, Ints


def balanced_factor(by_logger: Floats, logger: Ints, mass: Floats | None) -> Floats:
    """``(n,)`` balanced over naive weights: the propensity of the logger that acted over that of the
    mixture.
    """
    mixture = by_logger @ _shares(logger, by_logger.shape[1], mass)
    return np.asarray(by_logger[np.arange(len(logger)), logger] / mixture)


def weighted_factor(weight: Floats, logger: Ints, count: int, mass: Floats | None) -> Floats:
    """``(n,)`` weighted over naive weights; a mean squared weight below 1, which only chance can bring,
    counts as 1.
    """
    shares = _shares(logger, count, mass)
    rows = np.ones(len(logger)) if mass is None else mass
    squares = np.bincount(logger, rows * weight**2, minlength=count) / np.maximum(
        np.bincount(logger, rows, minlength=count), 1e-300
    )
    trust = 1 / np.maximum(squares, 1.0)
    return np.asarray((trust / (shares @ trust))[logger])


def _shares(logger: Ints, count: int, mass: Floats | None) -> Floats:
    rows = np.bincount(logger, mass, minlength=count).astype(np.float64)
    return np.asarray(rows / rows.sum())
