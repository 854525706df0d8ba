"""The rule that picks one estimate, case by case."""

from __future__ import annotations

import pytest

import kwis
from kwis.diagnostics import MeanTest, PropensityReport
from kwis.evaluation import Change
from kwis.evaluation.recommend import disagreement, pick
from kwis.propensity import Finding, PropensityCheck

ALL = (
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


def report(*, wrong=False, estimated=False, finding=None) -> PropensityReport:
    failure = MeanTest(
        kind="weight", subject="new", region="country = BR", column="country", n=90, mean=1.4, low=1.2, high=1.6, z=4.0, p_value=1e-4
    )
    findings = () if finding is None else (Finding(kind=finding, serious=True, sentence=f"{finding} propensities"),)
    return PropensityReport(
        verdict=kwis.Verdict(level="trust"),
        p_value=1e-4 if wrong else 0.5,
        level=0.05,
        failures=(failure,) if wrong else (),
        tests=(),
        check=PropensityCheck(findings=findings, reliability=None, fit_p_value=None),
        estimated=estimated,
    )


def test_propensities_without_fault_call_for_wis():
    found = pick(ALL, report(), explained=0.02)
    assert (found.name, found.runner_up) == ("wis", "normalised-kernel-wis")
    assert "nothing speaks against the propensities" in found.why[0]


@pytest.mark.parametrize("doubt", [{"wrong": True}, {"estimated": True}, {"finding": "rounded"}, {"finding": "constant"}])
def test_propensities_in_doubt_call_for_local_normalisation(doubt):
    found = pick(ALL, report(**doubt), explained=0.0)
    assert (found.name, found.runner_up) == ("normalised-kernel-wis", "wis")
    assert "around each context" in found.why[-1]


def test_the_reason_names_the_place():
    assert pick(ALL, report(wrong=True)).why[0] == "the propensities fail their tests (country = BR)"


def test_certain_rows_are_no_doubt_about_propensities():
    assert pick(ALL, report(finding="certain")).name == "wis"


@pytest.mark.parametrize(
    ("wrong", "explained", "name"),
    [
        (False, 0.3, "doubly-robust-wis"),
        (False, 0.09, "wis"),
        (True, 0.02, "doubly-robust-normalised-kernel-wis"),
        (True, -0.1, "normalised-kernel-wis"),
        (True, None, "normalised-kernel-wis"),
    ],
)
def test_a_reward_model_has_to_be_good_enough(wrong, explained, name):
    assert pick(ALL, report(wrong=wrong), explained).name == name


def test_what_was_not_computed_is_replaced():
    assert pick(("vis", "wis"), report(wrong=True)).name == "wis"
    assert pick(("wis", "doubly-robust-wis", "normalised-kernel-wis"), report(wrong=True), 0.3).name == "normalised-kernel-wis"
    assert pick(("vis", "truncated-vis"), report()).name == "truncated-vis"
    alone = pick(("median",), report())
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
    assert disagreement(change("a", 0.1, 0.2, 0.3), change("b", 0.11, 0.21, 0.31), interval(-0.03, -0.01, 0.01)) is None


def test_a_gap_too_small_to_matter_is_no_disagreement():
    assert disagreement(change("a", 0.1, 0.2, 0.3), change("b", 0.11, 0.21, 0.31), interval(-0.02, -0.01, -0.005)) is None


def test_a_gap_beyond_chance_is_a_disagreement():
    found = disagreement(change("a", 0.1, 0.2, 0.3), change("b", 0.2, 0.3, 0.4), interval(-0.15, -0.1, -0.05))
    assert found == "a and b disagree: they differ by -0.100 (95% -0.150 to -0.050)"


def test_different_decisions_are_a_disagreement():
    found = disagreement(change("a", 0.1, 0.2, 0.3), change("b", -0.1, 0.1, 0.3), interval(-0.1, 0.1, 0.3))
    assert found == "a and b disagree: by b the target is not told apart from the logging policy (+0.10, 95% -0.10 to +0.30)"
