"""Our boosted trees against scikit-learn's."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor

from kwis.models.fitting import TREES
from kwis.models.reward.trees import Trees


def _rows(n: int, values: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Columns of so many values each, a constant one, and 0/1 columns of three choices."""
    rng = np.random.default_rng(seed)
    features = np.column_stack([rng.integers(0, values, (n, 3)) / 7, np.ones(n)])
    choice = np.eye(3)[rng.integers(0, 3, n)]
    outcome = np.sin(features[:, 0]) + choice[:, 1] * features[:, 1] + rng.standard_normal(n)
    return np.hstack([features, choice]), outcome, rng.integers(0, 4, n).astype(float)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n", [50, 400, 3_000])
def test_the_trees_are_those_of_scikit_learn(n: int, weighted: bool) -> None:
    design, outcome, mass = _rows(n, 40, n)
    twin = HistGradientBoostingRegressor(**TREES, early_stopping=False)
    twin.fit(design, outcome, sample_weight=mass if weighted else None)
    found = Trees(**TREES).fit(design, outcome, mass if weighted else None)
    other = _rows(200, 60, 1)[0]  # values between and beyond those learnt from
    np.testing.assert_allclose(found.predict(other), twin.predict(other), atol=1e-5)
    assert n == 50 or np.ptp(found.predict(other)) > 0.3


def test_columns_of_many_values_are_told_apart_as_well() -> None:
    rng = np.random.default_rng(0)
    x, z = rng.standard_normal((2_000, 4)), rng.standard_normal((2_000, 4))

    def mean(x: np.ndarray) -> np.ndarray:
        return np.asarray(np.sin(2 * x[:, 0]) * x[:, 1])

    outcome = mean(x) + rng.standard_normal(2_000)
    errors = [
        np.mean((model.fit(x, outcome).predict(z) - mean(z)) ** 2)
        for model in (Trees(**TREES), HistGradientBoostingRegressor(**TREES, early_stopping=False))
    ]
    assert errors[0] == pytest.approx(errors[1], rel=0.05)
    heavy = Trees(**TREES).fit(x, outcome, np.ones(2_000))
    np.testing.assert_allclose(heavy.predict(z), Trees(**TREES).fit(x, outcome).predict(z), atol=1e-9)


def test_every_choice_is_predicted_as_its_own_design() -> None:
    design, outcome, _ = _rows(600, 30, 3)
    model = Trees(**TREES).fit(design, outcome)
    codes = np.array([2, -1, 0])  # the second choice has no column of its own
    columns = [np.eye(3)[[code] * 600] if code >= 0 else np.zeros((600, 3)) for code in codes]
    alone = [model.predict(np.hstack([design[:, :4], lit])) for lit in columns]
    np.testing.assert_array_equal(model.of_choices(design[:, :4], codes), np.column_stack(alone))
    assert np.ptp(np.column_stack(alone), axis=1).max() > 0.01


def test_rows_repeated_count_as_rows_of_that_weight_where_leaves_are_large() -> None:
    design, outcome, _ = _rows(900, 30, 4)
    mass = np.full(900, 2.0)
    mass[::3] = 0.0
    settings = {**TREES, "min_samples_leaf": 1, "max_leaf_nodes": 4}
    few = Trees(**settings).fit(design, outcome, mass)
    repeated = np.repeat(np.arange(900), mass.astype(int))
    many = Trees(**settings).fit(design[repeated], outcome[repeated])
    np.testing.assert_allclose(few.predict(design), many.predict(design), atol=1e-9)
