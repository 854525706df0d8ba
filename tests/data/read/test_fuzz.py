"""Whatever a source holds, reading it ends in a log with finite arrays or in one sentence; never in another
error.
"""

from __future__ import annotations

import csv
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import kwis
from kwis.data.read.read_log import read_log
from kwis.errors import InputError, KwisError, KwisWarning
from kwis.policy.target import resolve_targets
from tests.data.read import example as ex

VALUES: dict[str, st.SearchStrategy[Any]] = {
    "float": st.floats(),
    "chance": st.floats(0, 1),
    "whole": st.integers(-(2**70), 2**70),
    "label": st.integers(0, 2),
    "yes": st.booleans(),
    "text": st.text(max_size=4),
    "word": st.sampled_from(["a", "b", "NA", "", "1", "2024-01-01", "2024-02-31", "inf"]),
    "date": st.dates(),
    "moment": st.datetimes(),
    "gap": st.none(),
    "mix": st.one_of(st.none(), st.integers(), st.floats(), st.text(max_size=3), st.booleans(), st.dates()),
    "list": st.lists(st.floats(0, 1), max_size=3),
}
NAMES = ["action", "reward", "propensity", "p", "p_0", "p_1", "x", "y y", "z\n", "ü"]


SOUND: dict[str, st.SearchStrategy[Any]] = {
    "action": st.integers(0, 1),
    "reward": st.floats(-1e6, 1e6),
    "propensity": st.floats(0.01, 1),
    "p": st.floats(0, 1),
    "x": st.floats(-1e9, 1e9),
}

PREDICTED = read_log({"action": [1, 2, 3] * 12, "reward": [0, 1, 1] * 12}, propensity=1 / 3, context=[])


@st.composite
def feedback(draw: st.DrawFn) -> dict[str, Any]:
    """A feedback dictionary of the Open Bandit Pipeline, one or two of whose entries are something else."""
    n, k = draw(st.sampled_from([0, 1, 35])), 3
    sound: dict[str, Any] = {
        "n_rounds": n,
        "n_actions": k,
        "action": np.arange(n) % k,
        "reward": np.arange(n) % 2,
        "position": np.zeros(n, dtype=int),
        "pscore": np.full(n, 1 / k),
        "context": np.arange(2.0 * n).reshape(n, 2),
        "pi_b": np.full((n, k, 1), 1 / k),
    }
    anything = st.one_of(st.none(), *VALUES.values(), st.lists(VALUES["mix"], min_size=n, max_size=n))
    shapes = st.sampled_from([(n,), (n, 1), (n, k), (n, k, 2), (n + 1,), (0,), ()])
    for name in draw(st.lists(st.sampled_from(sorted(sound)), max_size=2)):
        array = np.full(draw(shapes), draw(st.sampled_from([0, 1, 0.5, -1, np.nan, np.inf, "a"])))
        sound[name] = draw(st.one_of(anything, st.just(array)))
    return sound


@st.composite
def tables(draw: st.DrawFn) -> dict[str, list[Any]]:
    """A sound log, some of whose columns hold something else, and some more columns of anything."""
    n = draw(st.sampled_from([0, 1, 2, 7, 35, 35, 35]))
    kinds = dict(SOUND)
    for name in draw(st.lists(st.sampled_from(NAMES), max_size=4)):
        kinds[name] = VALUES[draw(st.sampled_from(sorted(VALUES)))]
    if draw(st.integers(0, 9)) == 0:
        del kinds[draw(st.sampled_from(sorted(kinds)))]
    return {name: draw(st.lists(kind, min_size=n, max_size=n)) for name, kind in kinds.items()}


@st.composite
def roles(draw: st.DrawFn) -> dict[str, Any]:
    """Roles as they should be, but for one or two."""
    name = st.sampled_from(NAMES)
    anything: dict[str, st.SearchStrategy[Any]] = {
        "action": name,
        "reward": st.lists(name, max_size=2),
        "propensity": st.one_of(name, st.just(["p_0", "p_1"]), st.just({0: "p_0", "1": "p_1"}), st.none()),
        "context": st.one_of(st.none(), st.lists(name, max_size=3)),
        "categorical": st.lists(name, max_size=1),
        "row_weight": name,
        "group": name,
        "time": name,
        "logger": name,
        "actions": st.lists(st.integers(0, 3), max_size=4),
    }
    chosen = draw(st.lists(st.sampled_from(sorted(anything)), max_size=2))
    return {"propensity": "propensity", **{key: draw(anything[key]) for key in chosen}}


def read_or_refuse(source: Any, **arguments: Any) -> None:
    """Read the source, check that what came out is clean, and try a few targets on it; predictions of Vowpal
    Wabbit are a target.
    """
    if isinstance(source, Path) and source.suffix == ".pred":
        try:
            policy = resolve_targets(PREDICTED, kwis.joined(source))[0]
        except KwisError:
            return
        assert ((policy.logged >= 0) & (policy.logged <= 1)).all()
        return
    doors: list[Callable[[], kwis.LoggedBandit]] = [lambda: read_log(source, **arguments)]
    if isinstance(source, Path) and source.suffix == ".parquet":
        doors.append(lambda: kwis.scan_log(source, **arguments).read())
    for read in doors:
        _check_or_refuse(read)


