"""Influence-function and empirical Bernstein intervals, differences, and what intervals refuse."""

from dataclasses import replace

import numpy as np
import pytest

import kwis
from kwis.estimators import Difference
from kwis.estimators.joint import Contrast, model_error
from kwis.intervals import method as methods
from kwis.intervals.names import interval_method
from tests.estimators.catalogue import ESTIMATORS, label, some_sample
from tests.reference import intervals as twin

INTERVALS = [
    kwis.Bootstrap(20),
    kwis.Bootstrap(20, "percentile"),
    kwis.Bootstrap(20, "studentised"),
    kwis.InfluenceInterval(),
]


def refused(call):
    with pytest.raises(kwis.KwisError) as caught:
        call()
    assert isinstance(caught.value, ValueError)
    return str(caught.value)


class TestInfluence:
    @pytest.mark.parametrize("estimator", ESTIMATORS, ids=label)
    def test_it_is_the_normal_interval(self, estimator):
        sample = some_sample(30, groups=8)
        estimate = estimator.estimate(sample)
        interval = kwis.InfluenceInterval().interval(estimator, sample, level=0.9)
        assert interval.low == pytest.approx(
            estimate.value - 1.6448536269514722 * estimate.std_error, rel=1e-12
        )
        assert interval.high == pytest.approx(
            estimate.value + 1.6448536269514722 * estimate.std_error, rel=1e-12
        )
        assert interval.value == estimate.value
        assert interval.distribution is None

    def test_an_estimator_without_standard_error_is_refused(self):
        class Constant:
            name = "constant"

            def estimate(self, sample):
                return kwis.Estimate(name=self.name, value=0.0, n=sample.n)

        sentence = "`estimator` must give a standard error for an influence interval, got none from constant"
        assert refused(lambda: kwis.InfluenceInterval().interval(Constant(), some_sample())) == sentence
        sentence = "`estimator` must give influence for a studentised interval, got none from constant"
        assert (
            refused(lambda: kwis.Bootstrap(20, "studentised").interval(Constant(), some_sample())) == sentence
        )


