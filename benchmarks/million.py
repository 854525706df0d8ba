"""``python -m benchmarks.million``: a folder of a million decisions (``--rows`` for more) with a known truth,
evaluated by default, with its report; time, peak memory and whether the interval has the truth.

Ten features, three actions, a softmax logger and a softmax target, both with a column per action. Where the
first feature is above 1, the logged propensities are wrong: closer to each other than those that were used.
``--scheduler-workers 2`` evaluates on a Dask cluster of its own too, kills one of its workers and compares.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

FEATURES, ACTIONS = 10, ("a", "b", "c")
CHUNK = 125_000
ROLES: dict[str, Any] = {"propensity": "propensity", "context": [f"x{j}" for j in range(FEATURES)]}


def generate(folder: Path, rows: int, files: int = 8, *, right: bool = False) -> float:
    """Write the folder and return the truth; ``right`` if the propensities are to be right everywhere."""
    from pyarrow import parquet

    folder.mkdir(parents=True, exist_ok=True)
    directions = np.random.default_rng(1).normal(size=(3, FEATURES, len(ACTIONS))) / np.sqrt(FEATURES)
    truth, done = 0.0, 0
    for number, size in enumerate(np.diff(np.linspace(0, rows, files + 1).astype(int))):
        writer, left = None, int(size)
        while left > 0:
            rng = np.random.default_rng([2, done])
            table, value = _chunk(min(CHUNK, left), directions, rng, right)
            writer = writer or parquet.ParquetWriter(folder / f"part-{number:03d}.parquet", table.schema)
            writer.write_table(table)
            truth, done, left = truth + value, done + table.num_rows, left - table.num_rows
        if writer is not None:
            writer.close()
    (folder / "_truth.json").write_text(json.dumps({"rows": rows, "truth": truth / rows}))
    return truth / rows


def _chunk(n: int, directions: np.ndarray, rng: np.random.Generator, right: bool):
    """A table of n rows and the sum over them of the target's expected reward."""
    import pyarrow as pa

    context = rng.normal(size=(n, FEATURES))
    logger, target = (_softmax(0.8 * context @ directions[j]) for j in range(2))
    chance = 1 / (1 + np.exp(-(context @ directions[2] - 1)))
    action = (logger.cumsum(axis=1) < rng.uniform(size=(n, 1))).sum(axis=1).clip(max=len(ACTIONS) - 1)
    said, wrong = logger.copy(), (context[:, 0] > 1) & (not right)
    said[wrong] = _softmax(0.24 * context[wrong] @ directions[0])
    columns = {
        **{f"x{j}": context[:, j] for j in range(FEATURES)},
        "action": np.array(ACTIONS, dtype=object)[action],
        "reward": (rng.uniform(size=n) < chance[np.arange(n), action]).astype(np.float64),
        **{f"propensity_{name}": said[:, k] for k, name in enumerate(ACTIONS)},
        **{f"p_new_{name}": target[:, k] for k, name in enumerate(ACTIONS)},
    }
    return pa.table(columns), float((target * chance).sum())


def _softmax(scores: np.ndarray) -> np.ndarray:
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def measure(folder: str, workers: int, kill: bool) -> dict[str, object]:
    """Seconds, peak memory and the answer of one evaluation with its report; run in a process of its own."""
    from benchmarks.memory import _megabytes

    begin = time.perf_counter()
    if workers:
        from distributed import Client, LocalCluster

        with (
            LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=":0") as cluster,
            Client(cluster) as client,
        ):
            answer = _evaluated(folder, client, kill)
    else:
        answer = _evaluated(folder)
    with tempfile.TemporaryDirectory() as place:
        answer.to_html(Path(place) / "report.html")
    best = answer.recommended["p_new"].row
    return {
        "seconds": time.perf_counter() - begin,
        "cpu": time.process_time(),
        "peak": _megabytes("VmHWM"),
        "own": _megabytes("RssAnon"),
        "estimator": best.estimator,
        "value": best.estimate.value,
        "low": best.interval.low,
        "high": best.interval.high,
        "interval": best.interval.method,
        "estimators": len({row.estimator for row in answer.rows}),
        "repaired": answer.repair is not None and not answer.repair.kept,
        "numbers": [[row.estimate.value, row.interval.low, row.interval.high] for row in answer.rows],
    }


def _evaluated(folder: str, client: Any = None, kill: bool = False) -> Any:
    import kwis

    victims = [] if client is None or not kill else list(client.run(os.getpid).values())[:1]

    def progress(done: int, total: int, what: str) -> None:
        if victims and what == "reading the log" and 2 * done > total:
            threading.Thread(target=os.kill, args=(victims.pop(), signal.SIGKILL)).start()

    log = kwis.scan_log(folder, **ROLES)
    return kwis.evaluate(log, "p_new", client=client, progress=progress)


def _apart(folder: Path, *options: str) -> dict[str, Any]:
    command = [sys.executable, "-W", "ignore", "-m", "benchmarks.million", "--measure", str(folder), *options]
    found = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    return json.loads(found.splitlines()[-1])


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.million", description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--files", type=int, default=8)
    parser.add_argument("--out", type=Path, help="folder to write; with it nothing is timed")
    parser.add_argument("--scheduler-workers", type=int, default=0)
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    parser.add_argument("--kill", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure is not None:
        print(json.dumps(measure(options.measure, options.scheduler_workers, options.kill)))
        return 0
    if options.out is not None:
        print(f"truth {generate(options.out, options.rows, options.files):.6f}")
        return 0
    with tempfile.TemporaryDirectory() as place:
        truth = generate(Path(place), options.rows, options.files)
        here = _apart(Path(place))
        print(
            f"{options.rows:,} rows: {here['seconds']:.0f} s, CPU {here['cpu']:.0f} s, peak "
            f"{here['peak']:.0f} MB; {here['estimators']} estimators, repaired: {here['repaired']}\n"
            f"truth {truth:.5f}, {here['estimator']} {here['value']:.5f} "
            f"({here['low']:.5f} to {here['high']:.5f}, {here['interval']})"
        )
        if options.scheduler_workers:
            there = _apart(Path(place), "--scheduler-workers", str(options.scheduler_workers), "--kill")
            gap = np.abs(np.array(there["numbers"]) - np.array(here["numbers"])).max()
            print(
                f"on {options.scheduler_workers} workers, one killed: {there['seconds']:.0f} s, gap {gap:g}"
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
