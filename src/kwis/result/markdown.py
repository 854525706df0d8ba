"""An evaluation as Markdown, for a pull request."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from kwis._text import visible
from kwis.result.presentation import shown
from kwis.result.records import LOGGING_POLICY, Recommendation
from kwis.result.words import decimals, needed_words, number, relative_words, signed, span, trust_of

if TYPE_CHECKING:
    from kwis.result.evaluation import Evaluation


def markdown_of(given: Evaluation) -> str:
    """The recommended estimates in a table per reward, the verdicts and the call that reproduces them."""
    evaluation = shown(given)
    settings = evaluation.settings
    when = f", {settings.period}" if settings.period else ""
    lines = [f"### {_names(evaluation)} on {settings.n:,} logged decisions{when}"]
    for reward in evaluation.rewards:
        lines += ["", *_table(evaluation, reward)]
    lines += ["", *_trust(evaluation)]
    if settings.call.python:
        code = settings.call.python.replace("```", "` ` `")
        lines += ["", "<details><summary>Reproduce</summary>", "", "```python", code, "```", "", "</details>"]
    return visible("\n".join(lines)) + "\n"


def _names(evaluation: Evaluation) -> str:
    return ", ".join(_cell(name) for name in evaluation.targets)


def _table(evaluation: Evaluation, reward: str) -> Iterable[str]:
    how, level = evaluation.settings.presentation, f"{evaluation.settings.level:.0%}"
    unit = f" in {how.units[reward]}" if reward in how.units else ""
    found = [one for one in evaluation.recommendations if one.reward == reward]
    base = next(row for row in evaluation.rows if (row.target, row.reward) == (LOGGING_POLICY, reward))
    digits = decimals(one.row.interval.width for one in found)
    yield f"**{_cell(how.label(reward))}**{unit}{how.per_words}"
    yield ""
    yield f"| policy | value | {level} | change | {level} of change | relative | verdict |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: | --- |"
    value = f"{number(base.estimate.value, digits)} | {span(base.interval, digits)}"
    yield f"| {LOGGING_POLICY} | {value} | | | | |"
    for one in found:
        yield _line(one, digits)
    for one in found:
        yield from ("", *(f"{_cell(one.target)}: {words}" for words in needed_words(evaluation, one.change)))


def _line(found: Recommendation, digits: int) -> str:
    row, change = found.row, found.change
    ends = f"{signed(change.claim.low, digits)} to {signed(change.claim.high, digits)}"
    relative = "" if change.relative is None else relative_words(change.relative)
    cells = (
        _cell(found.target),
        number(row.estimate.value, digits),
        span(row.interval, digits),
        signed(change.claim.value, digits),
        ends,
        relative,
        row.verdict.level,
    )
    return f"| {' | '.join(cells)} |"


def _trust(evaluation: Evaluation) -> Iterable[str]:
    for (level, reasons), subjects in trust_of(evaluation).items():
        yield f"- **{', '.join(map(_cell, subjects))}: {level}**"
        yield from (f"  - {_cell(reason)}" for reason in reasons)


def _cell(text: str) -> str:
    """Text that ends no cell and starts no markup."""
    kept = " ".join(text.split())
    for sign in "\\|`*_<>[]":
        kept = kept.replace(sign, f"\\{sign}")
    return kept
