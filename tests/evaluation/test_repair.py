"""Repair as part of an evaluation: when it happens, that it helps, and that it is said."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import kwis
from kwis.evaluation.mend import mend
from kwis.evaluation.recommend import pick
from kwis.models.propensity.repaired import repair_propensities
from kwis.policy.discrete import weigh
from kwis.policy.target import resolve_targets
from kwis.stats.influence import standard_error
from tests.checks.logs import simulated, tilted
from tests.models.propensity.test_repair import drawn, softmax

FAST = {"estimators": ["wis", "normalised-kernel-wis"], "interval": kwis.InfluenceInterval()}


def shop(n: int = 1_500, seed: int = 0, power: float = 1.0) -> tuple[kwis.LoggedBandit, float]:
    """A log whose distribution is given to some power, and the value of the target in its column ``new``."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 2))
    truth = softmax(x @ np.array([[1.0, 0.0, -1.0], [0.4, -0.6, 0.2]]))
    action = drawn(truth, rng)
    target = softmax(-0.2 * np.log(truth))
    means = 0.5 + 0.3 * np.tanh(x[:, :1] * np.array([1.0, 0.0, -1.0]))
    reward = means[np.arange(n), action] + 0.1 * rng.normal(size=n)
    given = softmax(power * np.log(truth))
    table = {"x": x, "action": action, "reward": reward, "p": given, "new": target}
    log = kwis.read_log(table, context="x", propensity="p", actions=[0, 1, 2])
    return log, float((target * means).sum(axis=1).mean())


@pytest.fixture(scope="module")
def tempered() -> kwis.Evaluation:
    return kwis.evaluate(shop(power=0.4)[0], "new", **FAST)


def test_right_propensities_are_used_as_given_and_the_answer_says_nothing_of_repair():
    log, _ = shop()
    found, plain = (kwis.evaluate(log, "new", repair=mode, **FAST) for mode in ("auto", "never"))
    assert found.repair is not None
    assert found.repair.kept
    assert found.repair.estimates == ()
    assert plain.repair is None
    assert repr(found) == repr(plain)
    np.testing.assert_array_equal(found.weights["new"], plain.weights["new"])


def test_wrong_propensities_are_repaired_and_estimates_come_nearer_to_the_truth():
    errors = {"auto": 0.0, "never": 0.0}
    for seed in range(4):
        log, value = shop(seed=seed, power=0.4)
        for mode in errors:
            found = kwis.evaluate(
                log, "new", repair=mode, estimators="wis", interval=kwis.InfluenceInterval()
            )
            errors[mode] += abs(found.recommended["new"].row.estimate.value - value)
    assert errors["auto"] < 0.5 * errors["never"]


def test_before_and_after_are_both_there(tempered):
    repair = tempered.repair
    assert not repair.kept
    assert repair.terms[0] == "scale"
    assert repair.log_loss_after < repair.log_loss_before
    assert (
        repair.reliability_after.expected_calibration_error
        < repair.reliability_before.expected_calibration_error
    )
    assert tempered.propensity.wrong
    assert not repair.after.wrong
    (made,) = repair.estimates
    row = tempered.recommended["new"].row
    assert (made.target, made.reward, made.estimator) == ("new", "reward", row.estimator)
    assert made.after == row.estimate.value
    assert made.before != made.after


def test_what_is_called_before_is_the_estimate_as_given():
    log, _ = shop(power=0.4)
    found = kwis.evaluate(log, "new", estimators="wis", interval=kwis.InfluenceInterval())
    given = kwis.evaluate(log, "new", estimators="wis", interval=kwis.InfluenceInterval(), repair="never")
    assert found.repair.estimates[0].before == given.rows[1].estimate.value


def test_the_answer_says_so_in_words(tempered):
    text = repr(tempered)
    assert "Propensities were repaired\n" in text
    assert "as given, passed as repaired" in text
    assert "were repaired from the logged actions, which" in " ".join(text.split())
    assert tempered.recommended["new"].row.verdict.level == "with care"
    assert sum("held-out log loss" in line for line in text.splitlines()) == 1


def test_json_keeps_it(tempered):
    stored = json.loads(tempered.to_json())["repair"]
    assert stored["kept"] is False
    assert stored["after"]["verdict"]["level"] == "with care"
    assert stored["estimates"][0]["before"] != stored["estimates"][0]["after"]


def test_repaired_propensities_call_for_local_normalisation(tempered):
    why = tempered.recommended["new"].why
    assert tempered.recommended["new"].row.estimator == "normalised-kernel-wis"
    assert "they were repaired from the logged actions" in why


