"""What is particular to a format: dsjson, feedback dictionaries, CSV dialects, column types of data
frames.
"""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kwis.data.read.read_log import read_log
from kwis.errors import InputError, KwisWarning
from tests.data.read import example as ex

N = 60


def decision(**fields: Any) -> dict[str, Any]:
    """A line of Vowpal Wabbit's log in the form its documentation shows."""
    return {
        "_label_cost": -1.0,
        "_label_probability": 0.7,
        "_label_Action": 2,
        "_labelIndex": 1,
        "Timestamp": "2024-03-28T22:14:05.3030000Z",
        "EventId": "x",
        "a": [2, 1, 3],
        "p": [0.7, 0.2, 0.1],
        "c": {
            "User": {"age": 30, "_id": "u1"},
            "Place": {"country": "FR"},
            "_multi": [{"A": {"id": k}} for k in range(3)],
        },
        **fields,
    }


def write(path: Path, lines: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def decisions(n: int = 40) -> list[dict[str, Any]]:
    other = {
        "_label_Action": 1,
        "_label_probability": 0.2,
        "a": [1, 2, 3],
        "p": [0.2, 0.7, 0.1],
        "_label_cost": 0,
    }
    lines = [decision(**(other if i % 4 == 0 else {})) for i in range(n)]
    for i, line in enumerate(lines):
        line["c"] = {
            **line["c"],
            "User": {"age": 20 + i, "_id": f"u{i % 7}"},
            "Place": {"country": "FR" if i % 3 else "DE"},
        }
    return lines


def test_dsjson_context_is_what_is_shared_and_no_hidden_name(tmp_path: Path) -> None:
    log = read_log(write(tmp_path / "log.dsjson", decisions()), group="User._id")
    assert log.feature_names == ("User.age", "Place.country")
    assert log.action_names == (1, 2, 3)
    np.testing.assert_array_equal(log.reward[:4, 0], [0, 1, 1, 1])
    assert not np.signbit(log.reward).any()
    assert log.group is not None
    assert len(np.unique(log.group)) == 7
    np.testing.assert_allclose(log.behaviour, np.tile([0.2, 0.7, 0.1], (40, 1)))
    assert log.time is not None
    np.testing.assert_allclose(
        log.time, dt.datetime(2024, 3, 28, 22, 14, 5, 303000, tzinfo=dt.UTC).timestamp()
    )


def test_dsjson_lines_without_a_decision_are_left_out_with_a_note(tmp_path: Path) -> None:
    lines = decisions()
    lines.insert(3, {"EventId": "late", "RewardValue": 1.0})
    lines[10]["_skipLearn"] = True
    log = read_log(write(tmp_path / "log.dsjson", lines))
    assert len(log) == 39
    assert log.notes[1] == "2 of 41 lines were left out: they hold no decision, or are marked to be skipped"


def test_dsjson_drop_probabilities_become_row_weights(tmp_path: Path) -> None:
    lines = decisions()
    for i, line in enumerate(lines):
        if i % 2:
            line["pdrop"] = 0.75
    log = read_log(write(tmp_path / "log.dsjson", lines))
    np.testing.assert_allclose(log.row_weight, np.where(np.arange(40) % 2, 4.0, 1.0))


def test_dsjson_lists_of_actions_may_differ_in_length(tmp_path: Path) -> None:
    lines = decisions()
    lines[5].update({"a": [2, 1], "p": [0.7, 0.3]})
    log = read_log(write(tmp_path / "log.dsjson", lines))
    assert log.behaviour is not None
    np.testing.assert_allclose(log.behaviour[5], [0.3, 0.7, 0.0])


def test_dsjson_distributions_that_contradict_the_propensity_are_not_used(tmp_path: Path) -> None:
    lines = decisions()
    lines[5]["_label_probability"] = 0.5
    log = read_log(write(tmp_path / "log.dsjson", lines))
    assert log.behaviour is None
    assert log.propensity is not None
    assert log.propensity[5] == 0.5
    assert (
        log.notes[-1] == "the distributions in `p` do not agree with `_label_probability` and were not used"
    )


def test_dsjson_of_other_kinds_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "slots.dsjson", [{"_outcomes": [], "c": {}} for _ in range(3)])
    with pytest.raises(
        InputError, match=r"must hold one decision per line, and '.*' has several \(`_outcomes`\)$"
    ):
        read_log(path)
    path = write(tmp_path / "plain.dsjson", [{"a": 1} for _ in range(3)])
    with pytest.raises(InputError, match=r"^`source` must be dsjson, and '.*' has no field `_label_cost`$"):
        read_log(path)
    lines = decisions()
    lines[5]["p"] = [0.7]
    with pytest.raises(InputError, match=r"^`a` and `p` must list the same actions.* at row 5$"):
        read_log(write(tmp_path / "log.dsjson", lines))


