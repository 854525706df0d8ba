"""What somebody says about a log: constants, gaps, spellings, names; the same through every door."""

from __future__ import annotations

import inspect
import json
import sqlite3
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kwis
from kwis.cli.reading import LogOptions
from kwis.data.read.arguments import LogArguments, Reading
from kwis.data.read.source import Roles
from kwis.errors import InputError
from tests.cli.example import columns, write_parquet

N = 60
RNG = np.random.default_rng(5)
TABLE: dict[str, Any] = {
    "action": np.array(["A", "B"])[RNG.integers(2, size=N)],
    "reward": RNG.random(N).round(3),
    "age": RNG.integers(18, 80, size=N),
}


def write(path: Path, table: dict[str, Any]) -> Path:
    rows = zip(*table.values(), strict=True)
    path.write_text("\n".join([",".join(table), *(",".join(map(str, row)) for row in rows)]) + "\n")
    return path


def test_arguments_about_a_log_are_declared_once_and_shown_everywhere() -> None:
    declared = list(LogArguments.__annotations__)
    records = [entry.name for entry in (*fields(Roles), *fields(Reading))]
    assert sorted(declared) == sorted(records)
    for function in (kwis.read_log, kwis.scan_log, kwis.evaluate):
        shown = inspect.signature(function).parameters
        assert set(declared) <= set(shown)
        assert not any(entry.kind is inspect.Parameter.VAR_KEYWORD for entry in shown.values())
        assert all(name in (function.__doc__ or "") for name in declared)
        assert "{log arguments}" not in (function.__doc__ or "")
        call: Any = function
        with pytest.raises(TypeError, match="unexpected keyword argument 'rewrd'"):
            call(TABLE, *(["B"] if function is kwis.evaluate else []), rewrd="x")
    options = {entry.name for entry in fields(LogOptions)}
    assert options - {"source", "estimate_propensity"} == set(declared) - {"allow_external"}


@pytest.mark.parametrize(
    "propensity", [0.5, {"A": 0.5, "B": 0.5}, np.full(N, 0.5), np.full((N, 2), 0.5), [0.5] * N]
)
def test_constant_propensities_are_the_whole_distribution_of_two_actions(propensity: Any) -> None:
    for log in (
        kwis.read_log(TABLE, propensity=propensity, context="age"),
        kwis.scan_log(TABLE, propensity=propensity, context="age").read(),
    ):
        np.testing.assert_array_equal(log.propensity, np.full(N, 0.5))
        np.testing.assert_array_equal(log.behaviour, np.full((N, 2), 0.5))


def test_each_action_can_have_a_propensity_of_its_own() -> None:
    log = kwis.read_log(TABLE, propensity={"A": 0.9, "B": 0.1}, context="age")
    np.testing.assert_array_equal(log.propensity, np.where(TABLE["action"] == "A", 0.9, 0.1))
    third = kwis.read_log({**TABLE, "action": np.arange(N) % 3}, propensity=1 / 3, context="age")
    np.testing.assert_array_equal(third.behaviour, np.full((N, 3), 1 / 3))
    part = kwis.read_log({**TABLE, "action": np.arange(N) % 3}, propensity=0.2, context="age")
    assert part.behaviour is None
    np.testing.assert_array_equal(part.propensity, np.full(N, 0.2))


@pytest.mark.parametrize(
    ("propensity", "sentence"),
    [
        (
            0.7,
            "`propensity` must be 0.5 if both actions have the same, got 0.7; give each its own, such as",
        ),
        (0.0, "`propensity` must be in (0, 1], got 0"),
        ({"A": 0.7, "B": 0.7}, "`propensity` must sum to 1 over the actions, got 1.4"),
        (
            {"A": 1.0, "B": 0.0},
            "propensity of 'B' must be positive where its action was taken, got 0.0 for 'B' at row",
        ),
        (np.full(N - 1, 0.5), "`propensity` must have one entry per row of the log, got 59 for 60 rows"),
        (np.full((N, 3), 1 / 3), "`propensity` must have one column per action, got 3 for 2 actions"),
        (True, "`propensity` must be a column, a number or False, got True"),
    ],
)
def test_impossible_constants_are_refused(propensity: Any, sentence: str) -> None:
    with pytest.raises(InputError) as refused:
        kwis.read_log(TABLE, propensity=propensity, context="age")
    assert str(refused.value).startswith(sentence)


