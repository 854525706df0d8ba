"""Intervals around the mean of a tail."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kwis
from kwis.intervals.student import student_ends
from kwis.intervals.tail_ends import tail_ends


def test_arms_are_those_of_the_logarithm_outwards_and_of_the_root_inwards():
    low, high = tail_ends(5.0, 3.0, 1.0)  # a mean excess of 2, k = 1 / 2
    assert high == pytest.approx(3 + 2 * math.exp(0.5))
    assert low == pytest.approx(3 + (math.sqrt(2) - 1 / (2 * math.sqrt(2))) ** 2)
    assert tail_ends(-5.0, -3.0, 1.0) == pytest.approx((-high, -low))


def test_arms_have_limits_where_few_rows_make_the_reach_long():
    assert tail_ends(5.0, 4.9, 1.0) == pytest.approx((4.5, 7.5))
    assert tail_ends(1e-300, 0.0, 1.0) == pytest.approx((-0.5, 2.5))
    assert tail_ends(5.0, 5.0, 1.0) == (4.0, 6.0)
    assert tail_ends(5.0, 4.0, math.inf) == (-math.inf, math.inf)
    assert tail_ends(5.0, 4.0, 0.0) == (5.0, 5.0)
    assert tail_ends(5.0, 4.0, 1e-320) == pytest.approx((5.0, 5.0))


@given(excess=st.floats(1e-3, 1e3), reach=st.floats(1e-6, 1e6), unit=st.sampled_from([1e-6, 1.0, 1e6]))
def test_the_unit_of_the_rewards_does_not_matter(excess, reach, unit):
    low, high = tail_ends(excess, 0.0, reach)
    assert low <= excess <= high
    assert tail_ends(unit * excess, 0.0, unit * reach) == pytest.approx((unit * low, unit * high))


@pytest.mark.parametrize("upper", [True, False])
def test_a_student_interval_of_a_tail_has_them_unless_bounds_are_none(upper):
    rng = np.random.default_rng(0)
    sample = kwis.WeightedSample(
        context=rng.normal(size=(200, 1)), weight=rng.gamma(2, 0.5, 200), reward=rng.exponential(size=200)
    )
    estimator = kwis.TailMean(0.9 if upper else 0.1, upper=upper)
    plain = kwis.StudentInterval(bounds=None).interval(estimator, sample)
    reach, value = (plain.high - plain.low) / 2, estimator.estimate(sample).value
    assert plain.low == pytest.approx(value - reach)
    found = kwis.StudentInterval().interval(estimator, sample)
    edge = kwis.Quantile(estimator.share).estimate(sample).value
    assert (found.low, found.high) == pytest.approx(tail_ends(value, edge, reach))
    of_range = kwis.StudentInterval(bounds=(0.0, 100.0)).interval(estimator, sample)
    assert (of_range.low, of_range.high) == (found.low, found.high)


def test_others_have_none():
    sample = kwis.WeightedSample(context=np.zeros((9, 1)), weight=np.ones(9), reward=np.arange(9.0))
    for one in (kwis.WIS(), kwis.Quantile(0.5)):
        assert not hasattr(one, "edge")
        assert kwis.StudentInterval().interval(one, sample).high <= 8.0
    assert student_ends(np.array([1.0]), np.array([0.0]), np.array([3.0]), 0.9)[0] == 1.0
