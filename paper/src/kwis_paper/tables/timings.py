"""Times measured while the results were made."""

from __future__ import annotations

import math
from collections import Counter

from kwis_paper.results import Results, Timing
from kwis_paper.tables.record import Entry, Line, Table, number, text, whole


def timing_table(results: Results) -> Table:
    """Seconds by dataset and stage, and in all."""
    stages = list(dict.fromkeys(timing.stage for timing in results.timings))
    datasets = list(dict.fromkeys(timing.dataset for timing in results.timings))
    cells = Counter(facts.dataset for facts in results.cells.values())
    lines = [
        _line(name, cells[name], [timing for timing in results.timings if timing.dataset == name], stages)
        for name in datasets
    ]
    if results.timings:
        lines.append(_line("all", cells.total(), list(results.timings), stages))
    threads = max((timing.threads for timing in results.timings), default=0)
    return Table(
        key="timings",
        title="Times measured",
        caption=f"Seconds of wall-clock time spent by stage, with up to {threads} threads; bandwidths are "
        f"shared ones unless said "
        "otherwise. The paper reports up to 24 hours for a larger dataset on a ten-core laptop.",
        columns=("Dataset", "Cells", *(f"{stage} (s)" for stage in stages), "Minutes"),
        lines=tuple(lines),
        notes=() if results.timings else ("No times are recorded in these results.",),
    )


def _line(name: str, cells: int, timings: list[Timing], stages: list[str]) -> Line:
    spent = {
        stage: math.fsum(timing.seconds for timing in timings if timing.stage == stage) for stage in stages
    }
    entries: tuple[Entry, ...] = (
        text(name),
        whole(cells),
        *(number(spent[stage], 1) for stage in stages),
        number(math.fsum(spent.values()) / 60, 2),
    )
    return Line(entries=entries, dataset="" if name == "all" else name)
