"""Student intervals where a rule changes: at the ends of the range, with few rows in effect, far biases."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

import kwis
from kwis.estimators.joint import Contrast
from kwis.intervals.student import student_ends
from tests.reference import intervals as twin


def ends(value, error, freedom, level=0.95, **options):
    low, high = student_ends(np.array([value]), np.array([error]), np.array([freedom]), level, **options)
    return float(low[0]), float(high[0])


@pytest.mark.parametrize(("value", "side"), [(0.0, 1), (1.0, -1)])
def test_a_value_at_an_end_reaches_as_far_as_unseen_rewards_allow(value, side):
    unseen = 1 - 0.025 ** (1 / 6)  # five degrees of freedom are six draws
    assert ends(value, 0.1, 5.0, bounds=(0.0, 1.0)) == pytest.approx(sorted((value, value + side * unseen)))


def test_few_rows_in_effect_leave_one_degree_of_freedom():
    influence = np.repeat([-1.0, 1.0], 5)
    estimate = kwis.Estimate(name="own", value=3.0, n=10, effective_n=1.2, influence=influence)
    sample = kwis.WeightedSample(context=np.zeros((10, 1)), weight=np.ones(10), reward=np.ones(10))
    interval = kwis.StudentInterval(None).of(
        Contrast(estimator=kwis.VIS(), asked=kwis.VIS(), sample=sample, estimate=estimate), 0.9
    )
    error = twin.jackknife_error([3.0 + move / 9 for move in influence], 3.0)
    reach = stats.t.ppf(0.95, 1) * error
    assert (interval.low, interval.high) == pytest.approx((3.0 - reach, 3.0 + reach), rel=1e-9)


def test_an_arm_is_at_most_so_many_times_a_symmetric_one():
    reach = stats.t.ppf(0.975, 8) * 0.05
    bounds = {"bounds": (0.0, 1.0), "longest_arm": 1.5}
    free = twin.log_odds_ends(0.02, reach, 0.0, 1.0)
    assert free[1] > 0.02 + 1.5 * reach
    assert ends(0.02, 0.05, 8.0, **bounds) == pytest.approx((free[0], 0.02 + 1.5 * reach))
    assert ends(0.98, 0.05, 8.0, **bounds) == pytest.approx((0.98 - 1.5 * reach, 1 - free[0]))
    for outside in (-0.01, 0.0, 1.0, 1.01):
        assert ends(outside, 0.05, 8.0, **bounds) == pytest.approx((outside - reach, outside + reach))


def test_arms_of_a_doubly_robust_estimate_are_at_most_two_and_a_half_times_as_long():
    rng = np.random.default_rng(2)
    reward = (rng.random(40) < 0.5).astype(float)
    log = kwis.WeightedSample(context=np.zeros((40, 1)), weight=np.ones(40), reward=reward)
    offset = 0.01 - reward.mean()  # the estimate comes close to 0 although the rewards do not
    sample = kwis.PredictedSample(log, predicted=np.zeros(40), predicted_value=np.full(40, offset))
    estimator = kwis.DoublyRobust()
    free = kwis.StudentInterval(None).interval(estimator, sample)
    bound = kwis.StudentInterval((0, 1)).interval(estimator, sample)
    assert bound.value == pytest.approx(0.01)
    assert bound.high - bound.value == pytest.approx(2.5 * (free.high - free.value))


@pytest.mark.parametrize("level", [0.3, 0.5])
def test_a_far_bias_alone_is_the_reach_at_a_level_of_half_and_less(level):
    low, high = ends(0.0, 1.0, 1e12, level, bias=np.array([25.0]))
    assert (low, high) == pytest.approx((-25.0, 25.0), rel=1e-6)
    assert twin.folded_normal_chance(high, 25.0) >= level - 1e-9


def test_the_error_of_rows_without_any_influence_is_none():
    assert ends(0.4, 0.0, 7.0) == (0.4, 0.4)
    assert math.isclose(ends(0.4, 0.0, 7.0, bounds=(0.0, 1.0))[0], 0.4 * 0.025 ** (1 / 8))
