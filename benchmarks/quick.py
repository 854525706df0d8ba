"""What people wait for, in a few minutes: ``make bench-quick`` evaluates logs of :mod:`benchmarks.everyday`
by default and prints a row for each, as far as the time allows.
"""

from __future__ import annotations

import time
from pathlib import Path

from benchmarks.everyday import Case

_SECONDS = 270.0  # after which no other log is begun
_CASES = (
    Case(rows=4_000),
    Case(rows=20_000),
    Case(rows=20_000, segments=1_000),
    Case(rows=20_000, targets=10),
    Case(rows=100_000),
    Case(rows=4_000, columns=300),
    Case(rows=20_000, targets=50),
)


def main() -> None:
    Case(rows=700).evaluated(Case(rows=700).log(Path()))  # compiles, or reads what was compiled
    began = time.perf_counter()
    print("| log | clock | processor |\n| --- | --- | --- |")
    for case in _CASES:
        if time.perf_counter() - began > _SECONDS:
            print(f"| {case} | not run | not run |")
            continue
        log, clock, processor = case.log(Path()), time.perf_counter(), time.process_time()
        case.evaluated(log)
        clock, processor = time.perf_counter() - clock, time.process_time() - processor
        print(f"| {case} | {clock:.1f} s | {processor:.1f} s |", flush=True)


if __name__ == "__main__":
    main()
