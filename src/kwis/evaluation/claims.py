"""What is said about differences: everything that an answer says together holds together.

With one target a claim ("better than the logging policy") follows the interval of its difference. With
several, the answer makes many claims at once: every target against the logging policy, and every pair in the
ranking. All of them follow one family of comparisons, the ranking's, which has every pair of policies, the
logging policy among them: over equal policies any claim is false in as many logs as ``1 - level`` says, and
no two sentences contradict each other. Each reward has a family of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from kwis.result.records import LOGGING_POLICY, Change, Ranking, every_policy
from kwis.results import Interval


def judged_together(
    changes: Iterable[Change], rankings: Sequence[Ranking], policies: int
) -> tuple[Change, ...]:
    """The changes, with claims that hold for all policies together.

    Recommended differences to the logging policy have the simultaneous interval of the ranking. Those by
    other estimators keep theirs, which holds for all policies by the same estimator.
    """
    joint = {
        (difference.reward, *sorted((difference.target, difference.baseline))): difference
        for ranking in rankings
        for difference in ranking.differences
    }
    found = []
    for change in changes:
        pair = joint.get((change.reward, *sorted((change.target, change.baseline))))
        claim = change.simultaneous
        if policies > 1 and change.recommended and pair is not None:
            claim = pair.simultaneous if pair.target == change.target else _turned(pair.simultaneous)
        same = change.policies == policies and claim is change.simultaneous
        found.append(change if same else replace(change, policies=policies, simultaneous=claim))
    return tuple(found)


def stretched(interval: Interval, like: Change) -> Interval:
    """An interval of the same target as widely stretched as the claim of another, so that what is said of
    both holds together.
    """
    own, claim = like.interval, like.claim
    below, above = own.value - own.low, own.high - own.value
    low = (claim.value - claim.low) / below if below > 0 else 1.0
    high = (claim.high - claim.value) / above if above > 0 else 1.0
    return replace(
        interval,
        low=interval.value - max(low, 1.0) * (interval.value - interval.low),
        high=interval.value + max(high, 1.0) * (interval.high - interval.value),
    )


def family_note(level: float, targets: Sequence[str], rewards: Sequence[str]) -> Iterable[str]:
    """What claims hold together, in a sentence, where there are several policies."""
    if len(targets) > 1:
        each = ", each reward by itself" if len(rewards) > 1 else ""
        every = f"{every_policy(len(targets))} and the {LOGGING_POLICY} together"
        yield (
            f"what is said of differences holds for {every}, at {level:.0%}{each}; intervals of values hold "
            f"one by one"
        )


def _turned(interval: Interval) -> Interval:
    return replace(interval, low=-interval.high, value=-interval.value, high=-interval.low, distribution=None)
