"""Bootstrap intervals: the distribution, its ends, and the estimators they serve."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

import kwis
from kwis.estimators.joint import Contrast
from kwis.intervals import endpoints
from kwis.intervals.bootstrap import _defined
from kwis.intervals.draws import count_chunks
from kwis.runtime.threads import engine
from kwis.stats.influence import resampled_errors
from tests.estimators.catalogue import CASES, ESTIMATORS, NORMALISED, label, some_sample
from tests.reference import intervals as twin
from tests.reference.estimators import standard_error

METHODS = ["bca", "percentile", "studentised"]
every_method = pytest.mark.parametrize("method", METHODS)
every_estimator = pytest.mark.parametrize("estimator", ESTIMATORS, ids=label)


def counts_of(sample, replicates, seed=0):
    return np.concatenate(
        list(count_chunks(sample.n, sample.group, replicates, np.random.default_rng(seed))), axis=1
    )


class TestDraws:
    def test_every_resample_has_as_many_rows_as_the_sample(self):
        counts = counts_of(some_sample(30), 50)
        assert counts.shape == (30, 50)
        assert (counts.sum(axis=0) == 30).all()
        assert (counts == np.rint(counts)).all()

    def test_groups_are_drawn_whole(self):
        sample = some_sample(30, groups=7)
        counts = counts_of(sample, 50)
        for group in range(7):
            rows = counts[sample.group == group]
            assert (rows == rows[0]).all()
        first = np.unique(sample.group, return_index=True)[1]
        assert (counts[first].sum(axis=0) == 7).all()

    @pytest.mark.parametrize("group", [None, np.arange(40) % 9], ids=["rows", "groups"])
    def test_the_size_of_the_chunks_does_not_change_the_counts(self, group, monkeypatch):
        whole = np.concatenate(list(count_chunks(40, group, 101, np.random.default_rng(5))), axis=1)
        for cells in (1, 40, 39 * 40, 10**6):
            monkeypatch.setattr("kwis.intervals.draws._CHUNK_CELLS", cells)
            parts = list(count_chunks(40, group, 101, np.random.default_rng(5)))
            assert all(part.size <= max(cells, 40) for part in parts)
            np.testing.assert_array_equal(np.concatenate(parts, axis=1), whole)

    @pytest.mark.parametrize("cells", [1, 40, 333])
    def test_the_number_of_resamples_counted_together_does_not_change_the_counts(self, cells, monkeypatch):
        whole = counts_of(some_sample(40), 25)
        monkeypatch.setattr("kwis.intervals.draws._BATCH_CELLS", cells)
        np.testing.assert_array_equal(counts_of(some_sample(40), 25), whole)

    @pytest.mark.parametrize(("n", "block"), [(10, 3), (12, 4), (7, 6), (9, 2), (5, 1)])
    def test_blocks_are_runs_that_go_round_and_the_last_is_cut_short(self, n, block):
        (counts,) = count_chunks(n, None, 30, np.random.default_rng(3), block)
        rng = np.random.default_rng(3)
        for column in counts.T:
            if block == 1:
                rows = rng.integers(n, size=n)
            else:
                starts = rng.integers(n, size=-(-n // block))
                rows = [(start + step) % n for start in starts for step in range(block)][:n]
            assert column.tolist() == [list(rows).count(row) for row in range(n)]

    def test_counts_take_32_megabytes_at_a_time_at_most(self):
        parts = count_chunks(1 << 16, None, 65, np.random.default_rng(0))
        assert [part.shape[1] for part in parts] == [32, 33]  # 64 would just do

    def test_counts_are_those_of_sampling_with_replacement(self):
        counts = counts_of(some_sample(8), 40_000)
        # Binomial(8, 1/8): mean 1, variance 7/8; five Monte-Carlo standard errors.
        np.testing.assert_allclose(counts.mean(axis=1), 1.0, atol=5 * np.sqrt(0.875 / 40_000))
        np.testing.assert_allclose(counts.var(axis=1), 0.875, atol=0.04)


class TestDistribution:
    @pytest.mark.parametrize("case", CASES, ids=label)
    @pytest.mark.parametrize("mass", [False, True], ids=["", "mass"])
    def test_it_is_the_twin_on_every_resample(self, case, mass):
        sample = some_sample(10, mass=mass, zeros=False)
        interval = kwis.Bootstrap(12).interval(case.estimator, sample, rng=4)
        masses = np.ones(10) if sample.mass is None else sample.mass
        counts = counts_of(sample, 12, seed=4)
        for column, value in zip(counts.T, interval.distribution, strict=True):
            drawn = column > 0
            part = sample.take(drawn)
            cap = np.sqrt((column * masses).sum()) if case.cap == "ionides" else case.cap
            expected = replace(case, cap=cap).value(part, (column * masses)[drawn].tolist())
            assert value == pytest.approx(expected, rel=1e-11, abs=1e-13)

    @every_estimator
    def test_the_same_seed_gives_the_same_interval(self, estimator):
        sample = some_sample(20)
        a, b, c = (
            kwis.Bootstrap(50).interval(estimator, sample, rng=seed)
            for seed in (1, np.random.default_rng(1), 2)
        )
        np.testing.assert_array_equal(a.distribution, b.distribution)
        assert (a.low, a.high) == (b.low, b.high)
        assert (a.distribution != c.distribution).any()

    @every_estimator
    def test_the_size_of_the_chunks_does_not_change_the_numbers(self, estimator, monkeypatch):
        sample = some_sample(20, groups=6)
        whole = kwis.Bootstrap(50, "studentised").interval(estimator, sample)
        monkeypatch.setattr("kwis.intervals.draws._CHUNK_CELLS", 7 * 20)
        parts = kwis.Bootstrap(50, "studentised").interval(estimator, sample)
        np.testing.assert_allclose(parts.distribution, whole.distribution, rtol=1e-12, atol=1e-13)
        assert (parts.low, parts.high) == pytest.approx((whole.low, whole.high), rel=1e-9)

    @pytest.mark.parametrize(
        "estimator",
        [kwis.WIS(), kwis.StateWIS(), kwis.KernelWIS(0.8), kwis.KernelWIS(0.8, kernel="laplace")],
        ids=label,
    )
    def test_the_number_of_threads_does_not_change_a_bit(self, estimator):
        sample = some_sample(1500, groups=100)
        intervals = []
        for threads in (1, 2, 3):
            with engine(threads):
                intervals.append(kwis.Bootstrap(20, "studentised").interval(estimator, sample))
        for other in intervals[1:]:
            np.testing.assert_array_equal(other.distribution, intervals[0].distribution)
            assert (other.low, other.high) == (intervals[0].low, intervals[0].high)

    def test_it_cannot_be_written_to(self):
        with pytest.raises(ValueError, match="read-only"):
            kwis.Bootstrap(20).interval(kwis.WIS(), some_sample()).distribution[0] = 0.0


class TestEnds:
    @every_estimator
    @pytest.mark.parametrize("groups", [0, 6], ids=["", "groups"])
    @pytest.mark.parametrize("level", [0.5, 0.9])
    def test_they_are_those_of_the_twins(self, estimator, groups, level):
        sample = some_sample(24, groups=groups)
        estimate = estimator.estimate(sample)
        low, high = ends("percentile", estimator, sample, level)
        values = kwis.Bootstrap(200).interval(estimator, sample, level, rng=3).distribution.tolist()
        assert (low, high) == pytest.approx(twin.percentile_ends(values, level), rel=1e-12)
        influence = estimate.influence.tolist()
        draws = influence if sample.group is None else twin.group_totals(influence, sample.group.tolist())
        assert ends("bca", estimator, sample, level) == pytest.approx(
            twin.bca_ends(values, estimate.value, draws, level), rel=1e-10
        )
        errors = twin_errors(estimator, sample, counts_of(sample, 200, seed=3))
        expected = twin.studentised_ends(values, errors, estimate.value, estimate.std_error, level)
        assert ends("studentised", estimator, sample, level) == pytest.approx(expected, rel=1e-9)

    def test_ties_with_the_estimate_count_half(self):
        assert endpoints.bias_correction(np.array([0.0, 1.0, 1.0 + 1e-15, 2.0]), 1.0) == pytest.approx(
            0.0, abs=1e-15
        )
        assert endpoints.bias_correction(np.array([0.0, 0.0, 0.0, 1.0]), 1.0) == pytest.approx(
            twin.NORMAL.inv_cdf(3.5 / 4)
        )

    def test_resamples_all_on_one_side_stay_finite(self):
        assert endpoints.bias_correction(np.arange(10.0), 20.0) == pytest.approx(twin.NORMAL.inv_cdf(0.95))
        assert endpoints.bca(np.arange(10.0), 20.0, 0.1, 0.95)[1] <= 9.0
        assert endpoints.bca(np.arange(10.0), -20.0, -0.1, 0.95)[0] >= 0.0

    def test_a_correction_that_runs_off_the_distribution_ends_at_its_end(self):
        values = np.linspace(0, 1, 101)
        assert endpoints.bca(values, 0.995, 1.0, 0.9)[1] == 1.0
        assert endpoints.bca(values, 0.005, -1.0, 0.9)[0] == 0.0

    @every_method
    @every_estimator
    def test_zero_rewards_give_exactly_zero(self, method, estimator):
        sample = some_sample()
        nothing = kwis.WeightedSample(context=sample.context, weight=sample.weight, reward=np.zeros(sample.n))
        interval = kwis.Bootstrap(50, method).interval(estimator, nothing)
        assert (interval.low, interval.value, interval.high) == (0.0, 0.0, 0.0)

    @every_method
    @pytest.mark.parametrize("estimator", NORMALISED, ids=label)
    @pytest.mark.parametrize("groups", [0, 30], ids=["", "groups"])
    def test_rewards_of_one_give_one_to_rounding(self, method, estimator, groups):
        sample = some_sample(60, groups=groups, heavy=2.0)
        ones = kwis.WeightedSample(
            context=sample.context, weight=sample.weight, reward=np.ones(60), group=sample.group
        )
        interval = kwis.Bootstrap(200, method).interval(estimator, ones)
        assert (interval.low, interval.high) == pytest.approx((1.0, 1.0), abs=1e-13)

    @every_method
    def test_identical_rows_give_the_estimate(self, method):
        sample = kwis.WeightedSample(context=np.ones((9, 1)), weight=np.full(9, 0.3), reward=np.full(9, 0.7))
        interval = kwis.Bootstrap(50, method).interval(kwis.VIS(), sample)
        assert (interval.low, interval.high) == pytest.approx((0.21, 0.21), rel=1e-14)

    @every_method
    @every_estimator
    def test_huge_and_tiny_weights_give_finite_ends(self, method, estimator):
        rng = np.random.default_rng(1)
        weight = rng.uniform(0.5, 1.5, 40) * np.resize([1e300, 1e-300], 40)
        sample = kwis.WeightedSample(context=rng.normal(size=(40, 2)), weight=weight, reward=rng.random(40))
        interval = kwis.Bootstrap(60, method).interval(estimator, sample)
        assert np.isfinite([interval.low, interval.high]).all()
        assert interval.low <= interval.high


def ends(method, estimator, sample, level):
    interval = kwis.Bootstrap(200, method).interval(estimator, sample, level, rng=3)
    return interval.low, interval.high


def twin_errors(estimator, sample, counts):
    """Standard errors with every copy of a row (or group) a row of its own."""
    influence = estimator.resampled(sample, counts, influence=True).influence
    errors = []
    for column, values in zip(counts.T.astype(int), influence.T, strict=True):
        rows = np.repeat(np.arange(sample.n), column)
        copy = np.concatenate([np.arange(k) for k in column])
        group = (
            None
            if sample.group is None
            else list(zip(sample.group[rows].tolist(), copy.tolist(), strict=True))
        )
        errors.append(standard_error(values[rows].tolist(), group))
    np.testing.assert_allclose(resampled_errors(influence, counts, sample.group), errors, rtol=1e-11)
    return errors


@dataclass(frozen=True)
class WeightedMedian:
    """A user's own estimator: only a name and ``estimate``, no influence values."""

    name: str = "weighted-median"

    def estimate(self, sample):
        if not sample.weight.any():
            raise kwis.InputError("`weight` must be positive in at least one row, got 0.0 in all")
        order = np.argsort(sample.reward)
        total = np.cumsum(sample.weight[order])
        middle = order[np.searchsorted(total, total[-1] / 2)]
        return kwis.Estimate(name=self.name, value=float(sample.reward[middle]), n=sample.n)