class TestEmpiricalBernstein:
    @pytest.mark.parametrize(("bound", "span"), [(5.0, 10.0), ((0.0, 5.0), 5.0)])
    def test_it_is_that_of_the_twin(self, bound, span):
        rng = np.random.default_rng(0)
        sample = kwis.WeightedSample(
            context=np.zeros((400, 1)), weight=rng.uniform(0, 3, 400), reward=rng.random(400)
        )
        interval = kwis.EmpiricalBernstein(bound=bound).interval(kwis.VIS(), sample, level=0.9)
        terms = (sample.weight * sample.reward).tolist()
        reach = twin.bernstein_reach(terms, span, 0.9)
        assert interval.value == pytest.approx(np.mean(terms), rel=1e-14)
        assert interval.low == pytest.approx(
            max(np.mean(terms) - reach, -5.0 if span == 10 else 0.0), rel=1e-12
        )
        assert interval.high == pytest.approx(np.mean(terms) + reach, rel=1e-12)

    def test_huge_weights_are_fine(self):
        rng = np.random.default_rng(0)
        weight, reward = rng.uniform(0, 3, 400), rng.random(400)
        ends = []
        for size in (1.0, 1e300):
            sample = kwis.WeightedSample(context=np.zeros((400, 1)), weight=weight * size, reward=reward)
            interval = kwis.EmpiricalBernstein(bound=(0, 5 * size)).interval(kwis.VIS(), sample)
            ends.append((interval.low / size, interval.high / size))
        assert ends[1] == pytest.approx(ends[0], rel=1e-12)

    def test_it_never_leaves_the_bounds(self):
        sample = kwis.WeightedSample(context=np.zeros((3, 1)), weight=[1, 1, 1], reward=[0.5, 1, 0])
        interval = kwis.EmpiricalBernstein(bound=(0, 1)).interval(kwis.VIS(), sample)
        assert (interval.low, interval.high) == (0.0, 1.0)

    def test_without_a_bound_it_says_why_the_sample_will_not_do(self):
        assert refused(kwis.EmpiricalBernstein) == (
            "`bound` must be given, a number known beforehand that `weight` times `reward` cannot exceed, "
            "got None: the largest value in "
            "the sample will not do, because rare larger ones that the sample missed are what the interval "
            "guards against"
        )

    @pytest.mark.parametrize(
        ("bound", "sentence"),
        [
            (-1.0, "`bound` must be a positive number, got -1.0"),
            (0, "`bound` must be a positive number, got 0"),
            (np.inf, "`bound` must be a number or a pair (low, high), got inf"),
            ("big", "`bound` must be a number or a pair (low, high), got 'big'"),
            ((1, 2, 3), "`bound` must be a number or a pair (low, high), got (1, 2, 3)"),
            ((2, 1), "`bound` must have its low end below its high end, got (2, 1)"),
        ],
    )
    def test_bounds_that_cannot_be_are_refused(self, bound, sentence):
        assert refused(lambda: kwis.EmpiricalBernstein(bound=bound)) == sentence

    def test_data_that_break_the_bound_are_refused(self):
        sample = kwis.WeightedSample(context=np.zeros((3, 1)), weight=[1, 2, 4], reward=[1, -1, 1])
        sentence = "`bound` must hold for every `weight` times `reward`, got 4.0 outside [-2.0, 2.0] at row 2"
        assert refused(lambda: kwis.EmpiricalBernstein(bound=2).interval(kwis.VIS(), sample)) == sentence
        sentence = "`bound` must hold for every `weight` times `reward`, got -2.0 outside [0.0, 9.0] at row 1"
        assert refused(lambda: kwis.EmpiricalBernstein(bound=(0, 9)).interval(kwis.VIS(), sample)) == sentence

    def test_other_estimators_are_refused(self):
        sentence = (
            "`estimator` must be VIS for an empirical Bernstein interval, a mean of independent terms, got "
            "wis"
        )
        assert (
            refused(lambda: kwis.EmpiricalBernstein(bound=100).interval(kwis.WIS(), some_sample()))
            == sentence
        )
        sentence = (
            "`estimator` must be VIS for an empirical Bernstein interval, a mean of independent terms, got "
            "difference of vis"
        )
        method = kwis.EmpiricalBernstein(bound=100)
        assert (
            refused(lambda: kwis.difference(kwis.VIS(), some_sample(), some_sample(), method=method))
            == sentence
        )

    def test_groups_and_masses_are_refused(self):
        for name, sample in (("group", some_sample(groups=4)), ("mass", some_sample(mass=True))):
            sentence = (
                f"`sample` must have no `{name}` for an empirical Bernstein interval, whose rows are drawn "
                f"alike"
            )
            assert (
                refused(lambda sample=sample: kwis.EmpiricalBernstein(bound=100).interval(kwis.VIS(), sample))
                == sentence
            )


