"""Selecting one bandwidth, or one per feature."""

import numpy as np
import pytest
from scipy.optimize import minimize

import kwis
from tests.bandwidth.datasets import KINDS, dataset
from tests.reference import kernel_regression as twin


def infinite_score(weight, folds):
    return np.mean([np.mean((weight[folds == k] - weight[folds != k].mean()) ** 2) for k in np.unique(folds)])


def twin_score(context, weight, bandwidth, folds, kernel="rbf", categorical=()):
    return twin.cv_score(context, weight, bandwidth, folds, kernel, categorical)[0]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("n", "k"), [(24, 2), (70, 5)])
def test_no_bandwidth_on_a_dense_grid_is_better(kind, n, k):
    context, weight, categorical = dataset(kind, n)
    folds = kwis.make_folds(n, k, rng=1)
    best = min(twin.best_shared(context, weight, folds, "rbf", categorical)[0], infinite_score(weight, folds))
    choice = kwis.select_bandwidth(context, weight, folds=folds, categorical=categorical)
    assert choice.score <= best * (1 + 1e-9)
    if np.isfinite(choice.value):
        assert choice.score == pytest.approx(
            twin_score(context, weight, choice.value, folds, "rbf", categorical), rel=1e-10
        )


@pytest.mark.parametrize("kernel", ["laplace", "matern32", "matern52"])
@pytest.mark.parametrize("kind", ["plain", "clusters", "mixed", "steep"])
def test_no_bandwidth_on_a_dense_grid_is_better_for_other_smooth_kernels(kind, kernel):
    context, weight, categorical = dataset(kind, 40, seed=1)
    folds = kwis.make_folds(40, 4)
    best = min(
        twin.best_shared(context, weight, folds, kernel, categorical, nodes=200)[0],
        infinite_score(weight, folds),
    )
    assert kwis.select_bandwidth(
        context, weight, folds=folds, kernel=kernel, categorical=categorical
    ).score <= best * (1 + 1e-9)


@pytest.mark.parametrize("kind", ["plain", "line", "ties", "mixed"])
def test_a_compact_kernel_s_jagged_curve_is_searched_closely(kind):
    """It has a kink at every distance between rows, so a local search may end a little above the best dip."""
    context, weight, categorical = dataset(kind, 60, seed=2)
    folds = kwis.make_folds(60, 5)
    best = min(
        twin.best_shared(context, weight, folds, "epanechnikov", categorical)[0],
        infinite_score(weight, folds),
    )
    choice = kwis.select_bandwidth(
        context, weight, folds=folds, kernel="epanechnikov", categorical=categorical
    )
    assert choice.score <= best * (1 + 2e-3)
    score, _, alone = twin.cv_score(context, weight, choice.value, folds, "epanechnikov", categorical)
    assert choice.score == pytest.approx(score, rel=1e-10)
    assert choice.isolated == alone


def test_the_compiled_plan_finds_the_same_minimum():
    context, weight, _ = dataset("plain", 640, seed=3)
    folds = kwis.make_folds(640, 5)
    choice = kwis.select_bandwidth(context, weight, folds=folds)
    around = choice.value * np.geomspace(0.9, 1.1, 41)
    assert choice.score <= twin.scores(context, weight, around, folds).min() * (1 + 1e-12)
    assert choice.score <= twin.scores(context, weight, np.geomspace(0.02, 60, 25), folds).min()
    assert choice.score == pytest.approx(twin_score(context, weight, choice.value, folds), rel=1e-10)


@pytest.mark.parametrize("kind", ["plain", "mixed", "heavy tails", "noise"])
def test_one_bandwidth_per_feature_is_never_worse_than_one_for_all(kind):
    context, weight, categorical = dataset(kind, 60)
    folds = kwis.make_folds(60, 4, rng=2)
    shared = kwis.select_bandwidth(context, weight, folds=folds, categorical=categorical)
    each = kwis.select_bandwidth(context, weight, folds=folds, categorical=categorical, per_feature=True)
    assert each.value.shape == (3,)
    assert each.score <= shared.score
    same = twin_score(context, weight, each.value, folds, "rbf", categorical)
    assert each.score == pytest.approx(same, rel=1e-10)


@pytest.mark.slow
def test_one_bandwidth_per_feature_in_the_compiled_plan_reports_its_exact_score():
    context, weight, _ = dataset("plain", 620, seed=4)
    folds = kwis.make_folds(620, 5)
    each = kwis.select_bandwidth(context, weight, folds=folds, per_feature=True, max_evaluations=40)
    assert each.score < kwis.select_bandwidth(context, weight, folds=folds).score
    assert each.score == pytest.approx(twin_score(context, weight, each.value, folds), rel=1e-10)
    assert each.score == each.end_scores.min()


def test_no_bandwidth_nearby_is_better():
    context, weight, _ = dataset("plain", 80, seed=5)
    folds = kwis.make_folds(80, 4)
    each = kwis.select_bandwidth(context, weight, folds=folds, per_feature=True)
    finite = np.flatnonzero(np.isfinite(each.value))
    assert finite.size
    for column in finite:
        for factor in (0.97, 1.03):
            nearby = np.where(np.arange(3) == column, factor, 1) * each.value
            assert kwis.cv_score(context, weight, nearby, folds)[0] > each.score * (1 - 1e-5)


