"""The least value of a smooth convex function, by L-BFGS.

Ours starts from a curvature that is known, which spares a function that curves alike in all directions half
of its evaluations; and loading an optimiser of all trades takes as long as many a fit.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import numpy as np

from kwis.typing import Floats

_PAIRS = 10  # steps that are remembered
_ENOUGH = 1e-4  # share of the slope's promise that a step must keep
_MOST_CUTS = 30
_SHORTEST, _LONGEST = 0.1, 0.5  # by which a step that is too long is cut


def lowest_point(
    loss: Callable[[Floats], tuple[float, Floats]],
    start: Floats,
    *,
    curvature: float,
    tolerance: float,
    flat: float = 1e-6,
    most: int = 200,
) -> Floats:
    """Where a convex ``loss``, which gives its value and its slopes, is least.

    Parameters
    ----------
    curvature
        Second derivative of the loss in every direction, roughly.
    tolerance, flat
        Relative change of the loss, and largest slope, at which to stop.
    most
        Steps at most.
    """
    point, (value, slopes) = start, loss(start)
    known: deque[tuple[Floats, Floats]] = deque(maxlen=_PAIRS)
    for _ in range(most):
        if not np.abs(slopes).max(initial=0.0) > flat:
            break
        direction = -_shaped(slopes, known, curvature)
        promise = float(direction @ slopes)
        if not promise < 0:
            break
        found = _along(loss, point, direction, value, promise)
        if found is None:
            break
        further, lower, steeper = found
        step, change = further - point, steeper - slopes
        if step @ change > 1e-10 * (change @ change) / curvature:
            known.append((step, change))
        done = value - lower <= tolerance * max(abs(value), abs(lower), 1.0)
        point, value, slopes = further, lower, steeper
        if done:
            break
    return point


def _along(
    loss: Callable[[Floats], tuple[float, Floats]],
    point: Floats,
    direction: Floats,
    value: float,
    promise: float,
) -> tuple[Floats, float, Floats] | None:
    """The first point on the way that is low enough, its value and slopes; each next one is where a parabola
    has its lowest point. None: there is none.
    """
    length = 1.0
    for _ in range(_MOST_CUTS):
        further = point + length * direction
        there, slopes = loss(further)
        if there <= value + _ENOUGH * length * promise:
            return further, there, slopes
        bend = there - value - length * promise
        cut = -promise * length / (2 * bend) if np.isfinite(bend) else _SHORTEST
        length *= min(max(cut, _SHORTEST), _LONGEST)
    return None


def _shaped(slopes: Floats, known: deque[tuple[Floats, Floats]], curvature: float) -> Floats:
    """Slopes divided by the curvature seen along the last steps (Nocedal and Wright, algorithm 7.4)."""
    shaped = slopes.copy()
    shares = []
    for step, change in reversed(known):
        share = (step @ shaped) / (step @ change)
        shaped -= share * change
        shares.append(share)
    if known:
        step, change = known[-1]
        shaped *= (step @ change) / (change @ change)
    else:
        shaped /= curvature
    for (step, change), share in zip(known, reversed(shares), strict=True):
        shaped += (share - (change @ shaped) / (step @ change)) * step
    return shaped
