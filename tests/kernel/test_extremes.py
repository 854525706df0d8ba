"""Limits and extremes: every bandwidth, context and weight that a float can hold gives a number, and the
right one.
"""

import numpy as np
import pytest

import kwis
from tests.kernel.samples import ALL_KERNELS, gradient_error, plan_of, sample
from tests.reference import kernel_regression as twin

plans = pytest.mark.parametrize("plan", ["blocked", "fused"])
every_kernel = pytest.mark.parametrize("kernel", ALL_KERNELS)
SIZES = (30, 45, 26)


def nearest_score(context, weight, folds, bandwidth=1.0, categorical=()):
    """Each row predicted by the mean of its nearest rows of other folds, the bandwidths measuring the
    distance.
    """
    h, error = np.broadcast_to(bandwidth, context.shape[1]), []
    for fold in np.unique(folds):
        rest = folds != fold
        for x, w in zip(context[~rest], weight[~rest], strict=True):
            parts = (context[rest] - x) / h
            for column in categorical:
                parts[:, column] = np.sqrt(2) * (context[rest][:, column] != x[column]) / h[column]
            distance = (parts**2).sum(axis=1)
            error.append((w - weight[rest][distance == distance.min()].mean()) ** 2 / (folds == fold).sum())
    return sum(error) / np.unique(folds).size


@plans
def test_an_infinite_bandwidth_predicts_by_the_mean_of_the_other_folds(plan):
    context, weight, folds = sample(SIZES, 3, (1,))
    expected = np.mean([np.mean((weight[folds == k] - weight[folds != k].mean()) ** 2) for k in range(3)])
    for bandwidth in (np.inf, 1e300, np.full(3, np.inf), np.array([1e200, np.inf, 1e300])):
        got = plan_of(plan, context, folds, (1,)).score(weight, bandwidth)
        assert got.value == pytest.approx(expected, rel=1e-13)
        np.testing.assert_array_equal(got.gradient, 0)


@plans
@pytest.mark.parametrize("dropped", [0, 1, 2])
def test_an_infinite_entry_drops_its_feature(plan, dropped):
    context, weight, folds = sample(SIZES, 3, (1,))
    kept = [column for column in range(3) if column != dropped]
    bandwidth = np.array([0.8, 1.2, 0.7])
    bandwidth[dropped] = np.inf
    got = plan_of(plan, context, folds, (1,)).score(weight, bandwidth)
    categorical = tuple(kept.index(1) for _ in [0] if dropped != 1)
    value, gradient, _ = twin.cv_score(context[:, kept], weight, bandwidth[kept], folds, "rbf", categorical)
    assert got.value == pytest.approx(value, rel=1e-12)
    assert got.gradient[dropped] == 0
    assert gradient_error(got.gradient[kept], gradient, value) < 1e-10


@plans
@pytest.mark.parametrize("h", [1e-4, 1e-100, 1e-200, 1e-310, 5e-324])
def test_a_vanishing_bandwidth_predicts_by_the_nearest_rows(plan, h):
    context, weight, folds = sample(SIZES, 4)
    for bandwidth in (h, np.full(4, h)):
        got = plan_of(plan, context, folds).score(weight, bandwidth)
        assert got.value == pytest.approx(nearest_score(context, weight, folds), rel=1e-12)
        np.testing.assert_array_equal(got.gradient, 0)


@plans
def test_vanishing_bandwidths_keep_their_proportions(plan):
    context, weight, folds = sample(SIZES, 3)
    shape = np.array([1.0, 20.0, 0.3])
    got = plan_of(plan, context, folds).score(weight, 1e-200 * shape)
    assert got.value == pytest.approx(nearest_score(context, weight, folds, shape), rel=1e-12)


@plans
@pytest.mark.parametrize("h", [1e-12, 1e-160, 1e-310])
def test_a_vanishing_bandwidth_beside_an_ordinary_one_matches_exactly_in_its_column(plan, h):
    context, weight, folds = sample(SIZES, 3, (0,))
    context = np.column_stack([context[:, :2], np.round(context[:, 2])])  # a numeric column with ties
    expected = twin.cv_score(context, weight, [1.5, 0.8, 1e-12], folds, "rbf", (0,))
    got = plan_of(plan, context, folds, (0,)).score(weight, np.array([1.5, 0.8, h]))
    assert got.value == pytest.approx(expected[0], rel=1e-12)
    assert gradient_error(got.gradient, expected[1], expected[0]) < 1e-10


@plans
@pytest.mark.parametrize("h", [1e-6, 1e-100, 1e-200])
def test_gradients_of_copies_cancel_however_small_the_bandwidth(plan, h):
    """Rows in threes: their neighbours tie, and terms as large as 1/h^2 must leave nothing behind."""
    context, weight, folds = sample(SIZES, 3, (1,))
    context, weight = (
        np.repeat(context, 3, axis=0),
        np.repeat(weight, 3) * np.tile([1.0, 1.5, 3.0], len(weight)),
    )
    got = plan_of(plan, context, np.repeat(folds, 3), (1,)).score(weight, h * np.array([1.0, 1.3, 0.9]))
    assert got.value == pytest.approx(
        nearest_score(context, weight, np.repeat(folds, 3), [1.0, 1.3, 0.9], (1,)), rel=1e-12
    )
    np.testing.assert_array_equal(got.gradient, 0)


