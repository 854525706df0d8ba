"""Every table of the paper, and ours, from results: records first, then CSV, Markdown and LaTeX."""

from __future__ import annotations

from dataclasses import replace

from kwis_paper.agreement import OTHER_READING
from kwis_paper.catalogue import SPECS
from kwis_paper.results import TRUTHS, Results
from kwis_paper.summaries import COVERAGE_TABLES, notes_of
from kwis_paper.tables.agreement import agreement_table
from kwis_paper.tables.assumptions import assumption_table
from kwis_paper.tables.bandwidths import bandwidth_table
from kwis_paper.tables.buckets import bucket_table
from kwis_paper.tables.claims import claim_table
from kwis_paper.tables.coverage import coverage_tables
from kwis_paper.tables.coverage_fit import coverage_fit_table
from kwis_paper.tables.datasets import dataset_table
from kwis_paper.tables.overall import headline_table, overall_table, percentile_table
from kwis_paper.tables.readings import reading_table
from kwis_paper.tables.record import Entry, Line, Table
from kwis_paper.tables.setups import setup_table
from kwis_paper.tables.timings import timing_table
from kwis_paper.tables.writers import WRITERS, as_csv, as_latex, as_markdown, write_all

__all__ = [
    "WRITERS",
    "Entry",
    "Line",
    "Table",
    "all_tables",
    "as_csv",
    "as_latex",
    "as_markdown",
    "write_all",
]


def all_tables(results: Results) -> list[Table]:
    """All tables, in the paper's order, each under both truths where a truth enters; ours follow."""
    bucket = {setting: [bucket_table(results, setting, truth) for truth in TRUTHS] for setting in _BUCKETS}
    coverage = {
        name: [table for truth in TRUTHS for table in coverage_tables(results, name, truth)]
        for name in COVERAGE_TABLES
    }
    made = [
        dataset_table(results),
        *(overall_table(results, truth) for truth in TRUTHS),
        percentile_table(results),
        *bucket["oracle"],
        *coverage["oracle"],
        *bucket["non-oracle"],
        *coverage["non-oracle"],
        *bucket["continuous"],
        *_other_reading(results),
        *(bandwidth_table(results, truth) for truth in TRUTHS),
        assumption_table(results),
        *bucket["learnt-oracle"],
        *bucket["learnt-non-oracle"],
        headline_table(results),
        setup_table(results),
        coverage_fit_table(results),
        claim_table(results),
        agreement_table(results),
        timing_table(results),
    ]
    return (
        [_without_notes(table, left_unsaid) for table in made] if (left_unsaid := _unsaid(results)) else made
    )


def _unsaid(results: Results) -> tuple[str, ...]:
    """Notes on datasets that were not run."""
    ran = {facts.dataset for facts in results.cells.values()}
    return tuple(note for name in SPECS if name not in ran for note in notes_of([name]))


def _without_notes(table: Table, unsaid: tuple[str, ...]) -> Table:
    return replace(table, notes=tuple(note for note in table.notes if note not in unsaid))


def _other_reading(results: Results) -> list[Table]:
    """The table of continuous rewards by the other reading, and what speaks for which, where there are
    results of it.
    """
    other = results.others.get(OTHER_READING)
    if other is None:
        return []
    # Rows of single actions are the same under both readings, and stand in the first.
    shown = [bucket_table(other, "continuous", truth, OTHER_READING, ("optdigitsDist",)) for truth in TRUTHS]
    weighed = reading_table(results)
    return [*shown, *([weighed] if weighed is not None else [])]


_BUCKETS = ("oracle", "non-oracle", "continuous", "learnt-oracle", "learnt-non-oracle")
