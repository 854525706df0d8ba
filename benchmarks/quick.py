"""What people wait for, in a few minutes: ``make bench-quick`` evaluates logs of :mod:`benchmarks.everyday`
by default and prints a row for each, as far as the time allows, beside what one would do without kwis.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks import instead
from benchmarks.everyday import SCANNED, Case

_SECONDS = 240.0  # after which no other log is begun
_CASES = (
    Case(rows=4_000),
    Case(rows=20_000),
    Case(rows=20_000, segments=1_000),
    Case(rows=20_000, targets=10),
    Case(rows=20_000, targets=50),
    Case(rows=4_000, columns=300),
    Case(rows=100_000),
    Case(rows=SCANNED),
)


def seconds(work: Callable[[], Any]) -> tuple[str, str]:
    """Clock and processor time of something, in words."""
    clock, processor = time.perf_counter(), time.process_time()
    work()
    return f"{time.perf_counter() - clock:.1f} s", f"{time.process_time() - processor:.1f} s"


def row(case: Case, folder: Path) -> list[str]:
    """A line of the table."""
    log = case.log(folder)
    own = seconds(lambda: case.evaluated(log))
    if case.rows >= SCANNED:
        return [str(case), *own, *("not run",) * 2, seconds(lambda: instead.by_query(folder))[0]]
    table = case.table()
    hand = seconds(lambda: instead.by_hand(case, table))[0]
    library = (
        seconds(lambda: instead.by_open_bandit_pipeline(case, table))[0]
        if instead.has_open_bandit_pipeline()
        else "not installed"
    )
    return [str(case), *own, hand, library, "not run"]


def main() -> None:
    with tempfile.TemporaryDirectory() as place:
        for small in (Case(rows=700), Case(rows=700, targets=3), Case(rows=2_100, columns=300)):
            small.evaluated(small.log(Path(place)))  # compiles, or reads what was compiled
        instead.by_hand(Case(rows=700), Case(rows=700).table())  # imports
        began = time.perf_counter()
        head = ["log", "clock", "processor", "by hand", "Open Bandit Pipeline", "query"]
        print(f"| {' | '.join(head)} |\n|{' --- |' * len(head)}")
        for case in _CASES:
            late = time.perf_counter() - began > _SECONDS
            cells = [str(case), *("not run",) * 5] if late else row(case, Path(place) / "log")
            print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
