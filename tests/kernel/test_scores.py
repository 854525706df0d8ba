"""Value and gradient of every plan against the slow twin."""

import numpy as np
import pytest

import kwis
from kwis.kernel import cross_validation, held_out
from kwis.kernel.geometry import Geometry
from kwis.kernel.held_out import Folds, halving_grid
from kwis.stats.sums import sum_of_others
from tests.kernel.samples import ALL_KERNELS, bandwidths, gradient_error, plan_of, sample, wanted
from tests.reference import kernel_regression as twin

RATIOS = [0.05, 0.3, 1.03, 6.0, 50.0]  # of the median distance
UNEQUAL = (7, 33, 21)
SHAPES = {
    "1": (1, ()),
    "3": (3, ()),
    "4": (4, ()),
    "5": (5, ()),
    "17": (17, ()),
    "codes": (3, (0, 1, 2)),
    "code": (1, (0,)),
    "mixed": (6, (1, 4)),
}
both = pytest.mark.parametrize("per_feature", [False, True], ids=["shared", "per feature"])
every_shape = pytest.mark.parametrize(("d", "categorical"), SHAPES.values(), ids=SHAPES)


def check(plan, case, value_tolerance, gradient_tolerance, kernel="rbf"):
    sizes, d, categorical, _, per_feature = case
    context, weight, folds = sample(sizes, d, categorical)
    value, gradient, alone = wanted(*case, kernel)
    got = plan_of(plan, context, folds, categorical, kernel).score(weight, bandwidths(*case))
    assert got.value == pytest.approx(value, rel=value_tolerance)
    assert got.gradient.shape == (d if per_feature else 1,)
    assert gradient_error(got.gradient, gradient, value) < gradient_tolerance
    assert got.isolated == alone


@both
@every_shape
@pytest.mark.parametrize("ratio", RATIOS)
@pytest.mark.parametrize("plan", ["blocked", "fused"])
def test_double_precision_agrees_with_the_twin(plan, ratio, d, categorical, per_feature):
    check(plan, (UNEQUAL, d, categorical, ratio, per_feature), 1e-12, 1e-10)


@both
@every_shape
@pytest.mark.parametrize("kernel", ["rbf", "epanechnikov"])
def test_folds_predicted_one_by_one_and_together_agree(monkeypatch, kernel, d, categorical, per_feature):
    """The samples here are small enough for all folds to be predicted in common blocks; larger folds go one
    by one.
    """
    assert Folds.of(sample(UNEQUAL, d, categorical)[2]).small
    monkeypatch.setattr(held_out, "_SMALL_FOLD", 0)
    assert not Folds.of(sample(UNEQUAL, d, categorical)[2]).small
    check("blocked", (UNEQUAL, d, categorical, 0.3, per_feature), 1e-12, 1e-10, kernel)
    check("blocked", (UNEQUAL, d, categorical, 1.03, per_feature), 1e-12, 1e-10, kernel)


@both
@every_shape
@pytest.mark.parametrize("ratio", RATIOS[1:])
def test_single_precision_is_good_enough_to_locate_a_minimum(ratio, d, categorical, per_feature):
    check("single", (UNEQUAL, d, categorical, ratio, per_feature), 3e-6, 3e-3)


@both
@pytest.mark.parametrize(
    "sizes",
    [(1, 1), (1, 2), (1,) * 9, (2, 2, 1), (255, 3), (256, 3), (257, 3), (1, 513), (256, 1, 257)],
    ids=str,
)
@pytest.mark.parametrize("plan", ["blocked", "fused"])
def test_folds_that_just_fill_a_tile_or_do_not(plan, sizes, per_feature):
    check(plan, (sizes, 5, (1,), 0.8, per_feature), 1e-12, 1e-10)


@both
@every_shape
@pytest.mark.parametrize("kernel", ["laplace", "matern32", "matern52", "cauchy"])
@pytest.mark.parametrize("ratio", [0.05, 0.7, 50.0])
def test_every_smooth_kernel_agrees_with_the_twin(ratio, kernel, d, categorical, per_feature):
    check("blocked", (UNEQUAL, d, categorical, ratio, per_feature), 1e-12, 1e-10, kernel)


@both
@every_shape
@pytest.mark.parametrize("ratio", [0.05, 0.31, 1.03, 50.0])
def test_epanechnikov_agrees_with_the_twin_rows_without_neighbours_included(
    ratio, d, categorical, per_feature
):
    check("blocked", (UNEQUAL, d, categorical, ratio, per_feature), 1e-12, 1e-10, "epanechnikov")


def test_the_samples_above_have_rows_without_neighbours():
    assert wanted(UNEQUAL, 17, (), 0.31, False, "epanechnikov")[2] == sum(UNEQUAL)
    assert 0 < wanted(UNEQUAL, 4, (), 0.31, False, "epanechnikov")[2] < sum(UNEQUAL)


