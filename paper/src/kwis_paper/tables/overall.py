"""One row per dataset and setting: errors and percentile predictions of every estimator."""

from __future__ import annotations

import math

import numpy as np

from kwis_paper import published
from kwis_paper.overall import (
    ESTIMATORS,
    LEFT_OUT,
    PUBLISHED_COLUMN,
    OverallRow,
    extra_estimators,
    overall_rows,
)
from kwis_paper.results import Results, Truth
from kwis_paper.summaries import TOLERANCE, notes_of
from kwis_paper.tables.buckets import TRUTH_WORDS
from kwis_paper.tables.record import Entry, Line, Table, difference, number, text, whole


def overall_table(results: Results, truth: Truth) -> Table:
    """Mean absolute error of every estimator."""
    extra = extra_estimators(results)
    rows = overall_rows(results)
    columns = [("", "Reward"), ("", "Behaviour"), ("", "Dataset"), ("", "N")]
    columns += [(name, column) for name in ESTIMATORS.values() for column in ("ours", "paper", "diff.")]
    columns += [(name, "ours") for name in extra.values()]
    return Table(
        key=f"overall-{truth}",
        title=f"Overall errors, {truth} truth",
        caption=f"Mean absolute error over all experiments of a row, {TRUTH_WORDS[truth]}. Bold: the best of "
        f"the paper's five estimators "
        "and those within 0.001 of it.",
        columns=tuple(name for _, name in columns),
        groups=tuple(group for group, _ in columns),
        lines=tuple(_overall_line(results, row, truth, tuple(extra)) for row in rows),
        label="tbl:overall_results",
        notes=(*notes_of([row.dataset for row in rows]), *_missing(rows)),
    )


def headline_table(results: Results) -> Table:
    """WIS and Kernel-WIS at a glance: the published truth beside the paper, and the expected truth."""
    rows = overall_rows(results)
    names = {"wis": "WIS", "kernel-wis": "Kernel-WIS"}
    columns = [
        ("", "Behaviour"),
        ("", "Dataset"),
        *((name, column) for name in names.values() for column in ("ours", "paper")),
    ]
    columns += [("Expected truth:", name) for name in (*names.values(), "Normalised")]
    return Table(
        key="headline",
        title="WIS and Kernel-WIS at a glance",
        caption="Mean absolute error over all experiments of a row, against the published truth beside the "
        "published number, and against "
        "the expected truth.",
        columns=tuple(name for _, name in columns),
        groups=tuple(group for group, _ in columns),
        lines=tuple(_headline_line(results, row, tuple(names)) for row in rows),
        notes=(*notes_of([row.dataset for row in rows]), *_missing(rows)),
    )


def _headline_line(results: Results, row: OverallRow, names: tuple[str, ...]) -> Line:
    entries: list[Entry] = [
        text(row.words[1] if row.setting != "continuous" else "Oracle, continuous rewards"),
        text(row.dataset),
    ]
    for name in names:
        entries += [
            number(_mean(results, name, row, "published")),
            number(_said("overall", PUBLISHED_COLUMN[name], row)),
        ]
    entries += [number(_mean(results, name, row, "expected")) for name in (*names, "normalised-kernel-wis")]
    return Line(entries=tuple(entries), dataset=row.dataset, setting=row.setting)


def _mean(results: Results, name: str, row: OverallRow, truth: Truth) -> float:
    return float(np.mean(results.errors(name, row.cells, truth))) if row.cells else math.nan


def _overall_line(results: Results, row: OverallRow, truth: Truth, extra: tuple[str, ...]) -> Line:
    ours = {name: _mean(results, name, row, truth) for name in (*ESTIMATORS, *extra)}
    paper = {name: _said("overall", PUBLISHED_COLUMN[name], row) for name in ESTIMATORS}
    best, best_said = _best([ours[name] for name in ESTIMATORS]), _best(list(paper.values()))
    entries: list[Entry] = [*map(text, row.words), text(row.dataset), whole(len(row.cells) or None)]
    for name in ESTIMATORS:
        entries += [
            number(ours[name], bold=round(ours[name], 3) <= best),
            number(paper[name], bold=paper[name] <= best_said),
            difference(ours[name], paper[name]),
        ]
    return Line(
        entries=(*entries, *(number(ours[name]) for name in extra)), dataset=row.dataset, setting=row.setting
    )


def _best(values: list[float]) -> float:
    """Largest value that the paper's rule makes bold."""
    finite = [round(value, 3) for value in values if math.isfinite(value)]
    return min(finite) + TOLERANCE + 1e-9 if finite else -math.inf


def percentile_table(results: Results) -> Table:
    """75th and 100th percentile predictions of every estimator."""
    rows = overall_rows(results)
    columns = [("", "Reward"), ("", "Behaviour"), ("", "Dataset")]
    columns += [
        (f"{name} {share}", column)
        for name in ESTIMATORS.values()
        for share in (75, 100)
        for column in ("ours", "paper", "diff.")
    ]
    columns += [(f"Normalised {share}", "ours") for share in (75, 100)]
    return Table(
        key="percentiles",
        title="75th and 100th percentile predictions",
        caption="Percentiles over the experiments of a row of each experiment's mean estimate over its test "
        "sets, which fits the published "
        "ones better than percentiles over single test sets. No truth enters.",
        columns=tuple(name for _, name in columns),
        groups=tuple(group for group, _ in columns),
        lines=tuple(_percentile_line(results, row) for row in rows),
        label="tbl:overall_results_mm",
        notes=(*notes_of([row.dataset for row in rows]), *_missing(rows)),
    )


def _percentile_line(results: Results, row: OverallRow) -> Line:
    entries: list[Entry] = [*map(text, row.words), text(row.dataset)]
    for name in (*ESTIMATORS, "normalised-kernel-wis"):
        values = results.values(name, row.cells)
        shares = np.percentile(values, [75, 100]) if row.cells else np.full(2, math.nan)
        for share, value in zip((75, 100), shares, strict=True):
            entries.append(number(float(value), 2))
            if name in ESTIMATORS:
                said = _said("percentiles", f"{PUBLISHED_COLUMN[name]}_p{share}", row)
                entries += [number(said, 2), difference(float(value), said, 2)]
    return Line(entries=tuple(entries), dataset=row.dataset, setting=row.setting)


def _said(table: str, column: str, row: OverallRow) -> float:
    found = published.table(table).value(
        column, reward=row.words[0], behaviour=row.words[1], dataset=row.dataset
    )
    return math.nan if found is None else float(found)


def _missing(rows: list[OverallRow]) -> tuple[str, ...]:
    lacking = [f"{row.dataset} ({row.setting})" for row in rows if not row.cells]
    ours = [row.dataset for row in rows if (row.setting, row.dataset) in LEFT_OUT]
    notes = [f"Not run yet: {', '.join(lacking)}."] if lacking else []
    return (
        *notes,
        *(
            [f"Left out by the paper for their cost, ours alone: {', '.join(ours)}, non-oracle."]
            if ours
            else []
        ),
    )
