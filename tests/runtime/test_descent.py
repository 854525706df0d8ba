"""Minima of convex functions against scipy's."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit

from kwis.stats.descent import lowest_point


def _logistic(seed: int, spread: float):
    """A penalised logistic regression whose columns have up to ``spread`` times each other's size."""
    rng = np.random.default_rng(seed)
    design = rng.normal(size=(400, 8)) * spread ** rng.random(8)
    outcome = rng.random(400) < 1 / (1 + np.exp(-design[:, 0] + 2))

    def loss(at):
        scores = design @ at
        value = np.logaddexp(0, scores).sum() - scores[outcome].sum() + 0.5 * at @ at
        return value / 400, (design.T @ (expit(scores) - outcome) + at) / 400

    return loss


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("spread", [1.0, 30.0])
@pytest.mark.parametrize("curvature", [1e-3, 0.3, 50.0])
def test_the_lowest_point_is_that_of_scipy(seed, spread, curvature):
    loss = _logistic(seed, spread)
    found = lowest_point(loss, np.zeros(8), curvature=curvature, tolerance=1e-13, flat=1e-8)
    twin = minimize(loss, np.zeros(8), jac=True, method="BFGS", options={"gtol": 1e-9}).x
    np.testing.assert_allclose(found, twin, atol=1e-4)
    assert loss(found)[0] <= loss(twin)[0] + 1e-10


def test_a_known_curvature_leads_there_in_one_step():
    told = []

    def bowl(at):
        told.append(at)
        return float(2 * (at - 1) @ (at - 1)), 4 * (at - 1)

    np.testing.assert_allclose(lowest_point(bowl, np.zeros(3), curvature=4.0, tolerance=1e-12), 1.0)
    assert len(told) == 2


def test_steps_that_lead_where_nothing_is_finite_are_cut():
    def steep(at):
        with np.errstate(over="ignore"):
            return float(np.exp(at[0]) - 3 * at[0]), np.exp(at) - 3

    assert lowest_point(steep, np.array([-1.0]), curvature=1e-6, tolerance=1e-14)[0] == pytest.approx(
        np.log(3), abs=1e-5
    )


def test_nothing_to_gain_is_where_it_began():
    start = np.array([2.0])
    assert lowest_point(lambda at: (0.0, np.zeros(1)), start, curvature=1.0, tolerance=1e-9) is start
    empty = np.zeros(0)
    assert lowest_point(lambda at: (0.0, at), empty, curvature=1.0, tolerance=1e-9).size == 0
