"""What describes the actions, in every form that somebody may have it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import kwis
from kwis.errors import InputError
from kwis.policy.action_features import feature_groups

ITEMS = ("ant", "bee", "cod", "dab", "elk")
KINDS = ("insect", "insect", "fish", "fish", "mammal")
LEGS = (6, 6, 0, 0, 4)
EXPECTED = [0, 0, 1, 1, 2]


def log(**more: Any) -> kwis.LoggedBandit:
    rng = np.random.default_rng(0)
    code = np.r_[np.arange(5), rng.integers(0, 5, 60)]
    frame = {
        "x": rng.normal(size=65),
        "item": np.array(ITEMS)[code],
        "kind": np.array(KINDS)[code],
        "legs": np.array(LEGS)[code],
        "slot": rng.integers(1, 3, 65),
        "reward": rng.normal(size=65),
    }
    return kwis.read_log(frame, **{"action": "item", "propensity": 0.2, "context": ["x"], **more})


TABLE = pd.DataFrame({"note": [*"vwxyz"], "kind": KINDS, "item": ITEMS, "legs": LEGS}).iloc[::-1]
FORMS: dict[str, Any] = {
    "a mapping": dict(zip(ITEMS, KINDS, strict=True)),
    "a mapping to several": {item: (kind, 1) for item, kind in zip(ITEMS, KINDS, strict=True)},
    "an array": np.array(KINDS),
    "a matrix": np.column_stack([LEGS, LEGS]),
    "a list of pairs": [*zip(KINDS, LEGS, strict=True)],
    "a column of the log": "kind",
    "columns of the log": "kind, legs",
    "a data frame": TABLE[["item", "kind", "legs"]],
    "an Arrow table": pa.table({"kind": KINDS, "item": ITEMS}),
    "a column with an index": TABLE.set_index("item")["kind"],
    "a column without": pd.Series(KINDS),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_says_the_same(form: str) -> None:
    found = feature_groups(log(), FORMS[form])
    assert found.of_action.tolist() == EXPECTED
    assert found.columns == (("kind", "legs")[: form.count("columns") + 1] if "of the log" in form else ())


@pytest.mark.parametrize("columns", [":kind", ":kind,legs", ": legs"])
@pytest.mark.parametrize("name", ["items.csv", "items.parquet"])
def test_a_file_has_a_row_per_action(name: str, columns: str, tmp_path: Path) -> None:
    path = tmp_path / name
    TABLE.to_csv(path, index=False) if name.endswith("csv") else TABLE.to_parquet(path)
    assert feature_groups(log(), f"{path}{columns}").of_action.tolist() == EXPECTED
    assert feature_groups(log(), path).of_action.tolist() == [0, 1, 2, 3, 4]  # `note` tells them all apart


def test_actions_that_are_numbers_may_be_text_in_a_file(tmp_path: Path) -> None:
    frame = {"action": [1, 2, 3] * 20, "reward": [0.0, 1.0, 0.5] * 20, "x": range(60)}
    numbered = kwis.read_log(frame, propensity=1 / 3, context=["x"])
    path = tmp_path / "items.csv"
    path.write_text("item,kind\n3,a\n1,b\n2,a\nother,b\n")
    assert feature_groups(numbered, path).of_action.tolist() == [0, 1, 1]
    assert feature_groups(numbered, {"1": "b", "2": "a", "3": "a"}).of_action.tolist() == [0, 1, 1]


def test_columns_of_the_log_that_describe_the_action_are_no_context() -> None:
    target = {"new": kwis.distribution(np.full((65, 5), 0.2))}
    found = kwis.evaluate(log(context=["x", "kind"]), target, estimators=["wis"], action_features="kind")
    assert found.settings.context == ("x",)
    assert "not part of the context: `kind`" in found.notes


def test_items_in_several_positions_are_alike_where_the_position_is_the_same() -> None:
    placed = log(position="slot", position_in="action", propensity=0.2)
    groups = dict(zip(placed.action_names, feature_groups(placed, FORMS["a mapping"]).of_action, strict=True))
    assert groups["ant at 1"] == groups["bee at 1"] != groups["ant at 2"]
    assert len(set(groups.values())) == 6


@pytest.mark.parametrize(
    ("features", "message"),
    [
        ({"ant": "red"}, "must name every action of the log, got none for 'bee'"),
        (["red"], "must have one row per action, 5 of them, got 1"),
        ([[{}]] * 5, "must be labels or numbers that can be compared"),
        ([1, 2, 3, float("nan"), 4], "must describe every action, got a gap for 'dab'"),
        ("x", "`x` (action_features) must say the same in all rows of an action, got "),
        ("kind, leg", "must be a column of the log or a file with a row per action, got 'kind, leg'"),
        ("nothing.csv:kind", "must be a column of the log or a file with a row per action, got 'nothing.csv"),
        (TABLE[["item"]], "must have columns that describe the actions, got `item` alone"),
        (TABLE[["kind"]], "must have a column with the actions of the log, such as 'ant'; none of `kind`"),
        (TABLE.iloc[1:][["item", "kind"]], "must have a row for every action of the log, got none for 'elk'"),
        (pd.concat([TABLE, TABLE]), "must have one row per action, got 'elk' twice in `item`"),
        (TABLE.assign(other=TABLE["item"]), "must have one column with the actions, got 'item' and 'other'"),
        (TABLE.assign(kind=["a", None, "b", "a", "b"])[["item", "kind"]], "got a gap for 'dab'"),
    ],
)
def test_wrong_features_are_refused(features: Any, message: str) -> None:
    with pytest.raises(InputError) as caught:
        feature_groups(log(), features)
    assert message in str(caught.value)


def test_a_column_cannot_describe_an_action_that_no_row_took() -> None:
    with pytest.raises(InputError, match="no row of the log has 'fly'; name a file or a mapping"):
        feature_groups(log(actions=[*ITEMS, "fly"], propensity=1 / 6), "kind")


def test_a_column_that_a_file_lacks_is_named_with_the_file(tmp_path: Path) -> None:
    path = tmp_path / "items.csv"
    TABLE.to_csv(path, index=False)
    with pytest.raises(InputError, match=r"a column of '.*items.csv', got 'knd'; did you mean 'kind'"):
        feature_groups(log(), f"{path}:knd")


@pytest.mark.parametrize("form", FORMS)
def test_a_path_is_evaluated_with_every_form(form: str, tmp_path: Path) -> None:
    found = log()
    path = tmp_path / "log.csv"
    pd.DataFrame({name: found[name] for name in found.table.names}).to_csv(path, index=False)
    answer = kwis.evaluate(
        path,
        {"new": kwis.uniform()},
        action="item",
        propensity=0.2,
        context="x",
        estimators=["wis"],
        repair="never",
        action_features=FORMS[form],
    )
    assert any("over 3 values of `action_features`" in note for note in answer.notes)
