"""Change over time and between loggers."""

from __future__ import annotations

import math

import numpy as np
import pytest

from kwis.checks.drift import drift
from kwis.data.sample_log import sample_log
from tests.checks.logs import simulated


def test_a_log_without_time_or_loggers_has_no_drift():
    assert drift(simulated(300)) is None
    assert drift(simulated(150, time=np.arange(150))) is None
    assert drift(simulated(300, logger=np.array(["only"] * 300, dtype=object))) is None


def test_a_steady_log_has_periods_and_no_findings():
    found = drift(sample_log().read())
    assert found.by == "time"
    assert len(found.periods) == 4
    assert sum(period.n for period in found.periods) == 4000
    assert found.periods[0].label.startswith("2024-03-04 to ")
    assert found.findings == ()
    assert min(found.reward_p_value, found.action_p_value, found.context_p_value) > 0.01


def test_means_shares_and_errors_are_those_of_the_period():
    n = 400
    log = simulated(n, time=np.arange(n), row_weight=np.random.default_rng(1).uniform(0.5, 2, n))
    found = drift(log)
    for j, period in enumerate(found.periods):
        rows = slice(100 * j, 100 * (j + 1))
        mass, reward = log.row_weight[rows], log.reward[rows, 0]
        mean = np.average(reward, weights=mass)
        assert period.reward == pytest.approx(mean, rel=1e-12)
        assert period.std_error == pytest.approx(
            math.sqrt(((mass * (reward - mean)) ** 2).sum()) / mass.sum(), rel=1e-10
        )
        np.testing.assert_allclose(
            period.actions, np.bincount(log.action[rows], mass, minlength=3) / mass.sum(), rtol=1e-12
        )


def test_a_rise_of_the_reward_is_found_and_nothing_else():
    n = 2000
    reward = np.random.default_rng(0).normal(size=n) + 0.5 * (np.arange(n) >= 1500)
    found = drift(simulated(n, time=np.arange(n), reward=reward))
    assert found.reward_p_value < 1e-6
    (sentence,) = found.findings
    assert sentence.startswith("mean reward was ")
    assert sentence.endswith(" from 1500 to 1999")


def test_new_actions_and_new_contexts_are_found():
    log = simulated(2000, time=np.arange(2000))
    order = np.argsort(
        log["x"], kind="stable"
    )  # contexts change with time, and the logger's actions with them
    found = drift(simulated(2000, time=np.argsort(order)))
    assert any(
        "standard deviations higher" in sentence and "the mean of x" in sentence
        for sentence in found.findings
    )
    assert any("of the actions" in sentence for sentence in found.findings)
    assert found.context_p_value < 1e-6


def test_loggers_come_before_time():
    logger = np.resize(["a", "a", "b"], 900).astype(object)
    reward = np.random.default_rng(0).normal(size=900) + (logger == "b")
    found = drift(simulated(900, logger=logger, time=np.arange(900), reward=reward))
    assert found.by == "logger"
    assert [period.label for period in found.periods] == ["a", "b"]
    assert [period.n for period in found.periods] == [600, 300]
    assert found.findings[0].startswith("mean reward was ")
    assert " by logger a and " in found.findings[0]


@pytest.mark.parametrize("users", [None, 40, 200])
def test_steady_logs_raise_few_alarms(users):
    alarms = sum(
        bool(drift(simulated(400, seed, time=np.arange(400), users=users)).findings) for seed in range(60)
    )
    assert alarms <= 2


def test_few_groups_cannot_tell_change_from_chance():
    assert drift(simulated(400, time=np.arange(400), users=8)) is None
    logger = np.resize(["a", "b"], 400).astype(object)
    assert drift(simulated(400, logger=logger, users=8)) is None


def test_a_reward_that_only_the_logger_decides_has_changed_for_sure():
    logger = np.resize(["a", "b"], 400).astype(object)
    found = drift(simulated(400, logger=logger, reward=(logger == "b").astype(float)))
    assert found.reward_p_value == 0
    assert found.findings[0] == "mean reward was 0 by logger a and 1 by logger b"
    steady = drift(simulated(400, logger=logger, reward=np.full(400, 0.3)))
    assert math.isnan(steady.reward_p_value)
