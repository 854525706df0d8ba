"""A row of mass 2 is the row twice, in the same fold."""

import numpy as np
import pytest

import kwis
from kwis.kernel.blocked import BlockedCV
from kwis.kernel.geometry import Geometry
from kwis.kernel.held_out import Folds, halving_grid
from kwis.kernel.many import ManyCV
from kwis.kernel.profiles import RBF
from kwis.kernel.tiles import FusedCV
from tests.kernel.samples import ALL_KERNELS, gradient_error, sample

PLANS = {
    "blocked": lambda geometry, folds: BlockedCV(geometry, folds, RBF),
    "epanechnikov": lambda geometry, folds: BlockedCV(geometry, folds, ALL_KERNELS["epanechnikov"]),
    "fused": FusedCV.of,
    "single": lambda geometry, folds: FusedCV.of(geometry, folds, np.float32),
}
TOLERANCE = {"single": 1e-5}


def doubled(n):
    """Whole masses, and the rows repeated as often."""
    mass = np.random.default_rng(n).integers(1, 4, n)
    return mass.astype(float), np.repeat(np.arange(n), mass)


@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("bandwidth", [1e-3, 0.4, 1.3, np.array([0.5, 2.0, 0.9])], ids=str)
@pytest.mark.parametrize("categorical", [(), (1,)], ids=["numeric", "mixed"])
def test_in_every_plan(plan, bandwidth, categorical):
    context, weight, labels = sample((50, 33, 80), 3, categorical)
    mass, rows = doubled(weight.size)
    once = PLANS[plan](Geometry.of(context, categorical), Folds.of(labels, 0.1 * mass))
    twice = PLANS[plan](Geometry.of(context[rows], categorical), Folds.of(labels[rows]))
    got, expected = once.score(weight, bandwidth), twice.score(weight[rows], bandwidth)
    tolerance = TOLERANCE.get(plan, 1e-12)
    assert got.value == pytest.approx(expected.value, rel=tolerance)
    assert gradient_error(got.gradient, expected.gradient, expected.value) < 300 * tolerance
    grid = halving_grid(8.0, 11)
    np.testing.assert_allclose(once.scan(weight, grid), twice.scan(weight[rows], grid), rtol=tolerance)


@pytest.mark.parametrize("compiled", [False, True])
def test_for_many_weight_vectors(compiled):
    context, weight, labels = sample((50, 33, 80), 3)
    mass, rows = doubled(weight.size)
    weights, bandwidths = np.stack([weight, weight**2, weight + 1], axis=1), np.array([4.0, 0.8, 0.1])
    wanted = np.ones((3, 3), dtype=bool)
    once = ManyCV(Geometry.of(context, ()), Folds.of(labels, mass), RBF, compiled).scan(
        weights, bandwidths, wanted, np.float64
    )
    twice = ManyCV(Geometry.of(context[rows], ()), Folds.of(labels[rows]), RBF, compiled).scan(
        weights[rows], bandwidths, wanted, np.float64
    )
    np.testing.assert_allclose(once, twice, rtol=1e-12)


@pytest.mark.parametrize(("d", "categorical"), [(2, ()), (2, (0, 1))], ids=["numeric", "codes"])
@pytest.mark.parametrize("sizes", [(60, 70, 50), (300, 350)], ids=["few rows", "many"])
def test_through_the_public_names(sizes, d, categorical):
    context, weight, labels = sample(sizes, d, categorical)
    mass, rows = doubled(weight.size)
    score, gradient = kwis.cv_score(context, weight, 0.7, labels, categorical=categorical, mass=mass)
    expected, slope = kwis.cv_score(context[rows], weight[rows], 0.7, labels[rows], categorical=categorical)
    assert score == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(gradient, slope, rtol=1e-9)
    got = kwis.select_bandwidth(context, weight, folds=labels, categorical=categorical, mass=mass)
    wanted = kwis.select_bandwidth(context[rows], weight[rows], folds=labels[rows], categorical=categorical)
    assert got.score == pytest.approx(wanted.score, rel=1e-9)
    many = kwis.select_bandwidths(
        context, np.stack([weight] * 6, axis=1), folds=labels, categorical=categorical, mass=mass
    )
    assert many[3].score == pytest.approx(wanted.score, rel=1e-6)


def test_kernel_wis_selects_its_bandwidth_with_the_masses_of_the_sample():
    rng = np.random.default_rng(8)
    context, mass = rng.uniform(-2, 2, (150, 1)), np.where(np.arange(150) < 30, 50.0, 0.1)
    weight = np.exp(np.where(np.arange(150) < 30, np.sin(6 * context[:, 0]), rng.standard_normal(150)))
    sample = kwis.WeightedSample(context=context, weight=weight, reward=rng.random(150), mass=mass)
    estimate = kwis.KernelWIS("cv").estimate(sample)
    chosen = kwis.select_bandwidth(context, weight, mass=mass)
    assert estimate.bandwidth == chosen.value != kwis.select_bandwidth(context, weight).value
    assert kwis.KernelWIS(chosen.value).estimate(sample).value == estimate.value


def test_equal_masses_change_nothing():
    context, weight, labels = sample((300, 350), 3)
    assert (
        kwis.cv_score(context, weight, 0.7, labels, mass=np.full(650, 7.0))[0]
        == kwis.cv_score(context, weight, 0.7, labels)[0]
    )


@pytest.mark.parametrize("n", [80, 640])
@pytest.mark.parametrize("bandwidth", [1e-3, 0.7, np.full(3, 0.7), np.inf], ids=str)
def test_masses_of_any_size_give_numbers(n, bandwidth):
    context, weight, labels = sample((n // 2, n // 2), 3)
    mass = 10.0 ** np.random.default_rng(0).uniform(-300, 300, n)
    score, gradient = kwis.cv_score(context, weight, bandwidth, labels, mass=mass)
    assert np.isfinite(score)
    assert np.isfinite(gradient).all()
    assert np.isfinite(kwis.select_bandwidth(context, weight, folds=labels, mass=mass).score)


@pytest.mark.parametrize("select", [kwis.select_bandwidth, kwis.cv_score], ids=["select", "score"])
def test_a_mass_that_is_no_mass_is_refused(select):
    context, weight, labels = sample((5, 6), 2)
    arguments = (context, weight, 1.0, labels) if select is kwis.cv_score else (context, weight)
    with pytest.raises(kwis.InputError, match=r"^`mass` must be positive, got 0\.0 at row 2$"):
        select(*arguments, mass=np.where(np.arange(11) == 2, 0.0, 1.0))
    with pytest.raises(
        kwis.InputError, match=r"^`mass` must have one entry per row of `context`, got 3 for 11 rows$"
    ):
        select(*arguments, mass=np.ones(3))
