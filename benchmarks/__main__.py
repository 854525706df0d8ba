"""``make bench``: run the benchmarks and print one line for each."""

from __future__ import annotations

import argparse
import os
import platform
import sys
import time

import numpy as np
import scipy

from benchmarks import bootstrap, evaluation, lattice, memory, selection
from benchmarks.harness import Settings, header, show


def statsmodels_selection(settings: Settings):
    from benchmarks.statsmodels import statsmodels_selection as run  # the only line that needs statsmodels

    return run(settings)


BENCHMARKS = (
    evaluation.shared_evaluation,
    evaluation.per_feature_evaluation,
    selection.shared_selection,
    selection.many_selections,
    selection.per_feature_selection_small,
    selection.per_feature_selection_large,
    lattice.lattice_shared_selection,
    lattice.lattice_per_feature_evaluation,
    bootstrap.bootstrap_kernel_wis,
    memory.memory_shared,
    memory.memory_per_feature,
    bootstrap.scipy_bootstrap_wis,
    bootstrap.scipy_bootstrap_kernel_wis,
    statsmodels_selection,
)
NAMES = {function.__name__.replace("_", "-"): function for function in BENCHMARKS}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "--only",
        action="append",
        choices=NAMES,
        metavar="NAME",
        help="run this one; may be repeated. " + ", ".join(NAMES),
    )
    parser.add_argument(
        "--quick", action="store_true", help="small sizes, to try the harness; floors and goals do not apply"
    )
    parser.add_argument(
        "--pairs", type=int, help="interleaved rounds for every line (default 5; 3 for statsmodels)"
    )
    options = parser.parse_args()
    settings = Settings(quick=options.quick, pairs=options.pairs)
    versions = f"Python {platform.python_version()}, numpy {np.__version__}, scipy {scipy.__version__}"
    print(f"{platform.machine()}, {os.cpu_count()} cores, {versions}")
    print(
        "Medians of interleaved rounds; ratio: how many times faster than the yardstick (plain numpy/scipy), "
        "median over the rounds."
    )
    print(
        "Every time is measured, none extrapolated. A yardstick that takes many minutes is stopped past the "
        "floor or the goal.\n"
    )
    print(header(), flush=True)
    failed = []
    for name in options.only or NAMES:
        begin = time.perf_counter()
        for line in NAMES[name](settings):
            print(show(line), flush=True)
            if not line.ok:
                failed.append(line.name)
        print(f"    {name}: {time.perf_counter() - begin:.0f} s in all", flush=True)
    if failed:
        print("\nBelow the floor or wrong:", *failed, sep="\n  ")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
