"""Words and numbers that several sections share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kwis.report.view import Badge, Block, Cell
from kwis.report.wording import NARROW, confidence, decimals_for, number, span
from kwis.result.evaluation import Evaluation
from kwis.result.records import Change
from kwis.results import Interval, Verdict

OPEN_BLOCKS = 1
"""Targets shown at once in the sections with a figure for each; the others are folded."""

_TONES = {"trust": "good", "with care": "fair", "do not trust": "poor"}


def brief(name: str, room: int = 60) -> str:
    """A name of a user for running text, cut in the middle where it is longer than a line."""
    tail = room // 3
    return name if len(name) <= room else f"{name[: room - tail]}…{name[len(name) - tail :]}"


def names_of(evaluation: Evaluation) -> frozenset[str]:
    """Names the user gave, which keep their case wherever they stand."""
    settings = evaluation.settings
    return frozenset((*settings.targets, *settings.rewards, *settings.context))


def badge_of(verdict: Verdict) -> Badge:
    return Badge(words=verdict.level.capitalize(), tone=_TONES[verdict.level])


def decimals_of(evaluation: Evaluation, reward: str) -> int:
    """Decimals for everything measured in one reward: the same all over the page, by the recommended
    intervals and that of the log.
    """
    rows = [row.interval.width for row in evaluation.rows if row.reward == reward and row.recommended]
    changes = [each.change.interval.width for each in evaluation.recommendations if each.reward == reward]
    return decimals_for(rows + changes)


def interval_words(interval: Interval, decimals: int, *, signed: bool = False) -> str:
    """``95 % interval +0.008 to +0.034``."""
    return (
        f"{confidence(interval.level)} interval {span(interval.low, interval.high, decimals, signed=signed)}"
    )


def claim_words(change: Change, decimals: int) -> str:
    """The interval that a claim follows: ``95 % interval +0.008 to +0.034``, and for how many policies
    together it holds.
    """
    return f"{interval_words(change.claim, decimals, signed=True)} {change.together}".strip()


def relative_words(interval: Interval) -> str:
    """``+15 % (+12 % to +18 %)``."""
    digits = max(decimals_for([100 * interval.width]) - 1, 0)
    value, low, high = (
        f"{number(100 * end, digits, signed=True)}{NARROW}%"
        for end in (interval.value, interval.low, interval.high)
    )
    return f"{value} ({low} to {high})"


def label_of(evaluation: Evaluation, reward: str) -> str:
    """What a reward is called."""
    return evaluation.settings.presentation.label(reward)


def axis_name(evaluation: Evaluation, reward: str) -> str:
    """``revenue in € per 1,000 decisions``."""
    how = evaluation.settings.presentation
    unit = f" in {how.units[reward]}" if reward in how.units else ""
    return f"{how.label(reward)}{unit}{how.per_words}"


def value_words(interval: Interval, decimals: int, *, signed: bool = False) -> str:
    """``0.142  0.121 to 0.163``, for the right-hand side of a forest plot."""
    return (
        f"{number(interval.value, decimals, signed=signed)} "
        f"({span(interval.low, interval.high, decimals, signed=signed)})"
    )


def number_cell(value: float, decimals: int, *, signed: bool = False) -> Cell:
    return Cell(number(value, decimals, signed=signed), value)


def fold_after(blocks: Sequence[Block], keep: int = OPEN_BLOCKS) -> tuple[Block, ...]:
    """Blocks with all but the first few folded; with several rewards the first is what the page is about."""
    return tuple(block if place < keep else replace(block, folded=True) for place, block in enumerate(blocks))
