"""Wide data with one bandwidth per feature, some of them so small that matrix products would cancel."""

import numpy as np
import pytest

from kwis.kernel import cross_validation, exact_cross_validation
from kwis.kernel.blocked import BlockedCV
from kwis.kernel.geometry import Geometry
from kwis.kernel.held_out import Folds
from kwis.kernel.profiles import RBF
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