def test_irrelevant_features_are_smoothed_away_or_dropped():
    rng = np.random.default_rng(0)
    context = rng.standard_normal((150, 4))
    weight = np.exp(np.sin(2 * context[:, 2]) + 0.1 * rng.standard_normal(150))
    shared, each = (kwis.select_bandwidth(context, weight, per_feature=flag) for flag in (False, True))
    irrelevant = each.value[[0, 1, 3]]
    assert (irrelevant > 5 * each.value[2]).all()
    assert np.isinf(irrelevant).any()
    assert each.score < 0.2 * shared.score


def test_the_unit_of_a_feature_does_not_matter_to_its_own_bandwidth():
    """Contexts are used as given, so one shared bandwidth depends on their units; one per feature
    need not.
    """
    context, weight, _ = dataset("plain", 70, seed=6)
    units = np.array([1.0, 2.0**12, 2.0**-10])
    folds = kwis.make_folds(70, 4)
    plain = kwis.select_bandwidth(context, weight, folds=folds, per_feature=True)
    other = kwis.select_bandwidth(context * units, weight, folds=folds, per_feature=True)
    assert other.score == pytest.approx(plain.score, rel=1e-3)


def test_starts_run_the_plain_algorithm_from_each():
    context, weight, _ = dataset("plain", 50)
    folds = kwis.make_folds(50, 4)
    starts = [0.05, 0.5, 3.0]
    choice = kwis.select_bandwidth(context, weight, folds=folds, starts=starts)
    unit = infinite_score(weight, folds)  # the scale of the objective decides when L-BFGS-B stops

    def objective(x):
        score, gradient = kwis.cv_score(context, weight, float(np.exp(x[0])), folds)
        return score / unit, gradient / unit

    typical = twin.median_distance(context)
    bounds = [(np.log(typical) - 10 * np.log(2), np.log(typical) + 10 * np.log(2))]
    ends = [
        minimize(objective, np.log([start]), jac=True, method="L-BFGS-B", bounds=bounds) for start in starts
    ]
    assert choice.end_points.shape == choice.end_scores.shape == (3,)
    np.testing.assert_allclose(choice.end_points, [np.exp(end.x[0]) for end in ends], rtol=1e-4)
    np.testing.assert_allclose(choice.end_scores, [end.fun * unit for end in ends], rtol=1e-8)
    assert choice.score == choice.end_scores.min()
    assert choice.value == choice.end_points[choice.end_scores.argmin()]


@pytest.mark.parametrize("starts", [[0.3, 2.0], [[0.3, 0.5, 2.0]]], ids=["numbers", "rows"])
def test_starts_per_feature_may_be_numbers_or_rows(starts):
    context, weight, _ = dataset("plain", 50)
    choice = kwis.select_bandwidth(context, weight, starts=starts, per_feature=True, rng=3)
    assert choice.end_points.shape == (len(starts), 3)
    assert choice.end_scores.shape == (len(starts),)
    assert choice.score == pytest.approx(
        twin_score(context, weight, choice.value, kwis.make_folds(50, 5, rng=3)), rel=1e-10
    )


def test_starts_far_away_are_brought_to_the_bounds():
    context, weight, _ = dataset("plain", 50)
    choice = kwis.select_bandwidth(context, weight, starts=[1e-300, 1e300])
    assert np.isfinite(choice.end_scores).all()


@pytest.mark.parametrize("per_feature", [False, True])
@pytest.mark.parametrize("weight", [0.0, 1.0, 0.1, 1e300, 1e-300])
def test_equal_weights_leave_the_bandwidth_infinite(weight, per_feature):
    context, _, _ = dataset("plain", 30)
    for starts in (None, [0.5, 1.0]):
        choice = kwis.select_bandwidth(context, np.full(30, weight), per_feature=per_feature, starts=starts)
        np.testing.assert_array_equal(choice.value, np.full(3, np.inf) if per_feature else np.inf)
        assert choice.score == 0
        assert choice.evaluations == 0


def test_infinity_is_reported_as_such_with_its_score():
    rng = np.random.default_rng(8)
    context, weight = (
        rng.standard_normal((200, 2)),
        np.where(np.arange(200) % 2, 1.0, 3.0),
    )  # alternates: neighbours say nothing
    folds = np.arange(200) % 4
    choice = kwis.select_bandwidth(context, weight, folds=folds)
    assert choice.value == np.inf
    assert choice.score == pytest.approx(infinite_score(weight, folds), rel=1e-13)
    assert choice.score <= choice.end_scores.min()


def test_one_feature_per_feature_is_the_shared_search():
    context, weight, _ = dataset("line", 60)
    shared, each = (kwis.select_bandwidth(context, weight, per_feature=flag) for flag in (False, True))
    assert each.value.tolist() == [shared.value]
    assert each.score == shared.score
    assert each.end_points.shape == (shared.end_points.size, 1)


