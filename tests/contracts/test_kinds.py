"""A column is the same kind of column with the same values through every door, whatever its type and however
it is cut.
"""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import kwis
from kwis.data.columns import Column, joined
from kwis.data.table import Table, stacked, table_of

N = 40
DAYS = [dt.datetime(2024, 1, 1 + i % 20, 3, 4, 5) for i in range(N)]


def gaps(values: Any) -> list[Any]:
    return [None if i % 7 == 3 else value for i, value in enumerate(values)]


COLUMNS = {
    "decimals": pa.array(gaps(Decimal(f"{i}.25") for i in range(N)), pa.decimal128(10, 2)),
    "times": pa.array(gaps(dt.time(i % 24, 3) for i in range(N)), pa.time64("us")),
    "moments with a zone": pa.array(gaps(DAYS), pa.timestamp("ms", "Europe/Berlin")),
    "days": pa.array(gaps(day.date() for day in DAYS)),
    "nanoseconds": pa.array(gaps(DAYS), pa.timestamp("ns")),
    "categories": pa.array(gaps(f"c{i % 5}" for i in range(N))).dictionary_encode(),
    "lists": pa.array([[float(i), 2.0] for i in range(N)]),
    "lists of different lengths": pa.array([[1.0] * (1 + i // 30) for i in range(N)]),
    "records": pa.array([{"u": i, "v": {"w": f"x{i % 3}"}} for i in range(N)]),
    "maps": pa.array([[("k", 1)] for _ in range(N)], pa.map_(pa.string(), pa.int64())),
    "huge integers": pa.array([2**63 + i for i in range(N)], pa.uint64()),
    "small integers with gaps": pa.array(gaps(range(N)), pa.int8()),
    "yes or no with gaps": pa.array(gaps(i % 2 == 0 for i in range(N))),
    "nothing": pa.nulls(N),
    "text at the end": pa.array([None] * 30 + ["x", "y"] * 5),
    "yes or no at the end": pa.array([None] * 30 + [True, False] * 5),
    "dates as text": pa.array(gaps(f"2024-01-{1 + i % 20:02}" for i in range(N))),
    "dates as text until the last row": pa.array(
        [f"2024-01-{1 + i % 20:02}" for i in range(N - 1)] + ["never"]
    ),
    "long text": pa.array(gaps(f"t{i % 3}" for i in range(N)), pa.large_string()),
    "single precision": pa.array(gaps(np.linspace(0, 1, N)), pa.float32()),
    "not a number": pa.array([float("nan") if i % 9 == 0 else i + 0.5 for i in range(N)]),
}


def content(table: Table) -> Any:
    columns = {
        name: (column.kind, str(column.values.dtype), column.levels, repr(column.values.tolist()))
        for name, column in table.columns.items()
    }
    return columns, dict(table.blocks), table.opaque


@pytest.mark.parametrize("name", COLUMNS)
def test_a_column_is_the_same_through_every_door(name: str, tmp_path: Path) -> None:
    whole = pa.table(
        {"action": ["a", "b"] * 20, "reward": np.arange(N) / 7, "propensity": [0.5] * N, "x": COLUMNS[name]}
    )
    for number, (start, stop) in enumerate(((0, 13), (13, 30), (30, 40))):
        parquet.write_table(
            whole.slice(start, stop - start), tmp_path / f"{number}.parquet", row_group_size=5
        )
    expected = content(kwis.read_log(whole, context=[]).table)
    doors = (
        kwis.read_log(tmp_path, context=[]),
        kwis.scan_log(tmp_path, context=[]).read(),
        kwis.scan_log(whole.to_batches(7), context=[]).read(),
    )
    for log in doors:
        assert content(log.table) == expected


def test_a_piece_without_values_fits_any_kind() -> None:
    empty, nothing = Column("number", np.full(2, np.nan)), Column("number", np.empty(0))
    for kind, values, levels in (
        ("text", np.array([1, 0, -1]), ("a", "b")),
        ("date", np.array(["2024-01-01", "NaT"], dtype="datetime64[us]"), ()),
        ("boolean", np.array([1.0, 0.0]), ()),
        ("number", np.array([5, 6]), ()),
    ):
        piece = Column(kind, values, levels)  # type: ignore[arg-type]
        whole = joined([empty, piece, nothing])
        assert whole is not None
        assert (whole.kind, whole.levels, len(whole)) == (kind, levels, len(piece) + 2)
        assert whole.missing.tolist() == [True, True, *piece.missing.tolist()]
    assert joined([Column("boolean", np.array([1.0])), Column("number", np.array([3]))]).values.tolist() == [
        1,
        3,
    ]  # type: ignore[union-attr]


def test_levels_of_pieces_are_those_of_the_whole() -> None:
    words = [["b", "d", None], ["a"], ["d", "c", ""]]
    pieces = [table_of([("w", words_of)], piece=True) for words_of in words]
    whole = table_of([("w", [word for piece in words for word in piece])])
    assert content(stacked(pieces)) == content(whole)


def test_pieces_of_different_kinds_are_refused() -> None:
    batches = [pa.table({"action": ["a", "b"], "reward": [1.0, 2.0], "x": x}) for x in ([1, 2], ["u", "v"])]
    with pytest.raises(
        kwis.InputError, match=r"^`x` must be of one type in the whole log, got number and text$"
    ):
        kwis.scan_log(batches).read()
