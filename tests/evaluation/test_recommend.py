"""The rule that picks one estimate, case by case."""

from __future__ import annotations

import numpy as np
import pytest

import kwis
from kwis.checks.findings import MeanTest, PropensityReport
from kwis.evaluation import Change
from kwis.evaluation.recommend import (
    HEAVY_WEIGHTS,
    MOST_ISOLATION,
    disagreement,
    has_heavy_weights,
    pick,
    recommended,
)
from kwis.models.propensity.check import Finding, PropensityCheck

NAMES = (
    "vis",
    "truncated-vis",
    "wis",
    "state-wis",
    "normalised-state-wis",
    "kernel-wis",
    "normalised-kernel-wis",
    "direct-method",
    "doubly-robust",
    "doubly-robust-wis",
    "doubly-robust-normalised-kernel-wis",
)
ALL = dict.fromkeys(NAMES, 1.0)


def errors(*names: str) -> dict[str, float]:
    return dict.fromkeys(names, 1.0)


def report(*, wrong=False, estimated=False, finding=None) -> PropensityReport:
    failure = MeanTest(
        kind="weight",
        subject="new",
        region="country = BR",
        column="country",
        n=90,
        mean=1.4,
        low=1.2,
        high=1.6,
        z=4.0,
        p_value=1e-4,
    )
    findings = (
        () if finding is None else (Finding(kind=finding, serious=True, sentence=f"{finding} propensities"),)
    )
    return PropensityReport(
        verdict=kwis.Verdict(level="trust"),
        p_value=1e-4 if wrong else 0.5,
        level=0.05,
        failures=(failure,) if wrong else (),
        tests=(),
        check=PropensityCheck(findings=findings, reliability=None, fit_p_value=None),
        estimated=estimated,
    )


@pytest.mark.parametrize("isolation", [0.001, MOST_ISOLATION])
def test_rows_with_neighbours_call_for_local_normalisation(isolation):
    found = pick(ALL, report(), isolation)
    assert (found.name, found.runner_up) == ("doubly-robust-normalised-kernel-wis", "doubly-robust-wis")
    assert found.why == (
        "weights are normalised around each context, which undoes errors that neighbouring contexts share",
    )


def test_rows_without_neighbours_call_for_one_normaliser():
    found = pick(ALL, report(), 0.42)
    assert (found.name, found.runner_up) == ("doubly-robust-wis", "doubly-robust-normalised-kernel-wis")
    assert found.why == (
        (
            "on average a row supplies 42% of the weight around it: too few neighbours, so one normaliser "
            "serves all rows"
        ),
    )


@pytest.mark.parametrize(
    ("isolation", "words"),
    [
        (None, "it is not known whether rows have neighbours"),
        (float("nan"), "a row supplies nan% of the weight"),
    ],
)
def test_unknown_neighbours_are_none(isolation, words):
    found = pick(ALL, report(), isolation)
    assert found.name == "doubly-robust-wis"
    assert words in found.why[0]


@pytest.mark.parametrize(
    "doubt", [{"wrong": True}, {"estimated": True}, {"finding": "rounded"}, {"finding": "constant"}]
)
def test_doubts_about_propensities_are_told_and_change_nothing(doubt):
    found = pick(ALL, report(**doubt), 0.1)
    assert found.name == "doubly-robust-normalised-kernel-wis"
    assert len(found.why) == 2
    assert "propensities" in found.why[0]


def test_the_reason_names_the_place():
    assert pick(ALL, report(wrong=True)).why[0] == "the propensities fail their tests (country = BR)"


def test_certain_rows_are_no_doubt_about_propensities():
    assert len(pick(ALL, report(finding="certain"), 0.1).why) == 1


@pytest.mark.parametrize(
    ("near", "model", "name"),
    [
        (False, 0.89, "doubly-robust-wis"),
        (False, 1.0, "doubly-robust-wis"),
        (False, 1.01, "wis"),
        (False, float("nan"), "wis"),
        (True, 0.89, "doubly-robust-normalised-kernel-wis"),
        (True, 1.0, "doubly-robust-normalised-kernel-wis"),
        (True, 1.01, "normalised-kernel-wis"),
    ],
)
def test_a_reward_model_takes_part_unless_it_makes_the_standard_error_larger(near, model, name):
    weighting = name.removeprefix("doubly-robust-")
    assert recommended({**ALL, f"doubly-robust-{weighting}": model}, near=near) == name


