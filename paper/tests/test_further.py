from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from kwis_paper.catalogue import PAPER_DATASETS
from kwis_paper.datasets import load
from kwis_paper.further import DEGREES, FURTHER, MISREPORTS
from kwis_paper.grid import SETTINGS, cells
from kwis_paper.misreports import explored, fitted, rounded, tempered, without_columns
from kwis_paper.policies import Explorer, Gibbs, Greedy, Misreported
from kwis_paper.simulate import Laboratory


@pytest.fixture(scope="module")
def laboratory() -> Laboratory:
    return Laboratory(load("digits"))


def test_every_further_setting_is_small_and_none_is_of_the_paper() -> None:
    for dataset in PAPER_DATASETS:
        counts = Counter(cell.setting for cell in cells([dataset], FURTHER))
        assert set(counts) == ({*FURTHER} if dataset != "optdigitsDist" else set())
        assert all(10 < count <= 160 for count in counts.values())
    assert not any(cell.published for cell in cells(["yeast"], FURTHER))
    assert not set(FURTHER) & set(SETTINGS)


def test_every_degree_of_every_misreport_is_there_and_worse_than_the_one_before() -> None:
    for how in MISREPORTS:
        behaviours = {cell.behaviour for cell in cells(["yeast"], [how])}
        assert all(isinstance(one, Misreported) and one.how == how for one in behaviours)
        assert {one.degree for one in behaviours} == set(DEGREES[how])
        assert list(DEGREES[how]) == sorted(DEGREES[how])


def test_a_greedy_policy_is_a_gibbs_policy_at_temperature_zero() -> None:
    label = np.array([0, 1, 2, 3])
    sure = Greedy((0, 3)).probabilities(label, 4)
    assert np.array_equal(sure.argmax(axis=1), [1, 1, 2, 0])
    assert np.allclose(sure, Gibbs((0, 3), 0.01).probabilities(label, 4), atol=1e-12)


def test_rounding_by_hand() -> None:
    found = rounded(np.array([[0.62, 0.34, 0.04]]), 0.1)
    assert np.allclose(found, np.array([[0.6, 0.3, 0.05]]) / 0.95)


def test_tempering_and_exploring_by_hand() -> None:
    given = np.array([[0.8, 0.2]])
    assert np.allclose(tempered(given, 2.0), [[0.64 / 0.68, 0.04 / 0.68]])
    assert np.allclose(explored(given, 0.5), [[0.65, 0.35]])


def test_dropped_columns_are_at_their_mean_and_the_others_as_they_were() -> None:
    context = np.random.default_rng(0).standard_normal((20, 8))
    kept = without_columns(context, 0.25, np.random.default_rng(1))
    gone = (kept == 0).all(axis=0)
    assert gone.sum() == 2
    assert np.array_equal(kept[:, ~gone], context[:, ~gone])


@pytest.mark.parametrize("how", MISREPORTS)
def test_misreports_are_distributions_and_grow_worse_with_their_degree(
    laboratory: Laboratory, how: str
) -> None:
    logging = Explorer("linear", 0.3)
    truth = laboratory.probabilities(logging)
    gaps = []
    for degree in DEGREES[how]:
        said = laboratory.probabilities(Misreported(how, degree, logging))
        assert said.shape == truth.shape
        assert np.allclose(said.sum(axis=1), 1)
        assert said.min() > 0
        gaps.append(float((truth * np.log(truth / said))[laboratory.rows[1]].sum(axis=1).mean()))
    assert gaps[0] > 0
    assert gaps == sorted(gaps)


def test_fitted_propensities_never_see_the_row_they_are_for(laboratory: Laboratory) -> None:
    """An action changed in one training row changes nothing that is said of that row, nor anything by way of
    the test rows.
    """
    data = laboratory.dataset
    train, test = np.arange(200), np.arange(200, 260)
    action = np.random.default_rng(0).integers(0, 3, 200)
    changed = action.copy()
    changed[7] = (changed[7] + 1) % 3
    before, after = (
        fitted(data.context, (train, test), one, 3, 1.0, np.random.default_rng(5))
        for one in (action, changed)
    )
    assert np.array_equal(before[7], after[7])
    assert not np.array_equal(before[test], after[test])


def test_the_given_distribution_of_a_misreport_follows_from_the_context_alone() -> None:
    """Labels of test rows may change, and what the log says of those rows does not."""
    data = load("digits")
    first = Laboratory(data)
    other = data.label.copy()
    test = first.rows[1]
    other[test] = other[test][::-1]
    second = Laboratory(replace(data, label=other))
    for how in ("stale", "tempered", "dropped-covariate", "fitted", "rounded"):
        policy = Misreported(how, DEGREES[how][-1], Explorer("linear", 0.3))
        assert np.array_equal(first.probabilities(policy), second.probabilities(policy)), how
