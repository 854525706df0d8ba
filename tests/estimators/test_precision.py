"""How many neighbours an approximate Kernel-WIS takes: few at first, more where the error asks for them."""

from __future__ import annotations

import math

import numpy as np
import pytest

import kwis
from kwis.estimators import precision, sampled
from kwis.results import Precision


@pytest.mark.parametrize(
    ("n", "size"),
    [
        (6_000, 6_000),
        (8_000, 8_000),
        (8_001, 4_000),  # just below half of the rows
        (10_000, 4_000),
        (40_000, 4_000),
        (1_000_000, 20_000),
        (10_000_000, 5_000),  # as many as 50,000,000,000 pairs allow
        (100_000_000, 1_000),
    ],
)
def test_the_usual_size_grows_with_the_root_of_the_rows_until_pairs_are_too_many(n, size):
    assert precision.usual_size(n) == size


def attempts(n, errors):
    """Sizes that are tried when the attempts have these errors, in units of the standard error."""
    tried = []

    def attempt(size):
        error = errors[len(tried)]
        tried.append(size)
        stated = Precision(error=error, neighbours=size, checked=10)
        return [kwis.Estimate(name="own", value=1.0, n=n, std_error=1.0, precision=stated)]

    precision.precise_enough(attempt, n)
    return tried


def test_a_second_attempt_takes_as_many_as_the_first_says_are_needed():
    n = 1_000_000
    tolerance = 0.015  # of the standard error
    assert attempts(n, [tolerance]) == [5_000]
    assert attempts(n, [2 * tolerance, 0.0]) == [5_000, math.ceil(1.1 * 5_000 * 2)]
    assert attempts(n, [1e9, 0.0]) == [5_000, 20_000]  # the usual size is more than the pairs allow
    assert attempts(1_500, [0.0]) == [1_500]
    assert attempts(1_500, [1e9]) == [1_500]  # all rows: there are no more
    assert attempts(10_000_000, [0.0]) == [5_000]
    assert attempts(10_000_000, [1e9]) == [
        5_000
    ]  # no more pairs are allowed: the same again would bring nothing
    assert attempts(100_000_000, [0.0]) == [1_000]
    assert attempts(100_000, [1e9, 0.0]) == [1_582, 20_000]  # 2,000,000,000 pairs
    assert attempts(20_000, [1e9, 0.0]) == [1_000, 20_000]


def test_the_error_of_an_approximation_is_measured_in_standard_errors():
    def made(error, std_error):
        stated = None if error is None else Precision(error=error, neighbours=9, checked=3)
        return kwis.Estimate(name="own", value=1.0, n=9, std_error=std_error, precision=stated)

    found = [made(0.2, 2.0), made(0.3, 1.0), made(None, 1e-9), made(5.0, 0.0), made(5.0, math.nan)]
    assert precision.relative_error(found) == pytest.approx(0.3)
    assert precision.relative_error(found[2:]) == 0.0


def test_neighbours_and_rows_to_check_are_drawn_from_different_streams():
    assert sampled._NEIGHBOURS != sampled._CHECKED


def test_noise_is_taken_out_of_a_standard_error():
    influence, noise = np.array([3.0, -3.0, 3.0, -3.0]), np.array([1.0, -1.0, 1.0, -1.0])
    assert precision.without_noise(influence, noise, None) == pytest.approx(math.sqrt(1 - 1 / 9))
    assert precision.without_noise(noise, influence, None) == 1.0
    assert precision.without_noise(noise, noise, None) == 1.0
