"""Sums over long columns against numpy's, step by step."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from kwis.stats import long
from kwis.stats.influence import standard_error

N = 5_000


@pytest.fixture(autouse=True)
def short_is_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(long, "LONG", 64)
    monkeypatch.setattr(long, "_BLOCK", 700)


def columns(seed: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    weight = np.exp(2 * rng.normal(size=N)) * (rng.uniform(size=N) < 0.8)
    return weight, rng.normal(size=N)


@pytest.mark.parametrize("seed", range(3))
def test_extent(seed: int) -> None:
    weight, _ = columns(seed)
    found = long.Extent.of(weight)
    assert found.least_positive == weight[weight > 0].min()
    assert found.largest == weight.max()
    assert found.zeros == (weight == 0).sum()
    assert found.total == pytest.approx(weight.sum(), rel=1e-13)
    assert found.squares == pytest.approx((weight**2).sum(), rel=1e-13)


def test_a_constant_column_is_summed_without_reading_it() -> None:
    found = long.Extent.of(np.broadcast_to(2.0, N))
    assert (found.least_positive, found.largest, found.zeros) == (2.0, 2.0, 0)
    assert (found.total, found.squares) == (2.0 * N, 4.0 * N)


@pytest.mark.parametrize("seed", range(3))
def test_order_and_tail(seed: int) -> None:
    weight, _ = columns(seed)
    ranked, in_order = long.Ranked.of(weight), np.sort(weight)
    places = np.array([0, 1, 10, 999, 1_000, 2_500, 4_900, N - 1, N - 1])
    np.testing.assert_array_equal(ranked.at(places), in_order[places])
    for most in (1, 7, 300):
        np.testing.assert_array_equal(ranked.top(most), in_order[-most:])


def test_order_of_many_equal_values_and_negative_zeros() -> None:
    values = np.repeat([0.0, -0.0, 1.0, 3.0], N // 4)
    ranked = long.Ranked.of(values)
    np.testing.assert_array_equal(ranked.at(np.array([0, N // 2 - 1, N // 2, N - 1])), [0, 0, 1, 3])


@pytest.mark.parametrize("seed", range(3))
def test_influence_and_what_leaving_out_moves(seed: int) -> None:
    a, b = columns(seed)
    share = np.abs(b) / np.abs(b).sum()
    other = a / a.sum()
    found = long.LeftOut.of(b, share)
    assert found.largest == np.abs(b).max()
    assert found.squares == pytest.approx((b**2).sum(), rel=1e-13)
    assert found.fourth == pytest.approx((b**4).sum(), rel=1e-13)
    assert found.leverage == pytest.approx((share**2).sum(), rel=1e-13)
    assert found.moves == pytest.approx(((b / (1 - share)) ** 2).sum(), rel=1e-13)
    apart = long.LeftOut.of_difference(a, b, share, other)
    expected = long.LeftOut.of(a - b, np.maximum(share, other))
    assert (apart.largest, apart.most) == (expected.largest, expected.most)
    assert dataclasses.astuple(apart) == pytest.approx(dataclasses.astuple(expected), rel=1e-13)


def test_influence_of_a_weighted_mean() -> None:
    weight, reward = columns(1)
    out = long.influence_of(weight, reward, 0.3, 1.7)
    np.testing.assert_allclose(out, 1.7 * weight * (reward - 0.3), rtol=1e-10, atol=1e-12)
    out = long.influence_of(weight, reward, 0.3, None)
    np.testing.assert_allclose(out, weight * reward - 0.3, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(long.parts_of(weight, 3.0), weight / 3)


def test_the_rows_that_move_most_the_first_of_equal_ones_first() -> None:
    weight, reward = columns(2)
    weight[[40, 4_000]], reward[[40, 4_000]] = 500.0, 9.0
    sizes = np.abs(weight * reward - 0.1 * weight)
    expected = np.lexsort((np.arange(N), -sizes))[:10]
    np.testing.assert_array_equal(long.heaviest(weight, reward, 0.1, 10), expected)


def test_few_values() -> None:
    rng = np.random.default_rng(0)
    values = rng.choice([3.0, -1.0, 0.0], N)
    found = long.few_values(values)
    assert found is not None
    levels, counts = np.unique(values, return_counts=True)
    np.testing.assert_array_equal(found[0], levels)
    np.testing.assert_array_equal(found[1], counts)
    assert long.few_values(rng.uniform(size=N)) is None


def test_loads_and_distances() -> None:
    weight, reward = columns(1)
    total, squares = long.loads(weight, reward, 0.5)
    expected = weight * np.abs(reward - 0.5)
    assert total == pytest.approx(expected.sum(), rel=1e-12)
    assert squares == pytest.approx((expected**2).sum(), rel=1e-12)
    assert long.distances(weight, 1.5) == pytest.approx(((weight - 1.5) ** 2).sum(), rel=1e-12)


def test_standard_errors_are_those_of_short_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    _, influence = columns(0)
    found = standard_error(influence, None)
    monkeypatch.setattr(long, "LONG", 1 << 40)
    assert found == pytest.approx(standard_error(influence, None), rel=1e-13)
    monkeypatch.setattr(long, "LONG", 64)
    assert standard_error(influence * 1e-200, None) == pytest.approx(1e-200 * found, rel=1e-12)


@pytest.mark.parametrize("last", [[2.0, 5.0], [2.0, 5.0, -1.0]], ids=["two", "a third comes late"])
def test_few_values_are_counted(last: list[float]) -> None:
    rng = np.random.default_rng(2)
    values = np.concatenate([rng.choice([2.0, 5.0], 3_000), rng.choice(last, 700)])
    found = long.few_values(values)
    assert found is not None
    expected = np.unique(values, return_counts=True)
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_array_equal(found[1], expected[1])
    assert long.few_values(rng.uniform(size=3_000)) is None
