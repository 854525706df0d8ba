"""Intervals of a difference from intervals of the two values (Zou and Donner, Statistics in Medicine 27,
2008).
"""

from __future__ import annotations

import math

from kwis.results import Interval


def square_and_add(first: Interval, second: Interval, correlation: float) -> tuple[float, float]:
    """Ends of an interval of the first value minus the second.

    The lower arm is ``sqrt(x^2 + y^2 - 2 r x y)`` with x the lower arm of the first, y the upper arm of the
    second and r the correlation of the two estimates; the upper arm has the other two. Values near an end of
    their range have a small standard error and a long arm towards the middle: so has their difference this
    way, while its own standard error knows nothing of the range.
    """
    value = first.value - second.value
    below = _together(first.value - first.low, second.high - second.value, correlation)
    above = _together(first.high - first.value, second.value - second.low, correlation)
    return value - below, value + above


def _together(x: float, y: float, correlation: float) -> float:
    return math.sqrt(max((x - y) ** 2 + 2 * (1 - correlation) * x * y, 0.0))
