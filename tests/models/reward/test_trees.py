"""Our boosted trees against scikit-learn's."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor

from kwis.models.fitting import TREES
from kwis.models.reward import trees
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


def test_entries_lie_in_the_bin_between_the_thresholds_around_them() -> None:
    rng = np.random.default_rng(5)
    model = Trees(**TREES)
    model.thresholds = [np.unique(rng.integers(0, 40, size)) / 3 for size in (0, 1, 2, 7, 64, 254)]
    design = rng.integers(-3, 43, (500, 6)) / 3
    expected = [
        np.searchsorted(cuts, column) for cuts, column in zip(model.thresholds, design.T, strict=True)
    ]
    np.testing.assert_array_equal(model._bins(design), np.column_stack(expected))


def test_what_matters_is_found_among_hundreds_of_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    """As well as by trees that try all columns, in twice as many bins, throughout."""
    errors = []
    for seed in range(3):
        rng = np.random.default_rng([6, seed])
        features, choice = rng.standard_normal((5_000, 250)), np.eye(3)[rng.integers(0, 3, 5_000)]
        truth = np.sin(2 * features[:, 120]) + choice[:, 1] * features[:, 3] + 0.3 * features[:, 240]
        design, outcome = np.hstack([features, choice]), truth + rng.standard_normal(5_000)
        learnt, other = slice(3_000), slice(3_000, None)
        found = Trees(**TREES).fit(design[learnt], outcome[learnt], last=3)
        predicted = found.predict(design[other])
        of_choices = found.of_choices(features[other], np.array([0, 1, 2]))
        taken = of_choices[np.arange(2_000), choice[other].argmax(axis=1)]
        np.testing.assert_array_equal(taken, predicted)
        with monkeypatch.context() as patch:
            patch.setattr(trees, "_MANY", 1_000)
            every = Trees(**TREES).fit(design[learnt], outcome[learnt]).predict(design[other])
        assert not np.array_equal(predicted, every)
        errors.append([np.mean((made - truth[other]) ** 2) for made in (predicted, every)])
    ours, whole = np.mean(errors, axis=0)
    assert ours < 1.05 * whole