@every_kernel
@pytest.mark.parametrize("h", [1e-310, 1e-200, 1e-9, 1e9, 1e300, np.inf])
def test_no_kernel_and_bandwidth_give_anything_but_numbers(kernel, h):
    context, weight, folds = sample((12, 9), 3, (2,))
    for bandwidth in (h, np.array([h, 1.0, 0.5]), np.array([1.0, np.inf, h])):
        score, gradient = kwis.cv_score(
            context, weight, bandwidth, folds, kernel=ALL_KERNELS[kernel], categorical=2
        )
        assert np.isfinite(score)
        assert np.isfinite(gradient).all()
        for at in (None, context[:4]):
            mean = kwis.kernel_mean(
                weight, context, bandwidth=bandwidth, at=at, kernel=ALL_KERNELS[kernel], categorical=2
            )
            assert ((mean >= weight.min()) & (mean <= weight.max())).all()


@pytest.mark.parametrize("n", [80, 640])
@pytest.mark.parametrize("scale", [1e-300, 1e-150, 1e-30, 1e30, 1e150, 1e300])
def test_huge_and_tiny_contexts_change_nothing(n, scale):
    context, weight, folds = sample((n // 2, n // 2), 3)
    for bandwidth in (0.7, np.array([0.5, 0.9, 1.4])):
        score, gradient = kwis.cv_score(context, weight, bandwidth, folds)
        got, got_gradient = kwis.cv_score(context * scale, weight, bandwidth * scale, folds)
        assert got == pytest.approx(score, rel=1e-12)
        assert gradient_error(got_gradient, gradient, score) < 1e-10
    mean = kwis.kernel_mean(weight, context * scale, bandwidth=0.7 * scale)
    np.testing.assert_allclose(mean, kwis.kernel_mean(weight, context, bandwidth=0.7), rtol=1e-12)
    choice, expected = (kwis.select_bandwidth(context * unit, weight, folds=folds) for unit in (scale, 1.0))
    assert choice.value == pytest.approx(expected.value * scale, rel=1e-6)
    assert choice.score == pytest.approx(expected.score, rel=1e-12)


@pytest.mark.parametrize("n", [80, 640])
def test_columns_of_very_different_size_live_together(n):
    context, weight, folds = sample((n // 2, n // 2), 3, (0,))
    units = np.array([1.0, 1e100, 1e-100])
    for bandwidth in (np.array([0.9, 0.5, 0.9]), np.array([np.inf, 1.0, np.inf])):
        score, gradient = kwis.cv_score(context, weight, bandwidth, folds, categorical=0)
        got, got_gradient = kwis.cv_score(context * units, weight, bandwidth * units, folds, categorical=0)
        assert got == pytest.approx(score, rel=1e-12)
        assert gradient_error(got_gradient, gradient, score) < 1e-10
    choices = kwis.select_bandwidths(context * units, np.tile(weight[:, None], 5), folds=folds, categorical=0)
    assert np.isfinite([choice.score for choice in choices]).all()


@pytest.mark.parametrize("n", [80, 640])
@pytest.mark.parametrize("constant", [0.1, 1e17, -1e300])
def test_a_constant_feature_takes_no_part(n, constant):
    context, weight, folds = sample((n // 2, n // 2), 2)
    padded = np.column_stack([context[:, 0], np.full(n, constant), context[:, 1]])
    for h in (1e-310, 1e-3, 0.8):
        assert kwis.cv_score(padded, weight, h, folds)[0] == pytest.approx(
            kwis.cv_score(context, weight, h, folds)[0], rel=1e-12
        )
        _, gradient = kwis.cv_score(padded, weight, np.full(3, h), folds)
        assert gradient[1] == 0
    choice = kwis.select_bandwidth(padded, weight, folds=folds)
    assert choice.score == pytest.approx(kwis.select_bandwidth(context, weight, folds=folds).score, rel=1e-12)


@pytest.mark.parametrize("n", [40, 640])
def test_contexts_that_are_all_the_same_leave_the_mean(n):
    context, weight, folds = np.full((n, 2), 0.1), np.arange(1.0, n + 1), np.arange(n) % 4
    assert kwis.cv_score(context, weight, 1e-200, folds)[0] == pytest.approx(
        kwis.cv_score(context, weight, np.inf, folds)[0], rel=1e-13
    )
    np.testing.assert_allclose(kwis.kernel_mean(weight, context, bandwidth=1e-200), weight.mean(), rtol=1e-13)
    assert kwis.select_bandwidth(context, weight).value == np.inf
    assert np.isinf(kwis.select_bandwidth(context, weight, per_feature=True).value).all()
    assert [choice.value for choice in kwis.select_bandwidths(context, np.tile(weight[:, None], 6))] == [
        np.inf
    ] * 6


@pytest.mark.parametrize("n", [80, 640])
@pytest.mark.parametrize("unit", [1e-300, 1e300, 1e306])
def test_weights_of_any_size_give_the_same_bandwidth(n, unit):
    context, weight, folds = sample((n // 2, n // 2), 3)
    expected = kwis.select_bandwidth(context, weight, folds=folds)
    assert kwis.select_bandwidth(context, weight * unit, folds=folds).value == pytest.approx(
        expected.value, rel=1e-6
    )
    many = kwis.select_bandwidths(context, np.outer(weight, np.full(5, unit)), folds=folds)
    assert many[2].value == pytest.approx(expected.value, rel=1e-3)
    for at in (None, context[:5]):
        mean = kwis.kernel_mean(weight * unit, context, bandwidth=0.8, at=at)
        np.testing.assert_allclose(
            mean / unit, kwis.kernel_mean(weight, context, bandwidth=0.8, at=at), rtol=1e-12
        )


@pytest.mark.parametrize("n", [80, 640])
def test_a_score_beyond_floating_point_is_infinite_or_zero_but_never_nan(n):
    context, weight, folds = sample((n // 2, n // 2), 3)
    for bandwidth in (0.8, np.full(3, 0.8)):
        score, gradient = kwis.cv_score(context, weight * 1e300, bandwidth, folds)
        assert score == np.inf
        assert not np.isnan(gradient).any()
        assert kwis.cv_score(context, weight * 1e-300, bandwidth, folds)[0] == 0
        assert kwis.cv_score(context, weight * 1e140, bandwidth, folds)[0] == pytest.approx(
            kwis.cv_score(context, weight, bandwidth, folds)[0] * 1e280, rel=1e-12
        )


@pytest.mark.parametrize("n", [80, 640])
def test_huge_and_tiny_weights_side_by_side(n):
    context, weight, folds = sample((n // 2, n // 2), 3)
    mixed = np.where(np.arange(n) % 2, weight * 1e300, weight * 1e-300)
    tiny_gone = np.where(np.arange(n) % 2, weight, 0.0)
    got, expected = (kwis.select_bandwidth(context, values, folds=folds) for values in (mixed, tiny_gone))
    assert got.value == pytest.approx(expected.value, rel=1e-6)
    near = kwis.kernel_mean(mixed, context, bandwidth=1e-5)  # every row is its own only neighbour
    np.testing.assert_allclose(near, mixed, rtol=1e-12)


def test_a_large_common_part_of_the_weights_costs_the_score_no_digits():
    context, weight, folds = sample((300, 320), 3)
    shifted = np.round(weight * 2**20) / 2**20  # so that adding 2^20 is exact
    for bandwidth in (0.8, np.full(3, 0.8)):
        score, gradient = kwis.cv_score(context, shifted, bandwidth, folds)
        got, got_gradient = kwis.cv_score(context, shifted + 2.0**20, bandwidth, folds)
        assert got == pytest.approx(score, rel=1e-9)
        assert gradient_error(got_gradient, gradient, score) < 1e-6


def test_rows_without_neighbours_are_counted_and_predicted_by_their_nearest():
    context = np.array([[0.0], [0.1], [0.2], [5.0], [9.0], [9.3]])
    weight, folds = np.array([1.0, 2.0, 4.0, 8.0, 3.0, 7.0]), np.array([0, 1, 0, 1, 0, 0])
    got = plan_of("blocked", context, folds, (), "epanechnikov").score(weight, 0.5)
    residuals = [1 - 2, 4 - 2, 3 - 8, 7 - 8], [2 - 2.5, 8 - 3]
    assert got.value == pytest.approx(np.mean([np.mean(np.square(part)) for part in residuals]))
    assert got.isolated == 3  # of rows 3, 4 and 5 no row of the other fold is within 0.5


def test_the_count_of_rows_without_neighbours_reaches_the_choice():
    rng = np.random.default_rng(5)
    context = np.concatenate([rng.uniform(0, 1, 60), [50.0, 100.0, 200.0]])[:, None]
    weight = np.exp(np.sin(9 * context[:, 0])) * rng.uniform(0.9, 1.1, 63)
    choice = kwis.select_bandwidth(context, weight, kernel="epanechnikov", rng=1)
    assert (
        choice.isolated
        == twin.cv_score(context, weight, choice.value, kwis.make_folds(63, 5, rng=1), "epanechnikov")[2]
        == 3
    )
    many = kwis.select_bandwidths(
        context,
        np.stack([weight, weight**2, weight**0.5, weight + 1, weight * 3], axis=1),
        kernel="epanechnikov",
        rng=1,
    )
    assert many[0].isolated == many[4].isolated == 3
    assert kwis.select_bandwidth(context, weight, rng=1).isolated == 0
