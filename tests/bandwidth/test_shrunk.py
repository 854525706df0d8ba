"""Bandwidths per feature that shrink towards the shared one."""

import math

import numpy as np
import pytest

import kwis
from kwis.bandwidth.shrunk import select_shrunk


def one_feature_counts(n=400, d=6, seed=0, noise=0.2):
    """Weights that depend on the first feature alone."""
    rng = np.random.default_rng(seed)
    context = rng.normal(size=(n, d))
    return context, np.exp(np.sin(2 * context[:, 0]) + noise * rng.normal(size=n))


def test_features_that_do_not_count_get_wide_bandwidths():
    context, weight = one_feature_counts()
    choice = select_shrunk(context, weight)
    assert choice.value[0] < 0.5 * choice.value[1:].min()
    shared = kwis.select_bandwidth(context, weight)
    assert choice.score < 0.9 * shared.score
    assert choice.end_scores[0] == pytest.approx(shared.score, rel=1e-9)
    folds = kwis.make_folds(400, 5)
    assert kwis.cv_score(context, weight, choice.value, folds)[0] == pytest.approx(choice.score, rel=1e-9)


@pytest.mark.parametrize(("n", "d"), [(120, 279), (90, 600)])
def test_wide_data_without_a_pattern_keep_one_bandwidth(n, d):
    kept = 0
    for seed in range(3):
        rng = np.random.default_rng([d, seed])
        context, weight = rng.normal(size=(n, d)), rng.exponential(size=n)
        value = select_shrunk(context, weight).value
        kept += bool((value == value[0]).all())
    assert kept >= 2


def test_held_out_weights_are_predicted_no_worse_than_with_one_bandwidth():
    errors = []
    for seed in range(6):
        context, weight = one_feature_counts(240, 8, seed, noise=1.0)
        fit, judge = slice(0, 160), slice(160, None)
        for choose in (kwis.select_bandwidth, select_shrunk):
            h = choose(context[fit], weight[fit]).value
            found = kwis.kernel_mean(weight[fit], context[fit], bandwidth=h, at=context[judge])
            errors.append(np.mean((weight[judge] - found) ** 2))
    shared, shrunk = np.reshape(errors, (6, 2)).T
    gap = shrunk - shared
    assert gap.mean() <= gap.std() / math.sqrt(6)


def test_equal_weights_and_single_features_have_nothing_to_shape():
    context, weight = one_feature_counts()
    assert np.isinf(select_shrunk(context, np.ones(400)).value).all()
    alone = select_shrunk(context[:, :1], weight)
    assert alone.value == pytest.approx(kwis.select_bandwidth(context[:, :1], weight).value)


def test_groups_and_categories_are_kept_in_mind():
    context, weight = one_feature_counts(200, 3)
    codes = np.random.default_rng(5).integers(0, 3, 200)
    mixed = np.column_stack([context, codes])
    choice = select_shrunk(mixed, weight * (1 + (codes == 1)), categorical=[3], group=np.arange(200) // 2)
    assert choice.value.shape == (4,)
    assert (choice.value > 0).all()


def test_kernel_wis_takes_it_by_name():
    context, weight = one_feature_counts()
    sample = kwis.WeightedSample(context=context, weight=weight, reward=np.random.default_rng(2).random(400))
    estimate = kwis.KernelWIS("cv", per_feature="shrunk", normalised=True, rng=4).estimate(sample)
    np.testing.assert_array_equal(estimate.bandwidth, select_shrunk(context, weight, rng=4).value)


def test_the_same_seed_gives_the_same_bits():
    context, weight = one_feature_counts(150)
    np.testing.assert_array_equal(
        select_shrunk(context, weight, rng=3).value, select_shrunk(context, weight, rng=3).value
    )


def test_a_row_of_mass_two_counts_as_two_rows():
    context, weight = one_feature_counts(150)
    mass = np.random.default_rng(0).integers(1, 3, 150).astype(float)
    folds = kwis.make_folds(150, 5)
    choice = select_shrunk(context, weight, folds=folds, mass=mass)
    assert kwis.cv_score(context, weight, choice.value, folds, mass=mass)[0] == pytest.approx(
        choice.score, rel=1e-9
    )
    sample = kwis.WeightedSample(context=context, weight=weight, reward=np.ones(150), mass=mass)
    assert (
        kwis.KernelWIS().estimate(sample).bandwidth == kwis.select_bandwidth(context, weight, mass=mass).value
    )
