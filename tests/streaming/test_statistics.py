"""Poisson intervals cover as often as they say, and an accumulator stays small."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from kwis.errors import UnsupportedError
from kwis.large.runner import Threads
from kwis.streaming import scan_log
from kwis.streaming.evaluate import planned
from kwis.streaming.sides import percentiles
from kwis.streaming.source import Batch
from kwis.streaming.totals import Totals

RUNS, N, LEVEL = 300, 400, 0.9


def simulated(seed: int, n: int = N) -> tuple[Any, float]:
    """Two actions, right propensities; the truth is the expected reward of a target that takes action 1 with
    chance 0.7.
    """
    rng = np.random.default_rng([seed, n])
    x = rng.normal(size=n)
    chance = 1 / (1 + np.exp(-x))
    action = (rng.uniform(size=n) < chance).astype(int)
    reward = rng.normal(x * action + 0.5 * action, 0.5)
    logged = np.where(action == 1, chance, 1 - chance)
    columns = {
        "x": x,
        "action": action,
        "reward": reward,
        "propensity": logged,
        "p_new": np.where(action == 1, 0.7, 0.3),
    }
    return pa.table(columns), 0.7 * 0.5


def accumulated(data: Any, seed: int, replicates: int = 100) -> tuple[Any, Any]:
    log = scan_log(data, context=["x"])
    plan = planned(log, Threads(), "p_new", replicates=replicates, seed=seed, states=False)[0]
    return plan, plan.accumulated([Batch(table=data, identity="", place="", start=0, offset=0)])


def test_poisson_intervals_cover_as_often_as_they_say() -> None:
    covered = {"vis": 0, "wis": 0}
    for seed in range(RUNS):
        data, truth = simulated(seed)
        plan, found = accumulated(data, seed)
        totals = Totals(plan.layout, found.sums.finished(), found.rows)
        for name, made in (("vis", totals.vis(0, 0)), ("wis", totals.wis(0, 0))):
            low, high = percentiles(made.resampled, LEVEL)
            covered[name] += low <= truth <= high
            assert np.std(made.resampled, ddof=1) == pytest.approx(
                totals.std_error(made.coefficients), rel=0.5
            )
    room = 3 * np.sqrt(LEVEL * (1 - LEVEL) / RUNS)
    for name, count in covered.items():
        assert abs(count / RUNS - LEVEL) < room, name


def test_percentiles_hold_their_level_for_few_resamples() -> None:
    draws = np.random.default_rng(0).normal(size=(10_000, 60))
    ends = np.array([percentiles(row[:-1], 0.9) for row in draws])
    inside = ((ends[:, 0] <= draws[:, -1]) & (draws[:, -1] <= ends[:, 1])).mean()
    assert inside == pytest.approx(0.9, abs=4 * np.sqrt(0.09 / 10_000))


def test_an_accumulator_does_not_grow_with_the_rows() -> None:
    sizes = []
    for n in (20_000, 80_000):
        _, found = accumulated(simulated(1, n)[0], 0, replicates=10)
        found.subset = None
        sizes.append(len(pickle.dumps(found)))
    assert sizes[1] < 2.3 * sizes[0]  # the largest weights and those above the cap grow as the square root


def test_without_pyarrow_there_is_a_sentence_on_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    batches = [simulated(0, 40)[0]]
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(
        UnsupportedError,
        match=r"^scanning a log needs pyarrow to be installed: pip install 'kwis\[stream\]'$",
    ):
        scan_log(batches)
