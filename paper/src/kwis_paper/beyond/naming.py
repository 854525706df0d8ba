"""What the tables of the pipelines have in common: how pipelines are called, and an empty table
that says so.
"""

from __future__ import annotations

from collections.abc import Iterable

from kwis_paper.beyond.columns import RECOMMENDED
from kwis_paper.summaries import notes_of
from kwis_paper.tables.record import Line, Table

NAMES = {  # the columns of the table of errors, in their order
    "logged-mean": "Logged mean",
    "wis": "WIS",
    "kernel-wis": "Kernel-WIS",
    "normalised-kernel-wis": "Normalised",
    "direct-method": "Direct",
    "doubly-robust": "DR",
    "doubly-robust-wis": "DR WIS",
    "doubly-robust-normalised-kernel-wis": "DR normalised",
    "repaired-wis": "Repaired WIS",
    "repaired-kernel-wis": "Repaired Kernel-WIS",
    "repaired-normalised-kernel-wis": "Repaired normalised",
    "repaired-doubly-robust": "Repaired DR",
    "repaired-doubly-robust-wis": "Repaired DR WIS",
    "repaired-doubly-robust-normalised-kernel-wis": "Repaired DR normalised",
    "oracle-wis": "Oracle WIS",
    "oracle-doubly-robust-wis": "Oracle DR WIS",
    RECOMMENDED: "Recommended",
}
_ELSEWHERE = {"vis": "VIS", "repaired-vis": "Repaired VIS"}
NO_RESULTS = "There are no results of these pipelines yet."


def called(pipeline: str) -> str:
    """What a pipeline is called in words."""
    return (NAMES | _ELSEWHERE).get(pipeline, pipeline)


def table_of(
    key: str,
    title: str,
    caption: str,
    columns: tuple[str, ...],
    lines: Iterable[Line],
    groups: tuple[str, ...] = (),
) -> Table:
    """A table with what must be said of its datasets, or that it has no results."""
    made = tuple(lines)
    datasets = [line.dataset for line in made]
    notes = notes_of(datasets) if made else (NO_RESULTS,)
    return Table(
        key=f"beyond-{key}",
        title=title,
        caption=caption,
        columns=columns,
        lines=made,
        groups=groups,
        notes=notes,
    )
