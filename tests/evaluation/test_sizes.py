"""What happens to large logs is a rule, and the result says it."""

from __future__ import annotations

import numpy as np
import pytest

import kwis
from kwis.evaluation import measure, path


@pytest.fixture
def small_limits(monkeypatch):
    """The rules of large logs, on a log of 400 rows."""
    for module in ("measure", "account"):
        monkeypatch.setattr(f"kwis.evaluation.{module}.SELECTION_ROWS", 200)
    monkeypatch.setattr(path, "FULL_ROWS", 300)
    monkeypatch.setattr(path, "SUBSET_ROWS", 100)


def test_large_logs_take_quicker_roads_and_say_so(sample, small_limits):
    log = sample.read(reward="click")
    found = kwis.evaluate(log, "p_new", estimators=["wis", "normalised-kernel-wis"])
    assert {row.interval.method for row in found.rows} == {"student"}
    assert found.settings.selection_rows == 200
    assert found.settings.path_rows == found.paths[0].rows == 100
    words = " ".join(found.notes)
    assert "selected on 200 of the 400 rows, drawn with seed 0" in words
    assert "paths were computed on 100 of the 400 rows" in words


def test_selection_uses_the_seeded_subset_and_the_estimate_all_rows(sample, small_limits):
    from kwis.policy.discrete import weigh
    from kwis.policy.target import resolve_target

    log = sample.read(reward="click")
    found = kwis.evaluate(log, "p_new", estimators=["normalised-kernel-wis"], rng=5)
    subset = measure.selection_rows(400, 5)
    whole = weigh(log, resolve_target(log, "p_new"))
    bandwidth = kwis.KernelWIS(rng=5).estimate(whole.take(subset)).bandwidth
    row = next(row for row in found.rows if row.target == "p_new")
    assert row.estimate.bandwidth == bandwidth
    assert row.estimate.value == pytest.approx(
        kwis.KernelWIS(bandwidth, normalised=True).estimate(whole).value, rel=1e-11
    )


def test_small_logs_use_every_row():
    assert measure.selection_rows(20_000, 0) is None
    assert path.path_rows(2_000, 0) is None
    assert np.unique(path.path_rows(2_001, 0)).size == 2_000


def test_sampled_neighbours_are_taken_on_request_and_said(sample, monkeypatch):
    from kwis.estimators import precision

    log = sample.read(reward="click")
    monkeypatch.setattr(precision, "TOLERANCE", np.inf)
    monkeypatch.setattr(precision, "_FEWEST", 150)
    monkeypatch.setattr(precision, "_PER_ROOT", 1)
    names = ["wis", "kernel-wis", "normalised-kernel-wis"]
    estimators = [kwis.WIS(), kwis.KernelWIS(0.8), kwis.KernelWIS(0.8, normalised=True)]
    exact, near = (kwis.evaluate(log, "p_new", estimators=estimators, exact=one) for one in (True, False))
    assert not any("sampled neighbours" in note for note in exact.notes)
    note = next(note for note in near.notes if "sampled neighbours of the 400 rows" in note)
    assert "of its standard error" in note
    for name in names:
        one, other = (
            next(row for row in found.rows if row.target == "p_new" and row.estimate.name == name)
            for found in (exact, near)
        )
        error = other.estimate.precision.error if name != "wis" else 1e-12
        assert abs(one.estimate.value - other.estimate.value) < 4 * error
        assert other.interval.low == pytest.approx(one.interval.low, abs=4 * error + 0.1 * one.interval.width)
        assert other.interval.width == pytest.approx(one.interval.width, rel=0.15)


def test_an_estimator_that_says_how_exact_it_is_keeps_it(sample):
    log = sample.read(reward="click")
    found = kwis.evaluate(log, "p_new", estimators=[kwis.KernelWIS(0.8, exact=True)], exact=False)
    assert next(row for row in found.rows if row.target == "p_new").estimate.precision is None
