"""How far the paper is reproduced, and how what it leaves open was settled: Markdown from results."""

from __future__ import annotations

from kwis_paper.agreement import OTHER_READING, best_and_weakest, checks
from kwis_paper.catalogue import PAPER
from kwis_paper.results import Results
from kwis_paper.tables import Table, all_tables
from kwis_paper.tables.writers import as_markdown

_PARTS = (
    ("Agreement, table by table", "agreement"),
    ("IW and SNIW policies", "setups"),
    ("Datasets", "datasets"),
    ("Overall errors", "overall-published"),
    ("Percentiles of the predictions", "percentiles"),
    ("Oracle behaviour policies", "oracle-published"),
    ("Non-oracle behaviour policies", "non-oracle-published"),
    ("Continuous rewards, as printed", "continuous-published"),
    ("Continuous rewards, the other reading", f"continuous-published-{OTHER_READING}"),
    ("Continuous rewards, reading by reading", "continuous-readings"),
    ("Shared and per-feature bandwidths", "bandwidths-published"),
    ("Learnt logging policies, oracle", "learnt-oracle-published"),
    ("Learnt logging policies, non-oracle", "learnt-non-oracle-published"),
    ("Coverage", "coverage-fit"),
    ("Coverage, oracle", "oracle-coverage-published-fixed-percentile"),
    ("Coverage, non-oracle", "non-oracle-coverage-published-fixed-percentile"),
    ("Assumptions of the theorem", "assumptions"),
    ("Claims made in prose", "claims"),
    ("Times measured", "timings"),
)


def as_page(results: Results) -> str:
    """The page as Markdown."""
    tables = {table.key: table for table in all_tables(results)}
    parts = [f"## {title}\n\n{_folded(tables[key])}" for title, key in _PARTS if key in tables]
    return "\n\n".join(["# The paper, reproduced", *_lead(results), *parts]) + "\n"


def _lead(results: Results) -> list[str]:
    ends = best_and_weakest(checks(results))
    origin = results.provenance
    made = f"Made by `{origin.command}`, kwis {origin.version}, from {len(results.cells):,} experiments."
    said = [f"The paper is {PAPER}."]
    if ends is not None:
        best, weakest = ends
        said.append(
            f"The table that agrees best: {best.name}, {best.agreeing} of {best.of}. The weakest: "
            f"{weakest.name}, {weakest.agreeing} of {weakest.of}."
        )
    return [" ".join(said), made]


def _folded(table: Table) -> str:
    return as_markdown(table).replace("## ", "### ", 1).rstrip()
