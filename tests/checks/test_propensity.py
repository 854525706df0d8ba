"""Are the propensities right? Where they are not it says where, and right ones are called wrong 5 % of the
time.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom

import kwis
from kwis.checks.diagnostics import target_diagnostics
from kwis.checks.propensity import MOST_TESTS, propensity_report
from kwis.data.sample_log import sample_log
from kwis.models.propensity.estimate import estimate_propensities
from kwis.policy.target import resolve_target, resolve_targets
from kwis.results import Verdict
from tests.checks.logs import simulated, softmax, tilted


def reported(log, **targets):
    return propensity_report(log, resolve_targets(log, targets or {"tilted": tilted(log)}))


def in_red(factor):
    """Logs propensities in which, for red rows, the odds of the last action are off by a factor."""

    def misreport(true, x, colour):
        said = true.copy()
        said[colour == 2, 2] *= factor
        return said / said.sum(axis=1, keepdims=True)

    return misreport


def test_the_sample_log_is_wrong_in_brazil_and_nowhere_else():
    log = sample_log().read()
    report = propensity_report(log, resolve_targets(log, ["p_new", "p_bold"]))
    assert report.wrong
    assert report.regions == ("country = BR",)
    assert report.p_value < 1e-9
    assert report.verdict.level == "with care"
    (reason,) = report.verdict.reasons
    assert reason.startswith("propensities are wrong; country = BR: 'push' was taken 1.5")
    assert reason.endswith("rows")


@pytest.mark.parametrize("seed", range(3))
def test_brazil_is_named_whatever_the_seed_and_the_target(seed):
    log = sample_log(2000, rng=seed).read()
    for target in ("p_new", "p_bold"):
        assert propensity_report(log, resolve_targets(log, target)).regions[0] == "country = BR"
    assert propensity_report(log).regions[0] == "country = BR"


def test_right_propensities_of_the_sample_log_pass():
    log = sample_log(right_propensities=True).read()
    report = propensity_report(log, resolve_targets(log, ["p_new", "p_bold"]))
    assert not report.wrong
    assert (report.verdict.level, report.verdict.reasons, report.failures) == ("trust", (), ())


@pytest.mark.parametrize("known", ["logged", "whole"])
def test_a_wrong_colour_is_named(known):
    report = reported(simulated(3000, known=known, misreport=in_red(0.4)))
    assert report.regions == ("colour = red",)
    assert report.failures[0].p_value < 1e-4


@pytest.mark.parametrize("known", ["logged", "whole"])
def test_a_wrong_range_of_numbers_is_named(known):
    def misreport(true, x, colour):
        said = np.where((x > 0.6)[:, None], true ** np.array([1, 2.5, 1]), true)
        return said / said.sum(axis=1, keepdims=True)

    report = reported(simulated(3000, known=known, misreport=misreport))
    assert report.failures[0].column == "x"
    low, high = report.failures[0].region.removeprefix("x from ").split(" to ")
    assert 0.5 < float(low) < float(high)


def test_wrong_everywhere_is_called_that():
    report = reported(simulated(3000, misreport=lambda true, x, colour: np.full_like(true, 1 / 3)))
    assert report.wrong
    shrunk = reported(simulated(3000, misreport=lambda true, x, colour: 0.7 * true))
    assert shrunk.regions == ("everywhere",)
    assert shrunk.failures[0].mean == pytest.approx(1 / 0.7, rel=0.05)
    assert shrunk.verdict.level == "do not trust"


def test_two_wrong_places_are_both_found():
    def misreport(true, x, colour):
        said = true.copy()
        said[colour == 2, 2] *= 0.3
        said[(colour == 0) & (x > 0.7), 1] *= 0.15
        return said / said.sum(axis=1, keepdims=True)

    report = reported(simulated(6000, misreport=misreport))
    assert report.regions[0] == "colour = red"
    assert len(report.regions) > 1
    rest = [region.removeprefix("the rest of ") for region in report.regions[1:]]
    assert all(region.startswith("x from") or region == "colour = blue" for region in rest)
    assert rest != list(
        report.regions[1:]
    )  # what is left of a place without the red rows is not the place itself


def test_extreme_and_timid_distributions_are_recognised():
    def power(exponent):
        def misreport(true, x, colour):
            said = true**exponent
            return said / said.sum(axis=1, keepdims=True)

        return misreport

    for exponent, word in ((1.8, "extreme"), (0.5, "timid")):
        report = reported(simulated(3000, known="whole", misreport=power(exponent)))
        test = next(test for test in report.tests if test.kind == "confidence")
        assert test.p_value < 0.01
        assert f"propensities are too {word}" in test.words
        assert (test.mean < 1) == (exponent > 1)


def test_a_wrong_logger_or_period_is_named():
    n = 3000
    logger = np.repeat(["old", "new"], n // 2).astype(object)

    def misreport(true, x, colour):
        return np.where((np.arange(n) < n // 2)[:, None], true, true[:, ::-1])

    assert reported(simulated(n, misreport=misreport, logger=logger)).regions[0] == "logger = new"
    by_time = reported(simulated(n, misreport=misreport, time=np.arange(n))).failures[0]
    assert by_time.column == "time"


def test_an_action_that_is_not_always_on_offer_is_no_fault():
    rng = np.random.default_rng(0)
    n = 3000
    x = rng.normal(size=n)
    offered = np.stack([np.ones(n), np.ones(n), x > 0.5], axis=1)
    true = offered / offered.sum(axis=1, keepdims=True)
    action = (rng.random(n)[:, None] > true.cumsum(axis=1)[:, :-1]).sum(axis=1)
    table = {"x": x, "action": action, "reward": rng.random(n), "p": true[np.arange(n), action]}
    log = kwis.read_log(table, propensity="p", context="x")
    assert not reported(log, same_choice=true**2 / (true**2).sum(axis=1, keepdims=True)).wrong
    report = reported(log, beyond=np.full((n, 3), 1 / 3))
    assert report.failures[0].kind == "weight"
    assert report.failures[0].mean < 1


def test_the_interval_of_a_mean_is_the_usual_one():
    log = simulated(2000)
    weight = tilted(log)[np.arange(2000), log.action] / log.propensity
    test = reported(log).tests[0]
    error = weight.std(ddof=1) / np.sqrt(2000)
    assert (test.region, test.kind, test.n) == ("everywhere", "weight", 2000)
    assert (test.mean, test.low, test.high) == pytest.approx(
        (weight.mean(), weight.mean() - 1.96 * error, weight.mean() + 1.96 * error), abs=1e-5
    )


def test_huge_weights_stay_finite():
    log = simulated(500, sharpness=1.0)
    spiked = replace(log, propensity=np.where(np.arange(500) < 3, 1e-200, log.propensity))
    report = reported(spiked)
    assert all(
        np.isfinite([test.mean, test.low, test.high, test.z, test.p_value]).all() for test in report.tests
    )


def test_few_rows_are_not_tested():
    report = reported(simulated(200).take(np.arange(20)))
    assert (report.p_value, report.tests) == (1.0, ())
    assert report.verdict == Verdict(
        level="with care", reasons=("propensities could not be tested (20 rows)",)
    )
    assert report.notes == (
        "propensities could not be tested: too few rows or groups, or nothing was left to chance",
    )


def test_few_groups_are_not_tested_and_not_trusted_either():
    log = simulated(1000, users=6, misreport=lambda true, x, colour: 1 - true)
    target = resolve_target(log, tilted(log), "new")
    report = propensity_report(log, [target])
    assert report.verdict.reasons == ("propensities could not be tested (6 groups)",)
    found = target_diagnostics(log, target, report).verdict
    assert found.level == "do not trust"
    assert found.reasons[0].startswith("only 5 effective groups of 6, fewer than 50")


def test_wide_logs_are_tested_within_bounds_and_say_what_is_left_out():
    rng = np.random.default_rng(0)
    n = 400
    table = {f"f{j}": rng.normal(size=n) for j in range(200)}
    table |= {"action": rng.integers(2, size=n), "reward": rng.random(n), "p": np.full(n, 0.5)}
    log = kwis.read_log(table, propensity="p", context=[f"f{j}" for j in range(200)])
    report = reported(log, one=np.tile([0.7, 0.3], (n, 1)))
    assert len(report.tests) == MOST_TESTS
    assert report.notes == (
        "propensities were not tested by `f67`, `f68`, `f69`, `f70`, `f71`, ..., as 400 tests are enough",
    )


def test_signs_that_are_no_matter_of_chance_lower_the_verdict():
    constant = replace(simulated(500), propensity=np.full(500, 0.9))
    report = reported(constant)
    assert any("looks like a placeholder" in reason for reason in report.verdict.reasons)
    certain = reported(replace(simulated(500), propensity=np.ones(500)))
    assert certain.verdict.level == "do not trust"
    assert any(finding.kind == "deterministic" for finding in certain.check.findings)


def test_estimated_propensities_are_said_to_be():
    log = replace(simulated(1500, seed=4), propensity=None)
    with pytest.raises(kwis.InputError, match="`log` must have propensities to be checked"):
        propensity_report(log)
    estimated = estimate_propensities(log)
    whole = estimated.attach(log)
    report = propensity_report(whole, resolve_targets(whole, {"tilted": tilted(whole)}), estimated)
    assert report.estimated
    assert report.verdict.level == "with care"
    assert any("estimated from this log" in reason for reason in report.verdict.reasons)


def test_a_policy_that_rows_of_a_user_share_raises_no_more_alarms():
    """Randomised by user, each row has the right propensity, but rows of a user agree."""
    alarms = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        user = rng.integers(150, size=1200)
        action = rng.integers(2, size=150)[user]
        table = {
            "x": rng.normal(size=150)[user],
            "user": user,
            "action": action,
            "reward": rng.random(1200),
            "p": np.full(1200, 0.5),
        }
        log = kwis.read_log(table, propensity="p", context="x", group="user")
        alarms += reported(log, one=np.tile([0.8, 0.2], (1200, 1))).wrong
    assert alarms <= binom.isf(0.001, 40, 0.05)


def false_alarms(logs):
    """How many are called wrong, by the tests or by anything else in the verdict."""
    reports = (reported(log, **targets) for log, targets in logs)
    return sum(report.wrong or report.verdict.level != "trust" for report in reports)


def of_sample_log(n, seeds):
    for seed in seeds:
        log = sample_log(n, rng=seed, right_propensities=True).read()
        yield log, {"new": "p_new", "bold": "p_bold"}


def of_many_actions(n, seeds, known):
    """Five actions, some of them rare, and weights up to about 20."""
    slopes = np.random.default_rng(1).normal(size=(2, 3, 5))
    for seed in seeds:
        rng = np.random.default_rng(seed)
        x = rng.normal(size=(n, 3))
        logger, target = 0.9 * softmax(0.7 * x @ slopes[0]) + 0.02, softmax(x @ slopes[1])
        action = (rng.random(n)[:, None] > logger.cumsum(axis=1)[:, :-1]).sum(axis=1)
        table = {
            "x": x,
            "action": action,
            "reward": rng.random(n),
            "p": logger[np.arange(n), action],
            "b": logger,
        }
        yield (
            kwis.read_log(table, propensity="p" if known == "logged" else "b", context="x"),
            {"target": target},
        )


def test_few_of_a_few_right_logs_are_called_wrong():
    alarms = false_alarms(of_sample_log(1500, range(8))) + false_alarms(
        of_many_actions(1500, range(8), "whole")
    )
    assert alarms <= binom.isf(0.001, 16, 0.05)


@pytest.mark.slow
@pytest.mark.parametrize(
    "logs",
    [
        pytest.param(lambda: of_sample_log(4000, range(1000, 1200)), id="sample log"),
        pytest.param(lambda: of_many_actions(2000, range(200), "logged"), id="many actions"),
        pytest.param(
            lambda: of_many_actions(2000, range(200), "whole"), id="many actions, whole distribution"
        ),
    ],
)
def test_right_propensities_are_called_wrong_five_percent_of_the_time(logs):
    alarms = false_alarms(logs())
    assert binom.ppf(0.002, 200, 0.05) <= alarms <= binom.isf(0.002, 200, 0.05)


def test_rows_are_drawn_from_a_log_that_is_too_long(monkeypatch):
    monkeypatch.setattr("kwis.checks.propensity.TESTED_ROWS", 2000)
    report = reported(simulated(3000, misreport=in_red(0.3)))
    assert report.notes == ("propensities were tested on 2,000 rows drawn at random from the 3,000",)
    assert report.tests[0].n == 2000
    assert report.regions == ("colour = red",)


def test_rows_are_drawn_where_rows_by_actions_are_too_many(monkeypatch):
    log = simulated(3000, misreport=in_red(0.3))
    monkeypatch.setattr("kwis.checks.propensity._CELLS", 6000)
    report = reported(log)
    assert report.notes == ("propensities were tested on 2,000 rows drawn at random, as there are 3 actions",)
    assert report.tests[0].n == 2000
    assert report.regions == ("colour = red",)


@pytest.mark.parametrize("digits", [2, 3, 4, 6, 17])
@pytest.mark.parametrize("right", [True, False])
def test_a_part_of_the_log_that_chose_uniformly_fails_only_if_it_did_not(digits, right):
    rng = np.random.default_rng(digits)
    n = 1500
    slot, age = rng.integers(3, size=n), rng.normal(size=n)
    chance = softmax(np.outer(age, [0.0, 0.8, -0.4]) * (slot < 2)[:, None])
    drawn = chance if right else np.where(slot[:, None] == 2, [0.45, 0.3, 0.25], chance)
    action = (drawn.cumsum(axis=1) < rng.random(n)[:, None]).sum(axis=1)
    said = np.where(slot == 2, np.round(1 / 3, digits), chance[np.arange(n), action])
    frame = {"slot": slot.astype(str), "age": age, "action": action, "propensity": said}
    report = kwis.propensity_report(kwis.read_log(frame, reward=False, context=["slot", "age"]))
    assert report.wrong is not right
    assert right or any("slot = 2" in region for region in report.regions)
