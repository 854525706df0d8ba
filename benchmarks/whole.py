"""Time by part and peak memory of one whole evaluation with its report: ``python -m benchmarks.whole
[rows]``.
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import kwis

FEATURES, ACTIONS = 10, 4


def log_of(n: int) -> kwis.LoggedBandit:
    """A log with 10 numeric features, 4 actions and propensities that are slightly too small."""
    rng = np.random.default_rng(0)
    context = rng.normal(size=(n, FEATURES))
    slopes = 0.4 * rng.normal(size=(FEATURES, ACTIONS))
    behaviour, target = (
        _policy(context @ slopes),
        _policy(context @ (slopes + 0.3 * rng.normal(size=slopes.shape))),
    )
    action = (rng.random(n)[:, None] > behaviour.cumsum(axis=1)[:, :-1]).sum(axis=1)
    rate = 1 / (1 + np.exp(1 - 0.5 * context[:, 0] - 0.4 * (action == 1) * context[:, 1]))
    table = {f"x{j}": context[:, j] for j in range(FEATURES)}
    table |= {
        "action": action,
        "reward": (rng.random(n) < rate).astype(float),
        "propensity": behaviour[np.arange(n), action] ** 1.1,
    }
    table |= {f"new_{k}": target[:, k] for k in range(ACTIONS)}
    return kwis.read_log(table, propensity="propensity", context=[f"x{j}" for j in range(FEATURES)])


def _policy(logits: np.ndarray) -> np.ndarray:
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    return 0.9 * powers / powers.sum(axis=1, keepdims=True) + 0.1 / ACTIONS


def main(n: int) -> None:
    kwis.evaluate(log_of(700), "new", interval=kwis.InfluenceInterval())  # compiles
    began = [(time.perf_counter(), time.process_time(), "reading")]

    def told(what: str) -> None:
        now = (time.perf_counter(), time.process_time())
        print(
            f"{began[-1][2]:32} {now[0] - began[-1][0]:7.1f} s, {now[1] - began[-1][1]:7.1f} s of processor",
            flush=True,
        )
        began.append((*now, what))

    log = log_of(n)
    told("starting")
    evaluation = kwis.evaluate(log, "new", progress=lambda _, __, what: "," in what or told(what))
    with tempfile.TemporaryDirectory() as folder:
        evaluation.to_html(Path(folder) / "report.html")
    told("end")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(
        f"{n:,} rows: {began[-1][0] - began[0][0]:.1f} s, {began[-1][1] - began[0][1]:.1f} s of processor, "
        f"{peak:.2f} GB at most"
    )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)
