"""Results in sentences, with numbers to the digits that mean something."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from kwis.evaluation.records import LOGGING_POLICY, Change, Recommendation
from kwis.results import Interval

if TYPE_CHECKING:
    from kwis.evaluation.answer import Evaluation


def decimals(widths: Iterable[float]) -> int:
    """Digits after the point that show the narrowest of the intervals to two digits; 4 if none has a width."""
    known = [width for width in widths if math.isfinite(width) and width > 0]
    return 4 if not known else max(0, min(12, 1 - math.floor(math.log10(min(known) / 2))))


def number(value: float, digits: int) -> str:
    """A number with so many digits after the point, thousands marked."""
    return "-" if math.isnan(value) else f"{value:,.{digits}f}"


def span(interval: Interval, digits: int) -> str:
    """Both ends of an interval."""
    return f"{number(interval.low, digits)} to {number(interval.high, digits)}"


def signed(value: float, digits: int) -> str:
    """A difference, its sign always shown."""
    return f"{value:+,.{digits}f}"


def gain(change: Change) -> str:
    """A difference and what it means for the decision."""
    digits = decimals([change.interval.width])
    interval = f"{change.interval.level:.0%} {signed(change.interval.low, digits)} to {signed(change.interval.high, digits)}"
    size = f"{signed(change.interval.value, digits)}, {interval}"
    if change.interval.low > 0:
        return f"better than the {change.baseline} ({size})"
    if change.interval.high < 0:
        return f"worse than the {change.baseline} ({size})"
    return f"not told apart from the {change.baseline} ({size})"


def disagreement(first: Change, second: Change, gap: Interval) -> str | None:
    """Where two estimates of one policy disagree, how; None where they do not.

    ``first`` and ``second`` are the differences to the logging policy by the recommended estimator and by the runner-up,
    ``gap`` the interval of the former minus the latter.
    """
    digits = decimals([gap.width, first.interval.width])
    reasons = []
    if gap.low > 0 or gap.high < 0:
        reasons.append(
            f"they differ by {signed(gap.value, digits)} ({gap.level:.0%} {signed(gap.low, digits)} to {signed(gap.high, digits)})"
        )
    if _side(first) != _side(second):
        reasons.append(f"by {second.estimator} the target would be {gain(second)}")
    return f"{first.estimator} and {second.estimator} disagree: {'; '.join(reasons)}" if reasons else None


def _side(change: Change) -> int:
    return (change.interval.low > 0) - (change.interval.high < 0)


def answer_in_words(evaluation: Evaluation) -> str:
    """The whole answer in a few lines, as an evaluation prints itself."""
    settings = evaluation.settings
    several = f"{len(evaluation.targets)} policies" if len(evaluation.targets) > 1 else evaluation.targets[0]
    lines = [f"Evaluation of {several} on {settings.n:,} logged decisions"]
    for reward in evaluation.rewards:
        lines += ["", *_reward_lines(evaluation, reward)]
    if evaluation.notes:
        lines += ["", "Notes", *(f"  {note}" for note in evaluation.notes)]
    return "\n".join(lines)


def _reward_lines(evaluation: Evaluation, reward: str) -> Iterable[str]:
    base = next(row for row in evaluation.rows if (row.target, row.reward) == (LOGGING_POLICY, reward))
    digits = decimals([row.interval.width for row in evaluation.rows if row.reward == reward and row.recommended])
    yield f"{reward}: the {LOGGING_POLICY} brought {number(base.estimate.value, digits)} ({base.interval.level:.0%} {span(base.interval, digits)})"
    for found in evaluation.recommendations:
        if found.reward == reward:
            yield from _target_lines(found, digits)
    if len(evaluation.targets) > 1:
        ranking = next(one for one in evaluation.rankings if one.reward == reward)
        yield from (f"  ranking: {sentence}" for sentence in ranking.words)


def _target_lines(found: Recommendation, digits: int) -> Iterable[str]:
    row = found.row
    value = f"{number(row.estimate.value, digits)} ({row.interval.level:.0%} {span(row.interval, digits)})"
    yield f"  {found.target}: {value}, {gain(found.change)}"
    yield f"    {row.verdict.level}{_listed(row.verdict.reasons)}"
    yield f"    by {row.estimator}{_listed(found.why)}"
    if found.disagreement is not None:
        yield f"    but {found.disagreement}"


def _listed(reasons: Sequence[str]) -> str:
    return f": {'; '.join(reasons)}" if reasons else ""