class TestDifference:
    def test_the_same_policy_differs_by_nothing(self):
        sample = some_sample(30)
        for method in INTERVALS:
            interval = kwis.difference(kwis.KernelWIS(0.8), sample, sample, method=method)
            assert (interval.low, interval.value, interval.high) == (0.0, 0.0, 0.0)

    def test_rows_are_drawn_together(self):
        a = some_sample(30)
        b = kwis.WeightedSample(context=a.context, weight=np.sqrt(a.weight), reward=a.reward)
        interval = kwis.difference(kwis.WIS(), a, b, method=kwis.Bootstrap(100), rng=5)
        alone = [kwis.Bootstrap(100).interval(kwis.WIS(), sample, rng=5) for sample in (a, b)]
        np.testing.assert_allclose(
            interval.distribution, alone[0].distribution - alone[1].distribution, rtol=0, atol=1e-14
        )
        assert interval.width < alone[0].width

    def test_it_uses_a_bca_bootstrap_unless_told_otherwise(self):
        interval = kwis.difference(kwis.WIS(), some_sample(), some_sample())
        assert interval.method == "bootstrap-bca"
        assert interval.distribution.size == 1000

    @pytest.mark.parametrize(
        ("other", "sentence"),
        [
            (some_sample(13), "`sample_b` must have the rows of `sample_a`, got 13 for 12 rows"),
            (
                some_sample(12).take(np.arange(12)[::-1]),
                "`sample_b` must have the rows of `sample_a`, got a difference at row 0",
            ),
            (
                some_sample(12, groups=3),
                "`sample_b` must have the group of `sample_a`, got a difference at row 0",
            ),
            (
                some_sample(12, mass=True),
                "`sample_b` must have the mass of `sample_a`, got a difference at row 0",
            ),
        ],
    )
    def test_samples_that_do_not_pair_are_refused(self, other, sentence):
        own = some_sample(12)
        assert refused(lambda: kwis.difference(kwis.WIS(), own, other)) == sentence
        turned = sentence if other.n == 12 else sentence.replace("13 for 12", "12 for 13")
        assert refused(lambda: kwis.difference(kwis.WIS(), other, own)) == turned

    def test_groups_that_differ_are_refused(self):
        a = some_sample(4)
        pair = [
            kwis.WeightedSample(context=a.context, weight=a.weight, reward=a.reward, group=list(g))
            for g in ("aabb", "aaab")
        ]
        assert (
            refused(lambda: kwis.difference(kwis.WIS(), *pair))
            == "`sample_b` must have the group of `sample_a`, got a difference at row 2"
        )


class TestRefusals:
    @pytest.mark.parametrize("method", INTERVALS, ids=lambda m: getattr(m, "method", "influence"))
    def test_one_row_or_group_has_no_interval(self, method):
        one = kwis.WeightedSample(context=[[0.0]], weight=[1.0], reward=[1.0])
        assert (
            refused(lambda: method.interval(kwis.WIS(), one))
            == "`sample` must have at least 2 rows for an interval, got 1"
        )
        group = kwis.WeightedSample(
            context=[[0.0], [1.0]], weight=[1.0, 2.0], reward=[1.0, 2.0], group=["a", "a"]
        )
        assert (
            refused(lambda: method.interval(kwis.WIS(), group))
            == "`sample` must have at least 2 groups for an interval, got 1"
        )

    def test_one_row_has_no_bernstein_interval_either(self):
        one = kwis.WeightedSample(context=[[0.0]], weight=[1.0], reward=[1.0])
        sentence = "`sample` must have at least 2 rows for an interval, got 1"
        assert refused(lambda: kwis.EmpiricalBernstein(bound=1).interval(kwis.VIS(), one)) == sentence

    @pytest.mark.parametrize(
        "method", [*INTERVALS, kwis.EmpiricalBernstein(bound=100)], ids=lambda m: type(m).__name__
    )
    @pytest.mark.parametrize("level", [0, 1, -0.5, 95, np.nan, "high"])
    def test_levels_outside_zero_and_one_are_refused(self, method, level):
        assert (
            refused(lambda: method.interval(kwis.VIS(), some_sample(), level))
            == f"`level` must be between 0 and 1, got {level!r}"
        )

    @pytest.mark.parametrize(
        "method", [*INTERVALS, kwis.EmpiricalBernstein(bound=100)], ids=lambda m: type(m).__name__
    )
    def test_seeds_that_are_none_are_refused(self, method):
        sentence = "`rng` must be a seed of at least 0 or a numpy Generator, got -1"
        assert refused(lambda: method.interval(kwis.VIS(), some_sample(), rng=-1)) == sentence

    def test_options_of_the_bootstrap_are_checked_at_once(self):
        assert (
            refused(lambda: kwis.Bootstrap(0)) == "`replicates` must be a whole number of at least 2, got 0"
        )
        assert (
            refused(lambda: kwis.Bootstrap(10.5))
            == "`replicates` must be a whole number of at least 2, got 10.5"
        )
        assert (
            refused(lambda: kwis.Bootstrap(method="normal"))
            == "`method` must be one of bca, percentile, studentised, got 'normal'"
        )

    def test_a_bootstrap_that_mostly_has_no_estimate_is_refused(self):
        class Fussy:
            name = "fussy"

            def estimate(self, sample):
                if np.unique(sample.rows).size < sample.n:
                    raise kwis.InputError("`sample` must not repeat a row")
                return kwis.WIS().estimate(sample)

        sentence = refused(lambda: kwis.Bootstrap(50).interval(Fussy(), some_sample()))
        assert sentence == "`sample` must have an estimate on most of its resamples, got none on 50 of 50"

    def test_a_studentised_interval_needs_spread_in_the_resamples(self):
        sample = kwis.WeightedSample(context=np.zeros((2, 1)), weight=[1, 1], reward=[0, 1])
        sentence = refused(lambda: kwis.Bootstrap(100, "studentised").interval(kwis.WIS(), sample))
        assert sentence.startswith(
            "`sample` must keep spread in its resamples for a studentised interval, got none in "
        )

    def test_an_interval_says_what_it_is(self):
        interval = kwis.InfluenceInterval().interval(kwis.WIS(), some_sample())
        assert interval.value in interval
        assert interval.high + 1 not in interval
        assert interval.width == interval.high - interval.low
        assert repr(interval).endswith("level=0.95, influence)")


