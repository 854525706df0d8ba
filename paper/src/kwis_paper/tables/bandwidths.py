"""Shared against per-feature bandwidths: the whole warm-started run as far as it came, and a sample with
plain starts.
"""

from __future__ import annotations

import math

import numpy as np

from kwis_paper import published
from kwis_paper.overall import PLAIN, WARM, OverallRow, overall_rows
from kwis_paper.records import CellFacts
from kwis_paper.results import Results, Truth
from kwis_paper.summaries import Spread, notes_of
from kwis_paper.tables.buckets import TRUTH_WORDS
from kwis_paper.tables.record import Entry, Line, Table, difference, number, spread, text, whole

_COLUMNS = (
    *(("", name) for name in ("Reward", "Behaviour", "Dataset", "N")),
    *((name, column) for name in ("WIS", "Kernel-WIS shared") for column in ("ours", "paper", "diff.")),
    *(
        ("Per feature, plain starts", column)
        for column in ("N", "ours", "std. error", "paper", "diff.", "shared, same N")
    ),
    *(("Per feature, warm start", column) for column in ("N", "ours", "diff.", "shared, same N")),
)


def bandwidth_table(results: Results, truth: Truth) -> Table:
    """Kernel-WIS with one bandwidth for all features, and with one for each."""
    rows = [row for row in overall_rows(results) if _said("wis", row) == _said("wis", row)]
    notes = list(notes_of([row.dataset for row in rows]))
    for name, words in ((PLAIN, "Plain starts"), (WARM, "Warm start")):
        covered = sum(bool(_with(results, name, row)) for row in rows)
        total = len(results.outcomes.get(name, {}))
        notes.append(
            f"{words}: {total:,} experiments in {covered} of {len(rows)} rows."
            if total
            else f"{words}: not run yet."
        )
    return Table(
        key=f"bandwidths-{truth}",
        title=f"Shared and per-feature bandwidths, {truth} truth",
        caption=f"Mean absolute error ± standard deviation, {TRUTH_WORDS[truth]}. Plain starts are the "
        f"paper's algorithm on a seeded, "
        "stratified sample of experiments, to convergence or 600 evaluations; the warm start begins at the "
        "shared optimum and is capped.",
        columns=tuple(name for _, name in _COLUMNS),
        groups=tuple(group for group, _ in _COLUMNS),
        lines=tuple(_line(results, row, truth) for row in rows),
        label="tbl:overall_results_wis_optim",
        notes=tuple(notes),
    )


def _line(results: Results, row: OverallRow, truth: Truth) -> Line:
    entries: list[Entry] = [*map(text, row.words), text(row.dataset), whole(len(row.cells) or None)]
    for name, column in (("wis", "wis"), ("kernel-wis", "shared")):
        ours = Spread.of(results.errors(name, row.cells, truth))
        entries += [
            spread(ours.mean, ours.std),
            spread(_said(column, row), _said(f"{column}_std", row)),
            difference(ours.mean, _said(column, row)),
        ]
    sample = _with(results, PLAIN, row)
    ours = Spread.of(results.errors(PLAIN, sample, truth))
    paper = Spread(_said("unique", row), _said("unique_std", row))
    shared = Spread.of(results.errors("kernel-wis", sample, truth))
    error = ours.std / math.sqrt(len(sample)) if sample else math.nan
    entries += [whole(len(sample)), spread(ours.mean, ours.std), number(error), spread(paper.mean, paper.std)]
    entries += [difference(ours.mean, paper.mean), number(shared.mean)]
    warm = _with(results, WARM, row)
    ours, shared = (
        Spread.of(results.errors(WARM, warm, truth)),
        Spread.of(results.errors("kernel-wis", warm, truth)),
    )
    entries += [
        whole(len(warm)),
        spread(ours.mean, ours.std),
        difference(ours.mean, paper.mean),
        number(shared.mean),
    ]
    return Line(entries=tuple(entries), dataset=row.dataset, setting=row.setting)


def _with(results: Results, name: str, row: OverallRow) -> list[CellFacts]:
    found = results.outcomes.get(name, {})
    return [facts for facts in row.cells if facts.key in found and np.isfinite(found[facts.key].value)]


def _said(column: str, row: OverallRow) -> float:
    table = published.table("bandwidth_sensitivity")
    found = table.value(column, reward=row.words[0], behaviour=row.words[1], dataset=row.dataset)
    return math.nan if found is None else float(found)
