"""Peak memory of one evaluation on a large log, in a process of its own."""

from __future__ import annotations

import contextlib
import subprocess
import sys

from benchmarks.harness import Check, Line, Settings

ALLOWED = 150.0  # MB


def memory_shared(settings: Settings) -> list[Line]:
    return [_line(settings, "shared")]


def memory_per_feature(settings: Settings) -> list[Line]:
    return [_line(settings, "per-feature")]


def _line(settings: Settings, kind: str) -> Line:
    n = settings.size(100_000, 5_000)
    answer = subprocess.run(
        [sys.executable, "-m", "benchmarks.memory", str(n), kind], check=True, capture_output=True, text=True
    )
    used, seconds, score = (float(word) for word in answer.stdout.split())
    return Line(
        name=f"peak memory, {kind} evaluation, n={n:,}, d=10",
        ours=used,
        theirs=ALLOWED,
        ratio=ALLOWED / max(used, 1e-3),
        rounds=1,
        unit="MB",
        against="the 150 MB allowed",
        floor=None if settings.quick else 1,
        check=Check("score above that of an infinite bandwidth", score, 0.0),
        notes=[
            (
                f"over the process before the call, numba loaded and compiled by a small call first; "
                f"{seconds:.1f} s"
            )
        ],
    )


def _measure(n: int, kind: str) -> None:
    import time

    import numpy as np

    import kwis
    from benchmarks import data

    bandwidth = 1.0 if kind == "shared" else np.linspace(0.8, 1.5, 10)
    for rows in (2_000, n):
        log = data.numeric(rows, 10)
        before, begin = _megabytes("VmRSS"), time.perf_counter()
        _forget_peak()
        score, _ = kwis.cv_score(log.context, log.weight, bandwidth, log.folds)
        seconds = time.perf_counter() - begin
        peak = _megabytes("VmHWM")
    baseline = np.mean([np.var(log.weight[log.folds == fold]) for fold in range(5)])
    print(peak - before, seconds, score / baseline - 1)


def _megabytes(field: str) -> float:
    """Resident memory now (``VmRSS``) or at its peak (``VmHWM``), as Linux counts it."""
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) / 1024 for line in status if line.startswith(field))


def _forget_peak() -> None:
    """Start the peak anew; where that is not allowed the peak of the whole process counts, which is no
    smaller.
    """
    with contextlib.suppress(OSError), open("/proc/self/clear_refs", "w") as file:
        file.write("5")


if __name__ == "__main__":
    _measure(int(sys.argv[1]), sys.argv[2])
