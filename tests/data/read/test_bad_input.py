"""Each way a source can be broken gets one sentence with the column and the row; no other library's error
comes through.
"""

from __future__ import annotations

import ast
import re
import sqlite3
import warnings
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

import kwis
from kwis.data.read.read_log import read_log
from kwis.errors import InputError, KwisWarning
from tests.data.read import example as ex

N = 60


@pytest.fixture
def table() -> dict[str, Any]:
    return ex.example(N)


def refused(sentence: str, source: Any, **roles: Any) -> None:
    """The source is refused with exactly this sentence."""
    with pytest.raises(InputError) as caught:
        read_log(source, **{**ex.ROLES, **roles})
    assert str(caught.value) == sentence
    assert "\n" not in sentence


def lines(*rows: str) -> str:
    return "\n".join(rows) + "\n"


def csv_rows(n: int = 40) -> list[str]:
    return ["action,reward,propensity,age"] + [f"{i % 3},{i % 2},0.25,{20 + i}" for i in range(n)]


CSV = {"context": "age", "group": None, "time": None}


@pytest.mark.parametrize("context", [False, 5])
def test_a_context_that_is_no_column_is_refused(table: dict[str, Any], context: Any) -> None:
    refused(f"`context` must be column names, got {context!r}", table, context=context)


def test_a_missing_column_is_named_with_the_nearest_one(table: dict[str, Any]) -> None:
    refused(
        "`action` must name a column of the log, got 'acton'; did you mean 'action'?", table, action="acton"
    )
    refused(
        "`context` must name a column of the log, got 'Country'; did you mean 'country'?",
        table,
        context=["age", "Country"],
    )
    refused(
        "`propensity` must name a column of the log, got 'propensty'; did you mean 'propensity'?",
        table,
        propensity="propensty",
    )
    known = "action, reward, propensity, age, country, member, signup, hour, ..."
    refused(
        f"`reward` must name a column of the log, got 'zzz'; the columns are {known}", table, reward="zzz"
    )
    refused("`group` must be a column name, got 3", table, group=3)
    refused("`reward` must name at least one column, got none", table, reward=[])


def test_a_path_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    path = str(tmp_path / "nowhere.csv")
    refused(
        f"`source` must be a file, a folder or a pattern that matches files, and {path!r} does not exist",
        path,
    )
    folder = str(tmp_path)
    refused(
        f"`source` must be a file, a folder or a pattern that matches files, and {folder!r} has no CSV, "
        f"Parquet or JSON file in it",
        folder,
    )