def test_the_same_seed_gives_the_same_choice_and_labels_give_the_choice_of_their_folds():
    context, weight, _ = dataset("plain", 60)
    first, again, other = (kwis.select_bandwidth(context, weight, rng=seed) for seed in (1, 1, 2))
    assert first.value == again.value
    assert first.value != other.value
    labels = kwis.make_folds(60, 5, rng=1)
    for given in (
        labels,
        labels * 10 - 7,
        (4 - labels).astype(np.int8),
    ):  # only which rows share a label counts
        assert kwis.select_bandwidth(context, weight, folds=given).value == pytest.approx(
            first.value, rel=1e-9
        )


def test_groups_are_kept_together():
    context, weight, _ = dataset("plain", 60)
    context, weight = (
        np.repeat(context, 2, axis=0),
        np.repeat(weight, 2),
    )  # copies of a row would predict each other perfectly
    group = np.repeat(np.arange(60), 2)
    apart, together = (kwis.select_bandwidth(context, weight, group=labels) for labels in (None, group))
    assert apart.value < 0.05 < together.value
    assert (
        together.value
        == kwis.select_bandwidth(context, weight, folds=kwis.make_folds(120, 5, group=group)).value
    )


def test_the_callback_hears_of_every_evaluation():
    context, weight, _ = dataset("plain", 40)
    for options in ({}, {"starts": [0.5, 2.0]}, {"per_feature": True, "max_evaluations": 10}):
        heard = []
        choice = kwis.select_bandwidth(context, weight, callback=heard.append, **options)
        assert [progress.evaluations for progress in heard] == list(range(1, choice.evaluations + 1))
        assert all(0 <= progress.start < progress.starts for progress in heard)
        assert [progress.start for progress in heard] == sorted(
            progress.start for progress in heard
        ) or "per_feature" in options
        unit = infinite_score(weight, kwis.make_folds(40, 5))
        assert min(progress.score for progress in heard) == pytest.approx(choice.score / unit, rel=1e-9)


class StopError(Exception):
    pass


@pytest.mark.parametrize("n", [40, 640])
def test_a_callback_that_raises_ends_the_selection(n):
    context, weight, _ = dataset("plain", n)
    calls = []

    def callback(progress):
        calls.append(progress)
        if len(calls) == 2:
            raise StopError

    with pytest.raises(StopError):
        kwis.select_bandwidth(context, weight, callback=callback)
    assert len(calls) == 2
    assert np.isfinite(kwis.select_bandwidth(context, weight).score)  # nothing was left open


def test_the_cap_on_evaluations_holds_for_every_start():
    context, weight, _ = dataset("plain", 50)
    choice = kwis.select_bandwidth(
        context, weight, per_feature=True, starts=[0.2, 1.0, 4.0], max_evaluations=3
    )
    assert choice.evaluations <= 3 * (3 + 20 + 1)  # a line search once begun is finished


def codes_and_weights(seed, noise):
    """Codes whose score is the same over octaves of small bandwidths, as only equal codes count there."""
    rng = np.random.default_rng(seed)
    context = rng.integers(0, 3, (25, 1)).astype(float)
    return context, np.exp(context[:, 0] + noise * rng.standard_normal(25)), kwis.make_folds(25, 5, rng=seed)


@pytest.mark.parametrize("seed", [18, 71])
def test_a_shallow_dip_beside_a_plateau_is_found(seed):
    context, weight, folds = codes_and_weights(seed, 0.1)
    best = twin.scores(context, weight, np.geomspace(0.02, 20, 300), folds, "rbf", (0,)).min()
    assert kwis.select_bandwidth(context, weight, folds=folds, categorical=0).score <= best


def test_plateaus_cost_few_evaluations():
    context, weight, folds = codes_and_weights(8, 0.5)
    assert kwis.select_bandwidth(context, weight, folds=folds, categorical=0).evaluations < 20


def test_results_are_read_only():
    context, weight, _ = dataset("plain", 40)
    choice = kwis.select_bandwidth(context, weight, per_feature=True, max_evaluations=5)
    for array in (choice.value, choice.end_points, choice.end_scores):
        assert not array.flags.writeable


@pytest.mark.parametrize("slope", [0.5, 2.0])
def test_a_search_that_is_not_exact_ends_near_the_minimum(slope):
    rng = np.random.default_rng(3)
    context = rng.normal(size=(2_500, 4))
    weight = np.exp(np.sin(slope * context[:, 0]) + 0.3 * rng.normal(size=2_500))
    near, exact = (kwis.select_bandwidth(context, weight, exact=exact) for exact in (False, True))
    assert np.log(near.value) == pytest.approx(np.log(exact.value), abs=0.02)
    assert near.score == pytest.approx(exact.score, rel=1e-4)
    assert near.evaluations < exact.evaluations


def test_weights_by_chance_have_no_neighbours_in_a_search_that_is_not_exact():
    rng = np.random.default_rng(4)
    context, weight = rng.normal(size=(2_500, 4)), rng.random(2_500)
    assert kwis.select_bandwidth(context, weight).value == np.inf
    assert kwis.select_bandwidth(context, weight, exact=False).value == np.inf