def feedback(**changes: Any) -> dict[str, Any]:
    rng = np.random.default_rng(3)
    pi_b = rng.dirichlet(np.ones(4), N)
    action = rng.integers(3, size=N)  # action 3 is never taken
    rows = np.arange(N)
    return {
        "n_rounds": N,
        "n_actions": 4,
        "context": rng.normal(size=(N, 3)),
        "action": action,
        "reward": rng.integers(2, size=N),
        "position": None,
        "pscore": pi_b[rows, action],
        "pi_b": pi_b[:, :, None],
        "action_context": np.eye(4),
        "expected_reward": rng.random((N, 4)),
        **changes,
    }


def test_a_feedback_dictionary_needs_no_column_names() -> None:
    given = feedback()
    log = read_log(given)
    assert log.action_names == (0, 1, 2, 3)
    assert log.feature_names == ("context_0", "context_1", "context_2")
    np.testing.assert_array_equal(log.action, given["action"])
    np.testing.assert_array_equal(log.behaviour, given["pi_b"][:, :, 0])
    np.testing.assert_array_equal(log.propensity, given["pscore"])


def test_a_feedback_dictionary_may_lack_distribution_or_propensity() -> None:
    without = feedback()
    del without["pi_b"]
    log = read_log(without)
    assert log.behaviour is None
    np.testing.assert_array_equal(log.propensity, without["pscore"])
    without["pscore"] = None
    assert read_log(without).propensity is None