def test_the_rule_says_what_failed_and_what_was_done():
    log, _ = shop(power=0.4)
    mended = mend(log, resolve_targets(log, "new"), "auto", 0)
    errors = {"wis": 1.0, "normalised-kernel-wis": 1.0}
    found = pick(errors, mended.report, 0.1, None, mended)
    assert found.why[0].startswith("the propensities fail their tests (")
    assert found.why[1] == "they were repaired from the logged actions"
    right, _ = shop()
    kept = mend(right, resolve_targets(right, "new"), "auto", 0)
    assert pick(errors, kept.report, 0.1, None, kept).why == (found.why[-1],)


def test_always_repairs_and_never_does_not():
    log, _ = shop(n=600)
    assert not kwis.evaluate(log, "new", repair="always", **FAST).repair.kept
    with pytest.raises(kwis.InputError, match=r"^`repair` must be one of auto, never, always, got 'often'$"):
        kwis.evaluate(log, "new", repair="often", **FAST)


def test_repair_that_was_asked_for_finds_no_fault_where_there_is_none():
    found = kwis.evaluate(shop(n=600)[0], "new", repair="always", **FAST)
    assert found.propensity.verdict.level == "trust"
    assert found.repair.p_value > 0.05
    assert not any("do not fit" in reason for reason in found.recommended["new"].why)
    reasons = found.recommended["new"].row.verdict.reasons
    assert any(reason.startswith("propensities were repaired from the logged actions") for reason in reasons)