def test_the_error_of_an_estimator_that_is_not_wanted_decides_nothing():
    for near in (False, True):
        first = recommended(ALL, near=near)
        for name in NAMES:
            if name not in (first, first.removeprefix("doubly-robust-")):
                assert recommended({**ALL, name: 1e-9}, near=near) == first


def test_the_reason_says_what_the_model_brings():
    words = (
        "only what the reward model leaves unexplained is weighted, which makes up for some errors of "
        "propensities"
    )
    assert (
        pick({**ALL, "doubly-robust-wis": 0.5}, report(), 0.9, 0.3).why[-1]
        == f"{words} (standard error 50% smaller)"
    )
    assert pick(errors("doubly-robust-wis"), report(), None, 0.3).why[-1] == words
    assert pick({**ALL, "doubly-robust-wis": 1.1}, report(), 0.9, 0.3).why[-1] == (
        "the reward model makes the standard error larger, so it takes no part"
    )


def test_what_was_not_computed_is_replaced():
    assert pick(errors("vis", "wis"), report(wrong=True)).name == "wis"
    assert (
        pick(errors("doubly-robust-wis", "normalised-kernel-wis"), report(), 0.3).name
        == "normalised-kernel-wis"
    )
    assert pick(errors("normalised-kernel-wis", "vis"), report(), 0.9).name == "normalised-kernel-wis"
    assert pick(errors("doubly-robust-wis", "vis"), report()).name == "doubly-robust-wis"
    assert pick(errors("vis", "truncated-vis"), report()).name == "truncated-vis"
    assert pick(errors("vis", "normalised-state-wis"), report()).name == "normalised-state-wis"
    assert pick(errors("direct-method", "doubly-robust"), report()).name == "doubly-robust"
    alone = pick(errors("median"), report())
    assert (alone.name, alone.runner_up) == ("median", None)


def interval(low, value, high):
    return kwis.Interval(low=low, high=high, level=0.95, value=value, method="influence")


def change(estimator, low, value, high):
    ends = interval(low, value, high)
    return Change(
        target="new",
        baseline="logging policy",
        reward="r",
        estimator=estimator,
        interval=ends,
        simultaneous=ends,
        std_error=1.0,
        p_value=0.5,
    )


def test_estimates_that_agree_have_no_disagreement():
    assert (
        disagreement(change("a", 0.1, 0.2, 0.3), change("b", 0.11, 0.21, 0.31), interval(-0.03, -0.01, 0.01))
        is None
    )


def test_a_gap_too_small_to_matter_is_no_disagreement():
    assert (
        disagreement(
            change("a", 0.1, 0.2, 0.3), change("b", 0.11, 0.21, 0.31), interval(-0.02, -0.01, -0.005)
        )
        is None
    )


def test_a_gap_beyond_chance_is_a_disagreement():
    found = disagreement(change("a", 0.1, 0.2, 0.3), change("b", 0.2, 0.3, 0.4), interval(-0.15, -0.1, -0.05))
    assert found == "a and b disagree: they differ by -0.100 (95% -0.150 to -0.050)"


def test_different_decisions_are_a_disagreement():
    found = disagreement(change("a", 0.1, 0.2, 0.3), change("b", -0.1, 0.1, 0.3), interval(-0.1, 0.1, 0.3))
    assert found == (
        "a and b disagree: by b the target is not told apart from the logging policy (+0.10, 95% -0.10 to "
        "+0.30)"
    )


def test_a_model_that_predicts_no_better_than_the_mean_takes_no_part():
    found = pick({"wis": 1.0, "doubly-robust-wis": 0.8}, report(), 0.5, explained=-0.001)
    assert found.name == "wis"
    assert (
        found.why[-1]
        == "the reward model predicts held-out rewards no better than their mean, so it takes no part"
    )


def _table_with_few_effective_rows(n, effective, rng):
    """Of a target that always takes action b, so many rows count."""
    taken = np.arange(n) < effective
    return {
        "x": rng.standard_normal(n),
        "action": np.where(taken, "b", "a"),
        "reward": rng.random(n),
        "propensity": np.where(taken, effective / n, 1 - effective / n),
    }


def _with_few_effective_rows(n, effective, rng):
    """A log of that, and the target."""
    table = _table_with_few_effective_rows(n, effective, rng)
    return kwis.read_log(table, context=["x"]), np.tile([0.0, 1.0], (n, 1))