@pytest.mark.parametrize("kernel", ALL_KERNELS)
@pytest.mark.parametrize("categorical", [(), (1,)], ids=["numeric", "mixed"])
def test_gradients_match_finite_differences(kernel, categorical):
    context, weight, folds = sample((12, 20), 3, categorical)
    plan = plan_of("blocked", context, folds, categorical, kernel)
    step = 1e-6
    for bandwidth in (1.31, np.array([1.2, 0.9, 2.3])):
        for column, slope in enumerate(plan.score(weight, bandwidth).gradient):
            nudge = step * (np.arange(3) == column) if np.ndim(bandwidth) else step
            up, down = (plan.score(weight, bandwidth * np.exp(sign * nudge)).value for sign in (1, -1))
            assert slope == pytest.approx((up - down) / (2 * step), rel=1e-6, abs=1e-8)


@pytest.mark.parametrize("plan", ["blocked", "fused"])
@pytest.mark.parametrize(
    "outliers",
    [lambda x: x - 1e3, lambda x: x * 1e6, lambda x: 0 * x - 1e12],
    ids=["cluster", "tail", "sentinel"],
)
def test_outliers_cost_the_other_rows_no_digits(plan, outliers):
    """Far from the centre, in units of the bandwidth, products of contexts would lose digits."""
    context, weight, folds = sample((40, 25, 30), 3)
    context = context.copy()
    context[::9, 0] = outliers(context[::9, 0])
    h = np.array([0.8, 1.1, 0.9])
    value, gradient, _ = twin.cv_score(context, weight, h, folds)
    got = plan_of(plan, context, folds).score(weight, h)
    assert got.value == pytest.approx(value, rel=1e-12)
    assert gradient_error(got.gradient, gradient, value) < 1e-10


@pytest.mark.parametrize("plan", ["blocked", "fused"])
def test_contexts_far_from_zero_are_as_good_as_any(plan):
    context, weight, folds = sample((40, 25), 3)
    far = context + np.array([1e9, -1e7, 0.0])
    value, gradient, _ = twin.cv_score(far, weight, [0.8, 1.1, 0.9], folds)
    got = plan_of(plan, far, folds).score(weight, np.array([0.8, 1.1, 0.9]))
    assert got.value == pytest.approx(value, rel=1e-12)
    assert gradient_error(got.gradient, gradient, value) < 1e-10


@pytest.mark.parametrize(("plan", "tolerance"), [("blocked", 1e-12), ("fused", 1e-12), ("single", 1e-5)])
def test_a_scan_is_the_score_at_every_bandwidth(plan, tolerance):
    context, weight, folds = sample(UNEQUAL, 4)
    grid = halving_grid(30.0, 21)
    expected = [plan_of("blocked", context, folds).score(weight, h).value for h in grid]
    np.testing.assert_allclose(plan_of(plan, context, folds).scan(weight, grid), expected, rtol=tolerance)


@pytest.mark.parametrize("kernel", ALL_KERNELS)
def test_a_scan_of_any_kernel_and_of_mixed_columns_is_the_score_too(kernel):
    context, weight, folds = sample(UNEQUAL, 6, (1, 4))
    plan, grid = plan_of("blocked", context, folds, (1, 4), kernel), halving_grid(10.0, 9)
    np.testing.assert_allclose(
        plan.scan(weight, grid), [plan.score(weight, h).value for h in grid], rtol=1e-12
    )


def test_the_score_is_the_mean_over_folds_of_the_fold_means():
    """By hand: one row predicts two and two predict one, at distances that make every kernel equal."""
    context, folds = np.zeros((3, 1)), np.array([0, 1, 1])
    score, gradient = kwis.cv_score(context, [1.0, 2.0, 5.0], 1.0, folds)
    assert score == pytest.approx(((3.5 - 1) ** 2 + ((2 - 1) ** 2 + (5 - 1) ** 2) / 2) / 2)
    assert gradient.tolist() == [0.0]


def test_the_front_door_picks_a_plan_by_size_and_kernel():
    def names(n, d, kernel=kwis.RBF, categorical=()):
        plan = cross_validation(
            Geometry.of(np.zeros((n, d)), categorical), Folds.of(np.arange(n) % 2), kernel
        )
        return type(plan.locate).__name__, type(plan.finish).__name__

    assert names(599, 2) == ("BlockedCV", "BlockedCV")
    assert names(600, 2) == ("FusedCV", "FusedCV")
    assert names(600, 2, kwis.Laplace) == ("BlockedCV", "BlockedCV")
    assert names(600, 60) == ("WideCV", "WideCV")
    assert names(300, 60) == ("BlockedCV", "BlockedCV")
    assert names(600, 2, kwis.RBF, (0, 1)) == ("LatticeCV", "LatticeCV")


def test_the_sum_of_all_others_survives_a_huge_entry():
    np.testing.assert_array_equal(sum_of_others([1e40, 1.0, 2.0]), [3.0, 1e40, 1e40])
    np.testing.assert_array_equal(sum_of_others([[1.0, 5.0], [2.0, 6.0]]), [[2.0, 6.0], [1.0, 5.0]])
    np.testing.assert_array_equal(sum_of_others([7.0]), [0.0])
