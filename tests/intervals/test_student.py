"""Student intervals: leave-one-out errors, the scale of the range, bias and model error."""

import math

import numpy as np
import pytest
from scipy import stats

import kwis
from kwis.estimators.joint import model_error
from kwis.intervals.student import (
    bias_beyond_chance,
    degrees_of_freedom,
    leave_one_out_error,
    student_ends,
    student_p_value,
)
from tests.estimators.catalogue import ESTIMATORS, NORMALISED, label, some_sample
from tests.reference import intervals as twin

NORMAL_95 = 1.959963984540054


def refused(call):
    with pytest.raises(kwis.KwisError) as caught:
        call()
    return str(caught.value)


def binary_sample(n=60, seed=0, heavy=1.0, chance=0.3):
    rng = np.random.default_rng(seed)
    context, weight = rng.normal(size=(n, 2)), rng.lognormal(0, heavy, n)
    return kwis.WeightedSample(context=context, weight=weight, reward=(rng.random(n) < chance).astype(float))


class TestErrors:
    @pytest.mark.parametrize(
        "estimator", [kwis.WIS(), kwis.VIS(), kwis.KernelWIS(math.inf, normalised=True)], ids=label
    )
    def test_the_error_is_that_of_leaving_out_each_row(self, estimator):
        sample = binary_sample()
        estimate = estimator.estimate(sample)
        values = twin.leave_one_out_values(
            lambda rows: estimator.estimate(sample.take(rows)).value, range(sample.n)
        )
        expected = twin.jackknife_error(values, estimate.value)
        assert leave_one_out_error(estimate.influence[:, None], estimate.leverage[:, None])[
            0
        ] == pytest.approx(expected, rel=1e-9)

    def test_groups_are_left_out_whole(self):
        sample = some_sample(30, groups=8)
        estimate = kwis.WIS().estimate(sample)
        values = twin.leave_one_out_values(
            lambda groups: (
                kwis.WIS().estimate(sample.take(np.flatnonzero(np.isin(sample.group, groups)))).value
            ),
            range(8),
        )
        expected = twin.jackknife_error(values, estimate.value)
        found = leave_one_out_error(estimate.influence[:, None], estimate.leverage[:, None], sample.group)[0]
        assert found == pytest.approx(expected, rel=1e-9)

    @pytest.mark.parametrize("estimator", ESTIMATORS, ids=label)
    @pytest.mark.parametrize("mass", [False, True], ids=["", "mass"])
    def test_every_estimator_gives_shares_that_sum_to_one(self, estimator, mass):
        estimate = estimator.estimate(some_sample(mass=mass))
        assert estimate.leverage.sum() == pytest.approx(1.0, rel=1e-12)
        assert (estimate.leverage >= 0).all()

    def test_equal_shares_leave_one_degree_of_freedom_less_than_rows(self):
        signs = np.repeat([[-1.0, 2.0], [1.0, -2.0]], 20, axis=0)
        assert degrees_of_freedom(signs, np.full((40, 2), 1 / 40)) == pytest.approx([39.0, 39.0])
        assert degrees_of_freedom(signs[:2], np.array([[1.0, 1.0], [0.0, 0.0]])) == pytest.approx([1.0, 1.0])

    @pytest.mark.parametrize("groups", [None, 12])
    def test_few_rows_that_matter_leave_few_degrees_of_freedom(self, groups):
        rng = np.random.default_rng(5)
        influence = (rng.random((90, 3)) < [[0.5, 0.1, 0.03]]) * rng.lognormal(size=(90, 3))
        influence -= influence.mean(axis=0)
        group = None if groups is None else rng.permutation(np.arange(90) % groups)
        leverage = np.full((90, 3), 1 / 90)
        expected = [twin.degrees_of_freedom(influence[:, j], leverage[:, j], group) for j in range(3)]
        assert degrees_of_freedom(influence, leverage, group) == pytest.approx(expected, rel=1e-9)

    def test_rare_successes_count_about_twice(self):
        successes, n = 9, 4000
        influence = (np.arange(n) < successes) - successes / n
        assert degrees_of_freedom(influence[:, None], np.full((n, 1), 1 / n))[0] == pytest.approx(
            2 * successes, rel=0.02
        )

    def test_the_error_of_a_model_is_the_spread_of_its_refits(self):
        values = np.array([[0.1, 0.5], [0.2, 0.5], [0.3, 0.5]])
        np.testing.assert_allclose(model_error(values), [math.sqrt(2 / 3 * 0.02), 0.0], rtol=1e-12)


