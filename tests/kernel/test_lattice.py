from __future__ import annotations

import numpy as np
import pytest

from kwis.kernel import blocked, lattice, sweeps
from kwis.kernel.geometry import Geometry
from kwis.kernel.held_out import Folds
from kwis.kernel.lattice import LatticeCV
from kwis.kernel.profiles import RBF
from kwis.runtime.threads import engine
from tests.reference import lattice_twin

SHAPES = [(3, 2, 4), (2, 2, 2, 2, 2), (7,), (1, 5, 3)]
BANDWIDTHS = [0.02, 0.1, 0.3, 0.7, 1.5, 6.0, np.inf]


def sample(shape, n=60, k=4, seed=0):
    """Codes with gaps between them, weights and folds; the rows leave most cells empty."""
    rng = np.random.default_rng(seed)
    codes = np.stack([rng.integers(0, levels, n) * 3.0 - 2 for levels in shape], axis=1)
    weight = np.exp(codes[:, 0] / 4 + 0.5 * rng.standard_normal(n))
    return codes, weight, Folds.of(rng.permutation(np.arange(n) % k))


def plans(codes, folds):
    geometry = Geometry.of(codes, tuple(range(codes.shape[1])))
    return LatticeCV.of(geometry, folds), blocked.BlockedCV(geometry, folds, RBF)


def unequal(h, d):
    return h * np.linspace(0.8, 1.7, d)


def close_gradient(got, want, score):
    np.testing.assert_allclose(got, want, rtol=0, atol=1e-10 * max(np.abs(want).max(), 1e-3 * score))


@pytest.mark.parametrize("h", BANDWIDTHS)
@pytest.mark.parametrize("shape", SHAPES)
def test_one_shared_bandwidth_agrees_with_the_loops(shape, h):
    codes, weight, folds = sample(shape)
    value, gradient = lattice_twin.score_and_gradient(
        codes.tolist(), weight.tolist(), folds.labels.tolist(), float(h)
    )
    got = plans(codes, folds)[0].score(weight, float(h))
    assert got.value == pytest.approx(value, rel=1e-12)
    assert got.gradient.shape == (1,)
    close_gradient(got.gradient, [sum(gradient)], value)


@pytest.mark.parametrize("h", BANDWIDTHS)
@pytest.mark.parametrize("shape", SHAPES)
def test_one_bandwidth_per_column_agrees_with_the_loops(shape, h):
    codes, weight, folds = sample(shape)
    bandwidth = unequal(h, len(shape))
    value, gradient = lattice_twin.score_and_gradient(
        codes.tolist(), weight.tolist(), folds.labels.tolist(), bandwidth.tolist()
    )
    got = plans(codes, folds)[0].score(weight, bandwidth)
    assert got.value == pytest.approx(value, rel=1e-12)
    close_gradient(got.gradient, gradient, value)


@pytest.mark.parametrize("h", [1e-160, 1e-3, 0.05, 0.4, 2.0, np.inf])
def test_values_are_those_of_the_blocked_plan(h):
    codes, weight, folds = sample((4, 3, 5, 3), n=400, seed=3)
    ours, plain = plans(codes, folds)
    for bandwidth in (float(h), unequal(h, 4)):
        assert ours.score(weight, bandwidth).value == pytest.approx(
            plain.score(weight, bandwidth).value, rel=1e-12
        )


@pytest.mark.parametrize(
    "bandwidth", [0.4, 2.0, np.array([0.3, 0.8, np.inf, 1.5]), np.array([0.05, 1.0, 0.06, 0.07])]
)
def test_gradients_are_those_of_the_blocked_plan(bandwidth):
    codes, weight, folds = sample((4, 3, 5, 3), n=400, seed=3)
    ours, plain = (plan.score(weight, bandwidth) for plan in plans(codes, folds))
    close_gradient(ours.gradient, plain.gradient, plain.value)


def test_a_column_that_must_match_and_others_that_need_not():
    """Penalties of very different size: exact matching in one column, smoothing over the rest."""
    codes, weight, folds = sample((3, 4, 5), n=200, seed=5)
    bandwidth = np.array([1e-3, 0.9, 2.0])
    value, gradient = lattice_twin.score_and_gradient(
        codes.tolist(), weight.tolist(), folds.labels.tolist(), bandwidth.tolist()
    )
    got = plans(codes, folds)[0].score(weight, bandwidth)
    assert got.value == pytest.approx(value, rel=1e-12)
    close_gradient(got.gradient, gradient, value)


def test_a_vanishing_bandwidth_predicts_by_the_nearest_rows_and_is_flat():
    codes, weight, folds = sample((4, 4, 4), n=50, seed=1)
    distance = (codes[:, None] != codes[None]).sum(axis=2).astype(float)
    distance[folds.labels[:, None] == folds.labels] = np.inf
    nearest = distance == distance.min(axis=1, keepdims=True)
    assert distance.min(axis=1).max() > 0  # some rows have no row of another fold in their cell
    expected = folds.share @ (weight - nearest @ weight / nearest.sum(axis=1)) ** 2
    ours, _ = plans(codes, folds)
    got = ours.score(weight, 1e-9)
    assert got.value == pytest.approx(expected, rel=1e-12)
    np.testing.assert_array_equal(got.gradient, 0)
    np.testing.assert_array_equal(
        ours.score(weight, 1e-9 * np.array([1.0, 1.1, 1.3])).gradient, 0
    )  # no two columns tie


