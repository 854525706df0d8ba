"""What is said of several policies, and the interval that it follows."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from kwis.cli.gate import Gate, Of
from kwis.evaluation.claims import judged_together, stretched
from kwis.report.summary import page_of
from kwis.result.records import LOGGING_POLICY
from kwis.result.words import gain
from kwis.results import Interval


def interval(value, reach, **more):
    return Interval(low=value - reach, high=value + reach, level=0.95, value=value, method="student", **more)


def test_recommended_differences_follow_the_ranking(evaluation):
    for found in evaluation.recommendations:
        ranking = next(one for one in evaluation.rankings if one.reward == found.reward)
        pair = next(
            one for one in ranking.differences if {one.target, one.baseline} == {found.target, LOGGING_POLICY}
        )
        sign = 1 if pair.target == found.target else -1
        assert found.change.claim.value == pytest.approx(sign * pair.simultaneous.value)
        assert {found.change.claim.low, found.change.claim.high} == {
            sign * pair.simultaneous.low,
            sign * pair.simultaneous.high,
        }
        assert found.change.policies == 2


def test_no_line_contradicts_the_ranking(evaluation):
    for found in evaluation.recommendations:
        words = next(one for one in evaluation.rankings if one.reward == found.reward).words
        beaten = [line for line in words if line.startswith(f"{LOGGING_POLICY} is worse than")]
        assert (found.change.side > 0) == any(found.target in line.split(", not told")[0] for line in beaten)


def test_words_name_the_policies_that_they_hold_for(evaluation):
    found = evaluation.recommendation()
    assert "95% for both policies together" in gain(found.change)
    alone = replace(found.change, policies=1)
    assert alone.claim is alone.interval
    assert "together" not in gain(alone)
    assert "its interval holds for both policies together" in str(evaluation.table())
    assert any("for both policies and the logging policy together" in note for note in evaluation.notes)
    assert any("each reward by itself" in note for note in evaluation.notes)
    assert json.loads(evaluation.to_json())["recommendations"][0]["change"]["policies"] == 2


def test_a_claim_that_only_its_own_interval_would_make_is_not_made(evaluation):
    change = replace(
        evaluation.recommendation().change,
        interval=interval(1.0, 0.9),
        simultaneous=interval(1.0, 1.1),
        policies=2,
    )
    assert (change.side, change.decided) == (0, False)
    assert gain(change).startswith("not told apart")
    assert replace(change, policies=1).side == 1


def test_gates_on_changes_follow_the_claim(evaluation):
    found = evaluation.recommendation()
    change = replace(found.change, interval=interval(1.0, 0.9), simultaneous=interval(1.0, 1.1))
    shown = replace(evaluation, recommendations=(replace(found, change=change),))
    assert Gate(below=0.0, of=Of.CHANGE)._values(shown)
    single = replace(evaluation, recommendations=(replace(found, change=replace(change, policies=1)),))
    assert not Gate(below=0.0, of=Of.CHANGE)._values(single)


def test_the_report_shows_the_interval_that_the_claim_follows(evaluation):
    page = page_of(evaluation)
    assert any("for both policies together" in line for card in page.cards for line in card.lines)


def test_intervals_are_stretched_like_the_claim_they_stand_beside(evaluation):
    change = replace(
        evaluation.recommendation().change,
        interval=interval(1.0, 0.5),
        simultaneous=interval(1.0, 0.75),
        policies=3,
    )
    found = stretched(interval(2.0, 0.2), change)
    assert (found.low, found.high) == pytest.approx((1.7, 2.3))
    assert stretched(interval(2.0, 0.2), replace(change, interval=interval(1.0, 0.0))).width == pytest.approx(
        0.4
    )


def test_one_target_keeps_its_own_interval(evaluation):
    changes = judged_together(evaluation.changes, evaluation.rankings, 1)
    assert all(change.claim is change.interval for change in changes)