def test_rows_without_a_reward_are_left_out_if_asked_for() -> None:
    reward, shares = TABLE["reward"].copy(), RNG.uniform(0.2, 0.8, N)
    reward[[3, 7]] = np.nan
    table = {**TABLE, "reward": reward}
    with pytest.raises(InputError, match=r"drop_missing=True leaves out rows without a reward$"):
        kwis.read_log(table, context="age")
    log = kwis.read_log(table, context="age", drop_missing=True, propensity=shares)
    kept = np.delete(np.arange(N), [3, 7])
    np.testing.assert_array_equal(log.rows, kept)
    np.testing.assert_array_equal(log.reward[:, 0], reward[kept])
    np.testing.assert_array_equal(log.propensity, shares[kept])
    assert log.notes[0].startswith("2 of 60 rows have no reward and were left out")
    policy = np.where(np.arange(N) % 2, "A", "B")  # one entry for every row of the source
    from kwis.policy.target import resolve_target

    np.testing.assert_array_equal(resolve_target(log, policy).logged, policy[kept] == log["action"])


def test_a_log_without_rewards_can_be_read_for_its_propensities() -> None:
    log = kwis.read_log(TABLE, reward=False, propensity=0.5)
    assert log.reward_names == ()
    assert log.context_columns == ("age",)
    assert kwis.propensity_report(log).verdict.level in ("trust", "with care")


@pytest.mark.parametrize(
    ("spelled", "value"),
    [
        (lambda x: f"{100 * x:.1f}%", None),
        (lambda x: f"€{x:.3f}", None),
        (lambda x: f"{x:.3f}".replace(".", ",") + " EUR", None),
        (lambda x: f"${1000 + x:,.3f}", lambda x: 1000 + x),
        (lambda x: f"{1000 + int(1000 * x):,d} €".replace(",", "."), lambda x: 1000 + (1000 * x).astype(int)),
    ],
    ids=["percent", "euros", "decimal comma", "thousands", "thousands by dots"],
)
@pytest.mark.parametrize("role", ["reward", "context"])
def test_the_error_prints_the_query_that_fixes_how_numbers_are_written(
    spelled: Any, value: Any, role: str, tmp_path: Path
) -> None:
    numbers = RNG.random(N).round(3)
    texts = [f'"{spelled(number)}"' for number in numbers]
    path = write(tmp_path / "log.csv", {**TABLE, "rate": texts})
    roles = {"context": "age", "reward": "rate"} if role == "reward" else {"context": "rate"}
    with pytest.raises(InputError) as refused:
        kwis.read_log(path, **roles)
    query = eval(str(refused.value).partition("query=")[2])  # as a user pastes it
    log = kwis.read_log(path, **roles, query=query)
    np.testing.assert_allclose(log["rate"], numbers if value is None else value(numbers), atol=1.1e-3)


@pytest.mark.parametrize("day", ["%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y"])
@pytest.mark.parametrize("role", ["time", "context"])
def test_the_error_prints_the_query_that_fixes_how_dates_are_written(
    day: str, role: str, tmp_path: Path
) -> None:
    import datetime as dt

    days = [dt.date(2026, 1, 1) + dt.timedelta(days=i) for i in range(N)]
    table = {**TABLE, "day": [one.strftime(day) for one in days]}
    roles = {"context": "day"} if role == "context" else {"context": "age", "time": "day"}
    lite = tmp_path / "log.db"
    with sqlite3.connect(lite) as connection:
        connection.execute("CREATE TABLE log (action, reward, age, day)")
        columns = [np.asarray(values).tolist() for values in table.values()]
        rows = list(zip(*columns, strict=True))
        connection.executemany("INSERT INTO log VALUES (?, ?, ?, ?)", rows)
    connection.close()
    for source in (write(tmp_path / "log.csv", table), lite):
        with pytest.raises(InputError) as refused:
            kwis.read_log(source, **roles)
        query = eval(str(refused.value).partition("query=")[2])  # as a user pastes it
        log = kwis.read_log(source, **roles, query=query)
        np.testing.assert_array_equal(log["day"], np.array(days, dtype="datetime64[us]"))


def test_a_query_runs_on_data_frames_too() -> None:
    import pandas as pd
    import polars as pl

    for frame in (pd.DataFrame(TABLE), pl.DataFrame(TABLE)):
        log = kwis.read_log(frame, context="age", query="SELECT * FROM log WHERE age > 40")
        np.testing.assert_array_equal(log["age"], TABLE["age"][TABLE["age"] > 40])


@pytest.mark.parametrize(
    ("renamed", "sentence"),
    [
        ({"action": "offer"}, "which column is the action? likely: offer (2 values), "),
        ({"reward": "spend"}, "which column is the reward? likely: spend (numbers from "),
    ],
)
def test_a_column_that_nobody_named_is_suggested(renamed: dict[str, str], sentence: str) -> None:
    table = {renamed.get(name, name): values for name, values in TABLE.items()}
    with pytest.raises(InputError) as refused:
        kwis.read_log(table, context="age")
    assert str(refused.value).startswith(sentence.removesuffix(", "))