def test_several_positions_are_context_and_slates_refused() -> None:
    whole = np.random.default_rng(0).dirichlet(np.ones(4), (N, 3)).transpose(0, 2, 1)
    position = np.arange(N) % 3
    log = read_log(feedback(position=position, pi_b=whole))
    assert log.context_columns[-1] == "position"
    np.testing.assert_array_equal(log.position, position)
    np.testing.assert_array_equal(log.behaviour, [whole[i, :, position[i]] for i in range(N)])
    with pytest.raises(
        InputError, match=r"^`action` must have shape \(n,\), got \(60, 2\); slates are not supported$"
    ):
        read_log(feedback(action=np.zeros((N, 2))))


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_csv_separators_and_line_ends_are_recognised(separator: str, tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    rows = [["action", "reward", "the, age"], *([str(i % 2), "0.5", f'"{i}"'] for i in range(40))]
    rows[0][2] = '"the; age"' if separator == ";" else '"the, age"'
    path.write_bytes(b"\xef\xbb\xbf" + "\r\n".join(separator.join(row) for row in rows).encode())
    log = read_log(path, context=rows[0][2].strip('"'))
    assert len(log) == 40
    np.testing.assert_allclose(log[rows[0][2].strip('"')], np.arange(40))


def test_csv_numbers_with_gaps_are_numbers_and_labels_stay_labels(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    body = [
        f"{i % 2},1e-3,{'NA' if i == 3 else i},{'NA' if i % 5 else 'DE'},{i % 9:03d},"
        f"{'true' if i % 3 else 'False'}"
        for i in range(40)
    ]
    path.write_text("\n".join(["action,reward,age,country,code,member", *body]))
    log = read_log(path)
    kinds = {name: column.kind for name, column in log.table.columns.items()}
    assert kinds == {
        "action": "number",
        "reward": "number",
        "age": "number",
        "country": "text",
        "code": "text",
        "member": "boolean",
    }
    assert np.isnan(log["age"][3])
    assert log["country"][:6].tolist() == ["DE", "NA", "NA", "NA", "NA", "DE"]
    assert log["code"][7] == "007"


def test_types_of_pandas_columns_are_understood() -> None:
    import pandas as pd

    n = 40
    frame = pd.DataFrame(
        {
            "action": pd.Categorical(["a", "b"] * 20),
            "reward": pd.array([1, 0] * 20, dtype="Int64"),
            "nullable": pd.array([None, *range(1, n)], dtype="Int64"),
            "real": pd.array([None, *np.linspace(0, 1, n - 1)], dtype="Float64"),
            "yes": pd.array([None, *([True, False, True] * 13)], dtype="boolean"),
            "text": pd.array([None, *(["x", "y", ""] * 13)], dtype="string"),
            "zone": pd.date_range("2024-01-01", periods=n, tz="Europe/Berlin"),
            "span": pd.to_timedelta(np.arange(n), unit="h"),
            "exact": [Decimal(i) / 4 for i in range(n)],
            "day": [dt.date(2024, 1, 1) + dt.timedelta(days=i) for i in range(n)],
            "clock": [dt.time(i % 24, 30) for i in range(n)],
            7: range(n),
        }
    )
    log = read_log(frame)
    kinds = {name: log.table.column(name).kind for name in log.context_columns}
    assert kinds == {
        "nullable": "number",
        "real": "number",
        "yes": "boolean",
        "text": "text",
        "zone": "date",
        "span": "number",
        "exact": "number",
        "day": "date",
        "clock": "number",
    }
    assert log.table.column("zone").values[0] == np.datetime64("2023-12-31T23:00:00")
    assert log["text"][:4].tolist() == [None, "x", "y", None]
    assert log["span"][2] == 7200
    assert log["clock"][1] == 5400
    assert np.isnan(log["nullable"][0])
    assert "7" in log.table  # a counter of rows, so no context


def test_types_of_polars_and_arrow_columns_are_understood() -> None:
    import polars as pl

    n = 40
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(n, 3))
    frame = pl.DataFrame(
        {
            "action": [0, 1] * 20,
            "reward": [True, False] * 20,
            "vector": pl.Series(vectors.tolist(), dtype=pl.Array(pl.Float64, 3)),
            "list": vectors.tolist(),
            "place": [{"country": "DE" if i % 2 else None, "city": {"size": float(i)}} for i in range(n)],
            "exact": pl.Series([Decimal(i) / 4 for i in range(n)]),
            "grade": pl.Series(["low", "high"] * 20, dtype=pl.Enum(["low", "high"])),
            "gaps": [None if i % 5 == 0 else i for i in range(n)],
            "moment": pl.Series(
                [dt.datetime(2024, 1, 1, tzinfo=dt.UTC) + dt.timedelta(hours=i) for i in range(n)]
            ),
            "ragged": [[1.0] * (i % 3) for i in range(n)],
        }
    )
    for source in (frame, frame.to_arrow()):
        log = read_log(source)
        names = (
            "vector_0",
            "vector_1",
            "vector_2",
            "list_0",
            "list_1",
            "list_2",
            "place.country",
            "place.city.size",
            "exact",
            "grade",
        )
        assert log.context_columns == (*names, "gaps", "moment")
        np.testing.assert_array_equal(np.column_stack([log[f"vector_{j}"] for j in range(3)]), vectors)
        np.testing.assert_array_equal(
            read_log(source, context="list").context, read_log(source, context="vector").context
        )
        assert log["place.city.size"][3] == 3
        assert log.reward[:2, 0].tolist() == [1.0, 0.0]
        with pytest.raises(
            InputError,
            match=(
                r"^`context` must name a column of numbers, text, dates or yes/no values, and `ragged` "
                r"holds none"
            ),
        ):
            read_log(source, context="ragged")


def test_types_of_parquet_columns_are_understood(tmp_path: Path) -> None:
    import duckdb

    path = tmp_path / "log.parquet"
    duckdb.sql(f"""
        COPY (SELECT i % 2 AS action, i / 7 AS reward, CAST(i AS DECIMAL(9, 2)) / 4 AS exact,
            CAST(i AS HUGEINT) * 3 AS huge,
            TIME '10:00:00' + INTERVAL (i) MINUTE AS clock,
            TIMESTAMPTZ '2024-01-01 00:00:00+01' + INTERVAL (i) HOUR AS moment,
            [i, 2 * i, 3.5] AS vector, {{'country': 'DE', 'age': i}} AS person,
            MAP {{'a': i}} AS bag, encode('x') AS bytes,
            CAST(uuid() AS UUID) AS id, CASE WHEN i = 3 THEN NULL ELSE i % 2 = 0 END AS yes
        FROM range(40) t(i)) TO '{path}' (FORMAT parquet)
    """)
    log = read_log(path)
    assert log.context_columns == (
        "exact",
        "huge",
        "clock",
        "moment",
        "vector_0",
        "vector_1",
        "vector_2",
        "person.country",
        "yes",
    )
    assert log.table.opaque == ("bag", "bytes")
    assert log["exact"][5] == 1.25
    assert log["clock"][1] == 36_060
    assert log.table.column("moment").values[0] == np.datetime64("2023-12-31T23:00:00")
    assert log.table.column("yes").kind == "boolean"
    assert np.isnan(log["yes"][3])
    assert "id" not in log.context_columns


def test_a_matrix_in_a_dictionary_stands_for_its_columns() -> None:
    rng = np.random.default_rng(0)
    contexts, whole = rng.normal(size=(N, 2)), rng.dirichlet(np.ones(3), N)
    log = read_log(
        {"X": contexts, "a": np.arange(N) % 3, "r": np.ones(N), "p": whole},
        action="a",
        reward="r",
        propensity="p",
        context="X",
    )
    assert log.feature_names == ("X_0", "X_1")
    np.testing.assert_array_equal(log.behaviour, whole)
    np.testing.assert_array_equal(log.propensity, whole[np.arange(N), np.arange(N) % 3])


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2024-01-01", "2024-01-01"),
        ("2024-01-01T00:30Z", "2024-01-01T00:30"),
        ("2024-01-01 00:00:00+09:00", "2023-12-31T15:00"),
        ("2024-01-01T00:00:00.25-0530", "2024-01-01T05:30:00.25"),
    ],
)
def test_dates_as_text_are_dates_in_utc(text: str, moment: str) -> None:
    log = read_log({**ex.example(N), "at": [text] * N}, **{**ex.ROLES, "time": "at"})
    assert (log.table.column("at").values == np.datetime64(moment)).all()


