"""Kernel-WIS past memory and past one machine, measured: ``python -m benchmarks.large``.

Every part runs in processes of its own. Compilation and the start of a cluster are left out of all times;
peak memory is that of each process, Python and compiled code included.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path

import numpy as np

from benchmarks.memory import _megabytes
from benchmarks.million import FEATURES, generate

BANDWIDTH = 1.5
CONTEXT = [f"x{j}" for j in range(FEATURES)]
ASKED = {"target": "p_new", "context": CONTEXT, "bandwidth": BANDWIDTH}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.large", description=__doc__)
    parser.add_argument(
        "--quick", action="store_true", help="small sizes, to try the benchmark; limits do not apply"
    )
    parser.add_argument("--only", choices=PARTS, action="append", help="parts to run; all unless given")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure is not None:
        asked = json.loads(options.measure)
        print(json.dumps(MEASURES[asked.pop("what")](**asked)))
        return 0
    with tempfile.TemporaryDirectory() as folder:
        results = [PARTS[name](Path(folder), options.quick, options.rounds) for name in options.only or PARTS]
    return 0 if all(results) else 1


def apart(what: str, **asked: object) -> dict[str, object]:
    command = [
        sys.executable,
        "-W",
        "ignore",
        "-m",
        "benchmarks.large",
        "--measure",
        json.dumps({"what": what, **asked}),
    ]
    return json.loads(
        subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()[-1]
    )


def log_of(folder: Path, rows: int) -> str:
    path = folder / f"log-{rows}"
    if not path.exists():
        generate(path, rows)
    return str(path)


def in_memory(log: str, rounds: int, small: str) -> dict[str, object]:
    """The plain engine: one form of the estimate with its standard error, all rows in memory, two threads."""
    import pyarrow.parquet as parquet

    import kwis

    def sample(path: str) -> kwis.WeightedSample:
        table = parquet.read_table(path)
        context = kwis.standardise(np.column_stack([table[name].to_numpy() for name in CONTEXT]))[0]
        weight = table["p_new"].to_numpy() / table["propensity"].to_numpy()
        return kwis.WeightedSample(context=context, weight=weight, reward=table["reward"].to_numpy())

    estimator = kwis.KernelWIS(BANDWIDTH, normalised=True)
    estimator.estimate(sample(small))
    whole, seconds = sample(log), []
    for _ in range(rounds):
        begin = time.perf_counter()
        found = estimator.estimate(whole)
        seconds.append(time.perf_counter() - begin)
    return {
        "seconds": seconds,
        "value": found.value,
        "std_error": found.std_error,
        "peak": [_megabytes("VmHWM")],
    }


def in_blocks(log: str, rounds: int, small: str, exact: bool = True) -> dict[str, object]:
    """Blocks on the threads of one process: both forms of the estimate, files read anew."""
    from kwis.large import kernel_wis

    kernel_wis(small, **ASKED, exact=exact, neighbours=200 if not exact else None)
    seconds = []
    for _ in range(rounds):
        begin = time.perf_counter()
        found = kernel_wis(log, **ASKED, exact=exact)
        seconds.append(time.perf_counter() - begin)
    return {**_figures(found), "seconds": seconds, "peak": [_megabytes("VmHWM")]}


def on_cluster(log: str, rounds: int, small: str, workers: int) -> dict[str, object]:
    """The same on a LocalCluster of processes with one thread each."""
    from distributed import Client, LocalCluster

    from kwis.large import kernel_wis

    options = {
        "n_workers": workers,
        "threads_per_worker": 1,
        "dashboard_address": ":0",
        "memory_limit": "2GB",
        "silence_logs": 50,
    }
    seconds = []
    with LocalCluster(**options) as cluster, Client(cluster) as client:
        for _ in range(3):  # every worker compiles and imports
            kernel_wis(small, **ASKED, block_rows=256, client=client)
        for _ in range(rounds):
            begin = time.perf_counter()
            found = kernel_wis(log, **ASKED, client=client)
            seconds.append(time.perf_counter() - begin)
        peaks = list(client.run(_megabytes, "VmHWM").values())
    return {**_figures(found), "seconds": seconds, "peak": [*peaks, _megabytes("VmHWM")]}


def whole(log: str) -> dict[str, object]:
    """What a user waits for: approximate Kernel-WIS with its bandwidth selected, nothing compiled before but
    what is in the cache.
    """
    from kwis.large import kernel_wis

    begin = time.perf_counter()
    found = kernel_wis(log, target="p_new", context=CONTEXT)
    return {
        **_figures(found),
        "seconds": [time.perf_counter() - begin],
        "peak": [_megabytes("VmHWM")],
        "notes": found.notes,
    }


def _figures(found: object) -> dict[str, object]:
    return {"value": found.normalised.value, "std_error": found.normalised.std_error}


MEASURES = {"in memory": in_memory, "blocks": in_blocks, "cluster": on_cluster, "whole": whole}


def exact_part(folder: Path, quick: bool, rounds: int) -> bool:
    """In memory, in blocks and on 1, 2 and 4 workers: the same value, below 1 GB, Dask less than 30 % above
    the plain engine.
    """
    rows = 8_000 if quick else 100_000
    log, small = log_of(folder, rows), log_of(folder, 2_000)
    runs = {"in memory": apart("in memory", log=log, rounds=rounds, small=small)}
    runs["blocks"] = apart("blocks", log=log, rounds=rounds, small=small)
    for workers in (1, 2, 4):
        runs[f"{workers} workers"] = apart("cluster", log=log, rounds=rounds, small=small, workers=workers)
    base = runs["in memory"]
    print(f"exact Kernel-WIS, {rows:,} rows, {FEATURES} features")
    for name, run in runs.items():
        off = max(abs(run[key] / base[key] - 1) for key in ("value", "std_error"))
        ratio = min(run["seconds"]) / min(base["seconds"])
        print(
            f"  {name:10} {min(run['seconds']):8.2f} s  {ratio:5.2f} of in memory  off by {off:.0e}  peak "
            f"{max(run['peak']):.0f} MB"
        )
    same = all(abs(run["value"] / base["value"] - 1) < 1e-10 for run in runs.values())
    quick_enough = quick or min(runs["2 workers"]["seconds"]) < 1.3 * min(base["seconds"])
    return same and quick_enough and all(max(run["peak"]) < 1000 for run in runs.values())


def growth_part(folder: Path, quick: bool, rounds: int) -> bool:
    """Exponents of time in the number of rows: 2 for blocks, 1.5 for the approximation."""
    sizes = {True: (12_500, 25_000, 50_000, 100_000), False: (62_500, 125_000, 250_000, 500_000)}
    for exact, name in ((True, "blocks"), (False, "approximate")):
        seconds = []
        for rows in (size // 10 if quick else size for size in sizes[exact]):
            run = apart(
                "blocks",
                log=log_of(folder, rows),
                rounds=max(1, rounds - 1),
                small=log_of(folder, 2_000),
                exact=exact,
            )
            seconds.append(min(run["seconds"]))
            print(
                f"  {name:12} {rows:9,} rows {seconds[-1]:8.2f} s  peak {max(run['peak']):.0f} MB", flush=True
            )
        steps = [math.log2(b / a) for a, b in pairwise(seconds)]
        print(f"  {name:12} exponents of the doublings: {', '.join(f'{step:.2f}' for step in steps)}")
    return True


def million_part(folder: Path, quick: bool, _: int) -> bool:
    """A million rows, bandwidth selected: below five minutes and 1 GB."""
    rows = 50_000 if quick else 1_000_000
    run = apart("whole", log=log_of(folder, rows))
    print(
        f"Kernel-WIS with its bandwidth selected, {rows:,} rows: {run['seconds'][0]:.1f} s, peak "
        f"{run['peak'][0]:.0f} MB"
    )
    for note in run["notes"]:
        print(f"  {note}")
    return quick or (run["seconds"][0] < 300 and run["peak"][0] < 1000)


PARTS = {"exact": exact_part, "growth": growth_part, "million": million_part}


if __name__ == "__main__":
    sys.exit(main())
