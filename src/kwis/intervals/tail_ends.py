"""Ends of an interval around the mean of a tail, which few rewards far out decide.

Beyond the edge of the tail, where it begins, the error of the mean is about in proportion to the mean
excess ``g = |value - edge|``: far excesses raise both. With the reach ``r`` of a symmetric interval and ``k =
r / g``,

- the arm away from the edge is that of an interval for ``log g``, ``r (exp(k) - 1) / k``, as heavy tails
  need, though at most 2.5 times the reach;
- the arm towards it is that of an interval for ``sqrt(g)``, ``r (1 - k / 4)``, as light tails need, though at
  least half the reach: few rows do not tell well where the edge is.
"""

from __future__ import annotations

import math

_LONGEST_ARM, _SHORTEST_ARM = 2.5, 0.5  # of the reach
_STEEP = 50.0  # k from which the exponential is far above any arm


def tail_ends(value: float, edge: float, reach: float) -> tuple[float, float]:
    """Lower and upper end around the mean of the tail that begins at ``edge``; symmetric if they agree."""
    excess = abs(value - edge)
    if not (excess > 0 and 0 < reach < math.inf):
        return value - reach, value + reach
    ratio = min(reach / excess, _STEEP)
    outwards = reach * min(math.expm1(ratio) / ratio, _LONGEST_ARM) if ratio > 0 else reach
    inwards = reach * max(1 - ratio / 4, _SHORTEST_ARM)
    return (value - inwards, value + outwards) if value > edge else (value - outwards, value + inwards)
