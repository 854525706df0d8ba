"""Indicators of categorical features give the numbers of the plans that know nothing of them."""

from __future__ import annotations

import numpy as np
import pytest

import kwis
from kwis.kernel import cross_validation, kernel_products
from kwis.kernel.blocked import BlockedCV
from kwis.kernel.blocked import kernel_products as blocked_products
from kwis.kernel.geometry import Geometry
from kwis.kernel.held_out import Folds
from kwis.kernel.one_hot import OneHotCV
from kwis.kernel.profiles import RBF

SHARED = (0.02, 0.2, 1.0, 4.0, 200.0, np.inf)


def indicators(
    n: int = 400, levels: tuple[int, ...] = (3, 2, 4), seed: int = 0
) -> tuple[np.ndarray, np.ndarray, Folds]:
    """Standardised one-hot columns, a two-valued column, a constant one, weights and folds."""
    rng = np.random.default_rng(seed)
    columns = [rng.choice(k, n, p=rng.dirichlet(np.full(k, 5.0)))[:, None] == np.arange(k) for k in levels]
    raw = np.concatenate([*columns, rng.random((n, 1)) < 0.3, np.ones((n, 1))], axis=1).astype(np.float64)
    spread = raw.std(axis=0)
    context = (raw - raw.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    context[:, -1] = 0.0
    weight = rng.gamma(1.0, 1.0 + (raw[:, 0] > 0.5))
    return context, weight, Folds.of(rng.permutation(np.arange(n) % 5))


def plans(context: np.ndarray, folds: Folds) -> tuple[OneHotCV, BlockedCV]:
    geometry = Geometry.of(context, ())
    plan = cross_validation(geometry, folds, RBF).finish
    assert isinstance(plan, OneHotCV)
    return plan, BlockedCV(geometry, folds, RBF)


@pytest.mark.parametrize("bandwidth", SHARED)
def test_a_shared_bandwidth_scores_as_with_pairs_of_rows(bandwidth):
    context, weight, folds = indicators()
    ours, plain = plans(context, folds)
    found, expected = ours.score(weight, bandwidth), plain.score(weight, bandwidth)
    assert found.value == pytest.approx(expected.value, rel=1e-11)
    assert found.gradient == pytest.approx(expected.gradient, rel=1e-8, abs=1e-11 * expected.value)


@pytest.mark.parametrize("scale", [0.05, 0.7, 3.0])
def test_one_bandwidth_per_indicator_scores_as_with_pairs_of_rows(scale):
    context, weight, folds = indicators(seed=1)
    bandwidth = scale * np.random.default_rng(2).uniform(0.5, 2.0, context.shape[1])
    bandwidth[2] = np.inf
    ours, plain = plans(context, folds)
    found, expected = ours.score(weight, bandwidth), plain.score(weight, bandwidth)
    assert found.value == pytest.approx(expected.value, rel=1e-11)
    assert found.gradient == pytest.approx(expected.gradient, rel=1e-8, abs=1e-11 * expected.value)


def test_rows_far_from_all_others_are_predicted_at_the_narrowest_bandwidths():
    context, weight, folds = indicators(n=600, levels=(6, 5, 4), seed=3)
    ours, plain = plans(context, folds)
    for bandwidth in (1e-3, 1e-6):
        assert ours.score(weight, bandwidth).value == pytest.approx(
            plain.score(weight, bandwidth).value, rel=1e-9
        )


def test_products_are_those_of_pairs_of_rows():
    context, _, _ = indicators(n=700, seed=4)
    vectors = np.random.default_rng(5).normal(size=(700, 3))
    geometry = Geometry.of(context, ())
    for bandwidth in (0.3, np.linspace(0.5, 2, context.shape[1])):
        expected = blocked_products(geometry.scaled(bandwidth), RBF, vectors)
        assert kernel_products(context, bandwidth, RBF, (), vectors) == pytest.approx(
            expected, rel=1e-11, abs=1e-11
        )


def test_bandwidths_of_many_vectors_are_those_of_each():
    context, weight, folds = indicators(seed=6)
    weights = weight[:, None] ** np.linspace(0.3, 2.0, 9)
    together = kwis.select_bandwidths(context, weights, folds=folds.labels)
    geometry = Geometry.of(context, ())
    for column, choice in enumerate(together):
        alone = kwis.select_bandwidth(context, weights[:, column], folds=folds.labels)
        assert choice.score == pytest.approx(alone.score, rel=1e-6)
        assert choice.score == pytest.approx(
            BlockedCV(geometry, folds, RBF).score(weights[:, column], choice.value).value, rel=1e-6
        )


@pytest.mark.parametrize("spoil", ["a third value", "too many cells"])
def test_other_columns_go_their_usual_way(spoil):
    context, _, folds = indicators()
    if spoil == "a third value":
        context[0, 0] += 0.5
    else:
        context = np.where(np.random.default_rng(0).random((len(context), 20)) < 0.5, 0.0, 1.0)
    assert not isinstance(cross_validation(Geometry.of(context, ()), folds, RBF).finish, OneHotCV)
    assert not isinstance(
        cross_validation(Geometry.of(indicators()[0], ()), folds, kwis.Laplace).finish, OneHotCV
    )
