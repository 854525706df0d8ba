"""Student intervals where a rule changes: at the ends of the range, with few rows in effect, far biases."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

import kwis
from kwis.estimators.difference import Difference, PairedSample
from kwis.estimators.joint import Contrast
from kwis.intervals.student import leave_one_out_error, student_ends, student_p_value
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


@pytest.mark.parametrize("level", [0.6, 0.7, 0.9])
def test_a_far_bias_leaves_one_tail_to_doubt(level):
    low, high = ends(0.0, 1.0, 1e12, level, bias=np.array([25.0]))
    assert high == pytest.approx(25.0 + stats.norm.ppf(level), rel=1e-6)
    assert low == pytest.approx(-high)


def test_the_error_of_rows_without_any_influence_is_none():
    assert ends(0.4, 0.0, 7.0) == (0.4, 0.4)
    assert math.isclose(ends(0.4, 0.0, 7.0, bounds=(0.0, 1.0))[0], 0.4 * 0.025 ** (1 / 8))


@pytest.mark.parametrize("bounds", [(0.0, 1.0), (2.0, 1002.0)])
def test_an_error_of_rounding_is_none(bounds):
    low, high = bounds
    span, value = high - low, low + 0.4 * (high - low)
    unseen = 1 - 0.025 ** (1 / 8)
    expected = low + span * 0.4 * (1 - unseen), low + span * (0.4 + 0.6 * unseen)
    for error in (0.0, 1e-16 * span, 3e-15 * span):
        assert ends(value, error, 7.0, bounds=bounds) == pytest.approx(expected)
    reach = stats.t.ppf(0.975, 7) * 1e-12 * span
    assert ends(value, 1e-12 * span, 7.0, bounds=bounds) == pytest.approx((value - reach, value + reach))


@pytest.mark.parametrize("level", [0.5, 0.9])
@pytest.mark.parametrize("bounds", [(0.0, 1.0), (-2.0, 3.0)])
def test_the_interval_is_the_one_of_the_twin_at_any_level_and_range(level, bounds):
    low, high = bounds
    for share in (0.1, 0.5, 0.95):
        value = low + share * (high - low)
        reach = stats.t.ppf((1 + level) / 2, 4.5) * 0.2
        expected = twin.log_odds_ends(value, reach, low, high)
        assert ends(value, 0.2, 4.5, level, bounds=bounds) == pytest.approx(expected)


def test_equal_ends_of_the_range_leave_one_value():
    assert ends(0.3, 0.5, 7.0, bounds=(0.3, 0.3)) == (0.3, 0.3)


@pytest.mark.parametrize(
    ("value", "error", "freedom"), [(1.3, 0.7, 4.0), (-0.2, 0.7, 11.0), (5.0, 0.1, 30.0)]
)
def test_the_p_value_is_students(value, error, freedom):
    found = student_p_value(np.array([value]), np.array([error]), np.array([freedom]))
    assert found == pytest.approx(2 * stats.t.sf(abs(value) / error, freedom))


def test_a_p_value_beside_a_bias_has_a_floor_and_a_ceiling():
    given = np.array([0.1]), np.array([7.0])
    assert student_p_value(np.array([1e9]), *given, 0.5) == pytest.approx(1e-12, rel=1e-6)
    assert student_p_value(np.array([0.0]), *given, 0.5) == pytest.approx(1.0)


def test_a_row_that_carries_everything_has_an_error_unless_it_moves_by_rounding_only():
    influence, leverage = np.array([[3e-15], [0.0]]), np.array([[1.0], [0.0]])
    assert leave_one_out_error(influence, leverage, rounding=1e-14).tolist() == [0.0]
    assert leave_one_out_error(influence, leverage, rounding=1e-15)[0] > 1.0
    # A row that carries little is never taken for rounding.
    little = leave_one_out_error(influence, np.array([[0.5], [0.5]]), rounding=1e-14)
    assert little == pytest.approx([3e-15 / 0.5 / 2 / math.sqrt(2)])
    assert leave_one_out_error(np.zeros((2, 1)), leverage).tolist() == [0.0]
    assert leave_one_out_error(np.array([[0.5], [0.0]]), leverage)[0] > 1e10


@pytest.mark.parametrize("scale", [1e-250, 1e250])
def test_errors_of_any_size_are_in_range(scale):
    influence, leverage = np.array([[1.0], [-3.0], [2.0]]), np.full((3, 1), 1 / 3)
    usual, other = (leave_one_out_error(one * influence, leverage)[0] for one in (1.0, scale))
    assert other == pytest.approx(scale * usual, rel=1e-12)


def test_one_heavy_row_is_no_reason_for_doubt_where_all_rewards_agree():
    sample = kwis.WeightedSample(
        context=np.zeros((3, 1)), weight=[1e20, 1.0, 1.0], reward=[0.1 + 0.2, 0.3, 0.3]
    )
    found = kwis.StudentInterval(None).interval(kwis.WIS(), sample)
    assert (found.low, found.high) == pytest.approx((0.3, 0.3), abs=1e-12)


def heavy_tailed():
    rng = np.random.default_rng(4)
    return kwis.WeightedSample(
        context=np.zeros((40, 1)), weight=rng.lognormal(0, 1.3, 40), reward=rng.normal(1.0, 1.0, 40)
    )


def test_the_bias_of_a_shrunken_estimate_is_all_that_it_differs_by_and_might_differ_by():
    sample, level = heavy_tailed(), 0.9
    estimator = kwis.ShrunkenIS("clipping", 1.5)
    shrunk, whole = estimator.estimate(sample), kwis.VIS().estimate(sample)
    difference = shrunk.value - whole.value
    moves = shrunk.influence - whole.influence
    chance = math.sqrt(np.square(moves / 40 / (1 - 1 / 40)).sum() * 39 / 40)
    bias = np.array([math.hypot(difference, chance)])
    plain = kwis.StudentInterval(bias_aware=False).interval(estimator, sample, level)
    aware = kwis.StudentInterval().interval(estimator, sample, level)
    error, freedom = kwis.StudentInterval()._error(Contrast.of(estimator, sample))
    for found, allowed in ((plain, 0.0), (aware, bias)):
        expected = student_ends(np.array([shrunk.value]), error, freedom, level, bias=allowed)
        assert (found.low, found.high) == pytest.approx((expected[0][0], expected[1][0]))
    assert aware.width > 1.2 * plain.width


def test_which_estimates_stay_within_the_rewards():
    sample = heavy_tailed()
    least, most = sample.reward.min(), sample.reward.max()
    for estimator, within in ((kwis.WIS(), True), (kwis.VIS(), False), (kwis.ControlVariate(), True)):
        free = kwis.StudentInterval(None).interval(estimator, sample, 0.9)
        said = kwis.StudentInterval((least, most)).interval(estimator, sample, 0.9)
        usual = kwis.StudentInterval().interval(estimator, sample, 0.9)
        assert (usual.low, usual.high) == (said.low, said.high)
        assert ((said.low, said.high) != (free.low, free.high)) is within
        assert free.high - free.value == pytest.approx(free.value - free.low)
        if within:
            wider = kwis.StudentInterval((least - 50, most + 50)).interval(estimator, sample, 0.9)
            assert wider.high - wider.value == pytest.approx(free.high - free.value, rel=0.02)


def test_a_difference_knows_the_error_of_its_model_and_has_students_p_value():
    sample = heavy_tailed()
    pair = PairedSample(sample, sample.with_weight(np.sqrt(sample.weight)))
    contrast = Contrast.of(Difference(kwis.WIS(), kwis.WIS()), pair)
    method = kwis.StudentInterval(model_error=0.3)
    found = method.of(contrast, 0.9)
    error, freedom = method._error(contrast)
    bare, _ = kwis.StudentInterval()._error(contrast)
    assert error == pytest.approx(np.hypot(bare, 0.3))
    reach = stats.t.ppf(0.95, freedom[0]) * error[0]
    assert (found.low, found.high) == pytest.approx((contrast.value - reach, contrast.value + reach))
    p_value = 2 * stats.t.sf(abs(contrast.value) / error[0], freedom[0])
    assert method.p_value_of(contrast) == pytest.approx(p_value)


def test_few_effective_rows_are_few_degrees_of_freedom():
    influence = np.tile([-1.0, 1.0], 20)
    estimate = kwis.Estimate(name="own", value=3.0, n=40, effective_n=6.5, influence=influence)
    sample = kwis.WeightedSample(context=np.zeros((40, 1)), weight=np.ones(40), reward=np.ones(40))
    contrast = Contrast(estimator=kwis.VIS(), asked=kwis.VIS(), sample=sample, estimate=estimate)
    assert kwis.StudentInterval()._error(contrast)[1].tolist() == [5.5]
