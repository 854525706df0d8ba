"""Where an answer goes: a terminal, JSON, a report."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import typer

from kwis.cli.options import MOST_SEGMENTS
from kwis.cli.terminal import BAD_INPUT, GATE_FAILED, as_options, console, print_answer, say
from kwis.errors import InputError

if TYPE_CHECKING:
    from kwis.evaluation import Evaluation
    from kwis.evaluation.opening import Opened

STDOUT = "-"
"""The file name that stands for stdout."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """Where an answer goes."""

    report: str | None = None
    json: bool = False
    json_file: str | None = None
    table: bool = True
    segments: int = MOST_SEGMENTS
    every: bool = False

    @classmethod
    def of(
        cls,
        *,
        report: str | None,
        json: bool,
        json_file: str | None,
        table: bool = True,
        segments: int = MOST_SEGMENTS,
        every: bool = False,
    ) -> Output:
        if report == STDOUT:
            raise InputError("`report` must name a file, got '-'; './-' is a file of that name")
        if json_file == STDOUT:
            json, json_file = True, None
        return cls(report=report, json=json, json_file=json_file, table=table, segments=segments, every=every)

    def check(self, inputs: Sequence[str] = ()) -> None:
        """Refuse files that cannot be written, or that are read, before the work is done."""
        from kwis.runtime.writing import same_file, writable

        wanted = {
            name: path
            for name, path in (("report", self.report), ("json-file", self.json_file))
            if path is not None
        }
        for name, path in wanted.items():
            if any(same_file(path, one) for one in inputs):
                raise InputError(f"`{name}` must not be a file that is read, got {path!r}")
            writable(path, name)
        if self.report is None or self.json_file is None:
            return
        # names that differ in case only are one file on many systems
        one, other = (os.path.realpath(path).casefold() for path in (self.report, self.json_file))
        if one == other or same_file(self.report, self.json_file):
            raise InputError(f"`report` and `json-file` must be two files, got {self.report!r} for both")

    @contextmanager
    def files_written(self, answer: Evaluation) -> Iterator[None]:
        """Write report and JSON, each whole or not at all; one that cannot be written takes nothing from the
        answer.
        """
        lost = [
            trouble
            for write in (self._write_json, self._write_report)
            if (trouble := _trouble(write, answer)) is not None
        ]
        try:
            yield
        except typer.Exit as ending:  # a gate that fails says more than a file that is lost
            if ending.exit_code != GATE_FAILED:
                raise
            _say(lost)
            raise
        _say(lost)
        if lost:
            raise typer.Exit(BAD_INPUT)

    def _write_json(self, answer: Evaluation) -> None:
        from kwis.runtime.writing import writable, write_whole

        if self.json_file is not None:
            write_whole(writable(self.json_file, "json-file"), f"{answer.to_json()}\n".encode(), "json-file")

    def _write_report(self, answer: Evaluation) -> None:
        if self.report is not None:
            answer.to_html(self.report, segments=self.segments)

    def print(self, opened: Opened, answer: Evaluation, source: str) -> None:
        """The answer on stdout."""
        if self.json:
            print_answer(answer.to_json())
            return
        from kwis.cli import show
        from kwis.result.presentation import shown

        out = console()
        show.show_log(out, opened.overview(answer.settings.context), source)
        show.show_answer(out, answer)
        if self.table:
            show.show_estimates(out, answer, every=self.every)
        for segments in shown(answer).segments:
            show.show_segments(out, segments, answer.settings, self.segments)
        if self.report is not None:
            out.print(f"\nReport: {self.report}", soft_wrap=True)


def _trouble(write: Callable[[Evaluation], None], answer: Evaluation) -> InputError | None:
    try:
        write(answer)
    except InputError as trouble:
        return trouble
    return None


def _say(lost: Sequence[InputError]) -> None:
    for trouble in lost:
        say(f"error: {as_options(str(trouble))}")