@pytest.mark.parametrize("bandwidth", [0.8, np.array([0.5, 0.9, 1.6])])
def test_gradients_match_finite_differences(bandwidth):
    codes, weight, folds = sample((3, 4, 5), n=90, seed=2)
    ours, _ = plans(codes, folds)
    step = 1e-5
    for column, slope in enumerate(ours.score(weight, bandwidth).gradient):
        nudge = step if np.ndim(bandwidth) == 0 else step * (np.arange(3) == column)
        up, down = (ours.score(weight, bandwidth * np.exp(sign * nudge)).value for sign in (1, -1))
        assert slope == pytest.approx((up - down) / (2 * step), rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("h", [0.3, 1.0, 4.0])
def test_shifts_change_nothing_where_they_are_not_needed(monkeypatch, h):
    codes, weight, folds = sample((4, 3, 5), n=100)
    ours, _ = plans(codes, folds)
    plain = ours.score(weight, unequal(h, 3))
    monkeypatch.setattr(sweeps, "SAFE_COST", -1.0)
    shifted = ours.score(weight, unequal(h, 3))
    assert shifted.value == pytest.approx(plain.value, rel=1e-13)
    close_gradient(shifted.gradient, plain.gradient, plain.value)


def test_a_scan_is_the_score_at_every_bandwidth():
    codes, weight, folds = sample((3, 4, 2), n=80)
    ours, plain = plans(codes, folds)
    bandwidths = np.geomspace(0.01, 100, 9)
    np.testing.assert_allclose(ours.scan(weight, bandwidths), plain.scan(weight, bandwidths), rtol=1e-12)


def test_weights_changed_in_place_are_noticed():
    codes, weight, folds = sample((3, 4), n=50)
    ours, plain = plans(codes, folds)
    before = ours.score(weight, 1.0).value
    weight[7] *= 5
    after = ours.score(weight, 1.0).value
    assert after != before
    assert after == pytest.approx(plain.score(weight, 1.0).value, rel=1e-12)


def test_weights_of_very_different_size_keep_their_digits():
    codes, weight, folds = sample((3, 4, 3), n=120, seed=4)
    weight = weight * 10.0 ** np.random.default_rng(0).uniform(-8, 8, weight.size)
    ours, plain = plans(codes, folds)
    for bandwidth in (0.2, 1.0, unequal(0.6, 3)):
        got, want = ours.score(weight, bandwidth), plain.score(weight, bandwidth)
        assert got.value == pytest.approx(want.value, rel=1e-12)
        close_gradient(got.gradient, want.gradient, want.value)


def test_weights_may_be_centred():
    codes, weight, folds = sample((3, 4, 3), n=120, seed=4)
    weight = weight - weight.mean()
    ours, plain = plans(codes, folds)
    for bandwidth in (0.01, 1.0, unequal(0.01, 3), unequal(0.6, 3)):
        got, want = ours.score(weight, bandwidth), plain.score(weight, bandwidth)
        assert got.value == pytest.approx(want.value, rel=1e-12)
        close_gradient(got.gradient, want.gradient, want.value)


@pytest.mark.parametrize("vectors", [1, 3, 41])
@pytest.mark.parametrize("bandwidth", [1e-3, 0.7, np.array([0.5, np.inf, 2.0])])
def test_kernel_products_are_those_of_the_blocked_plan(vectors, bandwidth):
    codes, _, _ = sample((4, 3, 5), n=150)
    points = Geometry.of(codes, (0, 1, 2)).scaled(bandwidth)
    values = np.random.default_rng(1).standard_normal((150, vectors))
    np.testing.assert_allclose(
        lattice.kernel_products(points, values),
        blocked.kernel_products(points, RBF, values),
        rtol=1e-12,
        atol=1e-12,
    )


@pytest.mark.parametrize("bandwidth", [0.9, np.full(3, 0.9), np.full(3, 0.01)])
def test_the_number_of_threads_does_not_change_a_bit(bandwidth):
    codes, weight, folds = sample((4, 5, 6), n=500)
    scores = []
    for threads in (1, 3):
        with engine(threads):
            scores.append(plans(codes, folds)[0].score(weight, bandwidth))
    assert scores[0].value == scores[1].value
    np.testing.assert_array_equal(scores[0].gradient, scores[1].gradient)


def test_the_plan_is_for_categorical_columns_with_few_cells():
    codes, _, folds = sample((3, 4), n=200)
    everything = Geometry.of(codes, (0, 1))
    assert LatticeCV.fits(everything, folds)
    assert not LatticeCV.fits(Geometry.of(codes, (0,)), folds)
    assert not LatticeCV.fits(
        everything, Folds.of(np.arange(200))
    )  # a sweep per fold would cost more than the pairs


def test_a_product_of_levels_beyond_any_integer_is_not_for_this_plan():
    codes = np.random.default_rng(0).integers(0, 10, (300, 40)).astype(float)
    assert not LatticeCV.fits(Geometry.of(codes, tuple(range(40))), Folds.of(np.arange(300) % 5))
