"""Checks of logged propensities: what they find, and that they find nothing where nothing is wrong."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats

import kwis
from kwis.data.log import LoggedBandit
from kwis.data.read.read_log import read_log
from kwis.data.sample_log import sample_log
from kwis.errors import UnsupportedError
from kwis.models.propensity.check import fit_p_value, propensity_signs, refuse_deterministic
from kwis.models.propensity.estimate import estimate_propensities
from kwis.models.propensity.reliability import reliability
from kwis.models.propensity.support import support
from kwis.policy.target import resolve_target

N = 600


def made(seed: int = 0, n: int = N, **changes: Any) -> LoggedBandit:
    """A log with three actions and right propensities, but for the ``changes``."""
    rng = np.random.default_rng(seed)
    whole = rng.dirichlet((2, 2, 2), n) * 0.9 + 0.1 / 3
    action = (rng.random(n)[:, None] > whole.cumsum(axis=1)[:, :-1]).sum(axis=1)
    table = {
        "action": action,
        "reward": rng.random(n),
        "p": whole,
        "propensity": whole[np.arange(n), action],
        "x": rng.normal(size=n),
    }
    return read_log(
        {**table, **changes}, propensity="propensity" if "propensity" in changes else "p", context="x"
    )


def kinds(log: LoggedBandit) -> list[tuple[str, bool]]:
    return [(finding.kind, finding.serious) for finding in propensity_signs(log).findings]


def test_right_propensities_raise_no_alarm_more_often_than_they_may() -> None:
    values = [fit_p_value(made(seed, 400), made(seed, 400).behaviour) for seed in range(300)]
    assert stats.kstest(values, "uniform").pvalue > 1e-3
    alarms = sum(value < 0.01 for value in values)
    assert alarms <= 10  # 3 expected; more than 10 has probability below 0.001


def test_actions_that_contradict_their_propensities_are_found() -> None:
    log = made()
    tilted = log.behaviour * np.array([1.5, 1.0, 0.7])
    wrong = replace(log, behaviour=tilted / tilted.sum(axis=1, keepdims=True))
    assert ("misfit", True) in kinds(wrong)
    assert (
        propensity_signs(wrong).reliability.expected_calibration_error
        > 2 * propensity_signs(log).reliability.expected_calibration_error
    )


def test_groups_widen_the_test_of_fit() -> None:
    """Every decision copied nine times is no more evidence than once."""
    log = made(3)
    rows = np.repeat(np.arange(N), 9)
    copied = replace(log.take(rows), group=rows)
    once = replace(log, group=np.arange(N))
    assert fit_p_value(copied, copied.behaviour) == pytest.approx(fit_p_value(once, once.behaviour))


def test_a_placeholder_is_found() -> None:
    assert kinds(made(propensity=np.full(N, 0.5))) == [("constant", True)]
    sentence = propensity_signs(made(propensity=np.full(N, 0.5))).findings[0].sentence
    assert sentence == "every propensity is 0.5 although there are 3 actions, which looks like a placeholder"


def test_a_uniform_logger_is_only_noted_unless_its_actions_are_not_uniform() -> None:
    rng = np.random.default_rng(0)
    even = made(propensity=np.full(N, 1 / 3), action=rng.integers(3, size=N))
    assert kinds(even) == [("constant", False)]
    assert propensity_signs(even).fit_p_value > 0.01
    uneven = made(propensity=np.full(N, 1 / 3), action=rng.choice(3, N, p=(0.5, 0.3, 0.2)))
    assert kinds(uneven) == [("constant", False), ("misfit", True)]


@pytest.mark.parametrize(("digits", "serious"), [(1, True), (2, True), (3, False)])
def test_rounding_is_found(digits: int, serious: bool) -> None:
    values = np.clip(np.round(made().propensity, digits), 10.0**-digits, 1)
    values[0] = {1: 0.1, 2: 0.01, 3: 0.03}[digits]
    assert kinds(made(propensity=values)) == [("rounded", serious)]


def test_a_simple_policy_is_not_taken_for_rounding() -> None:
    greedy = np.where(np.arange(N) % 5 == 0, 0.05, 0.9)
    assert kinds(made(propensity=greedy)) == []


def test_a_split_in_percent_is_not_taken_for_rounding() -> None:
    rng = np.random.default_rng(0)
    share = np.array([0.12, 0.01, 0.11, 0.02, 0.1, 0.03, 0.09, 0.04, 0.08, 0.05, 0.07, 0.28])
    action = rng.choice(12, 600, p=share)
    log = read_log(
        {"action": action, "reward": np.ones(600), "x": rng.normal(size=600), "p": share[action]},
        propensity="p",
        context="x",
    )
    assert kinds(log) == []


@pytest.mark.parametrize(("actions", "written"), [(3, 0.33), (6, 0.167), (7, 0.14), (12, 0.0833)])
def test_a_uniform_logger_may_write_few_digits(actions: int, written: float) -> None:
    action = np.arange(600) % actions
    log = read_log(
        {"action": action, "reward": np.ones(600), "x": np.arange(600.0), "p": np.full(600, written)},
        propensity="p",
        context="x",
    )
    assert kinds(log) == [("constant", False)]


def test_a_uniform_logger_may_have_actions_that_chance_left_out() -> None:
    def uniform(seen: int) -> LoggedBandit:
        columns = {
            "action": np.arange(200) % seen,
            "reward": np.ones(200),
            "x": np.arange(200.0),
            "p": np.full(200, 0.02),
        }
        return read_log(columns, propensity="p", context="x")

    (found,) = propensity_signs(uniform(48)).findings
    assert found.sentence == (
        "every propensity is 0.02, one over 50 actions, of which 48 were taken: right if actions were "
        "drawn uniformly"
    )
    assert not found.serious
    assert kinds(uniform(30)) == [("constant", True)]


def test_rare_actions_that_nobody_happened_to_take_are_no_misfit() -> None:
    rng = np.random.default_rng(0)
    values = []
    for _ in range(200):
        chance = np.full((400, 4), 0.02)
        chance[np.arange(400), rng.integers(4, size=400)] = 0.94
        action = (rng.random(400)[:, None] > chance.cumsum(axis=1)[:, :-1]).sum(axis=1)
        columns = {"action": action, "reward": np.ones(400), "x": rng.normal(size=400), "b": chance}
        values.append(
            propensity_signs(read_log(columns, propensity="b", context="x", actions=range(4))).fit_p_value
        )
    assert np.mean(np.array(values) < 0.05) == pytest.approx(0.05, abs=0.045)


def test_certainty_in_some_rows_is_found() -> None:
    values = made().propensity.copy()
    values[:90] = 1.0
    check = propensity_signs(made(propensity=values))
    assert [(finding.kind, finding.serious) for finding in check.findings] == [("certain", True)]
    assert (
        check.findings[0].sentence
        == "the propensity is 1 in 15.0% of the rows, where nothing is known about other actions"
    )


def test_a_logger_with_propensity_one_everywhere_is_refused() -> None:
    log = made(propensity=np.ones(N))
    assert kinds(log) == [("deterministic", True)]
    with pytest.raises(
        UnsupportedError, match=r"^every logged propensity is 1: the logging policy left nothing to chance, "
    ):
        refuse_deterministic(log)


def test_a_logger_without_propensities_that_repeats_itself_is_refused() -> None:
    rng = np.random.default_rng(0)
    country, device = rng.choice(["DE", "FR", "US"], N), rng.choice(["phone", "desktop"], N)
    fixed = np.where(country == "DE", "a", np.where(device == "phone", "b", "c"))
    table = {"action": fixed, "reward": np.ones(N), "country": country, "device": device}
    with pytest.raises(UnsupportedError, match=r"^equal contexts always got the same action: "):
        refuse_deterministic(read_log(table))
    fixed[17] = "c" if fixed[17] != "c" else "a"
    refuse_deterministic(read_log(table))


def test_a_logger_that_the_context_foretells_is_refused_once_propensities_are_estimated() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=2_000)
    log = read_log({"action": (x > 0).astype(int), "reward": np.ones(2_000), "x": x})
    refuse_deterministic(log)
    estimated = estimate_propensities(log)
    with pytest.raises(UnsupportedError, match=r"^the context foretells nearly every action: "):
        refuse_deterministic(log, estimated)
    with pytest.raises(UnsupportedError, match=r"^the context foretells nearly every action: "):
        refuse_deterministic(estimated.attach(log), estimated)


def test_few_repeated_contexts_are_no_evidence() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=200)
    x[1] = x[0]
    action = rng.integers(3, size=200)
    action[1] = action[0]
    refuse_deterministic(read_log({"action": action, "reward": np.ones(200), "x": x}))


def test_a_randomised_log_is_not_refused() -> None:
    log = sample_log(1_000).read()
    refuse_deterministic(log)
    without = replace(log, propensity=None)
    refuse_deterministic(without, estimate_propensities(without))


def test_actions_that_nobody_took_are_named() -> None:
    log = sample_log(300).read(actions=["banner", "email", "push", "call"])
    found = propensity_signs(log).findings
    assert [(finding.kind, finding.sentence) for finding in found] == [("never_logged", "no row took 'call'")]


def test_reliability_by_hand() -> None:
    log = read_log(
        {"action": [0, 1] * 20, "reward": np.ones(40), "p": np.tile([[0.2, 0.8], [0.4, 0.6]], (20, 1))},
        propensity="p",
        context=[],
    )
    curve = reliability(log, bins=10)
    np.testing.assert_allclose(curve.predicted, [0.2, 0.4, 0.6, 0.8])
    np.testing.assert_allclose(curve.observed, [1, 0, 1, 0])
    np.testing.assert_array_equal(curve.count, [20, 20, 20, 20])
    np.testing.assert_allclose(curve.std_error, np.sqrt([0.16 / 20, 0.24 / 20, 0.24 / 20, 0.16 / 20]))
    assert curve.expected_calibration_error == pytest.approx((0.8 + 0.4 + 0.4 + 0.8) / 4)


def test_calibration_error_of_right_propensities_is_what_chance_gives() -> None:
    curves = [reliability(made(seed, 2_000)) for seed in range(30)]
    ratio = np.mean([curve.expected_calibration_error / curve.expected_by_chance for curve in curves])
    assert 0.85 < ratio < 1.15


def test_the_part_of_a_target_that_the_log_cannot_show_is_measured() -> None:
    whole = np.array([[0.5, 0.5, 0.0, 0.0], [0.3, 0.3, 0.4, 0.0]] * 20)
    log = read_log(
        {"action": [0, 0, 1, 2] * 10, "reward": np.ones(40), "p": whole},
        propensity="p",
        context=[],
        actions=[0, 1, 2, 3],
    )
    target = resolve_target(log, np.tile([0.1, 0.2, 0.3, 0.4], (40, 1)))
    result = support(log, target)
    assert result.never_logged == (3,)
    assert result.beyond == pytest.approx((0.7 + 0.4) / 2)
    assert result.rows == 40
    assert support(log, replace(target, distribution=None)).beyond is None


def test_the_old_name_gives_what_the_report_has_and_says_so() -> None:
    log = made(propensity=np.full(N, 0.5))
    with pytest.warns(DeprecationWarning, match=r"use kwis\.propensity_report\(log\)\.check"):
        old = kwis.check_propensities(log)
    new = kwis.propensity_report(log).check
    assert [finding.sentence for finding in old.findings] == [finding.sentence for finding in new.findings]
    assert "check_propensities" not in kwis.__all__
