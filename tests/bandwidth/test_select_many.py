"""Many weight vectors on the same contexts and folds: the same answers as one by one."""

import numpy as np
import pytest

import kwis
from tests.bandwidth.datasets import KINDS, dataset
from tests.kernel.samples import CAUCHY


def columns_of(context, weight, seed=0):
    """Weights with and without a signal, constant ones, and ones whose best bandwidth is infinite."""
    rng = np.random.default_rng(seed)
    n = len(weight)
    noise = rng.exponential(size=(n, 3))
    wave = [
        np.exp(np.sin(speed * context[:, -1]) + 0.2 * rng.standard_normal(n)) for speed in (0.5, 1.0, 4.0)
    ]
    return np.column_stack(
        [
            weight,
            weight**3,
            np.ones(n),
            np.zeros(n),
            noise,
            *wave,
            np.where(np.arange(n) % 2, 1.0, 3.0),
            1e300 * weight,
        ]
    )


def agree(context, weights, choices, folds, **options):
    assert len(choices) == weights.shape[1]
    for weight, choice in zip(weights.T, choices, strict=True):
        alone = kwis.select_bandwidth(context, weight, folds=folds, **options)
        unit = float(weight.max()) or 1.0
        true = kwis.cv_score(context, weight / unit, choice.value, folds, **options)[0]
        best = kwis.cv_score(context, weight / unit, alone.value, folds, **options)[0]
        assert true <= best * (1 + 1e-6) + 1e-30
        if np.isfinite(choice.score):
            assert choice.score / unit / unit == pytest.approx(true, rel=1e-6, abs=1e-30)
        assert choice.isolated == alone.isolated


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [30, 90])
def test_scores_are_those_of_the_single_selection(kind, n):
    context, weight, categorical = dataset(kind, n)
    weights, folds = columns_of(context, weight), kwis.make_folds(n, 4, rng=3)
    agree(
        context,
        weights,
        kwis.select_bandwidths(context, weights, folds=folds, categorical=categorical),
        folds,
        categorical=categorical,
    )


@pytest.mark.parametrize("kernel", [kwis.Laplace, "matern52", CAUCHY, "epanechnikov"], ids=str)
@pytest.mark.parametrize("kind", ["plain", "mixed"])
def test_every_kernel_will_do(kind, kernel):
    context, weight, categorical = dataset(kind, 60)
    weights, options = columns_of(context, weight), {"kernel": kernel, "categorical": categorical}
    folds = kwis.make_folds(60, 3)
    agree(
        context, weights, kwis.select_bandwidths(context, weights, folds=folds, **options), folds, **options
    )


def test_the_compiled_plan_agrees_too():
    context, weight, _ = dataset("plain", 640)
    weights, folds = columns_of(context, weight), kwis.make_folds(640, 5)
    agree(context, weights, kwis.select_bandwidths(context, weights), folds)


def test_the_lattice_agrees_too():
    context, weight, categorical = dataset("codes", 700)
    weights, folds = columns_of(context, weight)[:, :7], kwis.make_folds(700, 2)
    agree(
        context,
        weights,
        kwis.select_bandwidths(context, weights, folds=folds, categorical=categorical),
        folds,
        categorical=categorical,
    )


@pytest.mark.parametrize("count", [1, 4, 5])
def test_few_columns_or_more_make_no_difference(count):
    context, weight, _ = dataset("plain", 50)
    weights = np.tile(weight[:, None], count)
    choices = kwis.select_bandwidths(context, weights, rng=2)
    alone = kwis.select_bandwidth(context, weight, rng=2)
    for choice in choices:
        assert choice.value == pytest.approx(alone.value, rel=1e-3)
        assert choice.score == pytest.approx(alone.score, rel=1e-6)


def test_equal_weights_and_pure_noise_are_infinite():
    context, weight, _ = dataset("plain", 80)
    weights = columns_of(context, weight)
    choices = kwis.select_bandwidths(context, weights)
    assert [choices[column].value for column in (2, 3)] == [np.inf, np.inf]
    assert [choices[column].score for column in (2, 3)] == [0, 0]
    assert any(np.isinf(choices[column].value) for column in (4, 5, 6, 10))


def test_a_minimum_beyond_the_scanned_grid_is_found():
    """Far clusters make the typical distance huge, while the weights follow the small distances
    within them.
    """
    rng = np.random.default_rng(1)
    within = rng.uniform(0, 1, 60)
    context = np.column_stack([within, 60.0 * np.repeat([0, 1, 3], 20)])
    weights = np.exp(np.sin(9 * within))[:, None] * rng.uniform(0.95, 1.05, (60, 6))
    folds = kwis.make_folds(60, 5)
    choices = kwis.select_bandwidths(context, weights, folds=folds)
    agree(context, weights, choices, folds)
    assert max(choice.value for choice in choices) < 60 / 256


def test_one_bandwidth_per_feature_goes_column_by_column():
    context, weight, _ = dataset("plain", 40)
    weights = np.column_stack([weight, weight**2])
    choices = kwis.select_bandwidths(context, weights, per_feature=True, max_evaluations=20)
    for column, choice in zip(weights.T, choices, strict=True):
        alone = kwis.select_bandwidth(context, column, per_feature=True, max_evaluations=20)
        np.testing.assert_array_equal(choice.value, alone.value)


@pytest.mark.parametrize("options", [{}, {"kernel": "epanechnikov"}], ids=["together", "apart"])
def test_the_callback_counts_columns_and_may_end_it_all(options):
    context, weight, _ = dataset("plain", 40)
    weights, heard = np.tile(weight[:, None], 6) * np.arange(1, 7), []
    kwis.select_bandwidths(context, weights, callback=heard.append, **options)
    assert heard
    assert {progress.starts for progress in heard} == {6}
    done = [progress.start for progress in heard]
    assert done == sorted(done)
    assert 0 <= done[0] <= done[-1] < 6

    def stop(progress):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        kwis.select_bandwidths(context, weights, callback=stop, **options)


def test_more_columns_than_go_through_in_one_pass():
    context, weight, _ = dataset("line", 30)
    weights = weight[:, None] ** np.linspace(0.5, 2, 530)
    choices = kwis.select_bandwidths(context, weights, folds=3)
    assert len(choices) == 530
    for column in (0, 511, 512, 529):
        assert choices[column].score == pytest.approx(
            kwis.select_bandwidth(context, weights[:, column], folds=3).score, rel=1e-6
        )


def test_groups_and_seeds_reach_the_folds():
    context, weight, _ = dataset("plain", 60)
    weights, group = np.tile(weight[:, None], 5), np.arange(60) // 3
    got = kwis.select_bandwidths(context, weights, group=group, rng=4)[0]
    expected = kwis.select_bandwidth(context, weight, folds=kwis.make_folds(60, 5, rng=4, group=group))
    assert got.score == pytest.approx(expected.score, rel=1e-6)