@pytest.mark.parametrize(
    ("n", "effective", "shrunken"), [(600, 190, True), (600, 210, False), (300, 160, False), (300, 140, True)]
)
def test_weights_are_clipped_below_200_effective_rows_and_half_of_all(n, effective, shrunken):
    log, target = _with_few_effective_rows(n, effective, np.random.default_rng(0))
    found = kwis.evaluate(log, target)
    names = {row.estimator for row in found.rows}
    picked = found.recommendations[0]
    assert set(HEAVY_WEIGHTS) <= names if shrunken else not set(HEAVY_WEIGHTS) & names
    assert (picked.row.estimator == HEAVY_WEIGHTS[1]) == shrunken
    if shrunken:
        assert picked.runner_up.estimator not in HEAVY_WEIGHTS
        assert any("large weights are clipped" in reason for reason in picked.why)
        assert any("biases it" in reason for reason in picked.row.verdict.reasons)


@pytest.mark.parametrize(
    ("n", "effective", "clipped"), [(600, 90, True), (600, 110, False), (400, 90, False), (400, 70, True)]
)
def test_without_a_reward_model_weights_are_clipped_below_100_effective_rows_and_a_fifth_of_all(
    n, effective, clipped
):
    table = _table_with_few_effective_rows(n, effective, np.random.default_rng(0))
    table["p_b"] = np.where(table["action"] == "b", 1.0, 0.0)
    found = kwis.evaluate(table, kwis.probability("p_b"), context=["x"], actions=["a", "b", "c"])
    assert (found.recommendations[0].row.estimator == HEAVY_WEIGHTS[0]) == clipped


@pytest.mark.parametrize(
    ("rows", "explained", "heavy"),
    [
        (96, -0.1, True),
        (96, 0.04, True),
        (96, 0.06, False),
        (24, 0.17, True),
        (24, 0.18, False),
        (24, 1.0, False),
    ],
)
def test_weights_are_not_clipped_where_their_rows_tell_what_the_model_explains(rows, explained, heavy):
    sample = kwis.WeightedSample(
        context=np.zeros((300, 1)), weight=np.repeat([1.0, 0.0], [rows, 300 - rows]), reward=np.arange(300.0)
    )
    assert has_heavy_weights(sample, explained) == heavy


@pytest.mark.parametrize(("columns", "heavy"), [(150, True), (151, False)])
def test_a_model_with_fewer_than_two_rows_for_each_column_shows_nothing(columns, heavy):
    sample = kwis.WeightedSample(
        context=np.zeros((300, columns)), weight=np.repeat([1.0, 0.0], [50, 250]), reward=np.arange(300.0)
    )
    assert has_heavy_weights(sample, 0.0) == heavy
    assert has_heavy_weights(sample)


def test_rewards_of_one_log_may_differ_in_whether_weights_are_clipped():
    """A reward that context and action decide beside one that is noise."""
    rng = np.random.default_rng(1)
    table = _table_with_few_effective_rows(400, 120, rng)
    table |= {"noise": table.pop("reward"), "told": table["x"] + 0.01 * rng.standard_normal(400)}
    found = kwis.evaluate(table, kwis.always("b"), reward=["noise", "told"], context=["x"])
    picked = {one.reward: one.row.estimator in HEAVY_WEIGHTS for one in found.recommendations}
    assert picked == {"noise": True, "told": False}


def test_estimators_that_are_named_stay_alone_with_heavy_weights():
    log, target = _with_few_effective_rows(400, 50, np.random.default_rng(0))
    found = kwis.evaluate(log, target, estimators=["wis", "vis"])
    assert {row.estimator for row in found.rows if row.target != "logging policy"} == {"wis", "vis"}


def test_weights_shrunk_to_the_mean_of_the_log_leave_the_difference_in_doubt(sample):
    """Shrunken weights of 1 make policies the same without any standard error; the interval knows better."""
    found = kwis.evaluate(sample.read(reward="click"), "p_new", estimators=["normalised-power-mean", "wis"])
    changes = {change.estimator: change for change in found.changes}
    shrunken, unshrunk = changes["normalised-power-mean"], changes["wis"]
    assert shrunken.interval.value == pytest.approx(0, abs=1e-12)
    assert shrunken.interval.low < min(unshrunk.interval.value, 0)
    assert shrunken.interval.high > max(unshrunk.interval.value, 0)
    assert shrunken.p_value > 0.5


def test_what_clipping_takes_away_is_left_to_the_reward_model_where_there_is_one():
    plain, model = HEAVY_WEIGHTS
    errors = {"wis": 0.3, plain: 0.2, model: 0.25}
    assert recommended(errors, near=True, heavy=True) == model
    assert recommended(errors, near=True, robust=False, heavy=True) == model
    assert recommended({"wis": 0.3, plain: 0.2}, near=True, heavy=True) == plain
    assert recommended(errors, near=True, heavy=False) == "wis"
