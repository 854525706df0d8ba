"""Tail index of the largest weights: the generalised Pareto fit of Zhang and Stephens (2009), as used by PSIS."""

from __future__ import annotations

import math

import numpy as np

from kwis.typing import Floats

_LEAST_TAIL = 5
_LEAST_EXCESS = 1e-100  # of the largest weight: no excess is 0, and none has an inverse that overflows
_PRIOR_SHAPE, _PRIOR_ROWS = 0.5, 10  # a weak pull towards 0.5, worth ten rows (Vehtari et al. 2024, appendix G)


def pareto_k(weight: Floats, n: int | None = None) -> float:
    """Shape of the generalised Pareto distribution that fits the largest weights.

    The tail is the largest ``min(n/5, 3 sqrt(n))`` positive weights. ``nan`` where that is fewer than five; ``-inf`` where the
    tail has no spread, as bounded as it can be.

    Parameters
    ----------
    n
        How many positive weights there are in all, where ``weight`` holds only the largest of them.
    """
    positive = np.sort(weight[weight > 0])
    n = positive.size if n is None else n
    tail = min(math.floor(min(n / 5, 3 * math.sqrt(n))), positive.size - 1)
    if tail < _LEAST_TAIL:
        return math.nan
    scaled = positive[-tail - 1 :] / positive[-1]
    excess = scaled[1:] - scaled[0]
    if excess[-1] <= 1e-12:
        return -math.inf
    return _shape(np.maximum(excess, _LEAST_EXCESS))


def _shape(x: Floats) -> float:
    """Posterior mean of the shape over a grid of the ratio of shape to scale, ``x`` sorted and positive."""
    n = x.size
    points = 30 + int(math.sqrt(n))
    steps = 1 - np.sqrt(points / (np.arange(1, points + 1) - 0.5))
    quartile = x[int(n / 4 + 0.5) - 1]
    grid = 1 / x[-1] + steps / (3 * quartile)
    shapes = np.log1p(-grid[:, None] * x).mean(axis=1)
    profile = n * (np.log(-grid / shapes) - shapes - 1)
    share = np.exp(profile - profile.max())
    ratio = float(grid @ share / share.sum())
    shape = float(np.log1p(-ratio * x).mean())
    return (shape * n + _PRIOR_SHAPE * _PRIOR_ROWS) / (n + _PRIOR_ROWS)
