"""How wrong the propensities would have to be before a claim of the answer falls.

If the odds of every logged action may be off by a factor gamma either way, WIS moves by at most
``shift(gamma)`` (:mod:`sensitivity <kwis.evaluation.sensitivity>`). A claim follows its interval; it falls at
the smallest gamma whose shift takes the end next to 0 there. The recommended estimate is taken to move as far
as WIS does.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from kwis.data.log import LoggedBandit
from kwis.evaluation.sensitivity import Box, box_of
from kwis.policy.discrete import TargetPolicy
from kwis.result.records import LOGGING_POLICY, Recommendation

GAMMAS = (1.0, 1.05, 1.1, 1.2, 1.35, 1.5, 1.75, 2.0)
"""Factors that the range of a difference is shown for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Robustness:
    """By how much the odds of propensities would have to be wrong to undo what is said of one target.

    Attributes
    ----------
    factor
        The smallest that does; 1 where the target is not told apart from the logging policy anyway, infinite
        where none does.
    words
        The same in a sentence about what is said, without a subject.
    gammas, lows, highs
        Ends of the difference to the logging policy if the odds may be wrong by each factor: those of the
        claim, moved as far as WIS may move.
    """

    target: str
    reward: str
    factor: float
    words: str
    gammas: tuple[float, ...] = ()
    lows: tuple[float, ...] = ()
    highs: tuple[float, ...] = ()


def robustness_of(
    log: LoggedBandit,
    targets: Sequence[TargetPolicy],
    found: Iterable[Recommendation],
    whole: Callable[[str, int], Box] | None = None,
) -> tuple[Robustness, ...]:
    """One for every recommendation; ``log`` has the propensities that estimates used, or is a random part of
    such a log. ``whole`` has the boxes by target and number of the reward, where ``log`` has not all rows.
    """
    by_name: Mapping[str, TargetPolicy] = {target.name: target for target in targets}
    if whole is not None:
        return tuple(_within(whole(one.target, log.reward_number(one.reward)), one) for one in found)
    return tuple(_robustness(log, by_name[one.target], one) for one in found)


def _robustness(log: LoggedBandit, target: TargetPolicy, found: Recommendation) -> Robustness:
    sign = found.change.sign
    if not target.logged.any():  # a random part of a log may hold no row of the target
        words = _words(0, 1.0) if sign == 0 else "not known to be robust: too few rows of its weight"
        return Robustness(target=found.target, reward=found.reward, factor=1.0, words=words)
    return _within(box_of(log, target, log.reward_number(found.reward)), found)


def _within(box: Box, found: Recommendation) -> Robustness:
    sign, claim = found.change.sign, found.change.claim
    value = box.range(1.0)[0]
    ranges = [box.range(gamma) for gamma in GAMMAS]
    factor = 1.0 if sign == 0 else box.moved(-sign * min(abs(claim.low), abs(claim.high)))
    return Robustness(
        target=found.target,
        reward=found.reward,
        factor=factor,
        words=_words(sign, factor),
        gammas=GAMMAS,
        lows=tuple(claim.low + low - value for low, _ in ranges),
        highs=tuple(claim.high + high - value for _, high in ranges),
    )


def _words(sign: int, factor: float) -> str:
    if sign == 0:
        return f"not told apart from the {LOGGING_POLICY} even if the propensities are right"
    if math.isinf(factor):
        return "holds whatever the error in the odds of the propensities"
    said = next((text for text in (f"{factor:.{digits}g}" for digits in (3, 4, 5)) if text != "1"), None)
    if said is None:
        return "would not survive any error in the odds of the propensities"
    return (
        "holds, interval included, unless the odds of the propensities are wrong by a factor of "
        f"{said} or more"
    )
