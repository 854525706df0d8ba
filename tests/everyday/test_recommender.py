"""A recommender that shows one of the items at hand: from a file to the right answer in one call."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Ridge
from typer.testing import CliRunner

import kwis
from kwis.cli.main import app

ITEMS, AT_HAND, N = 40, 8, 2000


@pytest.fixture(scope="module")
def recommender(tmp_path_factory: Any) -> tuple[Path, float]:
    """A file whose logger is a softmax over the items at hand, and the true value of a policy that likes good
    items more.
    """
    rng = np.random.default_rng(4)
    quality, liking = rng.uniform(0.05, 0.5, ITEMS), rng.normal(size=ITEMS)
    x = rng.normal(size=N)
    sets = np.argsort(rng.random((N, ITEMS)), axis=1)[:, :AT_HAND]
    scores = 0.4 * liking[sets] * x[:, None]
    logged = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    better = np.exp(4 * quality[sets])
    better /= better.sum(axis=1, keepdims=True)
    place = (rng.random(N)[:, None] > logged.cumsum(axis=1)[:, :-1]).sum(axis=1)
    item = sets[np.arange(N), place]
    names = np.array([f"film {code:02}" for code in range(ITEMS)])
    frame = pd.DataFrame(
        {
            "mood": x,
            "action": names[item],
            "reward": (rng.random(N) < quality[item]).astype(int),
            "at_hand": [list(one) for one in names[sets]],
            "propensity": logged[np.arange(N), place],
            "better": [list(one) for one in better],
        }
    )
    path = tmp_path_factory.mktemp("recommender") / "log.parquet"
    frame.to_parquet(path)
    return path, float((better * quality[sets]).sum(axis=1).mean())


def test_a_file_with_candidate_sets_gives_the_right_answer(recommender: tuple[Path, float]) -> None:
    path, truth = recommender
    log = kwis.read_log(path, candidates="at_hand", context="mood")
    found = kwis.evaluate(log, "better", estimators=["wis", "direct-method"], reward_model=Ridge())
    estimate = found.recommendation().row.estimate
    assert abs(estimate.value - truth) < 3 * estimate.std_error  # one log: 95 % would miss one time in twenty
    assert estimate.std_error < 0.02
    assert not found.propensity.wrong


def test_the_command_gives_it_too(recommender: tuple[Path, float]) -> None:
    path, truth = recommender
    words = ["evaluate", str(path), "--candidates", "at_hand", "--context", "mood", "--target", "better"]
    outcome = CliRunner().invoke(app, [*words, "--estimator", "wis", "--json"])
    assert outcome.exit_code == 0, outcome.output
    rows = json.loads(outcome.stdout)["rows"]
    estimate = next(row for row in rows if row["target"] == "better")["estimate"]
    assert abs(estimate["value"] - truth) < 3 * estimate["std_error"]


def test_check_asks_for_candidates_and_finds_nothing_wrong_with_them(recommender: tuple[Path, float]) -> None:
    path, _ = recommender
    words = ["check", str(path), "--context", "mood"]
    without = CliRunner().invoke(app, words)
    told = " ".join(without.stdout.split())
    assert "some actions seem not to be available in some rows; name them with --candidates" in told
    assert "propensities are wrong" not in told
    named = json.loads(CliRunner().invoke(app, [*words, "--candidates", "at_hand", "--json"]).stdout)
    assert named["propensity"]["failures"] == []
    assert named["propensity"]["verdict"]["level"] == "trust"
