"""Segments are the same estimates on some of the rows."""

from __future__ import annotations

import numpy as np
import pytest

import kwis
from kwis.checks.pareto import pareto_k
from kwis.evaluation import LOGGING_POLICY
from kwis.evaluation.split import splits_by
from kwis.policy.discrete import weigh
from kwis.policy.target import resolve_target


def test_segments_hold_the_recommended_estimate_of_their_rows(evaluation, log):
    by_device, _ = evaluation.segments
    assert by_device.columns == ("device",)
    context = log.without_context(["p_new", "p_bold"])
    found = evaluation.recommendation("p_bold", "click").row
    for segment in by_device.segments:
        rows = np.flatnonzero(
            log["device"] == (None if segment.values == ("(missing)",) else segment.values[0])
        )
        assert segment.n == rows.size
        mean = next(row for row in segment.rows if (row.target, row.reward) == (LOGGING_POLICY, "click"))
        assert mean.estimate.value == pytest.approx(log.reward[rows, 0].mean())
        (row,) = [row for row in segment.rows if (row.target, row.reward) == ("p_bold", "click")]
        assert row.estimator == found.estimator
        (change,) = [one for one in segment.changes if (one.target, one.reward) == ("p_bold", "click")]
        assert change.interval.value == pytest.approx(row.estimate.value - mean.estimate.value)
        assert change.simultaneous.low <= change.interval.low
        if found.estimator == "wis":
            sample = weigh(context, resolve_target(context, "p_bold"), "click").take(rows)
            assert row.estimate.value == pytest.approx(kwis.WIS().estimate(sample).value, rel=1e-12)


def test_segment_values_by_hand(log):
    options = {"estimators": ["wis"], "interval": kwis.InfluenceInterval()}
    (parts,) = kwis.evaluate(log, "p_new", by="country", **options).segments
    assert [segment.label for segment in parts.segments] == [
        f"country = {name}" for name in ("BR", "DE", "FR", "IN", "US")
    ]
    for segment in parts.segments:
        rows = np.flatnonzero(log["country"] == segment.values[0])
        weight = log["p_new"][rows] / log.propensity[rows]
        (row,) = [row for row in segment.rows if (row.target, row.reward) == ("p_new", "click")]
        assert row.estimate.value == pytest.approx(
            (weight * log.reward[rows, 0]).sum() / weight.sum(), rel=1e-12
        )


def test_a_tuple_of_columns_stands_for_their_combinations(evaluation, log):
    _, crossed = evaluation.segments
    assert crossed.columns == ("device", "member")
    for segment in crossed.segments:
        assert segment.n >= 30
        assert segment.label == f"device = {segment.values[0]}, member = {segment.values[1]}"
    assert sum(segment.n for segment in crossed.segments) < log.n
    assert any("have no estimate: too few rows" in note for note in crossed.notes)


def test_a_tuple_by_itself_is_one_combination(log):
    assert [parts.columns for parts in splits_by(log, ("device", "member"))] == [("device", "member")]
    assert [parts.columns for parts in splits_by(log, ["device", "member"])] == [("device",), ("member",)]
    assert splits_by(log, ()) == ()


def test_many_numbers_make_quarters(log):
    (parts,) = splits_by(log, "age")
    labels = [label[0] for label in parts.labels]
    assert len([label for label in labels if " to " in label]) == 4
    sizes = [rows.size for rows, label in zip(parts.rows, labels, strict=True) if " to " in label]
    assert min(sizes) > 60
    (dates,) = splits_by(log, "time")
    assert dates.labels[0][0].startswith("2024-03-04 to ")


def test_segments_too_small_are_refused_or_noted(log):
    with pytest.raises(kwis.InputError, match="at least 30 rows"):
        splits_by(log, [("country", "age", "hour", "device", "signup")])
    with pytest.raises(kwis.InputError, match="empty combination"):
        splits_by(log, [()])


def test_a_target_without_support_in_a_segment_is_noted(sample):
    absent = np.where(sample.table["country"] == "DE", 0.0, sample.table["p_new"])
    log = kwis.read_log({**sample.table, "absent": absent}, **sample.arguments)
    target = {"absent": kwis.probability("absent")}
    (parts,) = kwis.evaluate(
        log, target, estimators=["wis"], by="country", interval=kwis.InfluenceInterval()
    ).segments
    assert "absent takes no action that was logged where DE" in parts.notes
    german = next(segment for segment in parts.segments if segment.values == ("DE",))
    assert {row.target for row in german.rows} == {LOGGING_POLICY}


def test_weights_that_are_bounded_on_the_whole_log_have_no_tail_in_a_segment():
    rng = np.random.default_rng(10)
    n, columns = 900, ["p_a", "p_b", "p_c"]
    score = np.column_stack([np.zeros(n), 2 * rng.normal(size=(n, 2))])
    shares = 0.04 + 0.88 * np.exp(score) / np.exp(score).sum(axis=1, keepdims=True)
    action = (rng.random((n, 1)) > shares.cumsum(axis=1)[:, :2]).sum(axis=1)
    table = {
        "x": score[:, 1],
        "y": score[:, 2],
        "place": rng.choice(list("abcdefghi"), n),
        "action": np.array(list("abc"))[action],
    }
    table |= {"reward": (rng.random(n) < 0.4).astype(float), **dict(zip(columns, shares.T, strict=True))}
    log = kwis.read_log(
        table, action="action", reward="reward", propensity=columns, context=["x", "y"], actions=list("abc")
    )
    target = np.exp(-score) / np.exp(-score).sum(axis=1, keepdims=True)
    found = kwis.evaluate(log, target, by="place", estimators=["wis"], repair="never")
    (weights,) = found.weights.values()
    places = [segment.values[0] for segment in found.segments[0].segments]
    assert max(pareto_k(weights[log["place"] == place]) for place in places) > 0.7
    reasons = [
        reason
        for segment in found.segments[0].segments
        for row in segment.rows
        for reason in row.verdict.reasons
    ]
    assert not any("heavy tail" in reason for reason in reasons)
