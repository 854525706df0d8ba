"""Differences that are compared together: the interval of each alone, and one that holds for all at once.

A method that works out many differences at once does, any other one by one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kwis.estimators import traits
from kwis.estimators.joint import Contrast, critical_value_of_pairs
from kwis.evaluation.intervals import Intervals, bounded, is_rounding
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
    level = intervals.level_jointly(critical)
    alone = _at_level(differences, sides, pairs, intervals.level)
    longer = _at_level(differences, sides, pairs, level) if level != intervals.level else alone
    held = ["fixed" if side.has_bandwidth else None for side in sides]
    method = (differences.method, f"{differences.method}, simultaneous")
    chances = differences.p_values().tolist()
    found = []
    for (a, _), near, far, error, chance in zip(
        pairs, alone, longer, differences.std_error.tolist(), chances, strict=True
    ):
        interval, simultaneous = (
            Interval(low=low, high=high, level=intervals.level, value=value, method=name, bandwidth=held[a])
            for (low, value, high), name in zip((near, far), method, strict=True)
        )
        found.append(
            Compared(
                interval=bounded(interval),
                simultaneous=bounded(simultaneous),
                std_error=error,
                p_value=chance if interval.width > 0 else float(interval.value == 0),
            )
        )
    return found


def _at_level(
    differences: Differences, sides: Sequence[Contrast], pairs: Sequence[Pair], level: float
) -> list[list[float]]:
    """Ends and value between them of every difference, none beyond what two weighted means of the same
    rewards can differ by.
    """
    low, high = differences.ends(level)
    most = np.array([side.spread if traits.normalised(side.estimator) else math.inf for side in sides])
    size = np.abs([side.value for side in sides])
    first, second = np.array(pairs).T
    reach, largest = (np.maximum(one[first], one[second]) for one in (most, size))
    ends = np.clip(np.stack([low, differences.value, high]), -reach, reach)
    ends[:, is_rounding(np.abs(ends).max(axis=0), largest)] = 0.0
    return ends.T.tolist()
