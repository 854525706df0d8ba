"""Intervals of rewards in any range, and what single terms of the formulas do."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import kwis
from kwis.estimators import traits
from kwis.estimators.difference import Difference, PairedSample
from kwis.estimators.joint import Contrast
from kwis.estimators.precision import relative_error
from kwis.estimators.ratio import _length
from kwis.estimators.together import Job, resamples_together
from kwis.intervals.distribution import _DRAWS, reward_distribution
from kwis.intervals.endpoints import _moved
from kwis.intervals.student import student_ends

RNG = np.random.default_rng(3)
N = 80
WEIGHT, REWARD = RNG.exponential(size=N), (RNG.random(N) < 0.4).astype(float)


def sample_of(reward: np.ndarray) -> kwis.WeightedSample:
    return kwis.WeightedSample(context=np.zeros((N, 1)), weight=WEIGHT, reward=reward)


@pytest.mark.parametrize("largest", [None, 9.0])
def test_a_sequence_moves_and_stretches_with_the_range_of_the_rewards(largest):
    plain = kwis.BettingSequence(largest_weight=largest).start().add(WEIGHT, REWARD).interval()
    wide = kwis.BettingSequence((1.0, 5.0), largest_weight=largest).start().add(WEIGHT, 1 + 4 * REWARD)
    found = wide.interval()
    assert (found.low, found.high) == pytest.approx((1 + 4 * plain.low, 1 + 4 * plain.high), abs=1e-9)
    middle = (plain.low + plain.high) / 2
    assert not wide.refutes(1 + 4 * middle)
    assert wide.refutes(1 + 4 * (plain.low - 0.01))
    assert wide.refutes(1 + 4 * (plain.high + 0.01))


def test_the_efron_stein_bound_moves_and_stretches_with_the_range_of_the_rewards():
    half, target = np.full((N, 2), 0.5), np.tile([0.4, 0.6], (N, 1))
    action = (WEIGHT > 0.7).astype(int)
    plain = kwis.efron_stein_bound(target, half, action, REWARD, draws=20)
    weight = np.where(action == 1, 1.2, 0.8)
    assert plain.value == pytest.approx(float(weight @ REWARD / weight.sum()), rel=1e-12)
    wide = kwis.efron_stein_bound(target, half, action, 1 + 4 * REWARD, bounds=(1.0, 5.0), draws=20)
    moved = (1 + 4 * plain.low, 5.0, 1 + 4 * plain.value)
    assert (wide.low, wide.high, wide.value) == pytest.approx(moved, rel=1e-12)


@pytest.mark.parametrize(
    ("value", "expected"), [(1.3, (0.025 ** (1 / 6), 1.0)), (-0.3, (0.0, 1 - 0.025 ** (1 / 6)))]
)
def test_a_value_outside_its_range_has_the_interval_of_the_end(value, expected):
    ends = student_ends(np.array([value]), np.array([0.1]), np.array([5.0]), 0.95, bounds=(0.0, 1.0))
    assert (float(ends[0][0]), float(ends[1][0])) == pytest.approx(expected)


def test_blocks_have_one_row_at_least():
    assert kwis.Bootstrap(block=1).interval(kwis.WIS(), sample_of(REWARD)).low < 0.6
    with pytest.raises(kwis.InputError, match="`block`"):
        kwis.Bootstrap(block=0)


def test_estimators_that_shrink_say_so_and_so_does_a_difference_with_one():
    assert traits.shrinks(kwis.LogSumExp())
    assert traits.shrinks(kwis.ShrunkenIS("clipping"))
    assert not traits.shrinks(kwis.WIS())
    assert traits.shrinks(Difference(kwis.LogSumExp(), kwis.WIS()))
    assert traits.shrinks(Difference(kwis.WIS(), kwis.LogSumExp()))
    assert not traits.shrinks(Difference(kwis.WIS(), kwis.VIS()))


def test_a_single_job_is_resampled_as_the_estimator_alone():
    estimator, sample = kwis.KernelWIS(np.inf), sample_of(REWARD)
    counts = RNG.poisson(1.0, (N, 5)).astype(float)
    together = resamples_together([Job(estimator, sample)], counts)[0]
    expected = (counts * (WEIGHT * REWARD)[:, None]).sum(axis=0) / (counts * WEIGHT[:, None]).sum(axis=0)
    assert together == pytest.approx(expected, rel=1e-9)


def test_a_vector_of_zeros_has_no_length():
    assert _length(np.zeros(3)) == 0.0
    assert _length(np.array([3.0, -4.0])) == pytest.approx(5.0)


def test_the_band_of_a_binary_reward_is_that_of_one_share():
    found = reward_distribution(sample_of(REWARD), level=0.9, rng=4)
    load = WEIGHT / WEIGHT.mean()
    share = float((load * (1 - REWARD)).mean())
    terms = load * ((1 - REWARD) - share)
    error = float(np.sqrt((terms**2).sum() / N**2 * N / (N - 1)))
    largest = np.abs(np.random.default_rng(4).standard_normal((_DRAWS, 1)))
    reach = float(np.quantile(largest, 0.9)) * error
    assert (found.low[0], found.share[0], found.high[0]) == pytest.approx(
        (share - reach, share, share + reach)
    )


def test_a_difference_of_which_one_has_no_bandwidth_holds_none():
    sample = sample_of(REWARD)
    for pair in (Difference(kwis.KernelWIS("cv"), kwis.WIS()), Difference(kwis.WIS(), kwis.KernelWIS("cv"))):
        assert pair.held(PairedSample(sample, sample)) is pair


@pytest.mark.parametrize(("tail", "end"), [(0.999, 1.0), (0.8, 1.0), (0.001, 0.0)])
def test_a_correction_that_runs_off_the_distribution_ends_at_its_end(tail, end):
    assert _moved(tail, 0.0, 2.0 if tail > 0.5 else -0.9) == end


def test_a_mean_without_error_has_no_error_of_approximation():
    flat = kwis.WIS().estimate(sample_of(np.ones(N)))
    assert relative_error([flat]) == 0.0


def test_a_bootstrap_from_values_in_common_is_the_one_it_is_named_after():
    values = np.random.default_rng(4).gamma(2.0, size=500)
    contrast = replace(Contrast.of(kwis.WIS(), sample_of(REWARD)), resampled=values)
    plain = kwis.Bootstrap(method="percentile").of(contrast, 0.9)
    assert (plain.low, plain.high) == pytest.approx(np.quantile(values, [0.05, 0.95]), rel=1e-2)
    corrected = kwis.Bootstrap(method="bca").of(contrast, 0.9)
    assert (corrected.low, corrected.high) != pytest.approx((plain.low, plain.high), rel=1e-2)
    assert kwis.Bootstrap().description.startswith("bootstrap (")
    assert kwis.Bootstrap(block=3).description.startswith("moving-block bootstrap (")
