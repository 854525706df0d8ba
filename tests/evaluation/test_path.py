"""The bandwidth path runs from State-WIS to WIS through the bandwidth chosen."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import kwis
from kwis.evaluation.measure import Policy
from kwis.evaluation.path import bandwidth_grid, paths_of


def _estimate(evaluation, target, estimator, reward):
    return next(
        row.estimate
        for row in evaluation.rows
        if (row.target, row.estimator, row.reward) == (target, estimator, reward)
    )


def test_a_path_meets_the_estimates_at_both_ends_and_where_it_was_chosen(evaluation):
    assert {(path.target, path.reward) for path in evaluation.paths} == {
        (target, reward) for target in ("p_new", "p_bold") for reward in ("click", "revenue")
    }
    for path in evaluation.paths:
        assert (path.bandwidths[0], path.bandwidths[-1]) == (0.0, math.inf)
        assert (np.diff(path.bandwidths) > 0).all()
        chosen = _estimate(evaluation, path.target, "normalised-kernel-wis", path.reward)
        assert path.chosen == chosen.bandwidth
        (at,) = np.flatnonzero(path.bandwidths == path.chosen)
        assert path.values[at] == pytest.approx(chosen.value, rel=1e-11)
        assert path.values[0] == pytest.approx(
            _estimate(evaluation, path.target, "normalised-state-wis", path.reward).value, rel=1e-11
        )
        assert path.values[-1] == pytest.approx(
            _estimate(evaluation, path.target, "wis", path.reward).value, rel=1e-11
        )
        assert (path.lows < path.values).all()
        assert (path.values < path.highs).all()


@pytest.mark.parametrize(("n", "kernel"), [(150, "rbf"), (700, "rbf"), (150, "laplace")])
def test_every_point_of_a_path_is_the_estimate_at_its_bandwidth(n, kernel):
    rng = np.random.default_rng(6)
    context = np.column_stack([rng.normal(size=(n, 2)), rng.integers(0, 2, n)])
    rows = {
        "context": context,
        "categorical": 2,
        "group": rng.integers(0, n // 2, n),
        "mass": rng.uniform(0.5, 2, n),
    }
    rewards = [size * rng.normal(size=n) for size in (1.0, 1e200)]
    weights = [scale * rng.exponential(size=n) * (rng.random(n) > 0.2) for scale in (1.0, 1e-40)]
    policies = [
        Policy(
            name=name,
            samples=tuple(kwis.WeightedSample(weight=weight, reward=reward, **rows) for reward in rewards),
        )
        for name, weight in zip("vw", weights, strict=True)
    ]
    chosen = kwis.KernelWIS(1.3, kernel=kernel)
    samples = [sample for policy in policies for sample in policy.samples]
    own = [(policy, replace(chosen, bandwidth=h)) for policy, h in zip(policies, (1.3, 0.4), strict=True)]
    paths = paths_of(own, ["a", "b"], 0.95, None)
    assert [(path.target, path.reward) for path in paths] == [("v", "a"), ("v", "b"), ("w", "a"), ("w", "b")]
    for sample, path in zip(samples, paths, strict=True):
        assert path.chosen in path.bandwidths
        for h, value, high in zip(path.bandwidths[1:-1], path.values[1:-1], path.highs[1:-1], strict=True):
            alone = kwis.KernelWIS(h, kernel=kernel, normalised=True).estimate(sample)
            assert value == pytest.approx(alone.value, rel=1e-9)
            assert high - value == pytest.approx(1.959963984540054 * alone.std_error, rel=1e-7)


def test_the_grid_has_the_chosen_bandwidth_once():
    assert np.count_nonzero(bandwidth_grid(2.0, 2.0000001, 100) == 2.0000001) == 1
    assert 2.0 not in bandwidth_grid(2.0, 2.0000001, 100)
    assert bandwidth_grid(2.0, math.inf, 100)[-1] == math.inf
    assert bandwidth_grid(2.0, 6.0, 6_000).size == 10


def test_one_bandwidth_per_feature_has_no_path(log):
    kernel = kwis.KernelWIS(np.ones(log.without_context(["p_new"]).context.shape[1]), normalised=True)
    assert (
        kwis.evaluate(log, "p_new", estimators=["wis", kernel], interval=kwis.InfluenceInterval()).paths == ()
    )
