"""``python -m benchmarks.million``: write a Parquet folder of a million decisions with a known truth, and
time the scan of it.

Ten features, four actions, a softmax logger and a softmax target; the target's probability of the logged
action is a column. The truth is the target's expected reward over the contexts generated, written to
``_truth.json`` in the folder.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

FEATURES, ACTIONS = 10, 4
CHUNK = 62_500
_FIXED = 20_000
_SIZES = (62_500, 125_000, 250_000, 500_000, 1_000_000, 2_000_000, 4_000_000)
_LARGE = 500_000  # below, what grows with the rows is lost beside what does not


def generate(folder: Path, rows: int, files: int = 8, seed: int = 0) -> float:
    """Write the folder and return the truth."""
    import pyarrow as pa
    from pyarrow import parquet

    folder.mkdir(parents=True, exist_ok=True)
    directions = np.random.default_rng([seed, 1]).normal(size=(3, FEATURES, ACTIONS)) / np.sqrt(FEATURES)
    truth, done, edges = 0.0, 0, np.linspace(0, rows, files + 1).astype(int)
    for number, size in enumerate(np.diff(edges)):
        parts = []
        left = int(size)
        while left > 0:
            table, value = _chunk(min(CHUNK, left), directions, np.random.default_rng([seed, 2, done]))
            parts.append(table)
            truth, done, left = truth + value, done + table.num_rows, left - CHUNK
        whole = pa.concat_tables(parts) if parts else _chunk(0, directions, np.random.default_rng(0))[0]
        parquet.write_table(whole, folder / f"part-{number:03d}.parquet", row_group_size=CHUNK)
    (folder / "_truth.json").write_text(json.dumps({"rows": rows, "truth": truth / rows, "seed": seed}))
    return truth / rows


def _chunk(n: int, directions: np.ndarray, rng: np.random.Generator):
    """A table of n rows and the sum over them of the target's expected reward."""
    import pyarrow as pa

    context = rng.normal(size=(n, FEATURES))
    logger, target = (_softmax(0.8 * context @ directions[j]) for j in range(2))
    chance = 1 / (1 + np.exp(-(context @ directions[2] - 1)))
    action = (logger.cumsum(axis=1) < rng.uniform(size=(n, 1))).sum(axis=1).clip(max=ACTIONS - 1)
    every = np.arange(n)
    columns = {
        **{f"x{j}": context[:, j] for j in range(FEATURES)},
        "action": np.array([f"action {a}" for a in range(ACTIONS)], dtype=object)[action],
        "reward": (rng.uniform(size=n) < chance[every, action]).astype(np.float64),
        "propensity": logger[every, action],
        "p_new": target[every, action],
    }
    return pa.table(columns), float((target * chance).sum())


def _softmax(scores: np.ndarray) -> np.ndarray:
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def measure(folder: str, replicates: int, estimators: list[str] | None) -> dict[str, object]:
    """Seconds, peak memory and estimates of one scan; run in a process of its own."""
    begin = time.perf_counter()
    from benchmarks.memory import _megabytes
    from kwis.streaming import evaluate_scanned, scan_log

    answer = evaluate_scanned(scan_log(folder), "p_new", estimators=estimators, replicates=replicates)
    rows = {row.estimator: (row.estimate.value, row.interval.low, row.interval.high) for row in answer.rows}
    return {
        "seconds": time.perf_counter() - begin,
        "cpu": time.process_time(),
        "peak": _megabytes("VmHWM"),
        "rows": rows,
        "notes": answer.notes,
    }


def _apart(folder: Path, *options: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.million", "--measure", str(folder), *options]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


STREAMED = "vis,truncated-vis,wis,state-wis,normalised-state-wis"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.million", description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--out", type=Path, help="folder to write; with it nothing is timed")
    parser.add_argument("--files", type=int, default=8)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--replicates", type=int, default=200)
    parser.add_argument("--estimators", default=STREAMED, help="names separated by commas, or all")
    parser.add_argument("--measure", type=str, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure is not None:
        names = None if options.estimators == "all" else options.estimators.split(",")
        print(json.dumps(measure(options.measure, options.replicates, names)))
        return 0
    if options.out is not None:
        print(f"truth {generate(options.out, options.rows, options.files, options.seed):.6f}")
        return 0
    return _scaling(options)


def _scaling(options: argparse.Namespace) -> int:
    """Time and memory over the number of rows, and the exponent of the CPU time beyond what does not depend
    on them.

    What does not is that of 20,000 rows, the size of the subset that contexts and propensities are checked
    on.
    """
    extra = ("--replicates", str(options.replicates), "--estimators", options.estimators)
    sizes = [_FIXED, *(n for n in _SIZES if n <= options.rows)]
    cpu: list[float] = []
    with tempfile.TemporaryDirectory() as place:
        warm = Path(place) / "warm"
        generate(warm, 1000, 2)
        _apart(warm, *extra)  # compiles, once
        for n in sizes:
            folder = Path(place) / str(n)
            truth = generate(folder, n, options.files, options.seed)
            result = _apart(folder, *extra)
            cpu.append(result["cpu"])
            value, low, high = result["rows"]["wis"]
            times = f"{result['seconds']:6.2f} s, CPU {result['cpu']:6.2f} s, peak {result['peak']:4.0f} MB"
            print(
                f"n = {n:>9,}: {times}, truth {truth:.5f}, wis {value:.5f} ({low:.5f} to {high:.5f})",
                flush=True,
            )
    large = np.array(sizes) >= _LARGE
    if large.sum() > 1:
        beyond = np.log(np.array(cpu)[large] - cpu[0])
        slope = np.polyfit(np.log(np.array(sizes)[large] - _FIXED), beyond, 1)[0]
        print(
            f"exponent of the CPU time beyond that of {_FIXED:,} rows, from {_LARGE:,} rows on: {slope:.2f}"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