@dataclass(frozen=True)
class PlainWIS:
    """WIS again, by hand, as a user would write it; it ends up on the slow road."""

    name: str = "plain-wis"

    def estimate(self, sample):
        value = float((sample.weight * sample.reward).sum() / sample.weight.sum())
        influence = (
            sample.weight * (sample.reward - value) / sample.weight.mean()
            if self.name == "plain-wis"
            else None
        )
        return kwis.Estimate(name=self.name, value=value, n=sample.n, influence=influence)


class TestOtherEstimators:
    def test_an_estimator_with_only_estimate_is_resampled_by_taking_rows(self):
        sample = some_sample(40)
        interval = kwis.Bootstrap(100).interval(WeightedMedian(), sample, rng=2)
        assert interval.low <= interval.value <= interval.high
        assert set(interval.distribution.tolist()) <= set(sample.reward.tolist())

    @every_method
    @pytest.mark.parametrize("groups", [0, 8], ids=["", "groups"])
    def test_the_slow_road_leads_to_the_same_interval(self, method, groups):
        sample = some_sample(40, groups=groups)
        ours, theirs = (
            kwis.Bootstrap(80, method).interval(e, sample, rng=2) for e in (kwis.WIS(), PlainWIS())
        )
        assert (theirs.low, theirs.high) == pytest.approx((ours.low, ours.high), rel=1e-10)

    @pytest.mark.parametrize("groups", [0, 25], ids=["", "groups"])
    def test_without_influence_the_jackknife_gives_nearly_the_same(self, groups):
        sample = some_sample(100, groups=groups)
        ours = kwis.Bootstrap(300).interval(kwis.WIS(), sample, rng=2)
        theirs = kwis.Bootstrap(300).interval(PlainWIS(name="no influence"), sample, rng=2)
        np.testing.assert_allclose(ours.distribution, theirs.distribution, rtol=1e-12)
        assert (theirs.low, theirs.high) == pytest.approx((ours.low, ours.high), abs=0.05 * ours.width)
        assert (theirs.low, theirs.high) != kwis.Bootstrap(300, "percentile").interval(
            kwis.WIS(), sample, rng=2
        )

    @pytest.mark.parametrize("groups", [0, 9], ids=["", "groups"])
    def test_without_influence_each_row_or_group_is_left_out(self, groups):
        sample, estimator = some_sample(30, groups=groups, heavy=1.2), PlainWIS(name="no influence")
        found = kwis.Bootstrap(100).interval(estimator, sample, 0.8, rng=2)
        labels = np.arange(30) if sample.group is None else sample.group
        left_out = [
            estimator.estimate(sample.take(np.flatnonzero(labels != label))).value
            for label in np.unique(labels)
        ]
        moves = [float(np.mean(left_out)) - value for value in left_out]
        expected = twin.bca_ends(found.distribution.tolist(), found.value, moves, 0.8)
        assert (found.low, found.high) == pytest.approx(expected, rel=1e-10)

    def test_a_row_that_cannot_be_left_out_is_named(self):
        rows = kwis.WeightedSample(context=np.zeros((4, 1)), weight=[0, 0, 1.0, 0], reward=np.arange(4.0))
        with (
            pytest.warns(kwis.KwisWarning),
            pytest.raises(kwis.UnsupportedError, match=r"got none from weighted-median without row 2$"),
        ):
            kwis.Bootstrap(20).interval(WeightedMedian(), rows)

    def test_differences_of_a_users_estimator_work_too(self):
        a = some_sample(40)
        b = kwis.WeightedSample(context=a.context, weight=a.weight[::-1], reward=a.reward)
        ours, theirs = (
            kwis.difference(e, a, b, method=kwis.Bootstrap(60, "studentised"))
            for e in (kwis.WIS(), PlainWIS())
        )
        assert (theirs.low, theirs.high) == pytest.approx((ours.low, ours.high), rel=1e-10)


