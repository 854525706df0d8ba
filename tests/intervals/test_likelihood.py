"""The interval of empirical likelihood: against likelihoods maximised row by row, and how often it holds."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import optimize, stats

import kwis
from kwis.intervals.likelihood import _Moments


def sample_of(weight, reward, **more):
    return kwis.WeightedSample(context=np.zeros((len(weight), 1)), weight=weight, reward=reward, **more)


def drawn(n, rng):
    action = rng.random(n) < 0.4
    return sample_of(np.where(action, 1.75, 0.5), rng.exponential(1.0 + action))


def slow_ratio(weight, reward, value=None):
    """Minus the logarithm of the largest product of ``n q_i``, by a general optimiser over q itself."""
    n = len(weight)
    held = [lambda q: q.sum() - 1, lambda q: q @ weight - 1]
    if value is not None:
        held.append(lambda q: q @ (weight * reward) - value)
    found = optimize.minimize(
        lambda q: -np.log(n * q).sum(),
        np.full(n, 1 / n),
        jac=lambda q: -1 / q,
        bounds=[(1e-9, 1)] * n,
        constraints=[{"type": "eq", "fun": one} for one in held],
        options={"maxiter": 1000, "ftol": 1e-14},
    )
    assert found.success
    return found.fun


def test_ratios_are_those_of_the_twin():
    rng = np.random.default_rng(1)
    weight, reward = rng.choice([0.3, 1.0, 2.5], 14), rng.normal(size=14)
    moments = _Moments.of(sample_of(weight, reward))
    least, value = moments.likeliest()
    assert least == pytest.approx(slow_ratio(weight, reward), abs=1e-7)
    for off in (-0.3, 0.0, 0.2):
        assert moments.at(value + off) == pytest.approx(slow_ratio(weight, reward, value + off), abs=1e-6)
    assert moments.at(value) == pytest.approx(least, abs=1e-9)


def test_the_ends_are_where_the_ratio_reaches_its_quantile():
    rng = np.random.default_rng(2)
    sample = drawn(60, rng)
    found = kwis.LikelihoodInterval().interval(kwis.EmpiricalLikelihood(), sample, 0.9)
    moments = _Moments.of(sample)
    effective = sample.weight.sum() ** 2 / (sample.weight**2).sum()
    limit = moments.likeliest()[0] + stats.t.ppf(0.95, effective - 1) ** 2 / 2
    for end in (found.low, found.high):
        assert moments.at(end) == pytest.approx(limit, rel=1e-8)
    assert found.low < found.value < found.high
    assert found.method == "empirical-likelihood"
    assert moments.at(float(sample.reward.max()) + 1) == math.inf


def test_equal_weights_give_the_interval_of_a_mean():
    reward = np.random.default_rng(3).normal(size=400)
    found = kwis.LikelihoodInterval().interval(kwis.WIS(), sample_of(np.ones(400), reward))
    usual = stats.t.interval(0.95, 399, reward.mean(), stats.sem(reward))
    assert (found.low, found.high) == pytest.approx(usual, abs=0.005)


def test_equal_rewards_leave_no_doubt():
    found = kwis.LikelihoodInterval().interval(kwis.WIS(), sample_of([0.5, 1.5, 2.0, 0.1], np.full(4, 0.25)))
    assert (found.low, found.value, found.high) == (0.25, 0.25, 0.25)


def test_the_scale_of_the_rewards_carries_over_and_rows_of_weight_0_change_nothing_of_the_range():
    sample = drawn(80, np.random.default_rng(4))
    method, estimator = kwis.LikelihoodInterval(), kwis.EmpiricalLikelihood()
    plain = method.interval(estimator, sample)
    moved = method.interval(estimator, sample_of(sample.weight, 100 * sample.reward - 3))
    assert (moved.low, moved.high) == pytest.approx((100 * plain.low - 3, 100 * plain.high - 3), rel=1e-6)


def test_copies_of_rows_in_groups_and_in_masses_say_no_more_than_one():
    sample = drawn(60, np.random.default_rng(5))
    method, estimator = kwis.LikelihoodInterval(), kwis.WIS()
    moments = _Moments.of(sample)
    twice = np.repeat(np.arange(60), 2)
    grouped = sample_of(sample.weight[twice], sample.reward[twice], group=twice)
    assert _Moments.of(grouped).at(1.3) == pytest.approx(moments.at(1.3), rel=1e-9)
    heavy = sample_of(sample.weight, sample.reward, mass=np.full(60, 7.0))
    assert method.interval(estimator, heavy).low == pytest.approx(method.interval(estimator, sample).low)


def test_what_it_is_not_for_is_refused():
    sample = drawn(30, np.random.default_rng(6))
    with pytest.raises(kwis.UnsupportedError, match=r"must be empirical-likelihood or wis .* got vis"):
        kwis.LikelihoodInterval().interval(kwis.VIS(), sample)
    with pytest.raises(kwis.UnsupportedError, match="`weight` must be below 1 in some rows and above 1"):
        kwis.LikelihoodInterval().interval(kwis.WIS(), sample_of([0.5, 0.2, 0.3], [1.0, 2.0, 3.0]))


def test_an_evaluation_takes_it_by_name():
    log = kwis.sample_log(300, rng=1).read(reward="click")
    estimators = ["empirical-likelihood", "wis", "vis"]
    found = kwis.evaluate(
        log, "p_new", estimators=estimators, interval="empirical-likelihood", repair="never"
    )
    methods = {row.estimator: row.interval.method for row in found.rows if row.target == "p_new"}
    assert methods["wis"] == methods["empirical-likelihood"] == "empirical-likelihood"
    assert methods["vis"] != "empirical-likelihood"
    assert any("LikelihoodInterval does not apply to vis" in note for note in found.notes)


@pytest.mark.slow
def test_it_covers_as_promised():
    rng, held = np.random.default_rng(7), []
    for _ in range(500):
        sample = drawn(300, rng)
        found = kwis.LikelihoodInterval().interval(kwis.EmpiricalLikelihood(), sample)
        held.append(found.low <= 1.7 <= found.high)
    assert 0.93 <= np.mean(held) <= 0.975
