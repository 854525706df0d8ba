"""Policies compared on the same rows: with the logging policy, with each other, and all at once."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from kwis.evaluation.families import Compared, compared_together
from kwis.evaluation.intervals import Intervals
from kwis.evaluation.measure import Measured
from kwis.result.records import LOGGING_POLICY, Change, Place, Ranking, Row

Picks = Mapping[tuple[str, str], str]
"""From target and reward to the name of the recommended estimator."""


def changes_of(
    measured: Sequence[Measured],
    logging: Mapping[str, Measured],
    picks: Picks,
    intervals: Intervals,
    policies: int = 1,
) -> tuple[Change, ...]:
    """Each target against the logging policy by every estimator, then each pair of targets by the estimators
    both have.

    Comparisons that hold at once are those of one reward and one estimator: all targets with the logging
    policy, or all pairs. ``policies`` is how many targets are judged together.
    """
    found: list[Change] = []
    groups = _grouped(measured)
    for members in groups.values():
        found += compared([(one, logging[one.reward]) for one in members], picks, intervals, policies)
    for members in groups.values():
        found += compared(list(itertools.combinations(members, 2)), picks, intervals, policies)
    return tuple(found)


def _grouped(measured: Iterable[Measured]) -> dict[tuple[str, str], list[Measured]]:
    groups: dict[tuple[str, str], list[Measured]] = {}
    for one in measured:
        groups.setdefault((one.reward, one.estimate.name), []).append(one)
    return groups


def compared(
    pairs: Sequence[tuple[Measured, Measured]], picks: Picks, intervals: Intervals, policies: int = 1
) -> list[Change]:
    """Differences of the pairs, with simultaneous intervals over all of them."""
    if not pairs:
        return []
    place: dict[int, int] = {}
    for one in itertools.chain.from_iterable(pairs):
        place.setdefault(id(one), len(place))
    members = {id(one): one for one in itertools.chain.from_iterable(pairs)}
    sides = [members[key] for key in place]
    found = compared_together(sides, [(place[id(a)], place[id(b)]) for a, b in pairs], intervals)
    return [change(a, b, made, picks, intervals, policies) for (a, b), made in zip(pairs, found, strict=True)]


def change(
    a: Measured, b: Measured, made: Compared, picks: Picks, intervals: Intervals, policies: int = 1
) -> Change:
    """Value of ``a`` minus value of ``b``."""
    names = dict.fromkeys(one.estimate.name for one in (a, b) if one.target != LOGGING_POLICY)
    return Change(
        target=a.target,
        baseline=b.target,
        reward=a.reward,
        estimator=" and ".join(names),
        interval=made.interval,
        simultaneous=made.simultaneous,
        std_error=made.std_error,
        p_value=made.p_value,
        recommended=all(_recommended(one, picks) for one in (a, b)),
        policies=policies,
        lower_is_better=a.reward in intervals.presentation.lower_is_better,
    )


def _recommended(one: Measured, picks: Picks) -> bool:
    return one.target == LOGGING_POLICY or picks.get((one.target, one.reward)) == one.estimate.name


def rankings_of(
    entries: Sequence[Measured],
    logging: Mapping[str, Measured],
    rows: Sequence[Row],
    picks: Picks,
    intervals: Intervals,
) -> tuple[Ranking, ...]:
    """One ranking per reward, of the recommended estimates (``entries``) and the logging policy."""
    recommended = {(row.target, row.reward): row for row in rows if row.recommended}
    found = []
    for reward, baseline in logging.items():
        policies = [baseline, *(one for one in entries if one.reward == reward)]
        found.append(
            _ranking(
                policies, {one.target: recommended[one.target, reward] for one in policies}, picks, intervals
            )
        )
    return tuple(found)


def _ranking(
    policies: Sequence[Measured], rows: Mapping[str, Row], picks: Picks, intervals: Intervals
) -> Ranking:
    """Policies from best to worst, with the places that chance leaves open."""
    less = policies[0].reward in intervals.presentation.lower_is_better
    order = np.argsort([one.estimate.value * (1 if less else -1) for one in policies], kind="stable")
    best_first = [policies[i] for i in order]
    differences = compared(list(itertools.combinations(best_first, 2)), picks, intervals)
    worse: dict[str, set[str]] = {
        one.target: set() for one in best_first
    }  # those that each is surely better than
    for difference in differences:
        ends = difference.simultaneous
        if (ends.high < 0) if less else (ends.low > 0):
            worse[difference.target].add(difference.baseline)
        elif (ends.low > 0) if less else (ends.high < 0):
            worse[difference.baseline].add(difference.target)
    places = tuple(
        Place(
            target=one.target,
            best=1 + sum(one.target in beaten for beaten in worse.values()),
            worst=len(best_first) - len(worse[one.target]),
            row=rows[one.target],
        )
        for one in best_first
    )
    sentences = tuple(_sentences(places, worse, intervals.level))
    return Ranking(reward=policies[0].reward, places=places, differences=tuple(differences), words=sentences)


def _sentences(places: Sequence[Place], worse: Mapping[str, set[str]], level: float) -> Iterable[str]:
    names = [place.target for place in places]
    first = [place.target for place in places if place.best == 1]
    sure = f"(all comparisons together at {level:.0%})"
    if len(first) == 1:
        yield f"{first[0]} is best {sure}"
    elif len(first) == len(names):
        yield f"{_and(first)} cannot be told apart {sure}"
    else:
        yield f"{_and(first)} share the first place: none of them is surely the best {sure}"
    for name in names:
        if name not in first:
            better = [other for other in names if name in worse[other]]
            tied = [
                other for other in names if other != name and other not in better and other not in worse[name]
            ]
            open_with = f", not told apart from {_and(tied)}" if tied else ""
            yield f"{name} is worse than {_and(better)}{open_with}"


def _and(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
