"""Plain tables: text for terminals, HTML for notebooks."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kwis._text import visible
from kwis.errors import InputError
from kwis.result.presentation import shown
from kwis.result.records import LOGGING_POLICY, Change, Row, every_policy
from kwis.result.segmented import Segment, Segments
from kwis.result.words import decimals, number, signed, span, wrapped

if TYPE_CHECKING:
    from kwis.result.evaluation import Evaluation
    from kwis.results import Interval

_GAP = "  "


@dataclass(frozen=True, slots=True, kw_only=True)
class TextTable:
    """One or more blocks of rows under the same header.

    Attributes
    ----------
    numeric
        Columns aligned to the right.
    blocks
        A title and its rows, all of text.
    footer
        Lines below.
    """

    header: tuple[str, ...]
    numeric: frozenset[str]
    blocks: tuple[tuple[str, tuple[tuple[str, ...], ...]], ...]
    footer: tuple[str, ...] = ()

    def __str__(self) -> str:
        every = [self.header, *(row for _, rows in self.blocks for row in rows)]
        widths = [max(len(row[j]) for row in every) for j in range(len(self.header))]
        lines: list[str] = []
        for title, rows in self.blocks:
            lines += [title, self._line(self.header, widths), *(self._line(row, widths) for row in rows), ""]
        return visible("\n".join([*lines, *self.footer]).rstrip())

    __repr__ = __str__

    def _line(self, row: Sequence[str], widths: Sequence[int]) -> str:
        cells = [
            cell.rjust(width) if name in self.numeric else cell.ljust(width)
            for cell, width, name in zip(row, widths, self.header, strict=True)
        ]
        return _GAP.join(cells).rstrip()

    def _repr_html_(self) -> str:
        parts = []
        for title, rows in self.blocks:
            head = "".join(f"<th>{html.escape(name)}</th>" for name in self.header)
            body = "".join(
                f"<tr>{''.join(self._cell(*pair) for pair in zip(row, self.header, strict=True))}</tr>"
                for row in rows
            )
            parts.append(
                f"<table><caption>{html.escape(title)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
            )
        return "".join([*parts, *(f"<p>{html.escape(line)}</p>" for line in self.footer)])

    def _cell(self, text: str, name: str) -> str:
        return (
            f'<td style="text-align: {"right" if name in self.numeric else "left"}">{html.escape(text)}</td>'
        )


def table_of(evaluation: Evaluation, reward: str | None = None) -> TextTable:
    """The rows of an evaluation, one block per reward (or for the one named)."""
    if reward is not None and reward not in evaluation.rewards:
        raise InputError(f"`reward` must be one of {', '.join(evaluation.rewards)}, got {reward!r}")
    evaluation = shown(evaluation)
    level = f"{evaluation.settings.level:.0%}"
    of_change = f"{level} {'for all' if len(evaluation.targets) > 1 else 'of change'}"
    header = (
        "policy",
        "estimator",
        "value",
        f"{level} interval",
        "change",
        of_change,
        "effective rows",
        "verdict",
    )
    wanted = evaluation.rewards if reward is None else (reward,)
    return TextTable(
        header=header,
        numeric=frozenset(header[2:7]),
        blocks=tuple(
            (f"{name}, {evaluation.settings.n:,} rows", tuple(_rows(evaluation, name))) for name in wanted
        ),
        footer=(legend(evaluation), *_reasons(evaluation)),
    )


def legend(evaluation: Evaluation) -> str:
    """What the marks and columns of a table of estimates mean."""
    words = f"* recommended; change: against the {LOGGING_POLICY}, on the same rows"
    several = len(evaluation.targets)
    return words if several == 1 else f"{words}; its interval holds for {every_policy(several)} together"


def segment_table(found: Segments) -> TextTable:
    """Recommended estimates in every segment, with changes whose intervals hold for all segments at once."""
    rows = [(segment, row) for segment in found.segments for row in segment.rows]
    level = f"{rows[0][1].interval.level:.0%}"
    header = (
        "segment",
        "rows",
        "policy",
        "reward",
        "value",
        f"{level} interval",
        "change",
        f"{level} of change",
        "verdict",
    )
    return TextTable(
        header=header,
        numeric=frozenset(header[1:2] + header[4:8]),
        blocks=(
            (f"by {', '.join(found.columns)}", tuple(_segment_row(segment, row) for segment, row in rows)),
        ),
        footer=(
            "intervals of changes hold for all segments at once",
            *(wrapped(note, "- ") for note in found.notes),
        ),
    )


def _segment_row(segment: Segment, row: Row) -> tuple[str, ...]:
    digits = decimals(each.interval.width for each in segment.rows if each.reward == row.reward)
    changes = [each for each in segment.changes if (each.target, each.reward) == (row.target, row.reward)]
    difference = [_difference(each.interval.value, each.simultaneous, digits) for each in changes] or [
        ("", "")
    ]
    first = row is segment.rows[0]
    return (
        ", ".join(segment.values) if first else "",
        f"{segment.n:,}" if first else "",
        row.target,
        row.reward,
        number(row.estimate.value, digits),
        span(row.interval, digits),
        *difference[0],
        row.verdict.level,
    )


def _difference(value: float, ends: Interval, digits: int) -> tuple[str, str]:
    return signed(value, digits), f"{signed(ends.low, digits)} to {signed(ends.high, digits)}"


def _rows(evaluation: Evaluation, reward: str) -> Iterable[tuple[str, ...]]:
    rows = [row for row in evaluation.rows if row.reward == reward]
    against = {
        (change.target, change.estimator): change
        for change in evaluation.changes
        if change.reward == reward and change.baseline == LOGGING_POLICY
    }
    digits = decimals([*(row.interval.width for row in rows if row.recommended)])
    previous = None
    for row in rows:
        yield _row(
            row,
            against.get((row.target, row.estimator)),
            digits,
            row.target if row.target != previous else "",
        )
        previous = row.target


def _row(row: Row, change: Change | None, digits: int, name: str) -> tuple[str, ...]:
    difference = ("", "") if change is None else _difference(change.interval.value, change.claim, digits)
    mark = "* " if row.recommended and change is not None else "  "
    return (
        name,
        mark + row.estimator,
        number(row.estimate.value, digits),
        span(row.interval, digits),
        *difference,
        f"{row.estimate.effective_n:,.0f}",
        row.verdict.level,
    )


def _reasons(evaluation: Evaluation) -> Iterable[str]:
    """Why verdicts are what they are: each reason once, with the targets it holds for."""
    groups: dict[str, list[str]] = {}
    for row in evaluation.rows:
        if row.target != LOGGING_POLICY:
            for reason in row.verdict.reasons:
                groups.setdefault(reason, []).append(row.target)
    for reason, targets in groups.items():
        names = list(dict.fromkeys(targets))
        yield wrapped(
            reason if len(names) == len(evaluation.targets) else f"{', '.join(names)}: {reason}", "- "
        )
