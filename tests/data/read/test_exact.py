"""Names and labels that must not be taken for each other: long whole numbers, columns called alike; and
moments to the nanosecond.
"""

from __future__ import annotations

import json
import sqlite3
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

import kwis
from kwis.data.columns import column_of_items, joined
from kwis.data.read.arguments import Reading
from kwis.data.read.read_log import read_source
from kwis.errors import InputError
from tests.cli.example import columns, run_with, write_csv, write_parquet

LONG = [10**k + i for k in (18, 19, 25) for i in (1, 2, 3)]
SETS = {
    "19 digits": LONG[:3],
    "20 digits": LONG[3:6],
    "26 digits": LONG[6:],
    "both signs": [-(2**63), 2**63 + 1, 5],
}


def labels(source: Any, **options: Any) -> list[str]:
    return [str(label) for label in read_source(source, Reading(**options)).table.column("user").coded()[1]]


@pytest.mark.parametrize("users", SETS.values(), ids=SETS)
@pytest.mark.parametrize("gap", [False, True])
def test_long_whole_numbers_stay_different(users: list[int], gap: bool, tmp_path: Path) -> None:
    import polars as pl

    expected = sorted(str(user) for user in users)
    items: list[int | None] = [*users, None] if gap else list(users)
    (tmp_path / "log.csv").write_text(
        "user,x\n" + "".join(f"{'' if user is None else user},1\n" for user in items)
    )
    assert sorted(labels(str(tmp_path / "log.csv"))) == expected
    assert sorted(labels({"user": items})) == expected
    assert sorted(labels(pl.DataFrame({"user": pl.Series(items, dtype=pl.Int128)}))) == expected
    query = (
        f"SELECT unnest([{', '.join('NULL' if user is None else f'{user}::HUGEINT' for user in items)}]) AS "
        f"user"
    )
    assert sorted(labels(duckdb.connect(), query=query)) == expected


def test_long_whole_numbers_of_json_stay_different(tmp_path: Path) -> None:
    for name, users in SETS.items():
        path = tmp_path / f"{name}.jsonl"
        path.write_text("".join(f'{{"user": {user}, "x": 1.5}}\n' for user in users))
        assert sorted(labels(str(path))) == sorted(str(user) for user in users), name


def test_text_among_numbers_of_json_is_text_without_its_quotation_marks(tmp_path: Path) -> None:
    rows = ['{"user": "a \\"b\\"", "of": {"x": "w"}}', '{"user": 7, "of": {"x": 4}}', '{"user": null}']
    for name, text in {"lines.jsonl": "\n".join(rows), "array.json": f"[{','.join(rows)}]"}.items():
        (tmp_path / name).write_text(text)
        found = read_source(str(tmp_path / name)).table
        assert found.column("user").natural().tolist() == ['a "b"', "7", None]
        assert found.column("of.x").natural().tolist() == ["w", "4", None]


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_long_whole_numbers_among_the_actions_listed_are_exact(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    long = dict(
        zip(("push", "email", "banner"), (9_007_199_254_740_993_000 + i for i in range(3)), strict=True)
    )
    table = columns(60)
    table["action"] = [long[action] for action in table["action"]]
    path = tmp_path / f"log.{kind}"
    if kind == "jsonl":
        rows = (dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True))
        path.write_text("\n".join(map(json.dumps, rows)))
    else:
        (write_csv if kind == "csv" else write_parquet)(path, table)
    asked = ("evaluate", path, "--context", "age", "--target", "p_new", "-e", "wis", "--no-table")
    assert run_with(capsys)(*asked, "--actions", ",".join(map(str, long.values()))).code == 0
    refused = run_with(capsys)(*asked, "--actions", ",".join(str(label + 1) for label in long.values()))
    assert "must hold only the actions listed" in refused.err


def test_pieces_of_long_whole_numbers_are_joined_exactly() -> None:
    pieces = [column_of_items(LONG[:2]), column_of_items([LONG[2], None])]
    whole = joined(pieces)
    assert whole is not None
    assert sorted(map(str, whole.coded()[1])) == sorted(map(str, LONG[:3]))
    assert column_of_items([Decimal(5), Decimal("2.5")]).kind == "number"


def test_text_of_numpy_is_text() -> None:
    found = read_source({"user": np.array(["b", "a", "b"], dtype=np.dtypes.StringDType())}).table.column(
        "user"
    )
    assert found.natural().tolist() == ["b", "a", "b"]


@pytest.mark.parametrize("twin", ["Country", "country"])
def test_columns_called_alike_are_refused_with_both(twin: str, tmp_path: Path) -> None:
    import pandas as pd
    import pyarrow as pa
    from pyarrow import parquet

    arrow = pa.table([[1, 2], [3, 4]], names=["country", twin])
    parquet.write_table(arrow, tmp_path / "log.parquet")
    (tmp_path / "log.csv").write_text(f"country,{twin}\n1,2\n")
    (tmp_path / "log.jsonl").write_text(f'{{"country": 1, "{twin}": 2}}\n')
    query = {"query": f'SELECT 1 AS country, 2 AS "{twin}"'}
    sources: list[tuple[Any, dict[str, str]]] = [
        (str(tmp_path / f"log.{kind}"), {}) for kind in ("parquet", "csv")
    ]
    sources += [(duckdb.connect(), query), (sqlite3.connect(":memory:"), query), (arrow, {})]
    sources += [(pd.DataFrame([[1, 2]], columns=["country", twin], dtype=float), {})]
    sources += [(str(tmp_path / "log.jsonl"), {})] if twin != "country" else []
    both = "'country' and 'Country'" if twin == "Country" else "'country' twice"
    for source, options in sources:
        with pytest.raises(InputError, match=both):
            read_source(source, Reading(**options))
    with pytest.raises(InputError, match=both):
        kwis.scan_log(tmp_path / "log.parquet")


def test_moments_in_nanoseconds_of_universal_time_are_read(tmp_path: Path) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    ticks = [1_704_067_200_123_456_789, None, 1_704_067_201_000_000_000]
    for zone in (None, "UTC", "Europe/Berlin"):
        path = tmp_path / "log.parquet"
        parquet.write_table(pa.table({"at": pa.array(ticks, pa.timestamp("ns", zone)), "x": [1, 2, 3]}), path)
        found = read_source(str(path)).table.column("at")
        assert found.kind == "date"
        assert [str(moment) for moment in found.values] == [
            "2024-01-01T00:00:00.123456",
            "NaT",
            "2024-01-01T00:00:01.000000",
        ]
