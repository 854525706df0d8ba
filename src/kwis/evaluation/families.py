"""Differences that are compared together: the interval of each alone, and one that holds for all at once.

A method that works out many differences at once does, any other one by one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from kwis.estimators import traits
from kwis.estimators.joint import Contrast, critical_value_of_pairs
from kwis.evaluation.intervals import Intervals, bounded, without_rounding
from kwis.intervals import method as methods
from kwis.intervals.pairwise import Differences, Pair
from kwis.results import Interval


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Compared:
    """One difference."""

    interval: Interval
    simultaneous: Interval
    std_error: float
    p_value: float


def compared_together(
    sides: Sequence[Contrast], pairs: Sequence[Pair], intervals: Intervals
) -> list[Compared]:
    """Every pair of the sides, the first minus the second."""
    influences = {place: side.influence for place, side in enumerate(sides) if side.influence is not None}
    order = {place: number for number, place in enumerate(influences)}
    known = [(order[a], order[b]) for a, b in pairs if a in order and b in order]
    critical = 0.0
    if known:
        critical = critical_value_of_pairs(
            list(influences.values()), known, sides[0].group, intervals.level, intervals.seed
        )
    differences = None if intervals.few_rows else methods.differences(intervals.used, sides, pairs)
    if differences is not None:
        return _at_once(differences, sides, pairs, intervals, critical)
    return [compared_alone(sides[a].minus(sides[b]), intervals, critical) for a, b in pairs]


def compared_alone(difference: Contrast, intervals: Intervals, critical: float) -> Compared:
    """One difference, of a family that ``critical`` standard errors hold for."""
    interval = intervals.of(difference)
    return Compared(
        interval=interval,
        simultaneous=interval
        if difference.influence is None
        else intervals.jointly(difference, interval, critical),
        std_error=difference.std_error,
        p_value=intervals.p_value(difference, interval),
    )


def _at_once(
    differences: Differences,
    sides: Sequence[Contrast],
    pairs: Sequence[Pair],
    intervals: Intervals,
    critical: float,
) -> list[Compared]:
    """The same numbers as one by one, to rounding."""
    alone = longer = _at_level(differences, sides, pairs, intervals.level)
    level = intervals.level_jointly(critical)
    if level != intervals.level:
        longer = _at_level(differences, sides, pairs, level)
    chances = differences.p_values().tolist()
    return [
        Compared(
            interval=interval,
            simultaneous=replace(far, level=intervals.level, method=f"{interval.method}, simultaneous"),
            std_error=error,
            p_value=chance if interval.width > 0 else float(interval.value == 0),
        )
        for interval, far, error, chance in zip(
            alone, longer, differences.std_error.tolist(), chances, strict=True
        )
    ]


def _at_level(
    differences: Differences, sides: Sequence[Contrast], pairs: Sequence[Pair], level: float
) -> list[Interval]:
    """Intervals of differences, none beyond what two weighted means of the same rewards can differ by."""
    lows, highs = differences.ends(level)
    most = [side.spread if traits.normalised(side.estimator) else math.inf for side in sides]
    held = ["fixed" if side.has_bandwidth else None for side in sides]
    found = []
    for (a, b), *ends in zip(pairs, lows.tolist(), differences.value.tolist(), highs.tolist(), strict=True):
        reach = max(most[a], most[b])
        low, value, high = (min(max(end, -reach), reach) for end in ends)
        interval = Interval(
            low=low, high=high, level=level, value=value, method=differences.method, bandwidth=held[a]
        )
        found.append(bounded(without_rounding(interval, max(abs(sides[a].value), abs(sides[b].value)))))
    return found