class TestBandwidth:
    @pytest.fixture
    def sample(self):
        rng = np.random.default_rng(7)
        context = rng.normal(size=(60, 2))
        weight = np.exp(np.sin(2 * context[:, 0])) * rng.uniform(0.8, 1.2, 60)
        return kwis.WeightedSample(context=context, weight=weight, reward=rng.random(60))

    def test_only_kernel_estimators_have_one(self, sample):
        assert kwis.Bootstrap(10).interval(kwis.WIS(), sample).bandwidth is None
        assert kwis.Bootstrap(10).interval(kwis.KernelWIS(1.0), sample).bandwidth == "fixed"
        assert kwis.Bootstrap(10, reselect=True).interval(kwis.KernelWIS(1.0), sample).bandwidth == "fixed"
        assert kwis.InfluenceInterval().interval(kwis.KernelWIS(1.0), sample).bandwidth == "fixed"
        assert kwis.InfluenceInterval().interval(kwis.VIS(), sample).bandwidth is None

    def test_a_selected_one_is_held_on_the_resamples(self, sample):
        selected = kwis.KernelWIS("cv").estimate(sample).bandwidth
        ours = kwis.Bootstrap(40).interval(kwis.KernelWIS("cv"), sample)
        theirs = kwis.Bootstrap(40).interval(kwis.KernelWIS(selected), sample)
        np.testing.assert_array_equal(ours.distribution, theirs.distribution)
        assert ours.bandwidth == "fixed"

    def test_reselecting_is_the_whole_estimate_on_every_resample(self, sample):
        interval = kwis.Bootstrap(6, reselect=True).interval(kwis.KernelWIS("cv"), sample, rng=9)
        assert interval.bandwidth == "reselected"
        counts = counts_of(sample, 6, seed=9).astype(int)
        expected = [
            kwis.KernelWIS("cv").estimate(sample.take(np.repeat(np.arange(60), column))).value
            for column in counts.T
        ]
        np.testing.assert_array_equal(interval.distribution, expected)

    def test_differences_select_one_for_each_sample(self, sample):
        other = kwis.WeightedSample(
            context=sample.context, weight=sample.weight[::-1] ** 2, reward=sample.reward
        )
        interval = kwis.difference(kwis.KernelWIS("cv"), sample, other, method=kwis.Bootstrap(20))
        a, b = kwis.KernelWIS("cv").estimate(sample), kwis.KernelWIS("cv").estimate(other)
        assert interval.value == a.value - b.value
        assert interval.bandwidth == "fixed"
        assert a.bandwidth != b.bandwidth


