"""Evaluations from several threads at once, as in a web service: ``python -m benchmarks.load`` prints the
latency, the memory, and whether any answer differs from one made alone.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from benchmarks.everyday import Case

LOGS = 4  # different ones, taken in turn
_GROWTH = 0.05  # share of the memory after the first quarter by which later quarters may differ


def resident() -> float:
    """Memory of this process now, in megabytes; peaks are of no use for growth."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / 1e6


def figures(evaluation: object) -> list[float]:
    """Every value and end of an interval in an answer."""
    rows = evaluation.rows  # type: ignore[attr-defined]
    return [number for row in rows for number in (row.estimate.value, row.interval.low, row.interval.high)]


def load(evaluations: int, threads: int, rows: int) -> tuple[Sequence[float], Sequence[float], int]:
    """Seconds of each evaluation, memory after each, and how many answers were wrong."""
    case = Case(rows=rows)
    logs = [case.log_of(case.table(seed=seed)) for seed in range(LOGS)]
    alone = [figures(case.evaluated(log)) for log in logs]
    memory: list[float] = []

    def one(number: int) -> tuple[float, bool]:
        began = time.perf_counter()
        found = figures(case.evaluated(logs[number % LOGS]))
        memory.append(resident())
        return time.perf_counter() - began, np.array_equal(found, alone[number % LOGS], equal_nan=True)

    with ThreadPoolExecutor(threads) as pool:
        done = list(pool.map(one, range(evaluations)))
    return [seconds for seconds, _ in done], memory, sum(not right for _, right in done)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.load", description=__doc__)
    for name, usual in (("evaluations", 200), ("threads", 8), ("rows", 1_000)):
        parser.add_argument(f"--{name}", type=int, default=usual)
    asked = parser.parse_args()
    began = time.process_time()
    seconds, memory, wrong = load(asked.evaluations, asked.threads, asked.rows)
    middle, late, worst = np.percentile(seconds, [50, 95, 100])
    quarter = max(1, len(memory) // 4)
    first, last = (float(np.median(part)) for part in (memory[:quarter], memory[-quarter:]))
    print(
        f"{asked.evaluations} evaluations of {asked.rows:,} rows from {asked.threads} threads: {wrong} wrong"
    )
    print(f"latency: median {middle:.2f} s, 95 % below {late:.2f} s, at most {worst:.2f} s")
    print(f"processor: {(time.process_time() - began) / asked.evaluations:.2f} s each")
    print(
        f"memory: {first:.0f} MB in the first quarter, {last:.0f} MB in the last, at most {max(memory):.0f}"
    )
    if wrong or last > first * (1 + _GROWTH):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
