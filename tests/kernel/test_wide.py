"""Wide data with one bandwidth per feature, some of them so small that matrix products would cancel."""

import numpy as np
import pytest

from kwis.kernel import cross_validation, exact_cross_validation
from kwis.kernel.blocked import BlockedCV
from kwis.kernel.geometry import Geometry
from kwis.kernel.held_out import Folds, halving_grid
from kwis.kernel.profiles import RBF
from kwis.kernel.scans import Products
from kwis.kernel.tiles import FusedCV
from kwis.kernel.wide import WideCV
from tests.kernel.samples import gradient_error, sample
from tests.reference import kernel_regression as twin

SIZES, D = (150, 150, 150), 60


@pytest.mark.parametrize(("factor", "plan"), [(1.0, BlockedCV), (1e-4, FusedCV)])
def test_either_plan_agrees_with_the_twin(factor, plan):
    context, weight, folds = sample(SIZES, D)
    h = np.linspace(4.0, 9.0, D)
    h[:3] *= factor
    wide = exact_cross_validation(Geometry.of(context, ()), Folds.of(folds), RBF)
    assert isinstance(wide, WideCV)
    assert isinstance(wide._suited(h), plan)
    got = wide.score(weight, h)
    value, gradient = twin.cv_score(context, weight, h, folds)[:2]
    assert got.value == pytest.approx(value, rel=1e-12)
    assert gradient_error(got.gradient, gradient, value) < 1e-10


def test_a_minimum_is_located_with_products_where_exactness_asks_for_differences():
    context, weight, folds = sample(SIZES, D)
    h = np.linspace(4.0, 9.0, D)
    h[:3] *= 1e-2
    plan = cross_validation(Geometry.of(context, ()), Folds.of(folds), RBF)
    assert isinstance(plan.locate._suited(h), BlockedCV)
    assert isinstance(plan.finish._suited(h), FusedCV)
    roughly, exactly = plan.locate.score(weight, h), plan.finish.score(weight, h)
    assert roughly.value == pytest.approx(exactly.value, rel=1e-6)
    assert gradient_error(roughly.gradient, exactly.gradient, exactly.value) < 1e-6


def test_locating_a_minimum_gives_up_products_before_they_cancel():
    context, weight, folds = sample(SIZES, D)
    h = np.full(D, 1e-6)
    plan = cross_validation(Geometry.of(context, ()), Folds.of(folds), RBF)
    assert isinstance(plan.locate._suited(h), FusedCV)
    assert plan.locate.score(weight, h).value == plan.finish.score(weight, h).value


@pytest.mark.parametrize("coded", [False, True])
@pytest.mark.parametrize("far", [0.0, 1e5])
def test_scans_of_many_columns_make_distances_of_products_where_these_are_precise(coded, far):
    context, weight, folds = sample(SIZES, D)
    context[3, 0] += far
    if coded:
        context[:, -1] = np.arange(len(context)) % 3
    geometry = Geometry.of(context, (D - 1,) if coded else ())
    split = Folds.of(folds)
    rough, exact = FusedCV.of(geometry, split).rough(), FusedCV.of(geometry, split)
    assert (Products.of(rough.tiles, rough.tiles.scaled(16.0)) is None) == (far > 0)
    weights, grid = np.stack([weight, weight[::-1]], axis=1), halving_grid(16.0, 9)
    everywhere = np.ones((grid.size, 2), dtype=bool)
    found, expected = (plan.scan_many(weights, grid, everywhere) for plan in (rough, exact))
    np.testing.assert_allclose(found, expected, rtol=2e-5)
    own = [[exact.score(column, h).value for column in weights.T] for h in grid.tolist()]
    np.testing.assert_allclose(expected, own, rtol=1e-9)
