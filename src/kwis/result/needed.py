"""How many decisions tell two policies apart.

The standard error of a difference falls with the root of the number of decisions like those logged. A
two-sided test at ``1 - level`` finds a difference ``d`` with probability ``power`` if ``d = (c + z_power)
error``, where ``c`` is how many standard errors a claim needs: the normal quantile of the level, and more
where several policies are judged together.
"""

from __future__ import annotations

import math
from statistics import NormalDist

from kwis.result.records import Change

POWER = 0.8
_MOST = 1_000  # times the decisions at hand, beyond which a number is of no use


def critical(change: Change) -> float:
    """How many standard errors the claim of a difference needs in a log of many rows."""
    own, claim = change.interval, change.claim
    wider = claim.width / own.width if own.width > 0 else 1.0
    return NormalDist().inv_cdf((1 + claim.level) / 2) * max(wider, 1.0)


def detectable(change: Change, power: float = POWER) -> float:
    """The smallest difference that a log of this size tells from 0 with probability ``power``."""
    return (critical(change) + NormalDist().inv_cdf(power)) * change.std_error


def times_needed(change: Change, difference: float, power: float = POWER) -> float:
    """How many times as many decisions tell a difference of that size with probability ``power``."""
    size = abs(difference)
    return math.inf if size == 0 else (detectable(change, power) / size) ** 2


def decisions_needed(count: float, logged: float, how: str) -> str:
    """A number of decisions to two digits, upwards; without one where no log would be so long."""
    if not count <= _MOST * logged:
        return f"over {_MOST:,} times as many decisions {how}: no realistic log tells that"
    step = 10.0 ** max(math.floor(math.log10(max(count, 1.0))) - 1, 0)
    return f"about {math.ceil(count / step) * step:,.0f} decisions {how}"