@pytest.mark.parametrize("text", ["2024-02-30", "2024-01-01-05", "2024-01-01 10:00+99:00"])
def test_what_is_no_date_stays_text(text: str) -> None:
    assert read_log({**ex.example(N), "at": [text] * N}, **ex.ROLES).table.column("at").kind == "text"


def test_several_rewards_keep_their_order() -> None:
    table = {**ex.example(N), "revenue": np.arange(N)}
    log = read_log(table, **{**ex.ROLES, "reward": ["revenue", "reward"]})
    assert log.reward_names == ("revenue", "reward")
    np.testing.assert_array_equal(log.reward[:, 0], np.arange(N))
    np.testing.assert_array_equal(log.reward[:, 1], table["reward"])


@pytest.mark.parametrize("name", ["propensity", "pscore"])
def test_a_column_called_propensity_holds_the_propensities_and_a_note_says_so(name: str) -> None:
    table = {name if key == "propensity" else key: values for key, values in ex.example(N).items()}
    log = read_log(table, time="time", group="user")
    np.testing.assert_array_equal(log.propensity, table[name])
    assert log.propensity_place == f"column `{name}` (none was named)"
    assert log.context_columns == ("age", "country", "member", "signup", "hour")


def test_propensities_that_are_not_wanted_are_neither_used_nor_context() -> None:
    log = read_log(ex.example(N), time="time", group="user", propensity=False)
    assert log.propensity is None
    assert "propensity" not in log.context_columns


def test_a_column_that_may_hold_propensities_is_pointed_out() -> None:
    table = {"action_prob" if key == "propensity" else key: values for key, values in ex.example(N).items()}
    with pytest.warns(KwisWarning, match=r"pass propensity='action_prob' to use it$"):
        log = read_log(table, time="time", group="user")
    assert log.propensity is None
    assert "action_prob" not in log.context_columns


def test_a_key_is_no_context_and_must_exist() -> None:
    table = {**ex.example(N), "number": np.random.default_rng(0).permutation(N)}
    assert "number" in read_log(table, time="time", group="user").context_columns
    assert "number" not in read_log(table, time="time", group="user", key="number").context_columns
    with pytest.raises(
        InputError, match=r"^`key` must name a column of the log, got 'numer'; did you mean 'number'\?$"
    ):
        read_log(table, key="numer")


def test_context_that_was_not_named_is_every_other_column_but_policies_and_identifiers() -> None:
    table = {
        **ex.example(N),
        "id": np.array([f"event{i}" for i in range(N)]),
        "row": np.arange(N),
        "p": np.full(N, 0.3),
    }
    log = read_log(table, propensity="propensity", time="time", group="user")
    assert log.context_columns == ("age", "country", "member", "signup", "hour")
    assert log.notes == (
        "no context was named, so it is every other column: age, country, member, signup, hour",
        "left out of the context as policies or identifiers: p_1, p_2, p_3, id, row, p",
    )


def test_what_seems_a_policy_is_no_context_unless_named() -> None:
    table = {
        **ex.example(N),
        "p_other": np.linspace(0.1, 0.9, N),
        "P_flag": np.arange(N) % 2,
        "p_price": np.linspace(1, 9.5, N),
    }
    log = read_log(table, propensity="propensity", time="time", group="user")
    assert "p_other" not in log.context_columns
    assert {"P_flag", "p_price"} <= set(log.context_columns)
    assert read_log(table, **{**ex.ROLES, "context": ["p_other"]}).context_columns == ("p_other",)


def test_no_context_at_all_means_that_all_rows_are_alike() -> None:
    log = read_log(ex.example(N), **{**ex.ROLES, "context": []})
    assert log.context.shape == (N, 1)
    assert not log.context.any()
    assert log.notes == ("no context is left, so all rows count as alike",)
