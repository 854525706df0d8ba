"""What a bandwidth found to a hundredth adds to the error that an estimate states."""

import math
from dataclasses import replace

import numpy as np
import pytest

import kwis
from kwis.estimators.bandwidth_error import with_bandwidth_error
from kwis.estimators.together import Job

ROWS = 1_500


def sample_of(seed, n=ROWS):
    rng = np.random.default_rng(seed)
    context = rng.normal(size=(n, 2))
    weight = np.exp(0.6 * context[:, 0] + 0.3 * rng.normal(size=n))
    reward = (rng.random(n) < 1 / (1 + np.exp(-context[:, 0]))).astype(float)
    return kwis.WeightedSample(context=context, weight=weight, reward=reward)


@pytest.mark.parametrize("seed", range(4))
def test_the_quick_bandwidth_is_as_near_to_the_exact_one_as_it_says(seed):
    sample = sample_of(seed)
    quick, exact = (
        kwis.select_bandwidth(sample.context, sample.weight, exact=exact) for exact in (False, True)
    )
    assert exact.uncertainty == 0
    assert 0 < quick.uncertainty < 0.05
    assert abs(math.log(quick.value / exact.value)) <= quick.uncertainty


@pytest.mark.parametrize("normalised", [False, True])
def test_the_stated_error_covers_what_the_bandwidth_moves(normalised):
    sample = sample_of(1)
    quick, exact = (
        kwis.KernelWIS(exact=exact, normalised=normalised).estimate(sample) for exact in (False, True)
    )
    assert exact.precision is None
    assert quick.precision.error >= quick.precision.bandwidth > 0
    assert abs(quick.value - exact.value) <= 1.96 * quick.precision.error


def test_it_is_the_slope_along_the_bandwidth_times_how_far_that_may_be_off():
    sample, estimator = sample_of(2), kwis.KernelWIS(0.7, exact=False)
    choice = replace(
        kwis.select_bandwidth(sample.context, sample.weight, exact=True), value=0.7, uncertainty=0.01
    )
    found = with_bandwidth_error([Job(estimator, sample)], [estimator.estimate(sample)], choice)[0]
    wide, narrow = (
        kwis.KernelWIS(0.7 * math.exp(step), exact=True).estimate(sample).value for step in (0.1, -0.1)
    )
    slope = abs(wide - narrow) / 0.2
    assert found.precision.bandwidth >= 0.999 * 0.01 * slope
    assert found.precision.bandwidth <= 0.01 * (slope + estimator.estimate(sample).std_error)


def test_an_exact_bandwidth_adds_nothing():
    sample, estimator = sample_of(3), kwis.KernelWIS(0.7, exact=False)
    estimate = estimator.estimate(sample)
    exact = kwis.select_bandwidth(sample.context, sample.weight, exact=True)
    for choice in (None, exact):
        assert with_bandwidth_error([Job(estimator, sample)], [estimate], choice) == [estimate]


def test_every_estimate_of_a_family_states_it():
    log = kwis.sample_log(600, rng=1, right_propensities=True).read(reward="click")
    names = ["kernel-wis", "normalised-kernel-wis", "doubly-robust-normalised-kernel-wis", "wis"]
    found = kwis.evaluate(log, "p_new", repair="never", exact=False, estimators=names)
    stated = {row.estimator: row.estimate for row in found.rows if row.target == "p_new"}
    assert stated.pop("wis").precision is None
    assert len(stated) == 3
    for estimate in stated.values():
        assert 0 < estimate.precision.bandwidth <= estimate.precision.error < 0.05 * estimate.std_error
    assert any("at the exact bandwidth" in note for note in found.notes)
