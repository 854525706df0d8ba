"""Relative differences: how much more, in parts of what the other policy has.

Fieller's interval (1954). With ``a`` and ``b`` the two values, a relative difference ``d`` is in it if ``a -
(1 + d) b`` is 0 within chance: ``(a - (1 + d) b)^2 <= t^2 V(1 + d)``, where ``V`` is the variance of ``a - (1
+ d) b`` from the influence of both on the same rows. ``t`` is how many standard errors the arms of the
absolute difference reach, so that both intervals leave 0 out together, whatever the method, the degrees of
freedom and the number of policies judged together.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from kwis.evaluation.measure import Measured
from kwis.result.records import LOGGING_POLICY, Change
from kwis.results import Interval


def with_relative(
    changes: Iterable[Change], measured: Iterable[Measured], logging: Mapping[str, Measured]
) -> tuple[Change, ...]:
    """The changes against the logging policy with their relative sizes, those of their claims."""
    sides = {(one.target, one.reward, one.estimate.name): one for one in measured}
    found = []
    for change in changes:
        side = sides.get((change.target, change.reward, change.estimator))
        if side is None or change.baseline != LOGGING_POLICY:
            found.append(change)
        else:
            found.append(replace(change, relative=relative(change, side, logging[change.reward])))
    return tuple(found)


def relative(change: Change, a: Measured, b: Measured) -> Interval | None:
    """The relative difference of ``a`` to ``b``; None where ``b`` is not told apart from 0, or has no
    influence.
    """
    claim, apart = change.claim, change.std_error
    if math.isnan(apart):
        return None
    both = Pair(
        a=a.estimate.value,
        b=b.estimate.value,
        var_a=a.std_error**2,
        var_b=b.std_error**2,
    )
    reach = (claim.value - claim.low, claim.high - claim.value)
    ends = fieller(both, apart**2, *((arm / apart if apart > 0 else 0.0) for arm in reach))
    if ends is None:
        return None
    return Interval(
        low=ends[0], high=ends[1], value=(both.a - both.b) / abs(both.b), level=claim.level, method="fieller"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two values and the variances of their estimates."""

    a: float
    b: float
    var_a: float
    var_b: float


def fieller(pair: Pair, var_apart: float, below: float, above: float) -> tuple[float, float] | None:
    """Ends of ``(a - b) / |b|``, with arms of ``below`` and ``above`` standard errors; None if unbounded."""
    covariance = (pair.var_a + pair.var_b - var_apart) / 2
    flip = pair.b < 0
    found = []
    for reach, upper in ((below, False), (above, True)):
        square = pair.b**2 - reach**2 * pair.var_b
        if square <= 0:
            return None
        middle = pair.a * pair.b - reach**2 * covariance
        rest = middle**2 - square * (pair.a**2 - reach**2 * pair.var_a)
        step = math.sqrt(max(rest, 0.0))
        ratio = (middle + (step if upper != flip else -step)) / square
        found.append(1 - ratio if flip else ratio - 1)
    return found[0], found[1]
