"""Tables of the pipelines, all against the expected truth."""

from __future__ import annotations

from kwis_paper.beyond.checks import Goal, goals
from kwis_paper.beyond.choice_tables import bandwidth_table, interval_table, regret_table
from kwis_paper.beyond.columns import PIPELINES
from kwis_paper.beyond.error_tables import ablation_table, degree_table, error_table, scenario_table
from kwis_paper.beyond.kernel_study import kernel_table
from kwis_paper.beyond.naming import table_of
from kwis_paper.results import Results
from kwis_paper.tables.record import MISSING, Line, Table, text


def further_tables(results: Results) -> list[Table]:
    """All tables, in the order of the page; none where no pipeline was run."""
    return all_tables(results) if any(name in results.outcomes for name in PIPELINES) else []


def all_tables(results: Results) -> list[Table]:
    """All tables, in the order of the page."""
    return [
        goal_table(results),
        error_table(results),
        ablation_table(results),
        scenario_table(results),
        degree_table(results),
        interval_table(results),
        regret_table(results),
        bandwidth_table(results),
        kernel_table(results),
    ]


def goal_table(results: Results) -> Table:
    """What was aimed for, and whether it was reached."""
    words = {True: "yes", False: "no", None: MISSING}

    def line(goal: Goal) -> Line:
        return Line(entries=(text(goal.number), text(goal.name), text(words[goal.met]), text(goal.figures)))

    return table_of(
        "goals",
        "Goals",
        "Every statement with its figures.",
        ("", "Statement", "Reached", "Figures"),
        map(line, goals(results)),
    )
