"""The bandwidth path runs from State-WIS to WIS through the bandwidth chosen."""

from __future__ import annotations

import math

import numpy as np
import pytest

import kwis
from kwis.evaluation.path import bandwidth_grid


def _estimate(evaluation, target, estimator, reward):
    return next(row.estimate for row in evaluation.rows if (row.target, row.estimator, row.reward) == (target, estimator, reward))


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
        assert path.values[0] == pytest.approx(_estimate(evaluation, path.target, "normalised-state-wis", path.reward).value, rel=1e-11)
        assert path.values[-1] == pytest.approx(_estimate(evaluation, path.target, "wis", path.reward).value, rel=1e-11)
        assert (path.lows < path.values).all()
        assert (path.values < path.highs).all()


def test_the_grid_has_the_chosen_bandwidth_once():
    assert np.count_nonzero(bandwidth_grid(2.0, 2.0000001, 100) == 2.0000001) == 1
    assert 2.0 not in bandwidth_grid(2.0, 2.0000001, 100)
    assert bandwidth_grid(2.0, math.inf, 100)[-1] == math.inf
    assert bandwidth_grid(2.0, 6.0, 6_000).size == 10


def test_one_bandwidth_per_feature_has_no_path(log):
    kernel = kwis.KernelWIS(np.ones(log.without_context(["p_new"]).context.shape[1]), normalised=True)
    assert kwis.evaluate(log, "p_new", estimators=["wis", kernel], interval=kwis.InfluenceInterval()).paths == ()
