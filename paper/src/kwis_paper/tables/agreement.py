"""The statements about agreement as a table."""

from __future__ import annotations

from kwis_paper.agreement import checks
from kwis_paper.counting import Check
from kwis_paper.results import Results
from kwis_paper.tables.record import Line, Table, number, text, whole


def agreement_table(results: Results) -> Table:
    """How many rows agree, of how many, and what was aimed for."""
    return Table(
        key="agreement",
        title="Agreement with the published numbers",
        caption="Every published table, no row of it twice: rows of ours that agree with the published ones, "
        "against the published truth. Errors are compared at the printed precision; arrhythmia, whose rows "
        "differ, takes part in the counts only. A published row into which no experiment of ours falls does "
        "not agree. Shares without a goal are shown whatever they are.",
        columns=("Statement", "Agree", "Of", "Share", "Goal", "Reached", "Without results"),
        lines=tuple(_line(check) for check in checks(results)),
    )


def _line(check: Check) -> Line:
    met = {True: "yes", False: "no", None: "–"}[check.met]
    entries = (
        text(check.name),
        whole(check.agreeing),
        whole(check.of),
        number(check.share),
        number(check.goal, 2),
        text(met),
        whole(check.missing),
    )
    return Line(entries=entries)