class TestZeroWeights:
    def test_resamples_without_positive_weight_are_left_out_with_a_warning(self):
        sample = kwis.WeightedSample(
            context=np.arange(12.0)[:, None], weight=[1, 1, 1] + [0] * 9, reward=np.arange(12.0) % 2
        )
        with pytest.warns(
            kwis.KwisWarning,
            match=r"^\d+ of 500 resamples have no estimate, as they hold too few rows of positive weight",
        ) as told:
            interval = kwis.Bootstrap(500).interval(kwis.WIS(), sample)
        counts = counts_of(sample, 500)
        assert interval.distribution.size == np.count_nonzero(counts[:3].sum(axis=0))
        assert np.isfinite([interval.low, interval.high]).all()
        assert told[0].filename == __file__  # where the interval was asked for

    def test_vis_needs_no_positive_weight(self):
        sample = kwis.WeightedSample(context=[[0.0], [1.0]], weight=[0, 0], reward=[1, 1])
        interval = kwis.Bootstrap(20).interval(kwis.VIS(), sample)
        assert (interval.low, interval.high) == (0.0, 0.0)


@pytest.mark.parametrize(("missing", "refused"), [(10, False), (11, True)])
def test_up_to_half_of_the_resamples_may_have_no_estimate(missing, refused):
    values = np.where(np.arange(20) < missing, np.nan, 1.0)
    expected = (
        pytest.raises(kwis.UnsupportedError, match=r"got none on 11 of 20$")
        if refused
        else pytest.warns(kwis.KwisWarning, match=r"^10 of 20 resamples have no estimate")
    )
    with expected:
        assert _defined(values, np.empty(0))[0].tolist() == [1.0] * (20 - missing)


