"""Where a log has only the propensities of the actions taken, those of the others are completed from them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import nnls

from kwis.checks.completed import _powers, completed
from tests.checks.logs import simulated
from tests.statistical.holds.record import alarms_of
from tests.statistical.holds.regimes import all_regimes
from tests.statistical.holds.world import World


def others(log):
    unlogged = np.ones((len(log), log.n_actions), dtype=bool)
    unlogged[np.arange(len(log)), log.action] = False
    return unlogged


def test_a_softmax_is_recovered_where_its_propensities_are_small():
    log, true = simulated(600, sharpness=1.5), simulated(600, sharpness=1.5, known="whole").behaviour
    rare = others(log) & (true < 0.05)
    assert rare.sum() > 100
    error = np.log(completed(log)[rare] / true[rare])
    assert abs(np.median(error)) < 0.05
    assert np.abs(error).mean() < 0.1


def test_the_smallest_of_many_different_propensities_is_no_bound():
    log = simulated(600, sharpness=1.5)
    assert completed(log)[others(log)].min() < log.propensity.min()


def test_a_propensity_that_many_rows_share_is_a_bound_and_rows_need_not_sum_to_1():
    log = simulated(600, sharpness=1.5, misreport=lambda true, x, colour: np.maximum(true, 0.15))
    whole = completed(log)
    assert whole.min() == pytest.approx(0.15)
    assert whole.sum(axis=1).max() > 1.05
    np.testing.assert_array_equal(whole[np.arange(600), log.action], log.propensity)


def test_an_action_that_no_row_took_is_completed_too():
    log = replace(simulated(300), action_names=(0, 1, 2, 3))
    whole = completed(log)
    assert whole.shape == (300, 4)
    assert (whole >= 0).all()


def test_clipped_propensities_are_found():
    """Those of a softmax logger, cut off at 0.15; a worse completion that needed leeway found them in 8 of
    these 16 logs.
    """
    world = World(all_regimes()["misreport/clipped, logged"], "tuning")
    assert sum(alarms_of(world, seed)[0]["alarm"] for seed in range(16)) >= 11


@pytest.mark.parametrize("seed", range(20))
def test_powers_are_least_squares_that_are_not_negative(seed):
    rng = np.random.default_rng(seed)
    guesses = rng.normal(size=(30, 2)) @ rng.normal(size=(2, 2))
    if seed % 5 == 4:
        guesses[:, 1] = 2 * guesses[:, 0]
    wanted = rng.normal(size=30) + guesses @ rng.normal(size=2)
    found, (_, error) = _powers(guesses, wanted), nnls(guesses, wanted)
    assert (found >= 0).all()
    assert np.linalg.norm(guesses @ found - wanted) == pytest.approx(error, rel=1e-9)
