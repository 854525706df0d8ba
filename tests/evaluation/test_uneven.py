"""Bandwidths of logs whose rows stand for different numbers of interactions."""

import math

import numpy as np
import pytest

import kwis
from kwis.evaluation.thinned import held_out_gains, worthwhile

ESTIMATOR = kwis.KernelWIS(rng=3, normalised=True)


def thinned(seed, n=2500, slope=0.0):
    """A log in which one in ten of the rows without a click was kept: weights of a deterministic target, of
    mean ``exp(slope x)``.
    """
    rng = np.random.default_rng(seed)
    context = rng.normal(size=(n, 2))
    weight = 3.0 * (rng.random(n) < 1 / 3) * np.exp(slope * context[:, 0])
    reward = (rng.random(n) < 0.1).astype(float)
    kept = (reward > 0) | (rng.random(n) < 0.1)
    mass = np.where(reward > 0, 1.0, 10.0)
    return kwis.WeightedSample(
        context=context[kept], weight=weight[kept], reward=reward[kept], mass=mass[kept]
    )


def kernel_mean_by_hand(at, others, bandwidth):
    near = [
        (
            mass
            * math.exp(-sum((a - b) ** 2 for a, b in zip(at, context, strict=True)) / (2 * bandwidth**2)),
            weight,
        )
        for context, weight, mass in others
    ]
    return sum(share * weight for share, weight in near) / sum(share for share, _ in near)


def test_gains_are_those_of_the_formula():
    sample = thinned(0, n=300)
    folds = kwis.make_folds(sample.n, 5, rng=3)
    rows = list(zip(sample.context.tolist(), sample.weight.tolist(), sample.mass.tolist(), strict=True))
    expected = []
    for i, (context, weight, mass) in enumerate(rows):
        others = [row for j, row in enumerate(rows) if folds[j] != folds[i]]
        mean = sum(m * w for _, w, m in others) / sum(m for _, _, m in others)
        gain = (weight - mean) ** 2 - (weight - kernel_mean_by_hand(context, others, 0.7)) ** 2
        expected.append(mass / 10 * gain / 9)
    np.testing.assert_allclose(held_out_gains(0.7, ESTIMATOR, sample), expected, rtol=1e-9, atol=1e-12)


def test_their_sum_is_what_the_scores_of_cross_validation_differ_by():
    sample = thinned(1).take(np.arange(250))
    even = kwis.WeightedSample(context=sample.context, weight=sample.weight, reward=sample.reward)
    estimator = kwis.KernelWIS(rng=3)
    folds = kwis.make_folds(250, 5, rng=3)
    flat, near = (kwis.cv_score(even.context, even.weight, h, folds)[0] for h in (math.inf, 0.9))
    assert held_out_gains(0.9, estimator, even).mean() * even.weight.max() ** 2 == pytest.approx(
        flat - near, rel=1e-9
    )


@pytest.mark.slow
def test_chance_does_not_make_a_bandwidth_finite():
    finite, kept = 0, 0
    for seed in range(20):
        sample = thinned(seed)
        choice = ESTIMATOR.choose(sample)
        finite += math.isfinite(choice.value)
        kept += math.isfinite(worthwhile(choice, ESTIMATOR, sample).value)
    assert finite >= 8
    assert kept <= 3


def test_a_bandwidth_that_predicts_weights_is_kept():
    sample = thinned(0, slope=1.0)
    choice = ESTIMATOR.choose(sample)
    assert worthwhile(choice, ESTIMATOR, sample) is choice
    assert math.isfinite(choice.value)


@pytest.mark.slow
def test_rows_that_count_alike_keep_what_cross_validation_selects():
    found = []
    for seed in range(12):
        sample = thinned(seed)
        for mass in (None, np.full(sample.n, 7.0)):
            even = kwis.WeightedSample(
                context=sample.context, weight=sample.weight, reward=sample.reward, mass=mass
            )
            choice = ESTIMATOR.choose(even)
            assert worthwhile(choice, ESTIMATOR, even) is choice
            found.append(choice.value)
    assert np.isfinite(found).any()


def test_a_bandwidth_made_infinite_has_the_score_of_the_mean():
    estimator = kwis.KernelWIS(rng=3, per_feature=True)
    samples = [thinned(seed, n=400) for seed in range(8)]
    made = [(sample, worthwhile(estimator.choose(sample), estimator, sample)) for sample in samples]
    sample, choice = next(
        (sample, choice) for sample, choice in made if np.isinf(choice.value).all() and choice.end_points.size
    )
    folds = kwis.make_folds(sample.n, 5, rng=3)
    errors = []
    for fold in range(5):
        fit, judge = folds != fold, folds == fold
        mean = np.average(sample.weight[fit], weights=sample.mass[fit])
        errors.append(np.average((sample.weight[judge] - mean) ** 2, weights=sample.mass[judge]))
    assert choice.value.shape == (2,)
    assert choice.score == pytest.approx(np.mean(errors), rel=1e-9)


def test_an_evaluation_of_a_thinned_log_uses_one_normaliser_where_weights_show_nothing():
    seed = next(
        seed
        for seed in range(20)
        if math.isfinite(kwis.KernelWIS(normalised=True).choose(thinned(seed)).value)
    )
    sample = thinned(seed)
    table = {
        "x": sample.context[:, 0],
        "y": sample.context[:, 1],
        "reward": sample.reward,
        "stands_for": sample.mass,
    }
    table |= {
        "action": np.where(sample.weight > 0, "a", "b"),
        "propensity": np.where(sample.weight > 0, 1 / 3, 2 / 3),
    }
    roles = {
        "action": "action",
        "reward": "reward",
        "propensity": "propensity",
        "context": ["x", "y"],
        "row_weight": "stands_for",
    }
    target = np.tile([1.0, 0.0], (sample.n, 1))
    found = kwis.evaluate(
        kwis.read_log(table, **roles), target, estimators=["wis", "normalised-kernel-wis"], repair="never"
    )
    whole, near = (
        next(row for row in found.rows if row.estimator == name) for name in ("wis", "normalised-kernel-wis")
    )
    assert math.isinf(near.estimate.bandwidth)
    assert near.estimate.value == pytest.approx(whole.estimate.value, rel=1e-12)


@pytest.mark.slow
def test_the_estimate_of_a_thinned_log_is_no_worse_than_that_of_wis():
    near, whole = [], []
    for seed in range(150):
        sample = thinned(1000 + seed)
        bandwidth = worthwhile(ESTIMATOR.choose(sample), ESTIMATOR, sample).value
        near.append(kwis.KernelWIS(bandwidth, normalised=True).estimate(sample).value - 0.1)
        whole.append(kwis.WIS().estimate(sample).value - 0.1)
    assert np.sqrt(np.mean(np.square(near))) <= 1.05 * np.sqrt(np.mean(np.square(whole)))
