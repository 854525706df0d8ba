"""Results in sentences, with numbers to the digits that mean something."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Hashable, Iterable
from typing import TYPE_CHECKING, TypeVar

from kwis.result.needed import POWER, decisions_needed, detectable, times_needed
from kwis.result.presentation import scaled, shown
from kwis.result.records import LOGGING_POLICY, Change, Recommendation
from kwis.results import Interval

if TYPE_CHECKING:
    from kwis.checks.findings import PropensityReport
    from kwis.result.evaluation import Evaluation

_WIDTH = 110
_ROUNDING = 1e-15
"""Differences below it are the rounding of none."""
Key = TypeVar("Key", bound=Hashable)


def decimals(widths: Iterable[float]) -> int:
    """Digits after the point that show the narrowest of the intervals to two digits; 4 if none has
    a width.
    """
    known = [width for width in widths if math.isfinite(width) and width / 2 > 0]
    return 4 if not known else max(0, min(12, 1 - math.floor(math.log10(min(known) / 2))))


def number(value: float, digits: int) -> str:
    """A number with so many digits after the point, thousands marked."""
    return "-" if math.isnan(value) else f"{value:,.{digits}f}"


def span(interval: Interval, digits: int) -> str:
    """Both ends of an interval."""
    return f"{number(interval.low, digits)} to {number(interval.high, digits)}"


def signed(value: float, digits: int) -> str:
    """A difference, its sign always shown."""
    return f"{0.0 if abs(value) < _ROUNDING else value:+,.{digits}f}"


def gain(change: Change) -> str:
    """A difference and what it means for the decision."""
    ends = change.claim
    digits = decimals([ends.width])
    level = f"{ends.level:.0%} {change.together}".strip()
    size = f"{signed(ends.value, digits)}, {level} {signed(ends.low, digits)} to {signed(ends.high, digits)}"
    if change.side == 0 and change.std_error == 0:
        return f"the same as the {change.baseline} on these decisions"
    side = {1: "better than", -1: "worse than", 0: "not told apart from"}[change.side]
    return f"{side} the {change.baseline} ({size})"


def recommendation_in_words(found: Recommendation) -> str:
    """One recommendation: the value, the headline, the verdict and the reasons."""
    row = found.row
    digits = decimals([row.interval.width])
    value = (
        f"{number(row.estimate.value, digits)} ({row.interval.level:.0%} {span(row.interval, digits)}) by "
        f"{row.estimator}"
    )
    less = " (less is better)" if found.change.lower_is_better else ""
    lines = [
        f"{found.target}, {found.reward}{less}: {value}",
        wrapped(gain(found.change), "  "),
        wrapped(": ".join([row.verdict.level, "; ".join(row.verdict.reasons)]).removesuffix(": "), "  "),
        *(wrapped(reason, "  - ") for reason in found.why),
    ]
    if found.runner_up is not None:
        second = (
            f"{number(found.runner_up.estimate.value, digits)} ({span(found.runner_up.interval, digits)})"
        )
        lines.append(
            wrapped(found.disagreement or f"the runner-up {found.runner_up.estimator} agrees: {second}", "  ")
        )
    return "\n".join(lines)


def answer_in_words(evaluation: Evaluation) -> str:
    """The whole answer in a few lines, as an evaluation prints itself."""
    evaluation = shown(evaluation)
    settings = evaluation.settings
    several = f"{len(evaluation.targets)} policies" if len(evaluation.targets) > 1 else evaluation.targets[0]
    when = f", {settings.period}" if settings.period else ""
    lines = [f"Evaluation of {several} on {settings.n:,} logged decisions{when}"]
    if settings.propensities:
        lines.append(wrapped(f"Propensities: {settings.propensities}", ""))
    for reward in evaluation.rewards:
        lines += ["", *_reward_lines(evaluation, reward)]
    lines += _repair_lines(evaluation)
    lines += ["", "Can it be trusted?", *_trust_lines(evaluation)]
    lines += ["", "Why these estimates?", *_reason_lines(evaluation)]
    if evaluation.notes:
        lines += ["", "Notes", *(wrapped(note, "  - ") for note in evaluation.notes)]
    return "\n".join(lines)


def wrapped(sentence: str, indent: str) -> str:
    """A sentence over several lines, the later ones indented under the first."""
    return textwrap.fill(
        sentence, _WIDTH, initial_indent=indent, subsequent_indent=" " * len(indent), break_on_hyphens=False
    )


def _reward_lines(evaluation: Evaluation, reward: str) -> Iterable[str]:
    base = next(row for row in evaluation.rows if (row.target, row.reward) == (LOGGING_POLICY, reward))
    digits = decimals(
        [row.interval.width for row in evaluation.rows if row.reward == reward and row.recommended]
    )
    level, how = f"{base.interval.level:.0%}", evaluation.settings.presentation
    value = f"{number(base.estimate.value, digits)}{how.unit(reward)}{how.per_words}"
    less = f", {how.direction(reward)}" if how.direction(reward) else ""
    ends = f"{level} {span(base.interval, digits)}"
    yield f"{how.label(reward)}: {value} under the {LOGGING_POLICY} ({ends}){less}"
    for found in evaluation.recommendations:
        if found.reward == reward:
            row = found.row
            value = f"{number(row.estimate.value, digits)} ({level} {span(row.interval, digits)})"
            yield wrapped(f"{found.target}: {value}, {gain(found.change)}", "  ")
            yield from (wrapped(words, "    ") for words in size_words(evaluation, found.change))
            yield from (wrapped(words, "    ") for words in needed_words(evaluation, found.change))
            yield from (wrapped(words, "    ") for words in robustness_words(evaluation, found))
    if len(evaluation.targets) > 1:
        ranking = next(one for one in evaluation.rankings if one.reward == reward)
        yield from (wrapped(sentence, "  ") for sentence in ranking.words)
        doubtful = [found.target for found in evaluation.recommendations if _untrusted(found, reward)]
        if doubtful:
            yield wrapped(f"whatever its place, do not trust {', '.join(doubtful)}: see below", "  ")


def size_words(evaluation: Evaluation, change: Change) -> Iterable[str]:
    """A difference in parts of what the logging policy has, and over all decisions of the log."""
    settings = evaluation.settings
    how, level = settings.presentation, f"{change.claim.level:.0%}"
    parts = []
    if change.relative is not None and change.relative.value != 0:
        parts.append(f"relative {relative_words(change.relative)}")
    decisions = settings.decisions or settings.n
    total = scaled(change.claim, decisions / how.per)
    if change.decided and how.adds_up:
        digits = decimals([total.width])
        unit = how.unit(change.reward)
        size = f"{signed(total.value, digits)}{unit} ({level} {signed(total.low, digits)} to "
        parts.append(f"{size}{signed(total.high, digits)}) over the {decisions:,.0f} decisions of the log")
    if parts:
        yield "; ".join(parts)


def relative_words(interval: Interval) -> str:
    """``+15% (95% +12% to +18%)``."""
    digits = max(decimals([100 * interval.width]) - 1, 0)
    if interval.low * interval.high > 0:  # neither end is to look like none
        nearest = 100 * min(abs(interval.low), abs(interval.high))
        digits = next((more for more in range(digits, 4) if round(nearest, more) > 0), digits)
    value, low, high = (
        f"{signed(100 * end, digits)}%" for end in (interval.value, interval.low, interval.high)
    )
    return f"{value} ({interval.level:.0%} {low} to {high})"


def needed_words(evaluation: Evaluation, change: Change) -> Iterable[str]:
    """What it takes to tell a target from the logging policy, where the log does not."""
    if change.decided or not change.std_error > 0:
        return
    settings = evaluation.settings
    unit, least = settings.presentation.unit(change.reward), detectable(change)
    digits = decimals([change.claim.width])
    logged = settings.decisions or settings.n
    needed = times_needed(change, change.interval.value) * logged
    yield (
        f"this log tells a difference of {number(least, digits)}{unit} or more with probability {POWER:.0%}; "
        f"one as small as estimated takes {decisions_needed(needed, logged, 'like these')} (kwis.plan)"
    )


def _untrusted(found: Recommendation, reward: str) -> bool:
    return found.reward == reward and found.row.verdict.level == "do not trust"


def robustness_words(evaluation: Evaluation, found: Recommendation) -> Iterable[str]:
    """How wrong propensities would have to be to undo what is said of a target, where anything is."""
    for one in evaluation.sensitivity:
        if (one.target, one.reward) == (found.target, found.reward) and found.change.decided:
            yield one.words


def _repair_lines(evaluation: Evaluation) -> Iterable[str]:
    """What repair did to propensities and estimates, where there was one."""
    repair = evaluation.repair
    if repair is not None and repair.kept and evaluation.propensity.wrong:
        yield from ("", "Propensities fail their tests and were not repaired")
        yield wrapped(repair.note, "  - ")
    if repair is None or repair.kept or repair.after is None:
        return
    yield from ("", "Propensities were repaired")
    yield wrapped(repair.note, "  - ")
    yield wrapped(
        f"tests: {_outcome(evaluation.propensity)} as given, {_outcome(repair.after)} as repaired", "  - "
    )
    for made in repair.estimates:
        digits = decimals(
            row.interval.width for row in evaluation.rows if row.reward == made.reward and row.recommended
        )
        values = f"{number(made.before, digits)} as given, {number(made.after, digits)} as repaired"
        values += f" (the repair adds a standard error of {number(made.std_error, digits + 1)})"
        yield wrapped(f"{made.target}, {made.reward}, by {made.estimator}: {values}", "  - ")


def _outcome(report: PropensityReport) -> str:
    return (
        f"failed ({', '.join(report.regions[:3])}{', ...' if len(report.regions) > 3 else ''})"
        if report.wrong
        else "passed"
    )


def trust_of(evaluation: Evaluation) -> dict[tuple[str, tuple[str, ...]], list[str]]:
    """From level and reasons to the targets whose recommended estimates have that verdict."""
    return _grouped(evaluation, lambda found: (found.row.verdict.level, found.row.verdict.reasons))


def _trust_lines(evaluation: Evaluation) -> Iterable[str]:
    """Verdict on each recommended estimate; those with the same reasons share a line."""
    for (level, reasons), subjects in trust_of(evaluation).items():
        yield f"  {', '.join(subjects)}: {level}"
        yield from (wrapped(reason, "    - ") for reason in reasons)
    if evaluation.scope is not None:
        yield from (wrapped(words, "  ") for words in evaluation.scope.words)


def _grouped(evaluation: Evaluation, key: Callable[[Recommendation], Key]) -> dict[Key, list[str]]:
    """Targets of the recommendations that have the same key; rewards are named where they tell a target's
    keys apart.
    """
    groups: dict[Key, dict[str, list[str]]] = {}
    for found in evaluation.recommendations:
        groups.setdefault(key(found), {}).setdefault(found.target, []).append(found.reward)
    whole = len(evaluation.rewards)
    return {
        shared: [
            target if len(rewards) == whole else f"{target} ({', '.join(rewards)})"
            for target, rewards in targets.items()
        ]
        for shared, targets in groups.items()
    }


def _reason_lines(evaluation: Evaluation) -> Iterable[str]:
    groups = _grouped(evaluation, lambda found: (found.row.estimator, found.why))
    for (estimator, why), names in groups.items():
        yield f"  {estimator}" + ("" if len(groups) == 1 else f" for {', '.join(names)}")
        yield from (wrapped(reason, "    - ") for reason in why)
    for found in evaluation.recommendations:
        if found.disagreement is not None:
            yield wrapped(f"{found.target}, {found.reward}: {found.disagreement}", "  ")
