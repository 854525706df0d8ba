"""Intervals of a difference from those of the two values."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kwis
from kwis.intervals.square_and_add import square_and_add
from tests.reference import intervals as twin

ARMS = st.floats(0, 10)
VALUES = st.floats(-10, 10)


def interval(low, value, high):
    return kwis.Interval(low=low, high=high, level=0.95, value=value, method="given")


@given(value=VALUES, other=VALUES, arms=st.tuples(ARMS, ARMS, ARMS, ARMS), correlation=st.floats(-1, 0.999))
def test_ends_are_those_of_the_formula(value, other, arms, correlation):
    ends = (value - arms[0], value, value + arms[1]), (other - arms[2], other, other + arms[3])
    found = square_and_add(*(interval(*one) for one in ends), correlation)
    assert found == pytest.approx(twin.difference_from_both(*ends, correlation), abs=1e-6)


def test_independent_symmetric_intervals_add_as_variances_do():
    assert square_and_add(interval(0, 3, 6), interval(-3, 1, 5), 0.0) == pytest.approx((-3.0, 7.0))


def test_values_that_move_together_have_no_difference_to_doubt():
    assert square_and_add(interval(0, 3, 6), interval(-2, 1, 4), 1.0) == pytest.approx((2.0, 2.0))
