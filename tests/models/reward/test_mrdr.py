"""Reward models fitted to make the doubly robust estimate vary less."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

import kwis


def make_log(n, seed, rng_noise=0.3):
    """A reward that a straight line cannot follow, and a target that lives where the logger seldom goes."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-2, 2, n)
    chance = 1 / (1 + np.exp(2.0 * x))  # of action 1, which the target always takes
    action = (rng.random(n) < chance).astype(int)
    reward = np.where(action == 1, np.exp(x), 0.0) + rng_noise * rng.normal(size=n)
    propensity = np.where(action == 1, chance, 1 - chance)
    log = kwis.read_log({"x": x, "action": action, "reward": reward, "propensity": propensity}, context=["x"])
    return log, np.where(action == 1, 1 / propensity, 0.0), propensity


def test_rows_count_by_their_part_in_the_variance():
    counts = kwis.mrdr_weights([2.0, 0.0, 4.0, 1.0], [0.5, 0.5, 0.25, 1.0])
    expected = np.array([4 * 0.5, 0.0, 16 * 0.75, 0.0])
    np.testing.assert_allclose(counts, expected / expected.mean())
    huge = kwis.mrdr_weights([1e300, 1e300], [0.5, 0.25])
    np.testing.assert_allclose(huge, np.array([0.5, 0.75]) / 0.625)


def test_the_doubly_robust_estimate_varies_less():
    errors = {"plain": [], "mrdr": []}
    truth = (np.exp(2) - np.exp(-2)) / 4
    for seed in range(40):
        log, weight, propensity = make_log(400, seed)
        sample = kwis.WeightedSample(context=log.features(), weight=weight, reward=log.reward[:, 0])
        for name, counts in (("plain", None), ("mrdr", kwis.mrdr_weights(weight, propensity))):
            made = kwis.predict_rewards(log, model=LinearRegression(), row_weight=counts, folds=2)
            predicted = kwis.PredictedSample(
                sample, predicted=made.logged, predicted_value=made.expected[:, 1]
            )
            errors[name].append(kwis.DoublyRobust().estimate(predicted).value - truth)
    assert np.std(errors["mrdr"]) < 0.9 * np.std(errors["plain"])
    assert abs(np.mean(errors["mrdr"])) < 3 * np.std(errors["mrdr"]) / np.sqrt(40)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1.0, 2.0], [0.5, 0.0]), r"`propensity` must be in \(0, 1\], got 0.0 at row 1"),
        (([0.0, 2.0], [0.5, 1.0]), "`weight` must be positive where `propensity` is below 1"),
        (([1.0, -2.0], [0.5, 0.5]), "`weight`"),
    ],
)
def test_impossible_rows_are_refused(arguments, message):
    with pytest.raises(kwis.InputError, match=message):
        kwis.mrdr_weights(*arguments)


def test_rows_without_any_weight_are_refused():
    log, _, _ = make_log(30, 0)
    with pytest.raises(kwis.InputError, match="`row_weight` must be positive in at least one row"):
        kwis.predict_rewards(log, row_weight=np.zeros(30))
