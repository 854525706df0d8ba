"""Coverage of intervals at four levels, beside the published coverage, whose level is not in the paper."""

from __future__ import annotations

import math

from kwis_paper.coverage_fit import shown
from kwis_paper.results import INTERVALS, IntervalKind, Results, Truth
from kwis_paper.store import LEVELS
from kwis_paper.summaries import COVERAGE_TABLES, TOLERANCE, CoverageRow, coverage_rows, notes_of
from kwis_paper.tables.buckets import TRUTH_WORDS, missing_notes
from kwis_paper.tables.record import Entry, Line, Table, difference, number, text

_LABELS = {"oracle": "tbl:k_wis_wis_oracle_width", "non-oracle": "tbl:k_wis_wis_non_oracle_width"}
_KINDS = {
    "influence": "influence-function intervals",
    "bootstrap": "percentile bootstrap intervals",
    "fixed-percentile": "the paper's own intervals (normaliser fixed)",
}
_NAMES = ("WIS", "Kernel-WIS", "Normalised")


def coverage_tables(results: Results, setting: str, truth: Truth) -> list[Table]:
    """One table per kind of interval that was run."""
    run = [kind for kind in INTERVALS if kind != "bootstrap" or results.replicates]
    return [_table(results, setting, truth, kind) for kind in run]


def _table(results: Results, setting: str, truth: Truth, kind: IntervalKind) -> Table:
    rows = coverage_rows(results, setting, truth, kind)
    levels = tuple(f"{level:.0%}" for level in LEVELS)
    published = ("paper", *levels, "diff.")
    columns = [("", "Dataset"), ("", "Policy"), ("", "Difference")]
    columns += [
        (name, column) for name in _NAMES for column in (levels if name == "Normalised" else published)
    ]
    done = sum(not math.isnan(row.wis[0]) for row in rows)
    notes = [*notes_of([row.bucket.dataset for row in rows]), *missing_notes([row.bucket for row in rows])]
    if kind == "bootstrap":
        notes.append(f"Resamples: {results.replicates}; rows with intervals: {done} of {len(rows)}.")
    at = shown(results)
    mine = at.kind == kind and at.results is results
    place = LEVELS.index(at.level) if mine else len(LEVELS) - 1
    fitting = ", which fits the published coverage best" if mine and kind.startswith("fixed") else ""
    caption = (
        f"Mean coverage of {_KINDS[kind]} over {results.design.test_sets} test sets, {TRUTH_WORDS[truth]}. "
        f"The published level is unknown; the difference is that of our {levels[place]} intervals{fitting}. "
        f"Bold: the higher coverage of WIS and Kernel-WIS at {levels[place]}, neither within 0.001."
    )
    return Table(
        key=f"{COVERAGE_TABLES[setting].replace('_', '-')}-{truth}-{kind}",
        title=f"Coverage, {setting} behaviour policies, {_KINDS[kind]}, {truth} truth",
        caption=caption,
        columns=tuple(name for _, name in columns),
        groups=tuple(group for group, _ in columns),
        lines=tuple(_line(row, place) for row in rows),
        label=_LABELS[setting],
        notes=tuple(notes),
    )


def _line(row: CoverageRow, place: int) -> Line:
    wins = higher(row.wis[place], row.kernel[place])
    said = higher(row.paper_wis, row.paper_kernel)
    entries = (
        *(text(words) for words in row.bucket.label),
        *_side(row.paper_wis, row.wis, place, wins == -1, said == -1),
        *_side(row.paper_kernel, row.kernel, place, wins == 1, said == 1),
        *(number(share) for share in row.normalised),
    )
    return Line(entries=entries, dataset=row.bucket.dataset, setting=row.bucket.setting)


def _side(paper: float, shares: tuple[float, ...], place: int, best: bool, best_said: bool) -> list[Entry]:
    """The published coverage, ours at every level, and the difference at that of ``place``."""
    ours = [number(share, bold=best and level == place) for level, share in enumerate(shares)]
    return [number(paper, bold=best_said), *ours, difference(shares[place], paper)]


def higher(wis: float, kernel: float) -> int:
    """-1 if WIS has the higher coverage, 1 if Kernel-WIS has, 0 if they are within the tolerance."""
    gap = round(kernel, 3) - round(wis, 3) if math.isfinite(wis) and math.isfinite(kernel) else 0.0
    return 0 if abs(gap) <= TOLERANCE + 1e-9 else 1 if gap > 0 else -1