def test_a_difference_has_a_reference_if_either_side_may_be_biased():
    local, plain = kwis.KernelWIS(0.5, normalised=True), kwis.WIS()
    assert Difference(plain, plain).bias_reference() is None
    assert Difference(local, plain).bias_reference() == Difference(plain, plain)
    assert Difference(plain, local).bias_reference() == Difference(plain, plain)


@pytest.mark.parametrize(
    "method",
    [
        kwis.Bootstrap(20),
        kwis.InfluenceInterval(),
        kwis.StudentInterval(),
        kwis.EmpiricalBernstein((-50, 50)),
        kwis.LogarithmicSmoothing((-9, 9)),
        kwis.BettingSequence((-9, 9)),
    ],
    ids=lambda one: type(one).__name__,
)
def test_the_level_is_095_and_the_seed_0_unless_told_otherwise(method):
    sample = some_sample(30)
    plain, said = method.interval(kwis.VIS(), sample), method.interval(kwis.VIS(), sample, 0.95, 0)
    assert (plain.low, plain.value, plain.high) == (said.low, said.value, said.high)
    assert (plain.level, method.interval(kwis.VIS(), sample, 0.8).level) == (0.95, 0.8)
    apart, same = (
        kwis.difference(
            kwis.VIS(), sample, sample.with_weight(sample.weight[::-1]), kwis.Bootstrap(20), *given
        )
        for given in ((), (0.95, 0))
    )
    assert (apart.low, apart.high) == (same.low, same.high)


def test_the_error_of_a_model_widens_the_normal_interval():
    sample = some_sample(30)
    estimate = kwis.WIS().estimate(sample)
    found = kwis.InfluenceInterval(model_error=0.3).interval(kwis.WIS(), sample, 0.9)
    reach = 1.6448536269514722 * np.hypot(estimate.std_error, 0.3)
    assert (found.low, found.high) == pytest.approx((estimate.value - reach, estimate.value + reach))


@pytest.mark.parametrize("level", [0.5, 0.95])
def test_logarithmic_smoothing_is_where_its_capital_reaches_what_is_asked(level):
    rng = np.random.default_rng(3)
    sample = kwis.WeightedSample(
        context=np.zeros((50, 1)), weight=rng.uniform(0, 2, 50), reward=rng.uniform(-1, 3, 50)
    )
    found = kwis.LogarithmicSmoothing((-1, 3)).interval(kwis.VIS(), sample, level)
    sizes = [2.0**k for k in range(-14, 3)]
    for terms, mean in (
        (sample.weight * (sample.reward + 1) / 4, (found.low + 1) / 4),
        (sample.weight * (3 - sample.reward) / 4, (3 - found.high) / 4),
    ):
        capital = np.mean([np.prod((1 + size * terms) / (1 + size * mean)) for size in sizes])
        assert capital == pytest.approx(2 / (1 - level), rel=1e-9)
    assert found.value == pytest.approx(np.mean(sample.weight * sample.reward))


