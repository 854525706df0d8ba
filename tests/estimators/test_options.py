"""What estimators refuse, and how Kernel-WIS selects its bandwidth."""

import subprocess
import sys

import numpy as np
import pytest

import kwis
from kwis.estimators.kernel_wis import fold_groups
from tests.estimators.catalogue import some_sample


def refused(call):
    with pytest.raises(kwis.KwisError) as caught:
        call()
    return str(caught.value)


@pytest.mark.parametrize(
    ("bandwidth", "sentence"),
    [
        (0, "`bandwidth` must be positive, got 0.0"),
        (-1.5, "`bandwidth` must be positive, got -1.5"),
        (np.nan, "`bandwidth` must be positive, got nan"),
        ([1.0, 0.0], "`bandwidth` must be positive, got 0.0 for feature 1"),
        ("best", "`bandwidth` must be positive numbers or \"cv\", got 'best'"),
        (
            "slope",
            (
                "`bandwidth` must be positive numbers or \"cv\", got 'slope'; the package kwis-paper has it, "
                "in "
                "kwis_paper.beyond.criteria"
            ),
        ),
    ],
)
def test_a_bandwidth_that_cannot_be_is_refused_at_once(bandwidth, sentence):
    assert refused(lambda: kwis.KernelWIS(bandwidth)) == sentence


def test_a_bandwidth_of_the_wrong_length_is_refused_when_the_sample_is_known():
    sentence = "`bandwidth` must be one number or one per feature (2), got shape (3,)"
    assert refused(lambda: kwis.KernelWIS([1.0, 2.0, 3.0]).estimate(some_sample())) == sentence


def test_an_unknown_kind_of_bandwidths_is_refused():
    assert (
        refused(lambda: kwis.KernelWIS(per_feature="all"))
        == "`per_feature` must be True, False or \"shrunk\", got 'all'"
    )


def test_bandwidths_that_are_no_numbers_are_refused():
    assert refused(lambda: kwis.KernelWIS(None)) == '`bandwidth` must be positive numbers or "cv", got None'
    assert refused(lambda: kwis.KernelWIS([[1.0]])).startswith(
        "`bandwidth` must be one number or one per feature"
    )


def test_an_unknown_kernel_is_refused():
    expected = (
        "`kernel` must be a kwis.Kernel or one of rbf, laplace, matern32, matern52, epanechnikov, got 'gauss'"
    )
    assert refused(lambda: kwis.KernelWIS(1.0, kernel="gauss")) == expected


@pytest.mark.parametrize(
    ("cap", "sentence"),
    [
        ("sqrt", "`cap` must be a positive number or \"ionides\", got 'sqrt'"),
        (0, "`cap` must be a positive number, got 0"),
        (-2.0, "`cap` must be a positive number, got -2.0"),
        (np.nan, "`cap` must be a positive number, got nan"),
        (None, "`cap` must be a positive number, got None"),
    ],
)
def test_a_cap_that_cannot_be_is_refused(cap, sentence):
    assert refused(lambda: kwis.TruncatedVIS(cap)) == sentence


def test_a_sum_beyond_floating_point_is_refused_rather_than_infinite():
    sample = kwis.WeightedSample(context=[[0.0], [1.0]], weight=[1e300, 1e300], reward=[1e300, 1e300])
    assert (
        refused(lambda: kwis.VIS().estimate(sample))
        == "`weight` times `reward` must have a finite sum for vis, got inf"
    )
    assert kwis.WIS().estimate(sample).value == pytest.approx(1e300)


def test_the_ionides_cap_is_the_root_of_the_interactions():
    weight = np.full(9, 50.0)
    sample = kwis.WeightedSample(context=np.zeros((9, 1)), weight=weight, reward=np.ones(9))
    assert kwis.TruncatedVIS().estimate(sample).value == pytest.approx(3.0)
    heavy = kwis.WeightedSample(
        context=np.zeros((9, 1)), weight=weight, reward=np.ones(9), mass=np.full(9, 4.0)
    )
    assert kwis.TruncatedVIS().estimate(heavy).value == pytest.approx(6.0)


@pytest.fixture(scope="module")
def sample():
    rng = np.random.default_rng(7)
    context = rng.normal(size=(90, 2))
    weight = np.exp(np.sin(2 * context[:, 0])) * rng.uniform(0.8, 1.2, 90)
    return kwis.WeightedSample(context=context, weight=weight, reward=rng.random(90))