class TestEnds:
    def test_without_bounds_it_is_students_interval_of_the_mean(self):
        reward = np.random.default_rng(3).uniform(size=25)
        sample = kwis.WeightedSample(context=np.zeros((25, 1)), weight=np.ones(25), reward=reward)
        interval = kwis.StudentInterval(None).interval(kwis.WIS(), sample, level=0.9)
        expected = stats.t.interval(0.9, 24, reward.mean(), stats.sem(reward))
        assert (interval.low, interval.high) == pytest.approx(expected, rel=1e-9)
        assert interval.method == "student"

    def test_with_bounds_it_is_symmetric_in_log_odds(self):
        low, high = student_ends(
            np.array([0.12]), np.array([0.05]), np.array([1e9]), 0.95, bounds=(-1.0, 0.5)
        )
        assert (low[0], high[0]) == pytest.approx(
            twin.log_odds_ends(0.12, NORMAL_95 * 0.05, -1.0, 0.5), rel=1e-6
        )

    @pytest.mark.parametrize("estimator", NORMALISED, ids=label)
    def test_it_stays_within_the_range_of_the_rewards(self, estimator):
        for seed in range(5):
            sample = binary_sample(12, seed, heavy=1.5)
            interval = kwis.StudentInterval().interval(estimator, sample, level=0.999)
            assert 0 <= interval.low <= interval.value <= interval.high <= 1

    @pytest.mark.parametrize("estimator", NORMALISED, ids=label)
    def test_equal_rewards_leave_no_doubt(self, estimator):
        sample = some_sample()
        ones = kwis.WeightedSample(context=sample.context, weight=sample.weight, reward=np.ones(sample.n))
        interval = kwis.StudentInterval().interval(estimator, ones)
        assert (interval.low, interval.high) == pytest.approx((1.0, 1.0), abs=1e-12)

    def test_no_success_at_all_reaches_as_far_as_clopper_and_pearson(self):
        sample = kwis.WeightedSample(context=np.zeros((20, 1)), weight=np.ones(20), reward=np.zeros(20))
        interval = kwis.StudentInterval((0, 1)).interval(kwis.WIS(), sample)
        assert interval.low == 0
        assert interval.high == pytest.approx(stats.binomtest(0, 20).proportion_ci(0.95).high, rel=1e-9)

    def test_bias_stretches_the_reach_to_hold_a_biased_normal_error(self):
        for bias in (0.0, 0.3, 1.0, 4.0, 19.0, 25.0):
            low, high = student_ends(np.zeros(1), np.ones(1), np.array([1e12]), 0.95, bias=np.array([bias]))
            assert high[0] == pytest.approx(-low[0], rel=1e-12)
            assert twin.folded_normal_chance(high[0], bias) == pytest.approx(0.95, abs=1e-6)

    def test_bias_is_allowed_for_where_there_is_no_error(self):
        """As where the error is next to nothing: a bias does not go away with the error."""
        free, bias = np.array([7.0]), np.array([0.3])
        ends = [student_ends(np.zeros(1), np.array([error]), free, 0.95, bias=bias) for error in (0.0, 1e-12)]
        assert np.array(ends[0]) == pytest.approx(np.array(ends[1]), rel=1e-9)
        assert ends[0][1][0] > 0.3
        assert student_p_value(np.array([0.2]), np.zeros(1), free, bias) > 0.05
        assert student_p_value(np.array([3.0]), np.zeros(1), free, bias) < 0.05

    def test_differences_and_doubly_robust_estimates_are_widened_by_the_bias_of_their_bandwidth(self):
        rng = np.random.default_rng(3)
        context = rng.normal(size=(400, 1))
        weight = np.exp(1.5 * context[:, 0] - 1)
        sample = kwis.WeightedSample(
            context=context, weight=weight, reward=context[:, 0] + rng.normal(size=400) / 9
        )
        unweighted = kwis.WeightedSample(context=context, weight=np.ones(400), reward=sample.reward)
        local = kwis.KernelWIS(0.1, normalised=True)
        aware, plain = (kwis.StudentInterval(None, bias_aware=known) for known in (True, False))
        wide, narrow = (
            kwis.difference(local, sample, unweighted, method=method) for method in (aware, plain)
        )
        apart = kwis.WIS().estimate(sample).value - local.estimate(sample).value
        assert narrow.high - narrow.value < 0.1 * abs(apart) < 0.9 * abs(apart) < wide.high - wide.value
        nothing = np.zeros(400)
        modelled = kwis.PredictedSample(sample, predicted=nothing, predicted_value=nothing)
        for method in (aware, plain):
            robust, simple = (
                method.interval(kwis.DoublyRobust(local), modelled),
                method.interval(local, sample),
            )
            assert robust.width == pytest.approx(simple.width, rel=1e-9)

    def test_only_a_difference_beyond_chance_is_bias(self):
        influence = np.repeat([[-1.0], [1.0]], 50, axis=0)
        error = math.sqrt(100 / 100 / 99)
        assert bias_beyond_chance(np.array([error / 2]), influence) == pytest.approx([0.0])
        assert bias_beyond_chance(np.array([-2 * error]), influence) == pytest.approx([math.sqrt(3) * error])

    def test_a_kernel_estimate_far_from_wis_gets_a_longer_interval(self):
        rng = np.random.default_rng(1)
        context = rng.normal(size=(300, 1))
        right = (context[:, 0] > 0).astype(float)
        sample = kwis.WeightedSample(
            context=context, weight=np.where(right > 0, 3.0, 0.3) * rng.uniform(0.5, 1.5, 300), reward=right
        )
        aware, plain = (
            kwis.StudentInterval(bias_aware=b).interval(kwis.KernelWIS(0.1, normalised=True), sample)
            for b in (True, False)
        )
        assert aware.width > 2 * plain.width
        whole = [
            kwis.StudentInterval(bias_aware=b).interval(kwis.KernelWIS(math.inf, normalised=True), sample)
            for b in (True, False)
        ]
        assert whole[0].width == pytest.approx(whole[1].width, rel=1e-9)

    def test_the_error_of_a_model_adds_to_that_of_the_sample(self):
        sample = binary_sample(400, heavy=0.3)
        plain = kwis.StudentInterval(None).interval(kwis.WIS(), sample)
        more = kwis.StudentInterval(None, model_error=0.05).interval(kwis.WIS(), sample)
        quantile = stats.t.ppf(0.975, kwis.WIS().estimate(sample).effective_n - 1)
        assert (more.width / 2) ** 2 == pytest.approx(
            (plain.width / 2) ** 2 + (quantile * 0.05) ** 2, rel=1e-9
        )

    def test_a_difference_is_symmetric(self):
        a = binary_sample()
        b = kwis.WeightedSample(context=a.context, weight=np.sqrt(a.weight), reward=a.reward)
        interval = kwis.difference(kwis.WIS(), a, b, method=kwis.StudentInterval())
        assert interval.high - interval.value == pytest.approx(interval.value - interval.low, rel=1e-12)

    def test_options_are_checked_at_once(self):
        sentence = '`bounds` must be a pair (low, high) with low below high, "sample" or None, got (1, 0)'
        assert refused(lambda: kwis.StudentInterval((1, 0))) == sentence
        assert refused(lambda: kwis.StudentInterval("wide")) == "`bounds` must be one of sample, got 'wide'"
        assert (
            refused(lambda: kwis.StudentInterval(model_error=-1))
            == "`model_error` must be a number of at least 0, got -1"
        )


