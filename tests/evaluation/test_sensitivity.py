"""Extremes of WIS over boxes of weights, against trying every corner."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import kwis
from kwis.evaluation.sensitivity import Box


def corners(logged, propensity, reward, mass, gamma):
    """Smallest and largest ``sum w r / sum w`` over all corners of the box."""
    odds = 1 / propensity - 1
    ends = np.stack([logged * (1 + odds / gamma), logged * (1 + odds * gamma)])
    values = []
    for corner in itertools.product((0, 1), repeat=reward.size):
        weight = mass * ends[corner, np.arange(reward.size)]
        values.append((weight * reward).sum() / weight.sum())
    return min(values), max(values)


@pytest.mark.parametrize("gamma", [1.0, 1.1, 2.0, 30.0])
@pytest.mark.parametrize("seed", range(4))
def test_the_range_is_that_of_all_corners(gamma, seed):
    rng = np.random.default_rng(seed)
    n = 9
    logged, propensity, mass = rng.random(n), rng.uniform(0.05, 1, n), rng.uniform(0.5, 2, n)
    logged[rng.random(n) < 0.2] = 0.0
    reward = rng.normal(size=n).round(1 if seed else 0)  # with ties too
    expected = corners(logged, propensity, reward, mass, gamma)
    assert Box.of(logged, propensity, reward, mass).range(gamma) == pytest.approx(
        expected, rel=1e-12, abs=1e-12
    )


def test_gamma_one_is_wis_and_ranges_grow(log, evaluation):
    for found in kwis.sensitivity(log, ["p_new", "p_bold"]):
        wis = next(
            row
            for row in evaluation.rows
            if (row.target, row.estimator, row.reward) == (found.target, "wis", found.reward)
        )
        assert found.value == pytest.approx(wis.estimate.value, rel=1e-12)
        assert found.lows[0] == pytest.approx(found.value)
        assert found.highs[0] == pytest.approx(found.value)
        assert (np.diff(found.lows) < 0).all()
        assert (np.diff(found.highs) > 0).all()
        assert list(found.gammas) == [1, 1.1, 1.5, 2]


def test_the_decision_flips_where_the_range_reaches_the_logging_policy(log):
    (found, _) = kwis.sensitivity(log, "p_bold")
    assert found.value > found.baseline
    (at, _) = kwis.sensitivity(log, "p_bold", gamma=[found.flip])
    assert at.lows[0] == pytest.approx(found.baseline, abs=1e-8)
    assert f"a factor of {found.flip:.4g} could turn that, by the estimate alone" in found.words
    assert "better than the logging policy" in found.words
    assert "odds wrong by up to 1.5: " in repr(found)


def test_a_decision_no_error_can_turn():
    # Where propensities are 1 there are no odds to be wrong.
    box = Box.of(np.ones(3), np.ones(3), np.array([1.0, 2.0, 3.0]), np.ones(3))
    assert box.flip(2.0, 1.5) == math.inf
    assert box.flip(2.0, 2.0) == 1.0


def test_bad_gammas_get_one_sentence(log):
    for gamma in ([0.5], [], [math.inf]):
        with pytest.raises(kwis.InputError, match="`gamma` must be finite numbers of at least 1"):
            kwis.sensitivity(log, "p_new", gamma=gamma)


@pytest.mark.parametrize("repair", ["auto", "never"])
def test_the_value_in_doubt_is_the_one_that_evaluate_gave(repair):
    log = kwis.sample_log(2000).read()
    found = kwis.evaluate(log, "p_new", estimators=["wis"], repair=repair)
    assert bool(found.repair and found.repair.estimates) == (repair == "auto")
    values = {row.reward: row.estimate.value for row in found.rows if row.target == "p_new"}
    for doubted in kwis.sensitivity(log, "p_new", repair=repair):
        assert doubted.value == pytest.approx(values[doubted.reward], rel=1e-12)


def test_an_unknown_way_to_repair_is_refused(log):
    with pytest.raises(kwis.InputError, match="`repair` must be"):
        kwis.sensitivity(log, "p_new", repair="maybe")


def test_a_file_or_frame_will_do_and_less_of_a_cost_is_better():
    rng = np.random.default_rng(5)
    action = rng.integers(0, 2, 300)
    table = {
        "x": rng.normal(size=300),
        "action": action,
        "propensity": np.full(300, 0.5),
        "cost": 2.0 - action,
    }
    said = {"reward": "cost", "context": "x", "repair": "never"}
    cheaper = kwis.sensitivity(table, kwis.always(1), lower_is_better=True, **said).of()
    assert cheaper.words.startswith("always 1 is estimated better than the logging policy on cost (1 against")
    plainly = kwis.sensitivity(table, kwis.always(1), **said).of()
    assert plainly.words.startswith("always 1 is estimated worse")
    assert (plainly.flip, *plainly.lows) == (cheaper.flip, *cheaper.lows)
    dearer = kwis.sensitivity(table, kwis.always(0), lower_is_better=["cost"], **said).of()
    assert dearer.words.startswith("always 0 is estimated worse")
    with pytest.raises(TypeError, match=r"unexpected keyword argument 'contxt'"):
        kwis.sensitivity(table, kwis.always(1), contxt="x")


def test_several_loggers_are_weighted_as_the_answer_weights_them():
    rng = np.random.default_rng(3)
    system = rng.integers(0, 2, 400)
    chance = np.array([[0.9, 0.05, 0.05], [0.1, 0.2, 0.7]])
    action = (rng.random(400)[:, None] > chance[system].cumsum(axis=1)[:, :-1]).sum(axis=1)
    table = {
        "action": action,
        "reward": rng.normal(0.5 * action, 1),
        "system": system,
        "p_0": chance[0][action],
        "p_1": chance[1][action],
        "target": np.array([0.05, 0.15, 0.8])[action],
    }
    log = kwis.read_log(table, propensity="p", logger="system", context=[])
    wis = kwis.evaluate(log, "target", estimators=["wis"], repair="never").rows[-1].estimate.value
    assert kwis.sensitivity(log, "target", repair="never").of("target", "reward").value == pytest.approx(wis)
