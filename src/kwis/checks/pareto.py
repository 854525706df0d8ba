"""Tail index of the largest weights: the generalised Pareto fit of Zhang and Stephens (2009), as used by
PSIS.

That fit takes weights for draws from a continuous distribution without an end. These things keep it from
calling bounded weights heavy:

- Only excesses strictly above the cut-off count, and few distinct ones are no tail: an epsilon-greedy logger
  knows two weights.
- Where most of the tail's weight is on values that several rows have, weights come from a list, and what is
  not yet seen of it has little weight (Good and Turing: about as much as the values seen once).
- Rows that crowd below the largest weight show an end. In a Pareto tail of shape ``k`` each row above half of
  the largest weight, other than the largest itself, is there by a chance of ``1 - 2^(-1/k)``, and ``m`` of
  them by its ``m``-th power; where that is below 1 % the tail is no heavier than that ``k``.
- Where a bound is known (:mod:`kwis.checks.bound`) the shape is not above 0.
"""

from __future__ import annotations

import math

import numpy as np

from kwis.typing import Floats

_LEAST_TAIL = 5
_LEAST_EXCESS = 1e-12  # of the largest weight: less is rounding
_SHARED = 0.5
_CHANCE = 0.01  # that as many rows crowd below the largest weight of a tail without an end
_PRIOR_SHAPE, _PRIOR_ROWS = (
    0.5,
    10,
)  # a weak pull towards 0.5, worth ten rows (Vehtari et al. 2024)


def tail_of(positive: int) -> int:
    """How many of so many positive weights are their tail."""
    return max(min(math.floor(min(positive / 5, 3 * math.sqrt(positive))), positive - 1), 0)


def pareto_k(weight: Floats, bounded: bool = False, positive: int | None = None) -> float:
    """Shape of the generalised Pareto distribution that fits the largest weights.

    The tail is the largest ``min(n/5, 3 sqrt(n))`` positive weights. ``nan`` where fewer than five are above
    its cut-off; ``-inf`` where these have fewer than five values, as bounded as they can be.

    Parameters
    ----------
    bounded
        Whether the weights are known to have a bound.
    positive
        How many positive weights there are, where ``weight`` has only their tail and the largest below it.
    """
    sorted_up = np.sort(weight[weight > 0])
    tail = tail_of(sorted_up.size if positive is None else positive)
    if tail < _LEAST_TAIL:
        return math.nan
    scaled = sorted_up[-tail - 1 :] / sorted_up[-1]
    excess = scaled[1:] - scaled[0]
    excess = excess[excess > _LEAST_EXCESS]
    distinct = 1 + int((np.diff(excess) > _LEAST_EXCESS).sum())
    if distinct < _LEAST_TAIL:
        return math.nan if 0 < excess.size < _LEAST_TAIL else -math.inf
    heaviest = 0.0 if bounded or _listed(scaled[1:]) else _heaviest(int((scaled[1:] >= 0.5).sum()) - 1)
    return min(_shape(excess), heaviest)


def _listed(tail: Floats) -> bool:
    """Whether most of the weight of a sorted tail is on values that several rows have."""
    same = np.diff(tail) <= _LEAST_EXCESS
    shared = np.append(same, False) | np.insert(same, 0, False)
    return bool(tail[shared].sum() > _SHARED * tail.sum())


def _heaviest(crowd: int) -> float:
    """Largest shape that leaves so many rows between the largest weight and half of it a chance of
    ``_CHANCE``.
    """
    return -math.log(2) / math.log1p(-(_CHANCE ** (1 / crowd))) if crowd > 0 else math.inf


def _shape(x: Floats) -> float:
    """Posterior mean of the shape over a grid of the ratio of shape to scale, ``x`` sorted and positive."""
    n = x.size
    points = 30 + int(math.sqrt(n))
    steps = 1 - np.sqrt(points / (np.arange(1, points + 1) - 0.5))
    quartile = x[int(n / 4 + 0.5) - 1]
    grid = 1 / x[-1] + steps / (3 * quartile)
    grid = grid[grid != 0]
    shapes = np.log1p(-grid[:, None] * x).mean(axis=1)
    profile = n * (np.log(-grid / shapes) - shapes - 1)
    share = np.exp(profile - profile.max())
    ratio = float(grid @ share / share.sum())
    shape = float(np.log1p(-ratio * x).mean())
    return (shape * n + _PRIOR_SHAPE * _PRIOR_ROWS) / (n + _PRIOR_ROWS)