class TestSelection:
    """``bandwidth="cv"`` is ``select_bandwidth`` on the sample."""

    def test_it_reports_the_choice_and_uses_it(self, sample):
        estimate = kwis.KernelWIS("cv", rng=3).estimate(sample)
        choice = kwis.select_bandwidth(sample.context, sample.weight, rng=3)
        assert estimate.choice is not None
        assert estimate.bandwidth == estimate.choice.value == choice.value
        assert estimate.value == kwis.KernelWIS(choice.value).estimate(sample).value

    def test_options_reach_the_selection(self, sample):
        estimate = kwis.KernelWIS("cv", per_feature=True, kernel="laplace", folds=3).estimate(sample)
        choice = kwis.select_bandwidth(
            sample.context, sample.weight, folds=3, per_feature=True, kernel=kwis.Laplace
        )
        np.testing.assert_array_equal(estimate.bandwidth, choice.value)

    def test_held_keeps_the_choice_and_a_number_stays_itself(self, sample):
        held = kwis.KernelWIS("cv", normalised=True).held(sample)
        assert held.bandwidth == kwis.KernelWIS("cv").estimate(sample).bandwidth
        assert held.normalised
        assert not held.selects_bandwidth
        fixed = kwis.KernelWIS(1.0)
        assert fixed.held(sample) is fixed

    def test_groups_stay_in_one_fold(self, sample):
        group = np.arange(90) // 3
        grouped = kwis.WeightedSample(
            context=sample.context, weight=sample.weight, reward=sample.reward, group=group
        )
        choice = kwis.select_bandwidth(sample.context, sample.weight, group=group)
        assert kwis.KernelWIS("cv").estimate(grouped).bandwidth == choice.value

    @pytest.mark.parametrize(
        ("rows", "groups", "folds"), [(3, None, 3), (4, None, 4), (12, 3, 3), (40, 9, 5)]
    )
    def test_there_are_no_more_folds_than_rows_or_groups(self, sample, rows, groups, folds):
        few = sample.take(np.arange(rows))
        group = None if groups is None else np.arange(rows) % groups
        few = kwis.WeightedSample(context=few.context, weight=few.weight, reward=few.reward, group=group)
        expected = kwis.select_bandwidth(few.context, few.weight, folds=folds, group=group)
        assert kwis.KernelWIS("cv").estimate(few).choice.score == expected.score

    @pytest.mark.parametrize("per_feature", [False, True])
    def test_masses_and_categories_reach_the_selection(self, sample, per_feature):
        rng = np.random.default_rng(1)
        context = np.column_stack([sample.context[:, 0], rng.integers(0, 3, 90)])
        given = {"categorical": (1,), "mass": rng.integers(1, 4, 90).astype(float)}
        thinned = kwis.WeightedSample(context=context, weight=sample.weight, reward=sample.reward, **given)
        expected = kwis.select_bandwidth(context, sample.weight, per_feature=per_feature, **given)
        found = kwis.KernelWIS("cv", per_feature=per_feature).estimate(thinned)
        assert np.array_equal(found.bandwidth, expected.value)

    def test_copies_of_a_row_do_not_tempt_the_bandwidth_to_zero(self, sample):
        noisy = kwis.WeightedSample(
            context=sample.context, weight=np.random.default_rng(0).exponential(size=90), reward=sample.reward
        )
        doubled = noisy.take(np.repeat(np.arange(90), 2))
        assert kwis.KernelWIS("cv").estimate(doubled).bandwidth > 0.3


def test_copies_of_a_row_share_a_fold_and_so_do_copies_of_a_group():
    assert fold_groups(some_sample()) is None
    copied = some_sample().take([0, 0, 3, 5, 3])
    labels = fold_groups(copied)
    assert labels[0] == labels[1]
    assert labels[2] == labels[4]
    assert len(set(labels.tolist())) == 3
    grouped = kwis.WeightedSample(
        context=np.zeros((4, 1)), weight=np.ones(4), reward=np.ones(4), group=[0, 0, 1, 1]
    )
    twice = grouped.take([0, 1, 0, 1, 2, 3], group=[0, 0, 1, 1, 2, 2])
    assert fold_groups(twice).tolist() == [0, 0, 0, 0, 2, 2]


def test_importing_kwis_loads_nothing_heavy():
    code = (
        "import sys, kwis; print(sorted({'numba', 'scipy', 'sklearn', 'matplotlib', 'pandas', 'numpy'} & "
        "set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_estimating_without_a_kernel_loads_nothing_heavy():
    code = (
        "import sys, kwis; s = kwis.WeightedSample(context=[[0.], [1.]], weight=[1., 2.], reward=[0., 1.]);"
        "[kwis.Bootstrap(20).interval(e, s) for e in (kwis.VIS(), kwis.WIS(), kwis.StateWIS())];"
        "print(sorted({'numba', 'scipy', 'sklearn'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_every_public_name_is_there_and_no_other():
    for name in kwis.__all__:
        assert getattr(kwis, name) is not None
    assert dir(kwis) == sorted(kwis.__all__)
    with pytest.raises(AttributeError, match="module 'kwis' has no attribute 'nothing'"):
        _ = kwis.nothing
