"""Bandwidths that need not be exact, of one weight vector or of many at once."""

from __future__ import annotations

import math

import numpy as np
import pytest

import kwis
from kwis.bandwidth import cv_score
from kwis.bandwidth.select import Problem
from kwis.kernel.held_out import halving_grid, rough_grid
from kwis.kernel.tiles import FusedCV
from kwis.runtime.threads import engine

ROWS = 900


def _samples(count, features=3, mass=None, group=None):
    rng = np.random.default_rng(4)
    context, reward = rng.normal(size=(ROWS, features)), rng.random(ROWS)
    slopes = rng.normal(size=(features, count))
    weights = np.exp(0.5 * context @ slopes + 0.5 * rng.normal(size=(ROWS, count)))
    weights[:, 0] = rng.exponential(size=ROWS)  # independent of the context
    return [
        kwis.WeightedSample(context=context, weight=weight, reward=reward, mass=mass, group=group)
        for weight in weights.T
    ]


@pytest.mark.parametrize("grid", [halving_grid(4.0, 7), rough_grid(8.0, 12)])
@pytest.mark.parametrize("uneven", [False, True])
def test_scores_of_many_at_once_are_those_of_each(grid, uneven):
    mass = np.random.default_rng(1).integers(1, 4, ROWS).astype(float) if uneven else None
    samples = _samples(3)
    problem = Problem.of(samples[0].context, (), 5, "rbf", None, 0, mass)
    weights = np.stack([sample.weight for sample in samples], axis=1)
    wanted = np.ones((grid.size, 3), dtype=bool)
    wanted[3:, 1] = False
    with engine():
        found = problem.plan().locate.scan_many(weights, grid, wanted)
    for vector, sample in enumerate(samples):
        for place, bandwidth in enumerate(grid):
            if not wanted[place, vector]:
                assert np.isnan(found[place, vector])
                continue
            expected, _ = cv_score(sample.context, sample.weight, bandwidth, problem.folds.labels, mass=mass)
            assert found[place, vector] == pytest.approx(expected, rel=1e-5)


def test_scores_do_not_depend_on_what_others_want():
    samples = _samples(4)
    problem = Problem.of(samples[0].context, (), 5, "rbf", None, 0)
    weights = np.stack([sample.weight for sample in samples], axis=1)
    grid = problem.typical * 2.0 ** (2 - np.arange(20) / 4)
    wanted = np.random.default_rng(3).random((grid.size, 4)) < 0.3
    locate = FusedCV.of(problem.geometry, problem.folds).rough()
    with engine():
        together = locate.scan_many(weights, grid, wanted)
        for vector in range(4):
            alone = locate.scan_many(weights[:, [vector]], grid, wanted[:, [vector]])
            assert together[:, vector].tobytes() == alone[:, 0].tobytes()


@pytest.mark.parametrize("named", ["plain", "mass", "group"])
def test_each_of_many_is_what_it_is_alone_to_the_bit(named):
    rng = np.random.default_rng(2)
    more = {"mass": rng.integers(1, 3, ROWS), "group": rng.integers(400, size=ROWS)}
    samples = _samples(6, **({named: more[named]} if named in more else {}))
    rule = kwis.KernelWIS(exact=False)
    together = rule.choose_each(samples)
    assert np.isinf(together[0].value)
    assert len({choice.value for choice in together}) > 4
    for sample, choice in zip(samples, together, strict=True):
        alone = rule.choose(sample)
        assert (alone.value, alone.score, alone.uncertainty) == (
            choice.value,
            choice.score,
            choice.uncertainty,
        )


@pytest.mark.parametrize("features", [1, 3, 8])
def test_it_is_as_near_to_the_exact_one_as_it_says(features):
    for sample in _samples(5, features)[1:]:
        quick, exact = (kwis.KernelWIS(exact=exact).choose(sample) for exact in (False, True))
        if np.isinf(exact.value) or np.isinf(quick.value):
            assert quick.score == pytest.approx(exact.score, rel=1e-5)
        else:
            assert abs(math.log(quick.value / exact.value)) <= max(quick.uncertainty, 1e-3)
            assert quick.uncertainty < 0.2
            assert quick.score == pytest.approx(exact.score, rel=1e-4)


def test_equal_weights_have_no_bandwidth_beside_others():
    samples = _samples(3)
    samples[1] = samples[1].with_weight(np.ones(ROWS))
    found = kwis.KernelWIS(exact=False).choose_each(samples)
    assert np.isinf(found[1].value)
    assert not np.isinf(found[2].value)


def test_a_target_does_not_depend_on_those_beside_it():
    rng = np.random.default_rng(6)
    x = rng.normal(size=ROWS)
    table = {
        "x": x,
        "action": rng.integers(2, size=ROWS),
        "propensity": np.full(ROWS, 0.5),
        "reward": rng.random(ROWS),
        **{name: 1 / (1 + np.exp(-k * x)) for k, name in enumerate("abc", start=1)},
    }
    log = kwis.read_log(table, propensity="propensity", context="x")
    estimators = [kwis.KernelWIS(exact=False, normalised=True), kwis.WIS()]
    together = kwis.evaluate(log, list("abc"), estimators=estimators, repair="never")
    for name in "abc":
        alone = kwis.evaluate(log, name, estimators=estimators, repair="never")
        for estimator in ("normalised-kernel-wis", "wis"):
            one, other = (
                next(row for row in found.rows if (row.target, row.estimator) == (name, estimator))
                for found in (alone, together)
            )
            assert one.estimate.value == other.estimate.value
            assert one.estimate.bandwidth == other.estimate.bandwidth
            assert (one.interval.low, one.interval.high) == (other.interval.low, other.interval.high)


def test_a_minimum_that_was_read_off_is_never_said_to_be_known_exactly():
    rng = np.random.default_rng(5)
    context = rng.normal(size=(1_200, 2))
    weight = np.exp(0.6 * context[:, 0] + 0.2 * rng.normal(size=1_200))
    choice = kwis.select_bandwidth(context, weight, exact=False)
    assert np.isfinite(choice.value)
    assert choice.uncertainty >= 0.005


def test_a_minimum_that_polynomials_do_not_agree_on_is_placed_by_finer_nodes(monkeypatch):
    samples = _samples(3)[1:]
    usual = kwis.KernelWIS(exact=False).choose_each(samples)
    monkeypatch.setattr("kwis.bandwidth.rough._AGREED", max(choice.uncertainty for choice in usual) / 2)
    monkeypatch.setattr("kwis.bandwidth.rough._LEAST", 0.0)
    finer = kwis.KernelWIS(exact=False).choose_each(samples)
    for sample, before, after in zip(samples, usual, finer, strict=True):
        exact = kwis.KernelWIS(exact=True).choose(sample)
        assert abs(math.log(after.value / before.value)) <= before.uncertainty
        assert abs(math.log(after.value / exact.value)) <= max(after.uncertainty, 1e-3)
    assert min(choice.uncertainty for choice in finer) < min(choice.uncertainty for choice in usual)
