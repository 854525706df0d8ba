"""Which logs are read into memory, how much of it that takes, and what becomes of files that differ."""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import kwis
from kwis.data.read import collect
from kwis.runtime.runner import Threads
from tests.contracts.doors import arrow, folder_of
from tests.contracts.logs import shop

ASKED: dict[str, Any] = {"estimators": ["wis"], "interval": kwis.InfluenceInterval()}
ROLES: dict[str, Any] = {"reward": "click", "context": ["age", "country"]}


def test_an_iterator_can_be_evaluated_once() -> None:
    scanned = kwis.scan_log(iter(arrow(shop()).to_batches(50)), **ROLES)
    kwis.evaluate(scanned, "p_new", **ASKED)
    with pytest.raises(kwis.InputError, match=r"Arrow data that is more than an iterator, to be read again$"):
        kwis.evaluate(scanned, "p_new", **ASKED)


def test_a_folder_is_read_in_about_twice_the_memory_of_its_columns(tmp_path: Path) -> None:
    n, rng = 120_000, np.random.default_rng(0)
    columns = {f"x{j}": rng.normal(size=n) for j in range(8)} | {
        "word": np.array(["red", "green", "blue"])[rng.integers(0, 3, n)]
    }
    parquet.write_table(pa.table(columns), tmp_path / "log.parquet", row_group_size=20_000)
    source = kwis.scan_log(tmp_path).source
    parts = source.parts(Threads())  # type: ignore[union-attr]
    collect._table(source, parts[:1], list(columns), Threads())  # type: ignore[arg-type]  # loads what it needs
    tracemalloc.start()
    table = collect._table(source, parts, list(columns), Threads())  # type: ignore[arg-type]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    held = sum(column.values.nbytes for column in table.columns.values())
    assert peak < 2.4 * held


@pytest.fixture
def uneven(tmp_path: Path) -> Path:
    """Files the second of which lacks a column and holds text in another."""
    folder = folder_of(shop(), tmp_path, 3)
    path = folder / "part-1.parquet"
    whole = parquet.read_table(path).drop_columns("spend")
    place = whole.column_names.index("day")
    parquet.write_table(whole.set_column(place, "day", whole.column("day").cast(pa.string())), path)
    return folder


def test_columns_that_files_do_not_share_are_left_out_with_a_note(uneven: Path) -> None:
    answer = kwis.evaluate(kwis.scan_log(uneven, **ROLES), "p_new", **ASKED)
    assert answer.notes[0] == "not in every file, or not of one type, and left out: `spend`, `day`"
    frame = shop().drop(columns=["spend", "day"])
    assert (
        answer.rows[-1].estimate.value
        == kwis.evaluate(kwis.read_log(frame, **ROLES), "p_new", **ASKED).rows[-1].estimate.value
    )


def test_a_column_with_a_role_that_files_do_not_share_is_refused_with_its_file(uneven: Path) -> None:
    path = str(uneven / "part-1.parquet")
    with pytest.raises(kwis.InputError) as caught:
        kwis.evaluate(kwis.scan_log(uneven, **{**ROLES, "reward": "spend"}), "p_new")
    assert str(caught.value) == f"column `spend` is missing from file {path!r}"
    with pytest.raises(
        kwis.InputError, match=r"^`day` must be of one type in all files, got text in .* and number in "
    ):
        kwis.evaluate(kwis.scan_log(uneven, **{**ROLES, "time": "day"}), "p_new")


def test_a_bad_value_is_refused_with_its_row_and_file(tmp_path: Path) -> None:
    frame = shop()
    folder = folder_of(frame, tmp_path, 3)
    path = folder / "part-1.parquet"
    whole = parquet.read_table(path)
    values = [*whole.column("propensity").to_pylist()[:5], 1.5, *whole.column("propensity").to_pylist()[6:]]
    parquet.write_table(
        whole.set_column(whole.column_names.index("propensity"), "propensity", pa.array(values)), path
    )
    with pytest.raises(kwis.InputError) as caught:
        kwis.evaluate(kwis.scan_log(folder, **ROLES), "p_new")
    assert str(caught.value) == f"`propensity` must be in (0, 1], got 1.5 at row 5 of {str(path)!r}"


def test_a_file_without_rows_changes_nothing_and_none_at_all_is_refused(tmp_path: Path) -> None:
    folder = folder_of(shop(), tmp_path, 3)
    before = kwis.evaluate(kwis.scan_log(folder, **ROLES), "p_new", **ASKED)
    parquet.write_table(pa.table({"action": pa.nulls(0)}), folder / "part-0b.parquet")
    after = kwis.evaluate(kwis.scan_log(folder, **ROLES), "p_new", **ASKED)
    assert (after.rows[-1].estimate.value, after.notes) == (before.rows[-1].estimate.value, before.notes)
    for path in folder.iterdir():
        parquet.write_table(parquet.read_table(path).slice(0, 0), path)
    with pytest.raises(kwis.InputError, match=r"^`source` must have rows, got none$"):
        kwis.evaluate(kwis.scan_log(folder, **ROLES), "p_new")
    with pytest.raises(kwis.InputError, match=r"^`log` must have rows, got none$"):
        kwis.evaluate(folder, "p_new")
