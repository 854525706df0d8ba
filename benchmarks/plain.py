"""``python -m benchmarks.plain``: WIS with its interval and all diagnostics of a scanned folder, beside a
query that does nothing but WIS with a delta-method standard error; time, processor time and their ratios.

The log is that of :mod:`benchmarks.million` with right propensities. Both read the eight columns that weights
and rewards need; an evaluation also tests the propensities on some rows of all eighteen.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.million import ACTIONS, ROLES, generate

_SAME = 1e-9  # relative difference between both answers


def query(folder: str) -> tuple[float, float]:
    """Value and standard error of WIS, by DuckDB."""
    import duckdb

    sums = """
        SELECT count(*) AS n, sum(w) AS w, sum(w * reward) AS wr, sum(w * w) AS ww,
               sum(w * w * reward) AS wwr, sum(w * w * reward * reward) AS wwrr FROM rows
    """
    with duckdb.connect() as connection:
        n, w, wr, ww, wwr, wwrr = connection.execute(
            f"WITH rows AS (SELECT reward, {_taken('p_new')} / {_taken('propensity')} AS w "
            f"FROM '{folder}/*.parquet') {sums}"
        ).fetchone()
    value = wr / w
    squares = wwrr - 2 * value * wwr + value**2 * ww
    return value, math.sqrt(squares * n / (n - 1)) / w


def _taken(prefix: str) -> str:
    """Probability of the action taken, in SQL."""
    cases = " ".join(f"WHEN '{name}' THEN {prefix}_{name}" for name in ACTIONS)
    return f"CASE action {cases} END"


def evaluation(folder: str) -> tuple[float, float]:
    """The same by an evaluation."""
    import kwis

    found = kwis.evaluate(kwis.scan_log(folder, **ROLES), "p_new", estimators=["wis"])
    estimate = found.recommended["p_new"].row.estimate
    return estimate.value, estimate.std_error


def measure(folder: str, what: str) -> dict[str, object]:
    """Seconds, processor seconds and the answer of one side in a process of its own; imports do not count."""
    ways = {"query": query, "evaluation": evaluation}
    with tempfile.TemporaryDirectory() as place:  # imports and compiles
        generate(Path(place), 300_000, files=2, right=True)
        ways[what](place)
    clock, processor = time.perf_counter(), time.process_time()
    answer = ways[what](folder)
    return {
        "clock": time.perf_counter() - clock,
        "processor": time.process_time() - processor,
        "answer": answer,
    }


def _apart(folder: str, what: str) -> dict[str, object]:
    command = [
        sys.executable,
        "-W",
        "ignore",
        "-m",
        "benchmarks.plain",
        "--folder",
        folder,
        "--measure",
        what,
    ]
    found = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    return json.loads(found.splitlines()[-1])


def compare(folder: str, times: int) -> None:
    """Print medians of interleaved rounds."""
    rounds = [{what: _apart(folder, what) for what in ("query", "evaluation")} for _ in range(times)]
    first = rounds[0]
    if not np.allclose(first["query"]["answer"], first["evaluation"]["answer"], rtol=_SAME, atol=0):
        raise SystemExit(f"different answers: {first}")
    print("| | query | evaluation | times |\n| --- | --- | --- | --- |")
    for unit in ("clock", "processor"):
        least, most = (
            float(np.median([one[what][unit] for one in rounds])) for what in ("query", "evaluation")
        )
        print(f"| {unit} | {least:.2f} s | {most:.2f} s | {most / least:.1f} |")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.plain", description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", type=Path, help="where the log is kept, or already is")
    parser.add_argument("--measure", choices=("query", "evaluation"), help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.measure:
        print(json.dumps(measure(str(asked.folder), asked.measure)))
        return
    with tempfile.TemporaryDirectory() as place:
        folder = asked.folder or Path(place) / "log"
        if not folder.exists():
            generate(folder, asked.rows, right=True)
        compare(str(folder), asked.rounds)


if __name__ == "__main__":
    main()