class TestLogarithmicSmoothing:
    def test_the_lower_bound_is_that_of_the_twin(self):
        from kwis.intervals.wealth import SCALES, Wealth, refuted_below

        gains = np.random.default_rng(0).lognormal(0, 1, 40)
        expected = twin.mixture_lower_bound(gains.tolist(), SCALES.tolist(), 0.05)
        found = refuted_below(Wealth.of(gains).log_capital, math.log(20), float(gains.max()))
        assert found == pytest.approx(expected, abs=gains.max() / 10_000)

    def test_few_rows_promise_nothing(self):
        sample = kwis.WeightedSample(context=np.zeros((2, 1)), weight=[1, 1], reward=[1, 0])
        interval = kwis.LogarithmicSmoothing().interval(kwis.VIS(), sample)
        assert (interval.low, interval.high) == (0.0, 1.0)

    def test_the_range_of_the_rewards_scales_the_interval(self):
        sample = binary_sample(200)
        moved = kwis.WeightedSample(
            context=sample.context, weight=sample.weight, reward=5 * sample.reward - 2
        )
        unit = kwis.LogarithmicSmoothing().interval(kwis.VIS(), sample)
        wide = kwis.LogarithmicSmoothing((-2, 3)).interval(kwis.VIS(), moved)
        assert (wide.low, wide.high) == pytest.approx((5 * unit.low - 2, 5 * unit.high - 2), rel=1e-9)

    def test_it_covers_where_weights_are_heavy_and_is_shorter_than_bernsteins(self):
        held, shorter = 0, 0
        for seed in range(60):
            rng = np.random.default_rng([7, seed])
            sample = kwis.WeightedSample(
                context=np.zeros((300, 1)),
                weight=rng.lognormal(-0.5, 1.0, 300),
                reward=(rng.random(300) < 0.3).astype(float),
            )
            interval = kwis.LogarithmicSmoothing().interval(kwis.VIS(), sample)
            bernstein = kwis.EmpiricalBernstein(bound=(0, sample.weight.max())).interval(kwis.VIS(), sample)
            held += 0.3 in interval
            shorter += interval.width < bernstein.width
        assert held >= 57
        assert shorter == 60

    def test_huge_weights_are_fine(self):
        sample = kwis.WeightedSample(context=np.zeros((4, 1)), weight=[1e308, 1, 1, 1], reward=[1, 1, 0, 1])
        interval = kwis.LogarithmicSmoothing().interval(kwis.VIS(), sample)
        assert 0 <= interval.low <= interval.high <= 1

    def test_what_the_bound_does_not_hold_for_is_refused(self):
        method = kwis.LogarithmicSmoothing()
        sentence = "`estimator` must be VIS for logarithmic smoothing, a mean of independent terms, got wis"
        assert refused(lambda: method.interval(kwis.WIS(), binary_sample())) == sentence
        sentence = "`sample` must have no `group` for logarithmic smoothing, whose rows are drawn alike"
        assert refused(lambda: method.interval(kwis.VIS(), some_sample(groups=4))) == sentence
        sentence = "`bounds` must hold for every `reward`, got 2.0 outside [0.0, 1.0] at row 1"
        rows = kwis.WeightedSample(context=np.zeros((2, 1)), weight=[1, 1], reward=[1, 2])
        assert refused(lambda: method.interval(kwis.VIS(), rows)) == sentence
        assert (
            refused(lambda: kwis.LogarithmicSmoothing(1))
            == "`bounds` must be a pair (low, high) with low below high, got 1"
        )


