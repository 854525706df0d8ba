"""Rows with a key: where they stand in the source is of no account."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kwis
from tests.contracts.logs import shop
from tests.contracts.same import worst_gap

N = 200
FRAME = shop(N, seed=4)
ORDER = np.random.default_rng(2).permutation(N)
SHUFFLED = FRAME.iloc[ORDER].reset_index(drop=True)
ROLES: dict[str, Any] = {"reward": "click", "propensity": "told", "context": ["age", "country"]}
OPTIONS: dict[str, Any] = {
    "estimators": ["wis", "normalised-kernel-wis"],
    "interval": kwis.Bootstrap(20),
    "repair": "always",
}


def answer(log: Any, target: Any = "p_new", **more: Any) -> kwis.Evaluation:
    return kwis.evaluate(log, target, **{**ROLES, **OPTIONS, "key": "mark", **more})


def about(evaluation: kwis.Evaluation, order: Any = slice(None)) -> Any:
    """All that an order of rows could move; arrays by row are put in that of the frame."""
    rows = [
        (row.interval, row.verdict, row.estimate.value, row.estimate.influence[order], row.estimate.bandwidth)
        for row in evaluation.rows
    ]
    return rows, evaluation.changes, evaluation.notes, evaluation.weights["p_new"][order]


@pytest.fixture(scope="module")
def expected() -> kwis.Evaluation:
    return answer(FRAME)


def test_an_answer_does_not_depend_on_the_order_of_rows_or_files(
    expected: kwis.Evaluation, tmp_path: Path
) -> None:
    back = np.argsort(ORDER)
    assert worst_gap(about(expected), about(answer(SHUFFLED), back)) <= 1e-10
    for number, rows in enumerate(np.array_split(np.arange(N), 3)):
        SHUFFLED.iloc[rows].to_parquet(tmp_path / f"{number}.parquet")
    assert worst_gap(about(expected), about(answer(tmp_path), back)) <= 1e-10


def test_without_a_key_rows_are_known_by_their_place(expected: kwis.Evaluation) -> None:
    values = [[row.estimate.value for row in answer(log, key=None).rows] for log in (FRAME, SHUFFLED)]
    assert np.abs(np.subtract(*values)).max() > 1e-4


def test_arrays_stay_in_the_order_of_the_log(expected: kwis.Evaluation) -> None:
    by_array = answer(SHUFFLED, kwis.probability(SHUFFLED["p_new"].to_numpy(), name="p_new"))
    np.testing.assert_allclose(by_array.weights["p_new"], expected.weights["p_new"][ORDER], rtol=1e-10)
    for row, other in zip(by_array.rows, expected.rows, strict=True):
        assert row.estimate.value == pytest.approx(other.estimate.value, rel=1e-10)
        np.testing.assert_allclose(row.estimate.leverage, other.estimate.leverage[ORDER], rtol=1e-10)


@pytest.mark.parametrize("key", ["mark", None])
def test_influential_rows_are_named_by_their_number_in_the_source(key: str | None) -> None:
    """Also where rows were left out of it."""
    frame = FRAME.assign(click=FRAME["click"].where(FRAME.index % 3 > 0))
    options = {**ROLES, "key": key, "drop_missing": True, "estimators": "wis", "repair": "never"}
    for one in kwis.evaluate(frame, "p_new", **options).diagnostics["p_new"].weights.influential:
        row = frame.iloc[one.row]
        assert (one.action, one.reward) == (row["action"], row["click"])
        assert one.weight == pytest.approx(row["p_new"] / row["told"])
        assert one.id == (row["mark"] if key else None)


def test_blocks_of_rows_are_in_the_order_of_time() -> None:
    """A cause that lasts for days is seen however the rows of the log are ordered."""
    rng = np.random.default_rng(0)
    n, day = 1000, np.repeat(np.arange(40), 25)
    frame = {"x": rng.normal(size=n), "action": rng.integers(0, 2, n), "moment": np.arange(n), "day": day}
    frame["reward"] = rng.normal(size=40)[day] + rng.normal(size=n)
    mixed = rng.permutation(n)
    asked: dict[str, Any] = {"propensity": 0.5, "context": "x", "estimators": ["wis"], "repair": "never"}
    rows = {}
    for name, order in (("in order", np.arange(n)), ("mixed", mixed)):
        log = {column: values[order] for column, values in frame.items()}
        for interval in ("bootstrap", "block-bootstrap:50"):
            found = kwis.evaluate(log, kwis.always(1), interval=interval, time="moment", **asked)
            rows[name, interval] = found.recommendation().row
    ends = [(row.interval.low, row.interval.high) for row in rows.values()]
    np.testing.assert_allclose(ends[1], ends[3], rtol=1e-10)
    assert np.diff(ends[1]) > 1.5 * np.diff(ends[0])
    assert rows["mixed", "block-bootstrap:50"].interval.method == "block-bootstrap-bca"
    influence = rows["mixed", "block-bootstrap:50"].estimate.influence[np.argsort(mixed)]
    np.testing.assert_allclose(
        influence, rows["in order", "block-bootstrap:50"].estimate.influence, rtol=1e-9
    )


def test_blocks_of_rows_need_a_time_where_the_key_gives_the_order() -> None:
    blocks = {"interval": kwis.Bootstrap(20, method="percentile", block=5), "estimators": "wis"}
    with pytest.raises(kwis.InputError, match="`time` must be named for blocks of rows"):
        answer(FRAME, **blocks)
    several = [answer(log, time="day", **blocks) for log in (FRAME, SHUFFLED)]
    assert several[0].rows[1].interval.low == pytest.approx(several[1].rows[1].interval.low, rel=1e-10)
