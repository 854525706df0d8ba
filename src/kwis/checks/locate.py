"""From many failed tests to the few places where propensities are wrong.

Propensities that are wrong in one country fail in every region with people from that country, and on the
whole log. What is wanted is the smallest region without whose rows nothing fails any more. Where there is
none, regions are taken off one by one, each time the one that explains most per row; if that takes over three
fifths of the log, propensities are wrong everywhere.
"""

from __future__ import annotations

from dataclasses import replace

from kwis.checks.family import Family
from kwis.checks.findings import MeanTest
from kwis.typing import Floats

REST = "the rest of "
_MOST_PLACES = 4
_MOST_CANDIDATES = 8
_MOST_WITNESSES = 60
_EVERYWHERE = 0.6


def located(
    tests: Family, results: tuple[MeanTest, ...], smallest: Floats, level: float
) -> tuple[MeanTest, ...]:
    """The failures that account for all others, each the strongest of its region; none if no test fails at
    ``level``.

    Later ones are of what earlier ones leave of their region.
    """
    found: list[MeanTest] = []
    n, current, left = tests.regions[0].n, results, tests
    everywhere = _strongest(results, 0, tests, level)
    while len(found) < _MOST_PLACES and _worst(current, level) > 0:
        choice = _best_region(left, current, smallest, level)
        if choice is None:
            break
        worst = _strongest(current, choice, left, level)
        if worst is not None:
            whole = worst.n == tests.regions[choice].n
            found.append(worst if whole else replace(worst, region=f"{REST}{worst.region}"))
        left = left.without(left.regions[choice].rows)
        current = left.judged(smallest)
    complete = _worst(current, level) == 0
    if everywhere is not None and not (complete and n - left.regions[0].n <= _EVERYWHERE * n):
        return (everywhere,)
    return tuple(found)


def _best_region(tests: Family, current: tuple[MeanTest, ...], smallest: Floats, level: float) -> int | None:
    """The smallest region that explains everything, or else the one that explains most per row; never the
    whole log.
    """
    failed = sorted(
        (i for i, test in enumerate(current) if test.p_value < level),
        key=lambda i: (current[i].p_value, -abs(current[i].z)),
    )
    candidates = [r for r in dict.fromkeys(tests.pairs[i][1] for i in failed) if r][:_MOST_CANDIDATES]
    witnesses = tests.part(failed[:_MOST_WITNESSES])
    before = _worst(current, level)
    left = {r: _worst(witnesses.without(tests.regions[r].rows).judged(smallest), level) for r in candidates}
    enough = [r for r in candidates if left[r] == 0]
    if enough:
        return min(enough, key=lambda r: tests.regions[r].n)
    return max(candidates, key=lambda r: (before - left[r]) / tests.regions[r].n, default=None)


def _strongest(current: tuple[MeanTest, ...], region: int, tests: Family, level: float) -> MeanTest | None:
    own = [
        test
        for test, (_, r) in zip(current, tests.pairs, strict=True)
        if r == region and test.p_value < level
    ]
    return min(own, key=lambda test: (test.p_value, -abs(test.z)), default=None)


def _worst(current: tuple[MeanTest, ...], level: float) -> float:
    """Largest squared z of the tests that fail, 0 if none does."""
    return max((test.z**2 for test in current if test.p_value < level), default=0.0)
