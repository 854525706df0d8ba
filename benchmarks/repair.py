"""Time by part of a default evaluation that repairs wrong propensities: ``python -m benchmarks.repair
[rows]``.

16 features, 26 actions, the whole distribution of the logger given, but tempered and without what it bends
with the features, so that the repair needs all its terms; one target with a known distribution, so that every
estimator takes part. The goal is 30 seconds for 20,000 rows on two cores.
"""

from __future__ import annotations

import sys
import time

import numpy as np

import kwis

FEATURES, ACTIONS = 16, 26
GOAL_ROWS, GOAL_SECONDS = 20_000, 30.0


def log_of(n: int) -> kwis.LoggedBandit:
    """A log whose propensities the logged actions contradict."""
    rng = np.random.default_rng(0)
    context = rng.normal(size=(n, FEATURES))
    slopes, bends = 0.4 * rng.normal(size=(2, FEATURES, ACTIONS))
    truth, given = _policy(context @ slopes + np.abs(context) @ bends), _policy(0.7 * context @ slopes)
    target = _policy(context @ (slopes + 0.2 * rng.normal(size=slopes.shape)))
    action = (rng.random(n)[:, None] > truth.cumsum(axis=1)[:, :-1]).sum(axis=1)
    rate = 1 / (1 + np.exp(1 - 0.5 * context[:, 0] - 0.4 * (action % 3 == 1) * context[:, 1]))
    table = {
        "x": context,
        "action": action,
        "reward": (rng.random(n) < rate).astype(float),
        "propensity": given,
        "new": target,
    }
    return kwis.read_log(table, context="x", propensity="propensity", actions=range(ACTIONS))


def _policy(logits: np.ndarray) -> np.ndarray:
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    return 0.9 * powers / powers.sum(axis=1, keepdims=True) + 0.1 / ACTIONS


def main(n: int) -> int:
    kwis.evaluate(log_of(700), "new")  # compiles
    log = log_of(n)
    began = [(time.perf_counter(), time.process_time(), "starting")]

    def told(what: str) -> None:
        now = (time.perf_counter(), time.process_time())
        print(
            f"{began[-1][2]:32} {now[0] - began[-1][0]:7.1f} s, {now[1] - began[-1][1]:7.1f} s of processor",
            flush=True,
        )
        began.append((*now, what))

    evaluation = kwis.evaluate(log, "new", progress=lambda _, __, what: "," in what or told(what))
    seconds, processor = (began[-1][part] - began[0][part] for part in (0, 1))
    assert evaluation.repair is not None
    assert not evaluation.repair.kept, "the benchmark is about logs that need repair"
    print(f"{n:,} rows: {seconds:.1f} s, {processor:.1f} s of processor; {evaluation.repair.note}")
    missed = n == GOAL_ROWS and seconds >= GOAL_SECONDS
    print(
        f"goal of {GOAL_SECONDS:.0f} s for {GOAL_ROWS:,} rows: "
        f"{'missed' if missed else 'met' if n == GOAL_ROWS else 'another size'}"
    )
    return int(missed)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else GOAL_ROWS))
