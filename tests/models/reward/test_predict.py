"""Reward models: held out, fair to every action, and clear about what they cannot do."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor

import kwis
from kwis.data.log import LoggedBandit
from kwis.data.read.read_log import read_log
from kwis.data.sample_log import sample_log
from kwis.models.reward import predict_rewards
from kwis.policy.discrete import weigh
from kwis.policy.target import resolve_target

SLOPES = np.array([[2.0, -1.0, 0.5], [0.0, 1.0, -2.0]])


def linear_log(
    n: int = 600, noise: float = 0.0, seed: int = 0, **columns: np.ndarray
) -> tuple[LoggedBandit, np.ndarray]:
    """Rewards linear in the context with a slope per action, and the mean reward of every action."""
    rng = np.random.default_rng(seed)
    x, action = rng.normal(size=(n, 2)), rng.integers(3, size=n)
    expected = np.array([1.0, 0.0, -1.0]) + x @ SLOPES
    reward = expected[np.arange(n), action] + noise * rng.standard_normal(n)
    table = {"x": x, "action": action, "reward": reward, "propensity": np.full(n, 1 / 3), **columns}
    roles = {role: role for role in ("group", "row_weight") if role in columns}
    return read_log(table, context="x", propensity="propensity", **roles), expected


def test_the_default_learns_a_slope_per_action():
    log, expected = linear_log()
    predicted = predict_rewards(log)
    assert predicted.model == "ridge regression"
    assert set(predicted.candidates) == {"ridge regression", "boosted trees"}
    np.testing.assert_allclose(predicted.expected, expected, atol=0.02)
    np.testing.assert_array_equal(predicted.logged, predicted.expected[np.arange(len(log)), log.action])
    assert predicted.error < 1e-3 < predicted.error_without_context
    assert predicted.note == (
        "reward was predicted by ridge regression, cross-fitted over 5 folds, which explains 100% of its "
        "held-out variance"
    )


def test_a_step_is_left_to_trees_and_few_rows_to_ridge():
    rng = np.random.default_rng(0)
    x, action = rng.normal(size=800), rng.integers(2, size=800)
    reward = np.where((np.abs(x) > 0.7) == (action == 1), 1.0, 0.0)
    table = {"x": x, "action": action, "reward": reward, "propensity": np.full(800, 0.5)}
    log = read_log(table, context="x", propensity="propensity")
    assert predict_rewards(log).model == "boosted trees"
    assert set(predict_rewards(log.take(np.arange(400))).candidates) == {"ridge regression"}


def test_no_row_is_predicted_from_itself_nor_from_its_group():
    n = 300
    group = np.random.default_rng(1).integers(40, size=n)
    log, _ = linear_log(n, noise=1.0, group=group)
    predicted = predict_rewards(log, model=DecisionTreeRegressor(random_state=0))
    for label in range(40):
        assert len(set(predicted.folds[group == label])) == 1
    assert predicted.error > 0.5  # a tree that saw its own row would make no error at all
    for row in (0, 17):
        reward = log.reward.copy()
        reward[group == group[row]] += 100
        moved = predict_rewards(replace(log, reward=reward), model=DecisionTreeRegressor(random_state=0))
        np.testing.assert_array_equal(
            moved.expected[group == group[row]], predicted.expected[group == group[row]]
        )
        assert (moved.expected != predicted.expected).any()


def test_predictions_are_those_of_the_model_fitted_to_the_other_folds():
    log, _ = linear_log(200, noise=0.5)
    predicted = predict_rewards(log, model=LinearRegression(), folds=4)
    design = np.hstack([log.features(), np.eye(3)[log.action]])
    for fold in range(4):
        held = predicted.folds == fold
        model = LinearRegression().fit(design[~held], log.reward[~held, 0])
        for action in range(3):
            inputs = np.hstack([log.features()[held], np.tile(np.eye(3)[action], (held.sum(), 1))])
            np.testing.assert_allclose(
                predicted.expected[held, action], model.predict(inputs), rtol=0, atol=1e-10
            )


def test_row_weights_count():
    rng = np.random.default_rng(4)
    log, _ = linear_log(300, noise=1.0, row_weight=rng.integers(1, 4, 300).astype(float))
    # Nearly no penalty, but some: least squares of columns that depend on each other differ between versions.
    plain = Ridge(alpha=1e-3)
    weighted = predict_rewards(log, model=plain)
    pipeline = predict_rewards(log, model=make_pipeline(StandardScaler(), plain))
    bare = predict_rewards(replace(log, row_weight=None), model=plain)
    np.testing.assert_allclose(pipeline.expected, weighted.expected, atol=0.05)
    assert np.abs(bare.expected - weighted.expected).max() > 1e-3
    mean = np.average((log.reward[:, 0] - weighted.logged) ** 2, weights=log.row_weight)
    assert weighted.error == pytest.approx(mean, rel=1e-12)
    with pytest.raises(
        kwis.InputError,
        match=(
            "`model` must take `sample_weight` for a log with row weights, and KNeighborsRegressor does not"
        ),
    ):
        predict_rewards(log, model=KNeighborsRegressor())


def test_the_seed_decides_everything():
    log, _ = linear_log(600, noise=1.0)
    first, second, other = (
        predict_rewards(log, rng=3),
        predict_rewards(log, rng=3),
        predict_rewards(log, rng=4),
    )
    np.testing.assert_array_equal(first.expected, second.expected)
    assert (first.folds != other.folds).any()


def test_rewards_are_named_or_numbered():
    log = sample_log(300).read()
    model = LinearRegression()
    np.testing.assert_array_equal(
        predict_rewards(log, "revenue", model).expected, predict_rewards(log, 1, model).expected
    )
    assert predict_rewards(log, 1, model).reward == "revenue"
    with pytest.raises(
        kwis.InputError, match="`reward` must be one of click, revenue, or its number, got 'clicks'"
    ):
        predict_rewards(log, "clicks")


def test_the_sample_of_a_target_carries_its_mean_prediction():
    log = sample_log(300).read()
    target = resolve_target(log, "p_new")
    predicted = predict_rewards(log, model=LinearRegression())
    sample = predicted.attach(weigh(log, target), target)
    by_hand = [
        sum(p * q for p, q in zip(row, guess, strict=True))
        for row, guess in zip(target.distribution, predicted.expected, strict=True)
    ]
    np.testing.assert_allclose(sample.predicted_value, by_hand, rtol=1e-13)
    np.testing.assert_array_equal(sample.predicted, predicted.logged)
    np.testing.assert_array_equal(sample.rows, np.arange(300))


def test_a_target_known_for_the_logged_action_alone_is_refused():
    log = sample_log(300).read()
    target = replace(resolve_target(log, "p_new"), distribution=None)
    predicted = predict_rewards(log, model=LinearRegression())
    with pytest.raises(kwis.UnsupportedError) as caught:
        predicted.attach(weigh(log, target), target)
    assert str(caught.value) == (
        "`target` must have a probability for every action for predicted rewards, got that of the logged "
        "one for p_new"
    )


def test_equal_rewards_are_predicted_exactly():
    log, _ = linear_log(200)
    predicted = predict_rewards(replace(log, reward=np.full((200, 1), 0.4)))
    np.testing.assert_allclose(predicted.expected, 0.4, atol=1e-12)
    assert "explains 0% of its held-out variance" in predicted.note


def test_many_actions_and_actions_never_taken_are_fine():
    rng = np.random.default_rng(0)
    table = {
        "x": rng.normal(size=400),
        "action": rng.integers(120, size=400),
        "reward": rng.random(400),
        "propensity": np.full(400, 1 / 121),
    }
    log = read_log(table, context="x", propensity="propensity", actions=list(range(121)))
    assert predict_rewards(log).expected.shape == (400, 121)


class Failing(LinearRegression):
    def fit(self, *arguments, **more):
        raise RuntimeError("singular\nmatrix")


class Endless(LinearRegression):
    def predict(self, design):
        return np.full(len(design), np.inf)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (object(), "`model` must be a scikit-learn regressor with `fit` and `predict`, got object"),
        (Failing(), "`model` must be able to learn the log, and Failing failed: singular"),
        (Endless(), "`model` must predict finite rewards, got others from Endless"),
    ],
)
def test_models_that_fail_are_named(model, message):
    with pytest.raises(kwis.InputError) as caught:
        predict_rewards(linear_log(50)[0], model=model)
    assert str(caught.value) == message


def test_a_single_row_or_group_cannot_be_held_out():
    log, _ = linear_log(50)
    with pytest.raises(
        kwis.InputError, match="`log` must have at least 2 rows for cross-fitted predictions, got 1"
    ):
        predict_rewards(log.take([0]))
    grouped, _ = linear_log(50, group=np.zeros(50, dtype=int))
    with pytest.raises(
        kwis.InputError, match="`log` must have at least 2 groups for cross-fitted predictions, got 1"
    ):
        predict_rewards(grouped)


def test_doubly_robust_is_closer_than_either_half_when_the_other_is_wrong():
    log, expected = linear_log(2000, noise=0.5, seed=5)
    policy = np.tile([0.8, 0.1, 0.1], (2000, 1))
    truth = float((policy * expected).sum(axis=1).mean())
    target = resolve_target(log, policy, "mostly the first")
    right = predict_rewards(log)
    wrong = replace(right, expected=right.expected + 1.0, logged=right.logged + 1.0)
    robust = kwis.DoublyRobust()
    assert kwis.DirectMethod().estimate(wrong.attach(weigh(log, target), target)).value - truth > 0.9
    rescued = robust.estimate(wrong.attach(weigh(log, target), target))
    assert abs(rescued.value - truth) < 4 * rescued.std_error
    tilted = replace(log, propensity=log.propensity * 0.5)
    assert abs(kwis.VIS().estimate(weigh(tilted, target)).value - truth) > 0.5
    rescued = robust.estimate(right.attach(weigh(tilted, target), target))
    assert abs(rescued.value - truth) < 4 * rescued.std_error
    assert rescued.std_error < 0.05