@pytest.mark.parametrize("name", ["log.csv", "log.parquet", "log.jsonl", "log.dsjson"])
def test_an_empty_file_is_refused(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.touch()
    refused(f"`source` must have rows, and {str(path)!r} is empty", path)


def test_a_csv_with_a_header_alone_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text(csv_rows(0)[0] + "\n")
    refused("`source` must have rows, got none", path, **CSV)


def test_a_frame_without_rows_is_refused(table: dict[str, Any]) -> None:
    empty = {name: values[:0] for name, values in table.items()}
    refused("`source` must have rows, got none", empty)
    refused("`source` must have rows, got none", ex.as_pandas(empty))


def test_a_truncated_parquet_file_is_refused(table: dict[str, Any], tmp_path: Path) -> None:
    path = ex.write_with_duckdb(table, tmp_path / "log.parquet")
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(
        InputError, match=rf"^cannot read {re.escape(repr(str(path)))}: [^\n]*Parquet|parquet[^\n]*$"
    ) as caught:
        read_log(path, **ex.ROLES)
    assert "\n" not in str(caught.value)


def test_something_that_is_no_parquet_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "log.parquet"
    path.write_text("certainly not parquet, but long enough to be one")
    with pytest.raises(InputError, match=r"^cannot read '.*log\.parquet': [^\n]+$"):
        read_log(path, **ex.ROLES)


@pytest.mark.parametrize(
    ("cells", "problem"), [("1,0,0.25", "too few cells"), ("1,0,0.25,30,31", "too many cells")]
)
def test_a_ragged_row_is_refused(cells: str, problem: str, tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    rows = csv_rows()
    rows[18] = cells
    path.write_text(lines(*rows))
    refused(f"{str(path)!r} must have 4 cells in every row, got {problem} at row 17 (line 19)", path, **CSV)


def test_ragged_rows_are_never_taken_for_another_separator(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text(lines("action,reward,propensity,age", *(f"{i % 3},{i % 2},0.25,30,9" for i in range(40))))
    refused(
        f"{str(path)!r} must have 4 cells in every row, got too many cells at row 0 (line 2)", path, **CSV
    )


def test_an_open_quotation_mark_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    rows = csv_rows()
    rows[3] = '1,0,0.25,"30'
    path.write_text(lines(*rows))
    problem = "a quotation mark that is never closed or closed too early"
    refused(f"{str(path)!r} must have 4 cells in every row, got {problem} at row 2 (line 4)", path, **CSV)


def test_text_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    rows = csv_rows()
    rows[18] = "1,0,0.25,café"
    path.write_bytes(lines(*rows).encode("latin-1"))
    remedy = "save it as UTF-8 (in Excel: CSV UTF-8; from Latin-1: iconv -f latin1 -t utf-8 OLD > NEW)"
    refused(
        f"{str(path)!r} must be text in UTF-8, got other bytes at row 17 (line 19); {remedy}", path, **CSV
    )
    path.write_bytes(lines(*rows).encode("utf-16"))
    refused(f"`source` must be text in UTF-8, and {str(path)!r} is not; {remedy}", path, **CSV)


def test_broken_json_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text('{"action": 1, "reward": 0}\n{"action": 2, reward}\n')
    sentence = (
        f"{str(path)!r} must hold one JSON object per line, got something else at row 1 (line 2): "
        "'{\"action\": 2, reward}'; skip_bad_lines=True leaves such lines out"
    )
    refused(sentence, path)
    refused(sentence, path, format="dsjson")


def test_text_where_numbers_belong_is_refused(table: dict[str, Any], tmp_path: Path) -> None:
    reward = table["reward"].astype(object)
    reward[17] = "high"
    refused("`reward` must hold numbers, got 'high' at row 17", {**table, "reward": reward})
    refused(
        "`country` (reward) must hold numbers, got 'US' at row 0",
        {**table, "country": np.array(["US"] * N)},
        reward="country",
        context="age",
    )
    refused("`signup` (propensity) must hold numbers, got dates", table, propensity="signup", context="age")
    path = tmp_path / "log.csv"
    rows = csv_rows()
    rows[18] = "1,0,often,30"
    path.write_text(lines(*rows))
    refused("`propensity` must hold numbers, got 'often' at row 17", path, **CSV)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_reward_that_is_not_finite_is_refused(value: float, table: dict[str, Any]) -> None:
    table["reward"][17] = value
    way_out = "; drop_missing=True leaves out rows without a reward" if np.isnan(value) else ""
    refused(f"`reward` must be finite, got {value} at row 17{way_out}", table)
    refused(f"`reward` must be finite, got {value} at row 17{way_out}", ex.as_pandas(table))


@pytest.mark.parametrize("value", [0.0, -0.25, 1.5])
def test_a_propensity_outside_its_range_is_refused(value: float, table: dict[str, Any]) -> None:
    table["propensity"][17] = value
    refused(f"`propensity` must be in (0, 1], got {value} at row 17", table)
    renamed = {**table, "pscore": table["propensity"]}
    refused(f"`pscore` (propensity) must be in (0, 1], got {value} at row 17", renamed, propensity="pscore")


def test_a_behaviour_distribution_must_sum_to_one(table: dict[str, Any]) -> None:
    table["p_2"][17] += 0.1
    sentence = "`propensity` must be a distribution that sums to 1 over the actions, got 1.1 at row 17"
    refused(sentence, table, propensity=["p_1", "p_2", "p_3"])
    refused(sentence, table, propensity={1: "p_1", 2: "p_2", 3: "p_3"})
    refused(sentence, table, propensity="p")


def test_a_behaviour_distribution_must_allow_what_was_done(table: dict[str, Any]) -> None:
    table["p_1"], table["p_2"], table["p_3"] = np.zeros(N), np.ones(N), np.zeros(N)
    row = int(np.argmax(table["action"] != 2))
    action = int(table["action"][row])
    sentence = (
        f"`p_{action}` (propensity) must be positive where its action was taken, got 0.0 for {action} at row "
        f"{row}"
    )
    refused(sentence, table, propensity="p")


def test_a_behaviour_must_know_every_action_and_no_other(table: dict[str, Any]) -> None:
    refused(
        "`propensity` must have a column for every action of the log, got none for 3",
        table,
        propensity={1: "p_1", 2: "p_2"},
    )
    refused(
        "`propensity` must have one column per action (1, 2, 3), got 2 for 3 actions",
        table,
        propensity=["p_1", "p_2"],
    )
    unknown = {1: "p_1", 2: "p_2", 3: "p_3", 4: "p_1"}
    remedy = "the log has 1, 2, 3; if it exists, say so with read_log(actions=[...])"
    refused(
        f"`propensity` must know only actions of the log, got 4, which no row took; {remedy}",
        table,
        propensity=unknown,
    )


def test_an_action_that_was_not_listed_is_refused(table: dict[str, Any]) -> None:
    row = int(np.argmax(table["action"] == 3))
    refused(f"`action` must hold only the actions listed, got 3 at row {row}", table, actions=[1, 2])
    refused("`actions` must list each action once", table, actions=[1, 2, 3, 3])


def test_a_missing_action_is_refused(table: dict[str, Any]) -> None:
    action = table["action"].astype(object)
    action[17] = None
    refused("`action` must have a label in every row, got none at row 17", {**table, "action": action})
    refused(
        "`action` must have a label in every row, got no value in any row",
        {**table, "action": np.full(N, np.nan)},
    )


@pytest.mark.parametrize("kind", ["text", "numbers", "polars numbers", "sqlite"])
def test_rows_without_an_action_are_left_out_by_the_query_offered(kind: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    action = rng.integers(0, 2, 40).astype(object if kind in ("text", "sqlite") else float)
    action[[4, 9]] = None if action.dtype == object else np.nan
    columns = {"age": rng.normal(size=40), "reward": rng.random(40), "p": np.full(40, 0.5)}
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({**columns, "Angebot": action})
    source: Any = frame
    if kind == "text":
        frame["Angebot"] = [None if value is None else f"a{value}" for value in action]
    if kind == "polars numbers":  # a NaN stays one
        source = pytest.importorskip("polars").DataFrame({**columns, "Angebot": action})
    roles = {"action": "Angebot", "propensity": "p", "context": ["age"]}
    if kind == "sqlite":
        source = sqlite3.connect(tmp_path / "log.db")
        frame.to_sql("log", source, index=False)
        roles["query"] = "SELECT * FROM log"
    with pytest.raises(InputError) as caught:
        kwis.read_log(source, **roles)
    said, _, query = str(caught.value).partition("; to leave out such rows pass query=")
    assert said == "`Angebot` (action) must have a label in every row, got none at row 4 and in 1 more"
    roles["query"] = ast.literal_eval(query)
    assert len(kwis.read_log(source, **roles)) == 38


def test_one_action_only_is_refused(table: dict[str, Any]) -> None:
    one = np.full(N, "banner")
    refused("`action` must have at least two different actions, got only 'banner'", {**table, "action": one})


def test_a_column_without_values_is_refused_where_values_are_needed(table: dict[str, Any]) -> None:
    nothing = {**table, "empty": np.full(N, np.nan)}
    refused("`empty` (reward) must hold numbers, got no value in any row", nothing, reward="empty")
    refused("`empty` (propensity) must hold numbers, got no value in any row", nothing, propensity="empty")


def test_a_context_column_without_values_is_left_out_with_a_note(table: dict[str, Any]) -> None:
    log = read_log(
        {**table, "empty": np.full(N, np.nan), "same": np.ones(N)},
        **{**ex.ROLES, "context": ["age", "empty", "same"]},
    )
    assert log.feature_names == ("age", "age missing")
    assert log.notes == (
        "`same` was left out of the context: the same in every row",
        "`empty` was left out of the context: no values at all",
    )


def test_fewer_than_thirty_rows_are_read_with_a_warning() -> None:
    with pytest.warns(KwisWarning, match=r"^the log has only 29 rows; below 30 intervals mean little$"):
        log = read_log(ex.example(29), **ex.ROLES)
    assert len(log) == 29
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read_log(ex.example(30), **ex.ROLES)


def test_equal_rewards_are_fine(table: dict[str, Any]) -> None:
    assert (read_log({**table, "reward": np.ones(N)}, **ex.ROLES).reward == 1).all()


def test_duplicate_column_names_are_refused(table: dict[str, Any], tmp_path: Path) -> None:
    import pandas as pd
    import pyarrow as pa

    twice = pd.concat([ex.as_pandas(table), ex.as_pandas(table)[["age"]]], axis=1)
    refused("column names must be unique, got 'age' twice", twice)
    arrow = ex.as_arrow(table)
    refused(
        "column names must be unique, got 'age' twice", arrow.append_column("age", pa.array(table["age"]))
    )
    path = tmp_path / "log.csv"
    path.write_text(lines("action,reward,action", *("1,2,3" for _ in range(40))))
    refused(f"column names must be unique, got 'action' twice in {str(path)!r}", path)
    database = ex.write_duckdb(table, tmp_path / "shop.duckdb")
    refused("column names must be unique, got 'age' twice", database, query="SELECT *, age FROM decisions")
    lite = ex.write_sqlite(table, tmp_path / "shop.db")
    refused("column names must be unique, got 'age' twice", lite, query="SELECT *, age FROM decisions")


def test_a_failing_query_is_refused(table: dict[str, Any], tmp_path: Path) -> None:
    database = ex.write_duckdb(table, tmp_path / "shop.duckdb")
    with pytest.raises(InputError, match=r"^`query` failed: [^\n]*nowhere[^\n]*$"):
        read_log(database, query="SELECT * FROM nowhere")
    with pytest.raises(InputError, match=r"^`query` failed: syntax error[^\n]*$"):
        read_log(database, query="SELEC * FROM decisions")
    with pytest.raises(InputError, match=r"^`query` failed: [^\n]+$"):
        read_log(database, query="SELECT *, CAST(country AS DOUBLE) AS x FROM decisions")
    refused("`query` must be a SELECT, and only one, got ''", database, query="")
    lite = ex.write_sqlite(table, tmp_path / "shop.db")
    refused("`query` failed: no such table: nowhere", lite, query="SELECT * FROM nowhere")
    refused("`query` failed: You can only execute one statement at a time", lite, query="SELECT 1; SELECT 2")


def test_a_database_of_several_tables_needs_a_query_and_names_them(
    table: dict[str, Any], tmp_path: Path
) -> None:
    sentence = (
        "`query` must be given to read from a database, such as 'SELECT * FROM decisions'; its tables are "
        "decisions, users"
    )
    database, lite = ex.write_duckdb(table, tmp_path / "shop.duckdb"), tmp_path / "shop.db"
    with duckdb.connect(database) as connection:
        connection.execute("CREATE TABLE users (id INTEGER)")
    refused(sentence, database)
    with sqlite3.connect(ex.write_sqlite(table, lite)) as other:
        other.execute("CREATE TABLE users (id INTEGER PRIMARY KEY AUTOINCREMENT)")
    other.close()
    refused(sentence, lite)


def test_a_database_is_never_written_to(table: dict[str, Any], tmp_path: Path) -> None:
    database, lite = (
        ex.write_duckdb(table, tmp_path / "shop.duckdb"),
        ex.write_sqlite(table, tmp_path / "shop.db"),
    )
    for path in (database, lite):
        with pytest.raises(InputError, match=r"^`query` must be a SELECT, and only one, got [^\n]*$"):
            read_log(path, query="DELETE FROM decisions")
    with duckdb.connect(database, read_only=True) as connection:
        assert connection.execute("SELECT count(*) FROM decisions").fetchall() == [(N,)]
    check = sqlite3.connect(lite)
    assert check.execute("SELECT count(*) FROM decisions").fetchall() == [(N,)]
    check.close()


def test_a_file_of_unknown_kind_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "log.xlsx"
    path.write_text("x")
    known = ".csv, .tsv, .parquet, .pq, .jsonl, .ndjson, .json, .dsjson"
    refused(f"`format` must be given for {str(path)!r}, whose name ends with none of {known}", path)
    refused(
        "`format` must be one of csv, parquet, json, dsjson, duckdb, sqlite, obp, got 'excel'",
        path,
        format="excel",
    )


def test_something_that_is_no_table_is_refused() -> None:
    kinds = "a path, a data frame, an Arrow table or a dictionary of arrays"
    refused(f"`source` must be {kinds}, got builtins.int", 3)
    refused(f"`source` must be {kinds}, got builtins.list", [1, 2])
    sample = kwis.sample_log(10)
    refused(f"`source` must be {kinds}, got kwis.SampleLog, which has one: pass its `table`", sample)
    refused("`source` must hold one entry per row, got a single value for 'action'", {"action": 1})


def test_columns_of_different_lengths_are_refused(table: dict[str, Any]) -> None:
    refused(
        "columns must have the same length, got 60 for `action` and 59 for `age`",
        {**table, "age": table["age"][1:]},
    )


def test_an_infinite_context_is_refused(table: dict[str, Any]) -> None:
    table["age"][17] = np.inf
    refused("`age` (context) must be finite, got inf at row 17", table)


def test_context_must_leave_out_what_was_done_and_what_came_of_it(table: dict[str, Any]) -> None:
    for name in ("action", "reward", "propensity"):
        refused(
            f"`context` must leave out actions, rewards and propensities, got `{name}`",
            table,
            context=["age", name],
        )


def test_row_weights_groups_and_times_are_checked(table: dict[str, Any]) -> None:
    weights = np.ones(N)
    weights[17] = 0.0
    refused(
        "`weight` (row_weight) must be positive, got 0.0 at row 17",
        {**table, "weight": weights},
        row_weight="weight",
    )
    country = table["country"].copy()
    country[17] = None
    country[:17] = "DE"
    others = sum(value is None for value in country) - 1
    refused(
        f"`country` (group) must have a label in every row, got none at row 17 and in {others} more",
        {**table, "country": country},
        group="country",
    )
    time = table["time"].copy()
    time[17] = np.datetime64("NaT")
    refused("`time` must have a value in every row, got none at row 17", {**table, "time": time})


def test_two_hundred_columns_are_fine(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    names = [f"x{j}" for j in range(200)]
    table = {**ex.example(N), **{name: rng.normal(size=N) for name in names}}
    log = read_log(ex.write_with_duckdb(table, tmp_path / "wide.csv"), **{**ex.ROLES, "context": names})
    assert log.context.shape == (N, 200)
    np.testing.assert_allclose(log.context.std(axis=0), 1)


def test_ten_thousand_categories_are_pooled_with_a_warning() -> None:
    rng = np.random.default_rng(0)
    n = 20_000
    page = np.where(rng.random(n) < 0.5, rng.integers(50, size=n), rng.integers(20_000, size=n))
    table = {**ex.example(n), "page": np.array([f"/page/{i}" for i in page], dtype=object)}
    levels = len(np.unique(page))
    assert levels > 7_500
    with pytest.warns(
        KwisWarning,
        match=(
            rf"^`page` has {levels} different values; the 100 most frequent are kept and the others count "
            rf"as one$"
        ),
    ):
        log = read_log(table, **{**ex.ROLES, "context": ["page"]})
    codes = log.context[:, 0]
    assert len(np.unique(codes)) == 101
    assert log.encoding.features[0].levels[-1] == "(other)"
    frequent = page == 7
    assert len(np.unique(codes[frequent])) == 1
    assert codes[frequent][0] != 100
    assert log.features().shape == (n, 20)
