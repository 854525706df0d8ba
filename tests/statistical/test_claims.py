"""Ten policies that are all worth the same: how often an answer says anything that is false."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

import kwis

CLAIM = re.compile(r"better than|worse than|is best|disagree")


def flat_log(seed: int, n: int = 2000, actions: int = 3, policies: int = 10):
    """Rewards that no action changes, and random policies: all are worth what the logging policy is."""
    rng = np.random.default_rng(seed)
    context = rng.normal(size=(n, 2))

    def shares(scale: float):
        scores = scale * context @ rng.normal(size=(2, actions)) + rng.normal(size=actions) / 2
        return np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)

    logger = shares(0.5)
    action = (logger.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1).clip(max=actions - 1)
    frame = {"a": context[:, 0], "b": context[:, 1], "action": action, "reward": 1.0 * (rng.random(n) < 0.3)}
    frame |= {f"p_{code}": logger[:, code] for code in range(actions)}
    log = kwis.read_log(frame, propensity="p", context=["a", "b"])
    return log, {f"policy {j}": shares(1.0) for j in range(policies)}


def false_claims(logs: int, names: list[str] | None, n: int = 2000) -> int:
    found = 0
    for seed in range(logs):
        log, targets = flat_log(seed, n)
        answer = kwis.evaluate(log, targets, estimators=names, repair="never")
        said = bool(CLAIM.search(str(answer)))
        assert said == (
            bool(CLAIM.search(" ".join(answer.ranking.words)))
            or any(r.disagreement for r in answer.recommendations)
        )
        found += said
    return found


@pytest.mark.slow
def test_over_ten_equal_policies_hardly_any_claim_is_printed():
    # By single intervals about six of sixteen logs have one.
    assert false_claims(16, ["wis"], n=500) <= 2


def test_with_one_target_the_claim_follows_its_own_interval():
    log, targets = flat_log(0, n=400, policies=1)
    found = kwis.evaluate(log, targets, estimators=["wis"], repair="never").recommendation()
    assert found.change.policies == 1
    assert found.change.claim is found.change.interval
    assert "together" not in repr(found)


@pytest.mark.slow
@pytest.mark.parametrize("names", [["wis"], ["wis", "truncated-vis"], None])
def test_over_many_logs_false_claims_stay_at_the_level(names):
    logs = 60 if names is None else 300
    chance = 1.65 * math.sqrt(logs * 0.07 * 0.93)  # of the simulation
    assert false_claims(logs, names) <= 0.07 * logs + chance