@pytest.mark.parametrize("bias", [0.0, 0.1, 3.0, 50.0])
@pytest.mark.parametrize("value", [0.5, 2.0, 4.0, 60.0])
def test_the_interval_at_one_minus_the_p_value_ends_at_0(value, bias):
    given = np.array([value]), np.array([1.0]), np.array([7.0])
    chance = student_p_value(*given, bias)
    if 1e-11 < chance < 0.999:
        assert student_ends(*given, 1 - chance, bias=bias)[0] == pytest.approx(0, abs=1e-4 * value)
    else:
        assert student_ends(*given, 0.95, bias=bias)[0] * (chance - 0.5) < 0


def test_without_an_error_only_what_bias_explains_is_by_chance():
    assert student_p_value(np.array([0.0]), np.array([0.0]), np.array([3.0])) == 1
    assert student_p_value(np.array([0.1]), np.array([0.0]), np.array([3.0])) == 0
    assert student_p_value(np.array([0.1]), np.array([0.0]), np.array([3.0]), 0.2) == 1


def test_bounds_that_the_rewards_break_are_refused():
    sample = some_sample(30)
    message = refused(lambda: kwis.StudentInterval(bounds=(-10.0, 0.0)).interval(kwis.WIS(), sample))
    assert message.startswith("`bounds` must hold for every `reward`, got ")
    assert "outside [-10.0, 0.0] at row " in message
