"""A kernel from outside the package: two short functions, and everything else follows."""

import numpy as np
import pytest

import kwis
from tests.bandwidth.datasets import dataset
from tests.kernel.samples import gradient_error
from tests.reference import kernel_regression as twin

CAUCHY = kwis.Kernel("cauchy", log_profile=lambda q: -np.log1p(q), slope=lambda q: -1 / (1 + q))


@pytest.fixture(scope="module", params=["plain", "mixed"])
def sample(request):
    context, weight, categorical = dataset(request.param, 60)
    reward = (np.random.default_rng(1).random(60) < 0.4).astype(float)
    return kwis.WeightedSample(context=context, weight=weight, reward=reward, categorical=categorical)


def twin_value(sample, bandwidth, counts=None):
    """Plain Kernel-WIS on the rows drawn ``counts`` times."""
    rows = np.repeat(
        np.arange(sample.n), np.ones(sample.n, dtype=int) if counts is None else counts.astype(int)
    )
    weight, reward = sample.weight[rows], sample.reward[rows]
    local = twin.kernel_mean(weight, sample.context[rows], bandwidth, None, "cauchy", sample.categorical)
    return np.mean(reward * weight / local)


@pytest.mark.parametrize("bandwidth", [0.7, np.array([0.4, 0.9, 1.5])], ids=["shared", "per feature"])
def test_its_score_and_gradient(sample, bandwidth):
    folds = kwis.make_folds(60, 5)
    score, gradient = kwis.cv_score(
        sample.context, sample.weight, bandwidth, folds, kernel=CAUCHY, categorical=sample.categorical
    )
    value, slopes, _ = twin.cv_score(
        sample.context, sample.weight, bandwidth, folds, "cauchy", sample.categorical
    )
    assert score == pytest.approx(value, rel=1e-12)
    assert (
        gradient_error(gradient, slopes if np.ndim(bandwidth) else slopes.sum(keepdims=True), value) < 1e-10
    )


def test_its_bandwidth_is_selected(sample):
    folds = kwis.make_folds(60, 5)
    choice = kwis.select_bandwidth(
        sample.context, sample.weight, folds=folds, kernel=CAUCHY, categorical=sample.categorical
    )
    best, _ = twin.best_shared(sample.context, sample.weight, folds, "cauchy", sample.categorical)
    assert choice.score <= best * (1 + 1e-9)


def test_its_estimate_and_its_selection_agree_with_the_twin(sample):
    estimate = kwis.KernelWIS("cv", kernel=CAUCHY).estimate(sample)
    assert estimate.value == pytest.approx(twin_value(sample, estimate.bandwidth), rel=1e-12)


def test_its_bootstrap_redoes_the_whole_statistic(sample):
    rng = np.random.default_rng(2)
    counts = rng.multinomial(60, np.full(60, 1 / 60), size=8).T.astype(float)
    values = kwis.KernelWIS(0.8, kernel=CAUCHY).resampled(sample, counts).values
    np.testing.assert_allclose(values, [twin_value(sample, 0.8, column) for column in counts.T], rtol=1e-11)
    interval = kwis.Bootstrap(replicates=200).interval(kwis.KernelWIS(0.8, kernel=CAUCHY), sample)
    assert interval.low < twin_value(sample, 0.8) < interval.high


def test_it_has_no_end_and_leaves_nobody_alone():
    assert not CAUCHY.compact
    assert (
        kwis.select_bandwidth(
            [[0.0], [1.0], [50.0], [90.0]], [1.0, 1.1, 5.0, 4.0], folds=2, kernel=CAUCHY
        ).isolated
        == 0
    )