def test_a_correction_that_runs_off_the_distribution_ends_there():
    assert endpoints._moved(0.5, 1.0, 1.0) == 1.0  # just at the end, where there is nothing left to divide by
    assert endpoints._moved(0.5, 2.0, 1.0) == 1.0
    assert endpoints._moved(0.5, -1.0, -1.0) == 0.0


def test_the_length_of_a_block_is_the_cube_root_of_the_rows_unless_it_is_given():
    lengths = [
        kwis.Bootstrap(block=block)._block_of(some_sample(n))
        for n, block in ((64, "auto"), (30, "auto"), (30, 7), (30, 29), (30, None))
    ]
    assert lengths == [4, 3, 7, 29, 1]
    with pytest.raises(kwis.InputError, match="`block` must be one of auto, got 'long'"):
        kwis.Bootstrap(block="long")


def test_resamples_in_common_serve_where_values_are_all_that_is_needed():
    alone = (kwis.Bootstrap(method="studentised"), kwis.Bootstrap(reselect=True), kwis.Bootstrap(block=3))
    assert [method.common_resamples for method in alone] == [0, 0, 0]
    assert kwis.Bootstrap(70).common_resamples == kwis.Bootstrap(70, "percentile").common_resamples == 70
    assert (kwis.Bootstrap().replicates, kwis.Bootstrap().reselect) == (1000, False)
    assert kwis.Bootstrap(2).replicates == 2