def test_suggestions_come_from_columns_that_could_be_meant() -> None:
    table = {**TABLE, "rewards_text": ["x", "y"] * (N // 2), "rewarded": TABLE["reward"]}
    with pytest.raises(InputError, match=r"got 'rewards'; did you mean 'reward'\?$"):
        kwis.read_log(table, reward="rewards")
    del table["reward"], table["rewarded"]
    with pytest.raises(
        InputError, match=r"^`reward` must name a column of the log, got 'rewards'; the columns"
    ):
        kwis.read_log(table, reward="rewards")


def decision(i: int) -> dict[str, Any]:
    hour = "morning" if i % 3 else "evening"
    return {
        "_label_cost": -(i % 2),
        "_label_probability": 0.5,
        "_label_Action": 1 + i % 2,
        "_labelIndex": i % 2,
        "a": [1, 2],
        "p": [0.5, 0.5],
        "c": {
            "FromUrl": [{"timeofday": hour, "age": i}],
            "Visits": [{"pages": i}, {"pages": 2 * i}],
            "tags": ["x"] * (i % 3),
            "_multi": [{"item": "a"}, {"item": "b"}],
        },
    }


@pytest.mark.parametrize("name", ["log.json", "events.log", "log.dsjson"])
def test_dsjson_is_recognised_and_its_lists_of_objects_are_context(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text("".join(json.dumps(decision(i)) + "\n" for i in range(N)))
    log = kwis.read_log(path)
    assert log.context_columns == ("FromUrl.timeofday", "FromUrl.age", "Visits.0.pages", "Visits.1.pages")
    np.testing.assert_array_equal(log["Visits.1.pages"], 2 * np.arange(N))
    np.testing.assert_array_equal(log.reward[:, 0], np.arange(N) % 2)
    assert any(note.endswith("nor objects of these: tags") for note in log.notes)
    assert any("`_multi`" in note for note in log.notes)


@pytest.mark.parametrize("kind", ["dsjson", "json"])
def test_bad_lines_are_refused_with_the_line_or_counted(kind: str, tmp_path: Path) -> None:
    rows = [{"action": "A" if i % 2 else "B", "reward": i % 3, "age": i} for i in range(N)]
    entries = [decision(i) for i in range(N)] if kind == "dsjson" else rows
    lines = [json.dumps(entry) for entry in entries]
    path = tmp_path / "log.jsonl"
    path.write_text("\n".join([*lines[:4], '{"_label_cost": -1, "_lab', "[3]", *lines[4:]]))
    with pytest.raises(
        InputError, match=r"at row 4 \(line 5\): .*_lab'; skip_bad_lines=True leaves such lines out$"
    ):
        kwis.read_log(path)
    log = kwis.read_log(path, skip_bad_lines=True)
    assert log.n == N
    assert "left out, as not JSON: 2 of 62 lines" in log.notes
    assert kwis.scan_log(path, skip_bad_lines=True).read().n == N
    with pytest.raises(InputError, match=r"^`skip_bad_lines` must go with JSON, got csv$"):
        kwis.read_log(write(tmp_path / "log.csv", TABLE), skip_bad_lines=True)


def test_arrays_of_json_are_logs(tmp_path: Path) -> None:
    rows = [
        dict(zip(TABLE, (value.item() for value in row), strict=True))
        for row in zip(*TABLE.values(), strict=True)
    ]
    for indent in (None, 1):
        path = tmp_path / "log.json"
        path.write_text(json.dumps(rows, indent=indent))
        np.testing.assert_array_equal(kwis.read_log(path, context="age")["age"], TABLE["age"])


def test_the_logger_that_acted_must_have_had_a_chance() -> None:
    table = {
        "action": ["a", "b"] * 30,
        "reward": [0.0, 1.0] * 30,
        "who": ["old", "new"] * 30,
        "p_old": [0.5] * 60,
        "p_new": [0.0, 0.4] * 30,  # what the other logger might have done may have no chance
    }
    said: dict[str, Any] = {"logger": "who", "propensity": {"old": "p_old", "new": "p_new"}, "context": []}
    assert kwis.read_log(table, **said).n == 60
    table["p_new"][5] = 0.0
    with pytest.raises(InputError, match=r"positive for the logger that acted, got 0\.0 for 'new' at row 5$"):
        kwis.read_log(table, **said)


def test_a_scanned_log_says_what_it_scans(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write_parquet(tmp_path / f"{name}.parquet", columns(60))
    said = repr(kwis.scan_log(tmp_path, propensity="propensity", context=["age"]))
    assert said.startswith("ScannedLog: 120 decisions in 2 files, columns action, reward, propensity, age")
