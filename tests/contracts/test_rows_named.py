"""An error names the row at fault, whichever door the log came through."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pyarrow import parquet

import kwis
from tests.cli.example import columns, run_with
from tests.contracts.doors import DOORS, MORE_DOORS, Door, in_memory

N, ROW = 400, 217
ROLES = {"propensity": "propensity", "context": ["age", "country"], "group": "user", "row_weight": "mass"}
EVERY = {"in memory": in_memory, **DOORS, **MORE_DOORS}
FAULTS: dict[str, tuple[str, Any]] = {
    "a propensity above 1": ("propensity", 1.5),
    "an infinite reward": ("reward", np.inf),
    "a missing reward": ("reward", np.nan),
    "a target above 1": ("p_new", 1.7),
    "a missing target": ("p_new", np.nan),
    "an action without a label": ("action", None),
    "infinity in the context": ("age", np.inf),
    "a word in the context": ("income", "unknown"),
    "a group without a label": ("user", None),
    "a row weight of 0": ("mass", 0.0),
}


def frame_with(column: str, value: Any) -> pd.DataFrame:
    frame = pd.DataFrame(columns(N))
    frame["user"] = [f"u{i // 2}" for i in range(N)]
    frame["mass"] = 1.0
    frame["age"] = frame["age"].astype(float)
    frame["reward"] = frame["reward"].astype(float)
    frame["income"] = [str(1000 + i) for i in range(N)]
    frame.loc[ROW, column] = value
    return frame if column == "income" else frame.drop(columns="income")


def row_named(sentence: str) -> int:
    """The row that a sentence names, counted from the first row of the log."""
    found = re.search(r"at row (\d+)(?: of '([^']+)')?", sentence)
    assert found is not None, sentence
    row = int(found[1])
    if found[2] is None or not found[2].endswith(".parquet"):
        return row
    path = Path(found[2])
    earlier = [other for other in sorted(path.parent.iterdir()) if other.name < path.name]
    return row + sum(parquet.read_metadata(other).num_rows for other in earlier)


def refusal(enter: Door, frame: pd.DataFrame, roles: dict[str, Any], folder: Path) -> str:
    """What the library says of a log that it refuses."""
    try:
        log, arguments = enter(frame, roles, folder, None)
        kwis.evaluate(log, "p_new", estimators=["wis"], repair="never", **{**arguments, "client": None})
    except kwis.KwisError as refused:
        return str(refused)
    raise AssertionError("the log was not refused")


@pytest.mark.filterwarnings("ignore::kwis.KwisWarning")
@pytest.mark.parametrize("fault", ["a propensity above 1", "a missing target"])
@pytest.mark.parametrize("door", EVERY)
def test_every_door_names_the_row_at_fault(door: str, fault: str, tmp_path: Path) -> None:
    assert row_named(refusal(EVERY[door], frame_with(*FAULTS[fault]), ROLES, tmp_path)) == ROW


@pytest.mark.filterwarnings("ignore::kwis.KwisWarning")
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("door", ["in memory", "three Parquet files", "Arrow batches"])
def test_every_fault_is_named_with_its_row(door: str, fault: str, tmp_path: Path) -> None:
    roles = {**ROLES, "context": ["income"]} if fault == "a word in the context" else ROLES
    assert row_named(refusal(EVERY[door], frame_with(*FAULTS[fault]), roles, tmp_path)) == ROW


@pytest.mark.filterwarnings("ignore::kwis.KwisWarning")
@pytest.mark.parametrize(
    "door", ["in memory", "CSV", "seven Parquet files", "Arrow batches", "a DuckDB query"]
)
def test_rows_that_were_left_out_are_counted(door: str, tmp_path: Path) -> None:
    frame = frame_with("propensity", 1.5)
    frame.loc[[3, 50, 216], "reward"] = np.nan
    assert row_named(refusal(EVERY[door], frame, {**ROLES, "drop_missing": True}, tmp_path)) == ROW


@pytest.mark.parametrize("fault", FAULTS)
def test_the_command_names_it_too(fault: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    frame_with(*FAULTS[fault]).to_csv(tmp_path / "log.csv", index=False)
    context = "income" if fault == "a word in the context" else "age,country"
    options = (
        "--context",
        context,
        "--group",
        "user",
        "--row-weight",
        "mass",
        "--target",
        "p_new",
        "-e",
        "wis",
    )
    ended = run_with(capsys)("evaluate", tmp_path / "log.csv", *options)
    assert ended.code == 2
    assert row_named(ended.err.splitlines()[-1]) == ROW
