"""Answers on a terminal: sentences and tables; no arithmetic beyond the choice of digits."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich import box
from rich.table import Table
from rich.text import Text

from kwis.cli.terminal import as_options
from kwis.result.brief import brief_rows, trustworthy
from kwis.result.presentation import shown
from kwis.result.records import LOGGING_POLICY
from kwis.result.text_table import legend
from kwis.result.words import answer_in_words, decimals, number, signed, span, trust_of, wrapped

if TYPE_CHECKING:
    from rich.console import Console

    from kwis.checks.findings import PropensityReport
    from kwis.evaluation import Change, Evaluation, Ranking, Row, Segments
    from kwis.result.records import Settings
    from kwis.results import Interval

_NARROW = 110
_COLOURS = {"trust": "green", "with care": "yellow", "do not trust": "red"}


def show_log(console: Console, overview: str, source: str) -> None:
    """What was read, so that a wrong guess about a column is seen at once."""
    first, *others = overview.splitlines()
    for line in (f"{source}: {first}", *others):
        console.print(line)
    console.print()


def show_answer(console: Console, evaluation: Evaluation) -> None:
    """The answer in words, verdicts in colour."""
    for line in map(as_options, answer_in_words(evaluation).splitlines()):
        text = Text(line)
        for verdict, colour in _COLOURS.items():
            if line.endswith(f": {verdict}"):
                text.stylize(f"bold {colour}", len(line) - len(verdict))
        if line and not line.startswith(" "):
            text.stylize("bold")
        console.print(text, soft_wrap=True)


def show_estimates(console: Console, evaluation: Evaluation, *, every: bool = False) -> None:
    """Recommended estimates, runners-up and the range of the trustworthy ones; or ``every`` estimate."""
    evaluation = shown(evaluation)
    for reward in evaluation.rewards:
        rows = [row for row in (evaluation.rows if every else brief_rows(evaluation)) if row.reward == reward]
        changes = {
            (c.target, c.estimator): c
            for c in evaluation.changes
            if c.reward == reward and c.baseline == LOGGING_POLICY
        }
        digits = decimals(row.interval.width for row in rows if row.recommended)
        of_change = "of change, for all" if len(evaluation.targets) > 1 else "of change"
        what = "by every estimator" if every else "what to use and what comes next"
        title = f"{evaluation.settings.presentation.label(reward)}, {what}"
        layout = _Layout.of(title, evaluation.settings.level, of_change, console)
        previous = None
        for row in rows:
            if row.target != previous:
                layout.heading(row.target)
            change = changes.get((row.target, row.estimator))
            mark = "* " if row.recommended and change is not None else "  "
            layout.add(mark + row.estimator, row, change, None if change is None else change.claim, digits)
            if not every and row.target != LOGGING_POLICY and row is _last_of(rows, row.target):
                layout.range(trustworthy(evaluation, row.target, reward), digits)
            previous = row.target
        console.print("", layout.table)
    console.print(legend(evaluation), soft_wrap=True)
    if every:
        _points(console, _further_reasons(evaluation), "- ")


def _last_of(rows: Sequence[Row], target: str) -> Row:
    return [row for row in rows if row.target == target][-1]


def show_segments(console: Console, every: Segments, settings: Settings, most: int) -> None:
    """Recommended estimates in the largest segments; the intervals of their changes hold for all segments at
    once.
    """
    found, label = every.largest(most), settings.presentation.label
    layout = _Layout.of(f"by {', '.join(found.columns)}", settings.level, "of change, all at once", console)
    for segment in found.segments:
        changes = {(change.target, change.reward): change for change in segment.changes}
        digits = decimals(row.interval.width for row in segment.rows)
        several = len({row.reward for row in segment.rows}) > 1
        layout.heading(f"{segment.label}, {segment.n:,} rows")
        for row in segment.rows:
            change = changes.get((row.target, row.reward))
            name = f"  {row.target}, {label(row.reward)}" if several else f"  {row.target}"
            layout.add(name, row, change, None if change is None else change.simultaneous, digits)
    console.print("", layout.table)
    for note in found.notes:
        console.print(note, soft_wrap=True)


@dataclass(frozen=True, slots=True, eq=False)
class _Layout:
    """A table of estimates under headings; a narrow terminal gets fewer columns."""

    table: Table
    narrow: bool

    @classmethod
    def of(cls, title: str, level: float, of_change: str, console: Console) -> _Layout:
        table, narrow = _plain(title), console.width < _NARROW
        table.add_column("", overflow="fold")
        ends = (f"{level:.0%} interval", f"{level:.0%} {of_change}")
        for name in ("value", *ends) if narrow else ("value", ends[0], "change", ends[1], "effective rows"):
            table.add_column(name, justify="right", no_wrap=True)
        if not narrow:
            table.add_column("verdict", no_wrap=True)
        return cls(table, narrow)

    def heading(self, text: str) -> None:
        self.table.add_section()
        self.table.add_row(Text(text, style="bold"))

    def range(self, rows: Sequence[Row], digits: int) -> None:
        """Between which values the trustworthy estimates lie."""
        values = [row.estimate.value for row in rows]
        if len(values) > 1:
            reach = f"{number(min(values), digits)} to {number(max(values), digits)}"
            self.table.add_row(f"  all {len(values)} trustworthy", "", reach)

    def add(self, name: str, row: Row, change: Change | None, ends: Interval | None, digits: int) -> None:
        cells: list[str | Text] = [name, number(row.estimate.value, digits), span(row.interval, digits)]
        of_change = "" if ends is None else _ends(ends.low, ends.high, digits)
        if self.narrow:
            self.table.add_row(*cells, of_change)
            return
        difference = "" if change is None else signed(change.interval.value, digits)
        self.table.add_row(
            *cells, difference, of_change, f"{row.estimate.effective_n:,.0f}", coloured(row.verdict.level)
        )


def show_differences(console: Console, title: str, changes: Sequence[Change], level: float) -> None:
    """Differences between policies, each with its own interval and with the one that holds for all
    at once.
    """
    table = _plain(title)
    table.add_column("difference", overflow="fold")
    narrow = console.width < _NARROW
    for name in (
        "value",
        *(() if narrow else (f"{level:.0%} interval",)),
        f"{level:.0%} for all at once",
        "p",
    ):
        table.add_column(name, justify="right", no_wrap=True)
    digits = decimals(change.interval.width for change in changes)
    for change in changes:
        table.add_row(
            f"{change.target} − {change.baseline}",
            signed(change.interval.value, digits),
            *(() if narrow else (_ends(change.interval.low, change.interval.high, digits),)),
            _ends(change.simultaneous.low, change.simultaneous.high, digits),
            f"{change.p_value:.2g}",
        )
    console.print("", table)


def show_ranking(console: Console, ranking: Ranking, level: float) -> None:
    """Policies from best to worst, with the places that chance leaves open."""
    table = _plain(f"{ranking.reward}, best first")
    table.add_column("place", justify="right")
    table.add_column("policy", overflow="fold")
    for name in ("value", f"{level:.0%} interval"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("estimator", overflow="fold")
    table.add_column("verdict", no_wrap=True)
    digits = decimals(place.row.interval.width for place in ranking.places)
    for place in ranking.places:
        row = place.row
        values = (number(row.estimate.value, digits), span(row.interval, digits))
        table.add_row(place.words, place.target, *values, row.estimator, coloured(row.verdict.level))
    console.print(table)
    for sentence in ranking.words:
        console.print(sentence)


def show_trust(console: Console, evaluation: Evaluation) -> None:
    """Verdicts and notes in words."""
    console.print(Text("Can it be trusted?", style="bold"))
    for (level, reasons), subjects in trust_of(evaluation).items():
        console.print(Text.assemble(f"  {', '.join(subjects)}: ", coloured(level)))
        _points(console, reasons)
    if evaluation.scope is not None:
        _points(console, evaluation.scope.words, "  ")
    if evaluation.notes:
        console.print(Text("Notes", style="bold"))
        _points(console, evaluation.notes)


def show_propensity(console: Console, report: PropensityReport) -> None:
    """The verdict on propensities, where they fail, and what else was noticed."""
    console.print(Text.assemble("Propensities: ", coloured(report.verdict.level), style="bold"))
    _points(console, report.verdict.reasons)
    outcome = "they fail" if report.wrong else "nothing found"
    console.print(
        f"{len(report.tests):,} tests together: p = {report.p_value:.2g}, {outcome} at {report.level:.0%}"
    )
    said = " ".join(report.verdict.reasons)
    _points(console, [test.words for test in report.failures if test.words not in said])
    findings = [finding.sentence for finding in report.check.findings if finding.sentence not in said]
    curve = report.check.reliability
    if curve is not None:
        error, chance = curve.expected_calibration_error, curve.expected_by_chance
        findings.append(f"expected calibration error {error:.2%}, of which {chance:.2%} would be chance")
    if findings or report.notes:
        console.print("Also")
        _points(console, [*findings, *report.notes])


def _further_reasons(evaluation: Evaluation) -> list[str]:
    """What speaks against estimates that are not recommended, beyond what the answer has said."""
    said = {reason for found in evaluation.recommendations for reason in found.row.verdict.reasons}
    every = (
        reason for row in evaluation.rows if row.target != LOGGING_POLICY for reason in row.verdict.reasons
    )
    return [reason for reason in dict.fromkeys(every) if reason not in said]


def _points(console: Console, sentences: Iterable[str], indent: str = "    - ") -> None:
    for sentence in sentences:
        console.print(wrapped(as_options(sentence), indent), soft_wrap=True)


def coloured(verdict: str) -> Text:
    return Text(verdict, style=_COLOURS[verdict])


def _plain(title: str) -> Table:
    return Table(
        title=title,
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        collapse_padding=True,
    )


def _ends(low: float, high: float, digits: int) -> str:
    return f"{signed(low, digits)} to {signed(high, digits)}"
