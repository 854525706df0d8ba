"""Covariate balance before and after weighting."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import kwis
from kwis.checks.balance import balance, balances
from tests.checks.logs import simulated, tilted
from tests.reference import diagnostics as twin


def test_differences_equal_their_slow_twin():
    log = simulated(300, row_weight=np.random.default_rng(0).uniform(0.5, 2.0, 300))
    weight = tilted(log)[np.arange(300), log.action] / log.propensity
    found = balance(log, weight)
    mass = log.row_weight.tolist()
    assert found.features == ("x", "colour = blue", "colour = green", "colour = red")
    columns = [log["x"], *((log["colour"] == colour) * 1.0 for colour in ("blue", "green", "red"))]
    for j, values in enumerate(columns):
        raw, balanced = [], []
        for action in range(3):
            rows = (log.action == action).tolist()
            raw.append(abs(twin.standardised_difference(values.tolist(), [1.0] * 300, rows, mass)))
            balanced.append(
                abs(twin.standardised_difference(values.tolist(), (1 / log.propensity).tolist(), rows, mass))
            )
        assert found.before[j] == pytest.approx(max(raw), rel=1e-10)
        assert found.after[j] == pytest.approx(max(balanced), rel=1e-10)
        overall = abs(twin.standardised_difference(values.tolist(), weight.tolist(), [True] * 300, mass))
        assert found.weighted[j] == pytest.approx(overall, rel=1e-9, abs=1e-12)


def test_balances_of_several_targets_are_those_of_each():
    log = simulated(300, row_weight=np.random.default_rng(0).uniform(0.5, 2.0, 300))
    weights = [np.random.default_rng(seed).exponential(size=300) for seed in range(3)]
    for found, weight in zip(balances(log, weights), weights, strict=True):
        alone = balance(log, weight)
        assert (found.features, found.effective_n) == (alone.features, alone.effective_n)
        for name in ("before", "after", "weighted"):
            assert getattr(found, name).tobytes() == getattr(alone, name).tobytes()
    assert balances(log, []) == []


def test_right_propensities_balance_and_wrong_ones_do_not():
    right = balance(simulated(5000))
    assert right.before[0] > 0.4
    assert right.after.max() < 4 / np.sqrt(right.effective_n)
    assert right.weighted is None
    wrong = balance(simulated(5000, misreport=lambda true, x, colour: np.full_like(true, 1 / 3)))
    np.testing.assert_allclose(wrong.after, wrong.before, rtol=1e-12)


def test_yes_or_no_is_one_feature_and_constants_are_none():
    rng = np.random.default_rng(0)
    table = {
        "member": rng.random(200) < 0.3,
        "action": rng.integers(2, size=200),
        "reward": rng.random(200),
        "p": np.full(200, 0.5),
    }
    found = balance(kwis.read_log(table, propensity="p", context="member"))
    assert found.features == ("member = yes",)
    bare = balance(kwis.read_log(table, propensity="p", context=[]))
    assert bare.features == ()


def test_rare_actions_are_not_judged():
    log = simulated(300)
    few = replace(log, action=np.where(np.arange(300) < 10, 2, np.minimum(log.action, 1)))
    assert balance(few).before.max() < 2
    assert balance(log.take(np.arange(20))).effective_n == 0


def test_propensities_are_needed():
    with pytest.raises(kwis.InputError, match="`log` must have propensities for a balance after weighting"):
        balance(replace(simulated(100), propensity=None))
