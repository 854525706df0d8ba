"""Neighbours against all distances, sorted."""

from __future__ import annotations

import numpy as np
import pytest

from kwis.kernel import nearest
from kwis.kernel.nearest import nearest_rows


@pytest.fixture(autouse=True, params=[0, 5_000])
def _few(monkeypatch, request):
    """In compiled code, and in numpy."""
    monkeypatch.setattr(nearest, "_FEW", request.param)


def test_neighbours_are_those_of_all_distances_sorted(monkeypatch):
    rng = np.random.default_rng(0)
    features = rng.normal(size=(150, 3)) + 1e4  # far from the origin
    distance = np.linalg.norm(features[:, None] - features[None], axis=2)
    np.fill_diagonal(distance, np.inf)
    expected = np.argsort(distance, axis=1)[:, :7]
    np.testing.assert_array_equal(nearest_rows(features, 7), expected)
    monkeypatch.setattr(nearest, "_ROWS", 40)
    np.testing.assert_array_equal(nearest_rows(features, 7), expected)


def test_a_row_is_no_neighbour_of_its_own_but_its_double_is():
    features = np.array([[0.0], [1.0], [0.0], [5.0]])
    np.testing.assert_array_equal(nearest_rows(features, 2)[:3], [[2, 1], [0, 2], [0, 1]])


def test_neighbours_in_many_columns_are_those_of_all_distances_sorted():
    features = np.random.default_rng(1).normal(size=(150, 80)) + 1e4
    features[70] = features[20]
    distance = np.linalg.norm(features[:, None] - features[None], axis=2)
    np.fill_diagonal(distance, np.inf)
    found = nearest_rows(features, 7)
    picked, best = np.take_along_axis(distance, found, axis=1), np.sort(distance, axis=1)[:, :7]
    np.testing.assert_allclose(picked, best, rtol=1e-5)  # equals up to single precision may change places
    assert found[20, 0] == 70
    assert found[70, 0] == 20
