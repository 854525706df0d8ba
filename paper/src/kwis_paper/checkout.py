"""The pages of docs that come from committed results, and the tables between marks in one of them."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from kwis import InputError
from kwis_paper import expected, reproduction
from kwis_paper.agreement import checks
from kwis_paper.beyond import page as story
from kwis_paper.beyond.summary import past_the_paper
from kwis_paper.counting import Check
from kwis_paper.overall import OverallRow, overall_rows
from kwis_paper.published import table
from kwis_paper.results import Results

BEGIN = "<!-- from results/, by `kwis paper pages` -->"
END = "<!-- end of what comes from results/ -->"


def write(results: Results, root: Path, *, check: bool = False) -> list[Path]:
    """Write what differs, and return it; with ``check`` write nothing."""
    summary = root / "docs" / "paper.md"
    wanted = {
        root / "docs" / "reproduction.md": reproduction.as_page(results),
        root / "docs" / "expected-truth.md": expected.as_page(results),
        root / "docs" / "past-the-paper.md": story.as_page(past_the_paper(results)),
        summary: with_table(summary.read_text(encoding="utf-8"), results),
    }
    changed = [
        path
        for path, text in wanted.items()
        if not path.is_file() or path.read_text(encoding="utf-8") != text
    ]
    for path in changed if not check else ():
        path.write_text(wanted[path], encoding="utf-8")
    return changed


def with_table(text: str, results: Results) -> str:
    """The text of the summary with what stands between its marks made anew."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise InputError(
            f"`docs/paper.md` must hold the lines {BEGIN!r} and {END!r}, got a text without them"
        )
    return f"{before}{BEGIN}\n{_summary(results)}\n\n{_errors(results)}\n{END}{after}"


def _summary(results: Results) -> str:
    lines = ["| Published table | agree | of |", "| --- | --- | --- |"]
    lines += [f"| {_words(check)} | {check.agreeing} | {check.of} |" for check in checks(results) if check.of]
    return "\n".join(lines)


def _words(check: Check) -> str:
    return check.name


def _errors(results: Results) -> str:
    rows = {(row.setting, row.dataset): row for row in overall_rows(results)}
    datasets = dict.fromkeys(dataset for setting, dataset in rows if setting in ("oracle", "non-oracle"))
    lines = [
        "| | WIS | paper | Kernel-WIS | paper | | WIS | paper | Kernel-WIS | paper |",
        "| --- " * 10 + "|",
        "| **oracle** | | | | | **non-oracle** | | | | |",
    ]
    for dataset in datasets:
        sides = [_side(results, rows.get((setting, dataset))) for setting in ("oracle", "non-oracle")]
        lines.append(f"| {dataset} | {' | '.join(sides[0])} | | {' | '.join(sides[1])} |")
    return "\n".join(lines)


def _side(results: Results, row: OverallRow | None) -> list[str]:
    if row is None or not row.cells:
        return [""] * 4
    shown: list[str] = []
    for name, column in (("wis", "wis"), ("kernel-wis", "kernel_wis")):
        ours = float(np.mean(results.errors(name, row.cells, "published")))
        said = table("overall").value(
            column, reward=row.words[0], behaviour=row.words[1], dataset=row.dataset
        )
        shown += [f"{ours:.3f}", "" if said is None or math.isnan(float(said)) else f"{float(said):.3f}"]
    return shown
