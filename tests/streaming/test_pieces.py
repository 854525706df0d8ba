"""States that spill, random subsets and largest rows, each against the plain way to do it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from kwis.checks.pareto import pareto_k
from kwis.streaming import largest, states
from kwis.streaming.counts import row_keys
from kwis.streaming.largest import Largest, Spread
from kwis.streaming.rows import Layout, Rows
from kwis.streaming.state_totals import StateTotals
from kwis.streaming.states import States
from kwis.streaming.subset import Subset
from kwis.streaming.sums import Exact
from tests.reference import streaming as twin


def rows(n: int, seed: int = 0) -> Rows:
    rng = np.random.default_rng(seed)
    key = row_keys("rows", 0, n)
    weight = rng.pareto(2.5, (n, 1)) * (rng.uniform(size=(n, 1)) < 0.8)
    return Rows(
        identity=key,
        draw=key,
        number=np.arange(n),
        mass=rng.uniform(0.5, 2, n),
        weight=weight,
        reward=rng.normal(40, 1, (n, 1)),
    )


def state_keys(codes: np.ndarray) -> np.ndarray:
    return np.stack([codes, codes + 7], axis=1).astype(np.uint64)


@pytest.mark.parametrize("normalised", [False, True])
def test_state_wis_and_its_products_are_those_of_the_twin(normalised: bool) -> None:
    some, codes = rows(200), np.random.default_rng(2).integers(0, 30, 200)
    weight = np.where(codes == 3, 0.0, some.weight[:, 0])  # a state that the target never enters
    some = Rows(
        **{name: getattr(some, name) for name in Rows.__slots__ if name != "weight"}, weight=weight[:, None]
    )
    found = States.empty(1, some.reward[0])
    found.add(state_keys(codes), some)
    mass = float(some.mass.sum())
    made = StateTotals.of(found, 1).estimate(0, 0, normalised=normalised, mass=mass, rows=200)
    value, influence = twin.state_influence(
        codes.tolist(), weight.tolist(), some.reward[:, 0].tolist(), some.mass.tolist(), normalised
    )
    assert made.value == pytest.approx(value, rel=1e-13)
    assert made.squares == pytest.approx(np.square(influence).sum(), rel=1e-11)
    terms = Layout(1, 1).terms(some)
    assert made.products == pytest.approx(influence @ terms, rel=1e-9, abs=1e-9 * np.abs(terms).sum())


def test_states_beyond_memory_are_summed_by_duckdb_to_the_same_numbers(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    some, codes = rows(6000), np.random.default_rng(3).integers(0, 2500, 6000)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    def totals(limit: int) -> tuple[States, StateTotals]:
        monkeypatch.setattr(states, "MEMORY_STATES", limit)
        parts = []
        for half in (slice(0, 3500), slice(3500, None)):
            part = States.empty(1, some.reward[0])
            for start in range(half.start, half.stop or 6000, 500):
                pick = slice(start, min(start + 500, half.stop or 6000))
                part.add(state_keys(codes[pick]), some.take(pick))
            parts.append(part)
        whole = parts[0].merge(parts[1])
        return whole, StateTotals.of(whole, 1)

    inside, expected = totals(1 << 20)
    spilled, found = totals(1000)
    assert not inside.spilled
    assert len(spilled.spilled) > 2
    assert (found.count, found.lone) == (expected.count, expected.lone)
    for normalised in (False, True):
        a, b = (one.estimate(0, 0, normalised=normalised, mass=9e3, rows=6000) for one in (found, expected))
        assert (a.value, a.squares, a.effective_n) == pytest.approx(
            (b.value, b.squares, b.effective_n), rel=1e-12
        )
    del spilled, found
    assert not list(tmp_path.iterdir())  # nothing is left behind


def test_a_subset_is_the_same_whatever_the_batches_and_uniform() -> None:
    n, size = 5000, 400
    identity, whole = row_keys("subset", 0, n), pa.table({"row": np.arange(n)})

    def drawn(cuts: list[int], seed: int = 0) -> list[int]:
        parts = [
            Subset.empty(size, seed).add(identity[a:b], whole.slice(a, b - a))
            for a, b in zip([0, *cuts], [*cuts, n], strict=True)
        ]
        found = parts[-1]
        for part in parts[:-1]:
            found = found.merge(part)
        picked: list[int] = found.finished().column("row").to_pylist()
        return picked

    assert drawn([]) == drawn([1, 10, 900, 4000])
    assert len(set(drawn([]))) == size
    assert len(set(drawn([])) & set(drawn([], seed=1))) < 3 * size * size / n
    quarters = np.histogram(drawn([]), bins=4, range=(0, n))[0]
    assert (
        (quarters - size / 4) ** 2 / (size / 4)
    ).sum() < 16.3  # chi-squared with 3 degrees of freedom, 0.1 %


def test_the_tail_index_needs_only_the_largest_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    some = rows(20_000)
    found: Any = Largest.empty(0, 1, 1, largest.tail_rows(20_000))
    for start in range(0, 20_000, 300):
        found = found.add(some.take(slice(start, start + 300)))
    kept = found.finished()
    loads = some.mass * some.weight[:, 0]
    assert kept.n == largest.tail_rows(20_000) < 500
    assert (kept.mass * kept.weight[:, 0]).tolist() == np.sort(loads)[::-1][: kept.n].tolist()
    assert pareto_k(kept.mass * kept.weight[:, 0], int((loads > 0).sum())) == pareto_k(loads)


def test_quantiles_of_buckets_are_within_a_fifth_of_a_percent() -> None:
    some = rows(5000)
    spread = (
        Spread.empty()
        .add(some.weight[:2000, 0], some.mass[:2000])
        .merge(Spread.empty().add(some.weight[2000:, 0], some.mass[2000:]))
    )
    shares = np.array([0.0, 0.1, 0.25, 0.5, 0.9, 0.99, 1.0])
    order = np.argsort(some.weight[:, 0])
    below = np.cumsum(some.mass[order]) / some.mass.sum()
    expected = some.weight[order, 0][np.minimum(np.searchsorted(below, shares), 4999)]
    assert spread.quantiles(shares) == pytest.approx(expected, rel=2e-3)
    assert spread.zero_mass == pytest.approx(some.mass[some.weight[:, 0] == 0].sum())
    assert spread.positive == (some.weight > 0).sum()


def test_sums_of_both_signs_keep_what_a_double_loses() -> None:
    one, other = Exact(np.array([1e16]), np.array([0.0])), Exact(np.array([1.0]), np.array([0.0]))
    whole = one.merge(other).merge(Exact(np.array([-1e16]), np.array([0.0])))
    assert whole.rounded[0] == 1.0
