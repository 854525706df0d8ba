from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import RidgeCV

from kwis.models.reward import models
from kwis.models.reward.models import Candidate, Lesson, Tried, default_models


def _log(n: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    features, action = rng.standard_normal((n, 2)), rng.integers(0, 3, n)
    slope = np.array([1.0, -1.0, 0.0])
    return features, action, slope[action] * features[:, 0] + 0.3 * rng.standard_normal(n)


def _tried(features: np.ndarray, action: np.ndarray, reward: np.ndarray) -> tuple[Lesson, Tried]:
    lesson = Lesson.of(features, action, reward, 3)
    return lesson, Tried.of(lesson, default_models(*features.shape, 3), np.arange(action.size) % 5)


def _expected(lesson: Lesson, name: str, at: np.ndarray) -> np.ndarray:
    model = default_models(*lesson.features.shape, 3)[name]
    return lesson.learnt(model, np.arange(lesson.action.size), at)


def test_a_model_of_one_log_predicts_every_action_of_another() -> None:
    features, action, reward = _log(300, 0)
    lesson, tried = _tried(features, action, reward)
    assert tried.best == "ridge regression"
    assert 0.8 < tried.explained < 0.95
    at = np.array([[1.0, 0.0], [-2.0, 1.0]])
    assert np.allclose(_expected(lesson, tried.best, at), [[1, -1, 0], [-2, 2, 0]], atol=0.25)


def test_predictions_elsewhere_are_those_of_the_regressor_on_a_design_made_by_hand() -> None:
    features, action, reward = _log(120, 1)
    at = _log(5, 2)[0]

    def design(x: np.ndarray, taken: np.ndarray) -> np.ndarray:
        chosen = np.eye(3)[taken]
        return np.hstack([x, chosen, *(x[:, [j]] * chosen for j in range(2))])

    twin = RidgeCV(alphas=np.logspace(-1, 4, 11)).fit(design(features, action), reward)
    lesson, tried = _tried(features, action, reward)
    found = _expected(lesson, tried.best, at)
    assert np.allclose(
        found, np.stack([twin.predict(design(at, np.full(5, a))) for a in range(3)], axis=1), atol=1e-8
    )


def test_a_reward_that_never_varies_is_explained_by_nothing() -> None:
    features, action, _ = _log(60, 3)
    assert _tried(features, action, np.ones(60))[1].explained == 0


def test_held_out_predictions_never_saw_their_row() -> None:
    features, action, reward = _log(100, 4)
    folds = np.arange(100) % 5
    candidate = default_models(100, 2, 3)["ridge regression"]
    before = Lesson.of(features, action, reward, 3).held_out(candidate, folds)
    reward = reward.copy()
    reward[7] += 100
    after = Lesson.of(features, action, reward, 3).held_out(candidate, folds)
    assert np.array_equal(before[folds == 2], after[folds == 2])
    assert not np.array_equal(before[folds == 3], after[folds == 3])


def test_large_logs_compare_models_on_some_rows_and_learn_from_some(monkeypatch):
    from sklearn.linear_model import LinearRegression, Ridge

    rng = np.random.default_rng(0)
    features, action = rng.normal(size=(900, 2)), rng.integers(0, 3, 900)
    reward = features[:, 0] * action + rng.normal(size=900)
    candidates = {"flat": Candidate(Ridge(1e9)), "slopes": Candidate(LinearRegression(), slopes=True)}
    folds, lesson = np.arange(900) % 5, Lesson.of(features, action, reward, 3)
    whole = Tried.of(lesson, candidates, folds)
    monkeypatch.setattr(models, "CHOICE_ROWS", 300)
    some = Tried.of(lesson, candidates, folds)
    assert some.best == whole.best == "slopes"
    np.testing.assert_array_equal(some.expected, whole.expected)  # all rows teach the model chosen
    assert some.errors["slopes"] == whole.errors["slopes"]
    assert some.errors["flat"] == pytest.approx(whole.errors["flat"], rel=0.2)
    monkeypatch.setattr(models, "_PREDICTED_AT_ONCE", 70)
    np.testing.assert_allclose(Tried.of(lesson, candidates, folds).expected, whole.expected, rtol=1e-12)
    monkeypatch.setattr(models, "MODEL_ROWS", 200)
    few = Tried.of(lesson, candidates, folds)
    assert not np.array_equal(few.expected, whole.expected)
    assert few.errors["slopes"] == pytest.approx(whole.errors["slopes"], rel=0.1)