def many_actions(n: int, k: int, *, whole: bool) -> kwis.LoggedBandit:
    """Propensities that are far too even, of all actions or of the logged one; rows have weights and come in
    groups of two.
    """
    rng = np.random.default_rng(k)
    x = rng.normal(size=(n, 3))
    truth = softmax(x @ rng.normal(size=(3, k)))
    action = drawn(truth, rng)
    given = softmax(0.2 * np.log(truth))
    propensity = given if whole else given[np.arange(n), action]
    table = {
        "x": x,
        "action": action,
        "reward": rng.random(n),
        "p": propensity,
        "new": np.full((n, k), 1 / k),
    }
    table |= {"user": np.arange(n) // 2, "stands_for": rng.uniform(0.5, 2.0, n)}
    return kwis.read_log(
        table, context="x", propensity="p", actions=range(k), group="user", row_weight="stands_for"
    )


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("k", [2, 30])
def test_any_number_of_actions_weighted_rows_and_groups_will_do(k, whole):
    found = kwis.evaluate(many_actions(800, k, whole=whole), "new", **FAST)
    assert not found.repair.kept
    assert found.repair.log_loss_after < found.repair.log_loss_before
    assert found.repair.inverse_after == pytest.approx(1, abs=0.25)
    assert (found.repair.reliability_after is None) == (
        not whole and k > 2
    )  # of two actions one tells the other


@pytest.mark.parametrize("whole", [True, False])
def test_a_log_too_small_to_tell_is_used_as_given(whole):
    with pytest.warns(kwis.KwisWarning, match="only 12 rows"):
        found = kwis.evaluate(many_actions(12, 3, whole=whole), "new", **FAST)
    assert found.repair.kept
    assert found.repair.note == "propensities were kept as given: the log is too small to test them"


def test_every_target_is_shown_before_and_after():
    log, _ = shop(power=0.4)
    targets = {"new": "new", "flat": np.full((log.n, 3), 1 / 3)}
    found = kwis.evaluate(log, targets, **FAST)
    assert [made.target for made in found.repair.estimates] == ["new", "flat"]
    assert found.rankings[0].places


def test_the_call_that_makes_it_again_names_the_mode(tmp_path):
    found = kwis.evaluate(shop(n=300)[0], "new", repair="never", **FAST)
    assert found.settings.repair == "never"
    assert "repair=&#x27;never&#x27;" in found.to_html(tmp_path / "report.html").read_text(
        encoding="utf-8"
    ).replace("&#39;", "&#x27;")


def jackknifed(log: kwis.LoggedBandit, estimator: Any) -> tuple[kwis.WeightedSample, np.ndarray]:
    """The repaired log as the target sees it, and the estimate by each refit of the repair."""
    found = repair_propensities(log, when="helpful", rng=0)
    (target,) = resolve_targets(log, "new")
    values = [
        estimator.estimate(weigh(replace(log, propensity=column), target)).value for column in found.refits.T
    ]
    return weigh(found.attach(log), target), np.array(values)


def test_intervals_allow_for_the_error_of_the_repair():
    log, _ = shop(n=500, power=0.4)
    found = kwis.evaluate(log, "new", estimators="wis")
    sample, values = jackknifed(log, kwis.WIS())
    error = math.sqrt(0.8 * np.square(values - values.mean()).sum())
    assert found.repair.estimates[0].std_error == pytest.approx(error, rel=1e-9)
    row, alone = found.rows[-1], kwis.StudentInterval().interval(kwis.WIS(), sample)
    interval = kwis.StudentInterval(model_error=error).interval(kwis.WIS(), sample)
    assert (row.interval.low, row.interval.high) == pytest.approx((interval.low, interval.high), rel=1e-9)
    assert row.interval.width > alone.width
    assert (
        found.settings.intervals["wis"]
        == "Student's, from the influence function, with the error of the propensity model"
    )
    (change,) = found.changes
    plain = standard_error(row.estimate.influence - (log.reward[:, 0] - log.reward.mean()), None)
    assert change.std_error == pytest.approx(math.hypot(plain, error), rel=1e-9)


@pytest.mark.parametrize(
    "estimator", [kwis.KernelWIS(1.0, normalised=True), kwis.KernelWIS(1.0), kwis.VIS(), kwis.StateWIS()]
)
def test_every_estimator_has_its_own_error_of_the_repair(estimator):
    log, _ = shop(n=300, power=0.4)
    found = kwis.evaluate(log, "new", estimators=[estimator], interval=kwis.InfluenceInterval())
    _, values = jackknifed(log, estimator)
    error = math.sqrt(0.8 * np.square(values - values.mean()).sum())
    row = found.rows[-1]
    assert row.interval.high - row.interval.value == pytest.approx(
        1.959964 * math.hypot(row.estimate.std_error, error), rel=1e-6
    )


def test_segments_allow_for_it_too():
    log, _ = shop(n=600, power=0.4)
    found = kwis.evaluate(log, "new", estimators="wis", by="action", interval=kwis.InfluenceInterval())
    for segment in found.segments[0].segments:
        row = segment.rows[-1]
        assert row.interval.high - row.interval.value > 1.959964 * row.estimate.std_error


def test_a_method_that_cannot_allow_for_it_says_so():
    log, _ = shop(n=300, power=0.4)
    found = kwis.evaluate(log, "new", estimators="wis", interval=kwis.Bootstrap(20))
    assert (
        "Bootstrap takes estimated or repaired propensities for right ones; the default adds the error of "
        "their model" in found.notes
    )


@pytest.mark.slow
def test_intervals_cover_after_repair():
    """95 % intervals on 150 logs of 250 rows: 1.8 points of Monte Carlo error; the error of the repair makes
    them no worse.
    """
    covered = np.zeros(2)
    for seed in range(150):
        log, value = shop(n=250, seed=1_000 + seed, power=0.4)
        sample, values = jackknifed(log, kwis.WIS())
        error = math.sqrt(0.8 * np.square(values - values.mean()).sum()) if values.size else 0.0
        for place, added in enumerate((0.0, error)):
            ends = kwis.StudentInterval(model_error=added).interval(kwis.WIS(), sample)
            covered[place] += ends.low <= value <= ends.high
    assert covered[1] >= covered[0]
    assert covered[1] >= 0.9 * 150


def test_estimated_propensities_are_left_alone():
    sample = kwis.sample_log(400, rng=1)
    found = kwis.evaluate(sample.read(reward="click", propensity=False), "p_new", **FAST)
    assert found.propensity.estimated
    assert found.repair is None


def test_a_mode_that_does_not_exist_is_refused_before_the_log_is_opened(tmp_path):
    with pytest.raises(kwis.InputError, match=r"^`repair` must be one of auto, never, always, got 'often'$"):
        kwis.evaluate(str(tmp_path), "new", repair="often")


def test_the_report_shows_both(tempered, tmp_path):
    page = tempered.to_html(tmp_path / "report.html").read_text(encoding="utf-8")
    for words in (
        "<h3>Repair</h3>",
        "As given",
        "As repaired",
        "Calibration after repair",
        "and repaired from its actions",
    ):
        assert words in page


@pytest.mark.parametrize("known", ["logged", "whole"])
def test_a_bad_target_is_no_reason_to_repair_and_spoils_no_other(known):
    log = simulated(1500, known=known, ones=np.ones(1500))
    found = kwis.evaluate(log, {"good": tilted(log), "ones": kwis.probability("ones")}, **FAST)
    assert found.repair.kept
    assert not found.propensity.contradicted
    assert found.diagnostics["good"].verdict.level == "trust"
    bad = found.diagnostics["ones"].verdict
    assert bad.level == "do not trust"
    assert bad.reasons[0].startswith(
        "the weights of ones do not average 1: its probabilities or the propensities are wrong; everywhere"
    )
    assert not any("propensities fail" in reason for pick in found.recommendations for reason in pick.why)
