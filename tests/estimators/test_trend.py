"""Gaps between approximate and exact weights as a polynomial of the contexts."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import kwis
from kwis.estimators import trend
from kwis.estimators.precision import few_terms
from kwis.estimators.trend import Trend
from kwis.kernel import points_of


def fitted(context, gap, *, bandwidth=1.0, worth=None, rows=None, categorical=()):
    """The trend of gaps (n,) at the rows, and what it says of all rows."""
    n = context.shape[0]
    rows = np.arange(n) if rows is None else rows
    points = points_of(context, bandwidth, kwis.RBF, categorical)
    found = Trend.of(
        points, rows, gap[rows, None], (np.ones(n) if worth is None else worth)[rows] * np.ones(rows.size)
    )
    return found, None if found is None else at(found, points, n)


def at(found, points, n):
    out = np.full((n, 1), np.nan)
    for place, gaps in found.at(points, slice(0, n)):
        out[place] = gaps
    return out[:, 0]


@pytest.mark.parametrize(("d", "rows", "degree"), [(3, 70, 2), (3, 69, 1), (3, 27, 0), (3, 6, None)])
def test_a_gap_that_is_a_polynomial_is_seen_as_far_as_the_rows_suffice(d, rows, degree):
    context = np.random.default_rng(0).uniform(-1, 1, (400, d))
    gap = {2: 0.1 * context[:, 0] * context[:, 1] - 0.3, 1: 0.2 * context[:, 2] - 0.3}.get(
        degree, np.full(400, -0.3)
    )
    found, seen = fitted(context, gap, rows=np.arange(rows))
    if degree is None:
        assert found is None
        return
    assert found.degree == degree
    inside = np.flatnonzero((np.abs((context - found.middle) / found.scale) < 3).all(axis=1))
    np.testing.assert_allclose(seen[inside], np.clip(gap, *found.ends[:, 0])[inside], atol=0.03)


def test_rows_that_are_certain_say_nothing_and_too_few_others_fit_nothing():
    context = np.random.default_rng(0).normal(size=(50, 1))
    worth, gap = (np.arange(50) < 30).astype(float), np.where(np.arange(50) < 30, 0.2, -0.9)
    found, seen = fitted(context, gap, worth=worth)
    assert seen == pytest.approx(0.2, abs=0.01)
    np.testing.assert_array_equal(found.widening[30:], 1.0)
    assert fitted(context, gap, worth=worth * (np.arange(50) < 6))[0] is None


def test_no_context_however_far_has_a_gap_that_was_not_seen():
    rng = np.random.default_rng(0)
    context = rng.normal(size=(2000, 2))
    context[-1] = 1e9
    gap = 0.1 * context[:, 0] ** 2 + 0.01 * rng.normal(size=2000)
    rows = np.arange(500)
    _, seen = fitted(context, gap, rows=rows)
    assert gap[rows].min() <= seen.min() <= seen.max() <= gap[rows].max()


@pytest.mark.parametrize("scale", [1e-300, 1.0, 1e300])
def test_units_constant_columns_and_copies_of_columns_change_little(scale):
    rng = np.random.default_rng(0)
    first = rng.uniform(-1, 1, (600, 1))
    gap = 0.1 * first[:, 0]
    odd = np.hstack([scale * first, np.zeros((600, 1)), scale * first])
    with np.errstate(all="ignore"):
        _, seen = fitted(odd, gap, bandwidth=np.array([scale, 1.0, scale]))
    np.testing.assert_allclose(seen, gap, atol=0.002)


def test_columns_that_the_kernel_does_not_see_have_no_part():
    context = np.random.default_rng(0).normal(size=(300, 3))
    found, _ = fitted(context, context[:, 1], bandwidth=np.array([1.0, np.inf, 1.0]))
    assert found.columns.tolist() == [0, 2]
    codes = context.round()
    assert fitted(codes, context[:, 1], categorical=(0,))[0].columns.size == 2


def test_gaps_of_several_weightings_are_fitted_apart_whatever_the_blocks(monkeypatch):
    rng = np.random.default_rng(0)
    points = points_of(rng.normal(size=(300, 2)), 1.0, kwis.RBF, ())
    gap = rng.normal(size=(300, 2))
    both = Trend.of(points, np.arange(300), gap, np.ones(300))
    for place in range(2):
        alone = Trend.of(points, np.arange(300), gap[:, place : place + 1], np.ones(300))
        whole = at(alone, points, 300)
        monkeypatch.setattr(trend, "_BLOCK", 7)
        pieces = np.concatenate([one[:, place] for _, one in both.at(points, slice(5, 300))])
        monkeypatch.undo()
        np.testing.assert_allclose(pieces, whole[5:], rtol=1e-9, atol=1e-12)


def test_errors_of_few_terms_have_the_quantile_of_student():
    assert few_terms(np.zeros(3)) == few_terms(np.zeros(0)) == 1.0
    assert few_terms(np.array([0.0, 7.0])) == pytest.approx(stats.t.ppf(0.975, 2) / stats.norm.ppf(0.975))
    alike = few_terms(np.full(100, -1e200))
    assert alike == pytest.approx(stats.t.ppf(0.975, 200) / stats.norm.ppf(0.975))
    assert few_terms(np.full(100, 1e-200)) == pytest.approx(alike)
    assert few_terms(np.append(np.full(100, 1.0), 1e-9)) == pytest.approx(alike)