@pytest.mark.parametrize("groups", [0, 6], ids=["", "groups"])
def test_a_contrast_is_resampled_anew_unless_it_has_resamples(groups):
    sample = some_sample(24, groups=groups)
    contrast = Contrast.of(kwis.KernelWIS(0.8), sample)
    method = kwis.Bootstrap(30)
    anew, direct = method.of(contrast, 0.8, 5), method.interval(kwis.KernelWIS(0.8), sample, 0.8, 5)
    assert (anew.low, anew.high, anew.bandwidth) == (direct.low, direct.high, "fixed")
    values = np.append(direct.distribution, np.nan)  # a resample without an estimate is left out
    found = method.of(replace(contrast, resampled=values), 0.8)
    assert (found.low, found.high) == (direct.low, direct.high)
    assert (found.distribution.size, found.bandwidth, found.method) == (30, "fixed", "bootstrap-bca")
    bare = replace(contrast, resampled=values, estimate=replace(contrast.estimate, influence=None))
    again = method.of(bare, 0.8, 5)
    assert (again.low, again.high) == (direct.low, direct.high)


def test_a_bandwidth_is_reselected_for_a_contrast_where_that_is_asked_for():
    sample = some_sample(40, repeats=False)
    contrast = replace(Contrast.of(kwis.KernelWIS(0.8), sample), asked=kwis.KernelWIS("cv"))
    bandwidths = [kwis.Bootstrap(3, reselect=anew).of(contrast, 0.8).bandwidth for anew in (True, False)]
    assert bandwidths == ["reselected", "fixed"]


def test_the_acceleration_is_a_sixth_of_the_skewness():
    moves = np.array([1.0, 1.0, -2.0, 4.0, -4.0, 3.0])
    expected = (moves**3).sum() / (6 * (moves**2).sum() ** 1.5)
    for scale in (1.0, 1e-200, 1e200):
        assert endpoints.acceleration_of(scale * moves) == pytest.approx(expected)
    assert endpoints.acceleration_of(np.zeros(3)) == 0.0


def test_resamples_equal_to_the_estimate_have_a_pivot_of_0_whatever_their_error():
    values, errors = np.array([1.0, 1.0, 0.5, 2.0, 1.5]), np.array([0.0, 0.3, 0.5, 1.0, 0.5])
    pivots = [0.0, 0.0, -1.0, 1.0, 1.0]
    low, high = twin.percentile_ends(pivots, 0.5)
    found = endpoints.studentised(values, errors, 1.0, 0.2, 0.5)
    assert found == pytest.approx((1.0 - 0.2 * high, 1.0 - 0.2 * low))
    with pytest.raises(kwis.UnsupportedError, match=r"got none in 1 of 5$"):
        endpoints.studentised(values, np.array([1.0, 1.0, 0.5, 1e-14, 0.5]), 1.0, 0.2, 0.9)