class Bare:
    """An interval method that has nothing but ``interval``."""

    def interval(self, estimator, sample, level=0.95, rng=0):
        return kwis.Interval(low=0.0, high=level, level=level, value=0.5, method=f"bare {rng}")


def test_what_is_assumed_of_a_method_that_says_nothing():
    bare, sample = Bare(), some_sample()
    assert not methods.adds_model_error(bare)
    assert not methods.has_p_values(bare)
    assert not methods.draws_blocks(bare)
    assert methods.common_resamples(bare) == 0
    assert methods.description(bare) == "Bare"
    found = methods.of(bare, Contrast.of(kwis.WIS(), sample), 0.8, 3)
    assert (found.level, found.method) == (0.8, "bare 3")


def test_what_methods_say_of_themselves():
    assert methods.adds_model_error(kwis.StudentInterval())
    assert methods.adds_model_error(kwis.InfluenceInterval())
    assert not methods.adds_model_error(kwis.Bootstrap())
    assert methods.has_p_values(kwis.StudentInterval())
    assert methods.draws_blocks(kwis.Bootstrap(block=3))
    assert not methods.draws_blocks(kwis.Bootstrap())


def test_methods_are_known_by_name():
    assert interval_method("Student") == interval_method("t") == kwis.StudentInterval()
    assert interval_method("logarithmic_smoothing") == interval_method("ls") == kwis.LogarithmicSmoothing()
    assert interval_method(None) is None
    ready = kwis.Bootstrap(7)
    assert interval_method(ready) is ready
    numbered = {
        "empirical-bernstein:20": kwis.EmpiricalBernstein(20),
        "Clopper_Pearson: 2.5": kwis.ClopperPearson(2.5),
        "betting": kwis.BettingSequence(),
        "betting-sequence:7": kwis.BettingSequence(largest_weight=7),
        "block-bootstrap": kwis.Bootstrap(block="auto"),
        "block-bootstrap:30": kwis.Bootstrap(block=30),
    }
    for name, method in numbered.items():
        assert interval_method(name) == method
    assert refused(lambda: interval_method("clopper-pearson")).startswith(
        "`interval` must say what weight times reward cannot exceed, as clopper-pearson:20 does"
    )
    assert refused(lambda: interval_method("student:3")).startswith("`interval` must have no number after")
    assert refused(lambda: interval_method("bernstein:x")).startswith("`interval` must have a number after")
    assert refused(lambda: interval_method("block-bootstrap:2.5")).startswith("`block` must be ")
    for wrong in ("best", kwis.Bootstrap, 3):
        assert refused(lambda wrong=wrong: interval_method(wrong)).startswith("`interval` must be ")


def test_an_influence_interval_of_a_contrast_has_the_error_of_its_model():
    sample = some_sample(30)
    plain = Contrast.of(kwis.WIS(), sample)
    refits = np.array([0.1, 0.2, 0.6])
    found = kwis.InfluenceInterval().of(replace(plain, refitted=refits), 0.9)
    error = np.hypot(plain.estimate.std_error, model_error(refits[:, None])[0])
    assert found.width / 2 == pytest.approx(1.6448536269514722 * error)
    bare = replace(plain, estimate=replace(plain.estimate, influence=None))
    assert refused(lambda: kwis.InfluenceInterval().of(bare, 0.9)).startswith(
        "`estimator` must give influence"
    )
    assert refused(lambda: kwis.StudentInterval().of(bare, 0.9)).startswith("`estimator` must give influence")
