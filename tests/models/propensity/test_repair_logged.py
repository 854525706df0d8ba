"""Repair where only the logged action's propensity is known."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from kwis.errors import InputError
from kwis.models.propensity.inverse import Inverses, factors, inverse_means
from kwis.models.propensity.penalised import Coefficients
from kwis.models.propensity.repair_logged import fit_repair_logged
from tests.models.propensity.test_repair import drawn, logger, softmax
from tests.reference import repair_twin as twin


def logged(chances: np.ndarray, action: np.ndarray) -> np.ndarray:
    return np.asarray(chances[np.arange(len(action)), action])


def wis(weight: np.ndarray, reward: np.ndarray) -> float:
    return float(weight @ reward / weight.sum())


def test_mean_inverses_minimise_their_loss() -> None:
    rng = np.random.default_rng(0)
    design, action, given = rng.normal(size=(50, 2)), rng.integers(3, size=50), rng.uniform(0.2, 0.9, size=50)
    mass, spread = rng.uniform(0.5, 2.0, size=50), np.array([0.5, 1.0])
    found = inverse_means(Inverses(design, action, 1 / given), 3, mass).fit(spread, tolerance=1e-14)

    def loss(point: np.ndarray) -> float:
        return twin.mean_inverse_loss(design, action, given, mass, spread, point.reshape(2, 3))

    np.testing.assert_allclose(
        found.matrix, minimize(loss, np.zeros(6), method="BFGS").x.reshape(2, 3), atol=1e-4
    )


def test_factors_are_the_means_of_the_actions_taken() -> None:
    design, action = np.array([[1.0, 2.0], [0.5, -1.0]]), np.array([1, 0])
    matrix = np.array([[0.1, 0.2], [0.3, -0.4]])
    expected = [np.exp(0.2 - 0.8), np.exp(0.05 - 0.3)]
    np.testing.assert_allclose(factors(design, action, Coefficients(1.0, matrix)), expected, rtol=1e-14)


def test_right_propensities_are_kept() -> None:
    for seed in range(6):
        features, action, truth = logger(400, 4, seed)
        given = logged(truth, action)
        model = fit_repair_logged(features, action, given, 4)
        assert model.kept
        np.testing.assert_array_equal(model.propensity(features, action, given), given)


def test_propensities_wrong_by_a_factor_in_a_region_get_it_back() -> None:
    features, action, truth = logger(4_000, 3, 1)
    factor = np.where(features[:, 0] > 0, 0.5, 1.0)
    right = logged(truth, action)
    model = fit_repair_logged(features, action, right * factor, 3)
    assert "inverse" in model.terms
    made = model.propensity(features, action, right * factor)
    assert np.abs(np.log(made / right)).mean() < 0.6 * np.abs(np.log(factor)).mean()


def test_propensities_that_are_too_sure_are_pooled_with_the_context() -> None:
    features, action, truth = logger(2_000, 4, 2)
    sure = softmax(3 * np.log(truth))
    model = fit_repair_logged(features, action, logged(sure, action), 4)
    assert "pool" in model.terms
    assert model.share < 1
    assert model.log_loss_after < model.log_loss_before


@pytest.mark.slow
def test_an_estimate_comes_nearer_to_the_truth() -> None:
    features, _, truth = logger(2_000, 4, 3)
    rng = np.random.default_rng(4)
    target = softmax(features @ rng.normal(size=(3, 4)))
    rewards = rng.random(4) + np.abs(features[:, :1])
    value, given = (
        float((target * rewards).sum(axis=1).mean()),
        softmax(2.5 * np.log(truth) + 0.8 * features[:, :1] * np.arange(4)),
    )
    raw, repaired = [], []
    for _ in range(5):
        action = drawn(truth, rng)
        said, reward, aim = logged(given, action), logged(rewards, action), logged(target, action)
        made = fit_repair_logged(features, action, said, 4).propensity(features, action, said)
        raw.append(abs(wis(aim / said, reward) - value))
        repaired.append(abs(wis(aim / made, reward) - value))
    assert np.mean(repaired) < 0.6 * np.mean(raw)


def test_too_few_rows_are_left_alone() -> None:
    features, action, truth = logger(10, 3, 5)
    model = fit_repair_logged(features, action, logged(truth, action), 3)
    assert model.kept
    assert "too small" in model.note


@pytest.mark.parametrize("value", [0.0, 1.5])
def test_impossible_propensities_are_refused(value: float) -> None:
    with pytest.raises(InputError, match=f"^`given` must be in \\(0, 1\\], got {value} at row 1$"):
        fit_repair_logged(np.zeros((3, 1)), np.array([0, 1, 0]), np.array([0.5, value, 0.5]), 2)
