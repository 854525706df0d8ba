"""The same log gives the same arrays whichever way it comes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kwis.data.log import LoggedBandit
from kwis.data.read.read_log import read_log
from tests.data.read import example as ex

SELECT = "SELECT * FROM decisions"


@pytest.fixture(scope="module")
def table() -> dict[str, np.ndarray]:
    return ex.example()


@pytest.fixture(scope="module")
def reference(table: dict[str, np.ndarray]) -> LoggedBandit:
    return read_log(table, **ex.ROLES)


def assert_same(log: LoggedBandit, reference: LoggedBandit) -> None:
    assert log.action_names == reference.action_names == (1, 2, 3)
    assert (
        log.feature_names
        == reference.feature_names
        == ("age", "age missing", "country", "member", "signup", "hour")
    )
    assert log.categorical == reference.categorical == (1, 2, 3)
    for name in ("action", "group"):
        np.testing.assert_array_equal(getattr(log, name), getattr(reference, name))
    for name in ("reward", "propensity", "context", "time"):
        np.testing.assert_allclose(getattr(log, name), getattr(reference, name), rtol=0, atol=1e-12)


def test_the_arrays_are_what_the_table_says(table: dict[str, np.ndarray], reference: LoggedBandit) -> None:
    np.testing.assert_array_equal(reference.action, table["action"] - 1)
    np.testing.assert_array_equal(reference.reward[:, 0], table["reward"])
    np.testing.assert_array_equal(reference.propensity, table["propensity"])
    filled = np.where(np.isnan(table["age"]), np.nanmedian(table["age"]), table["age"])
    np.testing.assert_allclose(reference.context[:, 0], (filled - filled.mean()) / filled.std(), atol=1e-12)
    np.testing.assert_array_equal(reference.context[:, 1], np.isnan(table["age"]))
    codes = {"DE": 0, "FR": 1, "US": 2, None: 3}
    np.testing.assert_array_equal(reference.context[:, 2], [codes[label] for label in table["country"]])
    np.testing.assert_array_equal(reference.context[:, 3], table["member"])
    days = table["signup"].astype("datetime64[D]").astype(np.float64)
    np.testing.assert_allclose(reference.context[:, 4], (days - days.mean()) / days.std(), atol=1e-9)
    np.testing.assert_array_equal(np.unique(table["user"])[reference.group], table["user"])


@pytest.mark.parametrize(
    "convert", [ex.as_pandas, ex.as_polars, ex.as_arrow], ids=["pandas", "polars", "arrow"]
)
def test_frames_give_the_same_arrays(
    convert: Any, table: dict[str, np.ndarray], reference: LoggedBandit
) -> None:
    assert_same(read_log(convert(table), **ex.ROLES), reference)


def test_a_lazy_frame_is_collected(table: dict[str, np.ndarray], reference: LoggedBandit) -> None:
    assert_same(read_log(ex.as_polars(table).lazy(), **ex.ROLES), reference)


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".jsonl"])
def test_files_give_the_same_arrays(
    suffix: str, table: dict[str, np.ndarray], reference: LoggedBandit, tmp_path: Path
) -> None:
    assert_same(read_log(ex.write_with_duckdb(table, tmp_path / f"log{suffix}"), **ex.ROLES), reference)


def test_a_csv_written_by_pandas_gives_the_same_arrays(
    table: dict[str, np.ndarray], reference: LoggedBandit, tmp_path: Path
) -> None:
    ex.as_pandas(table).to_csv(tmp_path / "log.csv.gz", index=False, na_rep="NA")
    log = read_log(tmp_path / "log.csv.gz", **ex.ROLES)
    assert log.table.column("country").levels == (
        "DE",
        "FR",
        "NA",
        "US",
    )  # a country may be called NA; a number may not
    np.testing.assert_allclose(
        log.context[:, [0, 1, 3, 4, 5]], reference.context[:, [0, 1, 3, 4, 5]], rtol=0, atol=1e-12
    )


@pytest.mark.parametrize("pattern", ["", "*.parquet"], ids=["folder", "pattern"])
def test_a_folder_and_a_pattern_are_read_in_the_order_of_names(
    pattern: str, table: dict[str, np.ndarray], reference: LoggedBandit, tmp_path: Path
) -> None:
    folder = tmp_path / "days [of] March"
    folder.mkdir()
    for part, rows in enumerate(np.array_split(np.arange(ex.N), 3)):
        ex.write_with_duckdb(
            {name: values[rows] for name, values in table.items()}, folder / f"part{part}.parquet"
        )
    source = folder if not pattern else str(tmp_path / "days*" / pattern)
    assert_same(read_log(source, **ex.ROLES), reference)


def test_databases_give_the_same_arrays(
    table: dict[str, np.ndarray], reference: LoggedBandit, tmp_path: Path
) -> None:
    assert_same(
        read_log(ex.write_duckdb(table, tmp_path / "shop.duckdb"), query=SELECT, **ex.ROLES), reference
    )
    assert_same(read_log(ex.write_sqlite(table, tmp_path / "shop.db"), query=SELECT, **ex.ROLES), reference)


def test_open_connections_give_the_same_arrays(
    table: dict[str, np.ndarray], reference: LoggedBandit, tmp_path: Path
) -> None:
    import sqlite3

    import duckdb

    with duckdb.connect(ex.write_duckdb(table, tmp_path / "shop.duckdb")) as connection:
        assert_same(read_log(connection, query=SELECT, **ex.ROLES), reference)
    lite = sqlite3.connect(ex.write_sqlite(table, tmp_path / "shop.db"))
    assert_same(read_log(lite, query=SELECT, **ex.ROLES), reference)
    lite.close()


def test_dsjson_gives_the_same_arrays_and_says_that_costs_were_turned(
    table: dict[str, np.ndarray], reference: LoggedBandit, tmp_path: Path
) -> None:
    log = read_log(ex.write_dsjson(table, tmp_path / "log.dsjson"), group="_user")
    assert_same(log, reference)
    assert log.notes == (
        "costs were turned into rewards by changing their sign",
        "features of the actions (`_multi`) are not used: actions are known by their position",
    )
    assert log.behaviour is not None
    np.testing.assert_allclose(
        log.behaviour, np.column_stack([table[f"p_{k}"] for k in (1, 2, 3)]), atol=1e-12
    )


def test_a_query_over_files_finds_them_as_the_table_log(table: dict[str, np.ndarray], tmp_path: Path) -> None:
    path = ex.write_with_duckdb(table, tmp_path / "log.parquet")
    log = read_log(path, query="SELECT * FROM log WHERE country = 'DE'", **ex.ROLES)
    np.testing.assert_array_equal(log.reward[:, 0], table["reward"][table["country"] == "DE"])