def _check_or_refuse(read: Callable[[], kwis.LoggedBandit]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", KwisWarning)
        try:
            log = read()
        except KwisError:
            return
        assert len(log) > 0
        assert np.isfinite(log.context).all()
        assert np.isfinite(log.reward).all()
        assert log.context.shape[1] == len(log.feature_names) >= 1
        assert set(np.unique(log.action)) <= set(range(log.n_actions))
        if log.propensity is not None:
            assert ((log.propensity > 0) & (log.propensity <= 1)).all()
        assert np.isfinite(log.features()).all()
        assert repr(log)
        for target in ("p", "x", "propensity", log["action"] if "action" in log.table else "action"):
            try:
                policy = resolve_targets(log, target)[0]
            except InputError:
                continue
            assert ((policy.logged >= 0) & (policy.logged <= 1)).all()


def fuzz(examples: int) -> Any:
    # Shrinking a table can take minutes, and the failing one is shown as it is.
    return settings(
        max_examples=examples,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        derandomize=True,
        phases=[Phase.explicit, Phase.generate],
    )


def check_dictionaries_and_frames(table: dict[str, list[Any]], arguments: dict[str, Any]) -> None:
    import pandas as pd

    read_or_refuse(table, **arguments)
    read_or_refuse(
        pd.DataFrame({name: pd.Series(values, dtype=object) for name, values in table.items()}), **arguments
    )


def check_csv(folder: Path, table: dict[str, list[Any]], arguments: dict[str, Any]) -> None:
    path = folder / "fuzz.csv"
    with path.open("w", encoding="utf-8", errors="replace", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(table)
        writer.writerows(zip(*table.values(), strict=True))
    read_or_refuse(path, **arguments)


def check_damaged(path: Path, position: float, byte: int, cut: float, **arguments: Any) -> None:
    """One byte changed and the end cut off."""
    data = bytearray(path.read_bytes())
    data[int(position * (len(data) - 1))] = byte
    broken = path.with_name(f"broken-{path.name}")
    broken.write_bytes(data[: max(1, int(cut * len(data)))])
    read_or_refuse(broken, **arguments)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Path, dict[str, Any]]]:
    folder, table = tmp_path_factory.mktemp("files"), ex.example(60)
    plain = [
        ex.write_with_duckdb(table, folder / f"log{suffix}") for suffix in (".csv", ".parquet", ".jsonl")
    ]
    query = {**ex.ROLES, "query": "SELECT * FROM decisions"}
    return [
        *((path, ex.ROLES) for path in plain),
        (ex.write_dsjson(table, folder / "log.dsjson"), {}),
        (ex.write_sqlite(table, folder / "shop.db"), query),
        (ex.write_duckdb(table, folder / "shop.duckdb"), query),
    ]


DAMAGE = {
    "position": st.floats(0, 1),
    "byte": st.integers(0, 255),
    "cut": st.sampled_from([1.0, 1.0, 0.99, 0.5]),
}


@fuzz(60)
@given(table=tables(), arguments=roles())
def test_any_dictionary_or_frame_is_read_or_refused(
    table: dict[str, list[Any]], arguments: dict[str, Any]
) -> None:
    check_dictionaries_and_frames(table, arguments)


@fuzz(40)
@given(source=feedback())
def test_any_feedback_dictionary_is_read_or_refused(source: dict[str, Any]) -> None:
    read_or_refuse(source)


@fuzz(25)
@given(table=tables(), arguments=roles())
def test_any_csv_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, table: dict[str, list[Any]], arguments: dict[str, Any]
) -> None:
    check_csv(tmp_path_factory.getbasetemp(), table, arguments)


@fuzz(40)
@given(kind=st.integers(0, 4), **DAMAGE)
def test_any_damaged_file_is_read_or_refused(
    files: list[tuple[Path, dict[str, Any]]], kind: int, position: float, byte: int, cut: float
) -> None:
    path, arguments = files[kind]
    check_damaged(path, position, byte, cut, **arguments)


@pytest.mark.slow
@fuzz(1500)
@given(table=tables(), arguments=roles())
def test_many_dictionaries_and_frames_are_read_or_refused(
    table: dict[str, list[Any]], arguments: dict[str, Any]
) -> None:
    check_dictionaries_and_frames(table, arguments)


@pytest.mark.slow
@fuzz(1500)
@given(source=feedback())
def test_many_feedback_dictionaries_are_read_or_refused(source: dict[str, Any]) -> None:
    read_or_refuse(source)


@pytest.mark.slow
@fuzz(500)
@given(table=tables(), arguments=roles())
def test_many_csv_files_are_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, table: dict[str, list[Any]], arguments: dict[str, Any]
) -> None:
    check_csv(tmp_path_factory.getbasetemp(), table, arguments)


@pytest.mark.slow
@fuzz(600)
@given(kind=st.integers(0, 5), **DAMAGE)
def test_many_damaged_files_are_read_or_refused(
    files: list[tuple[Path, dict[str, Any]]], kind: int, position: float, byte: int, cut: float
) -> None:
    path, arguments = files[kind]
    check_damaged(path, position, byte, cut, **arguments)
