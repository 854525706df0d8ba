"""Lines of JSON that are too deep, too long or too many, with and without leaving bad lines out."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

import kwis
from kwis.errors import InputError
from tests.cli.example import columns

ROLES: dict[str, Any] = {"propensity": "propensity", "context": ["age", "country"]}


def lines(odd: str) -> str:
    rows = [
        json.dumps(dict(zip(columns(60), row, strict=True)))
        for row in zip(*columns(60).values(), strict=True)
    ]
    return "\n".join([*rows[:17], odd, *rows[17:]]) + "\n"


def nested(levels: int) -> str:
    return '{"more": ' * levels + "1" + "}" * levels


@pytest.mark.parametrize("levels", [128, 900, 50_000])
def test_a_line_that_is_too_deep_is_named_and_can_be_left_out(levels: int, tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text(lines(nested(levels)))
    sentence = r"objects of at most 127 levels, got more at row 17 \(line 18\);"
    with pytest.raises(InputError, match=sentence):
        kwis.read_log(path, **ROLES)
    with pytest.raises(InputError, match=sentence):
        kwis.scan_log(path, **ROLES).read()
    found = kwis.read_log(path, **ROLES, skip_bad_lines=True)
    assert found.n == 60
    assert "left out, as not JSON: 1 of 61 lines" in found.notes


def test_brackets_in_text_and_side_by_side_are_no_levels(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    row = {name: cells[0] for name, cells in columns(60).items()}
    path.write_text(lines(json.dumps({**row, "more": '{[\\"' * 200, "list": [[1]] * 200})))
    assert kwis.read_log(path, **ROLES).n == 61
    assert kwis.read_log(path, **ROLES, skip_bad_lines=True).n == 61
    path.write_text(lines(nested(127)))
    with pytest.raises(
        InputError, match="`action` must have a label in every row"
    ):  # it is read, and has no action
        kwis.read_log(path, **ROLES)


def test_a_line_that_is_too_long_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kwis.data.read.json_lines.LONGEST", 1000)
    path = tmp_path / "log.jsonl"
    row = {name: cells[0] for name, cells in columns(60).items()}
    frame = len(json.dumps({**row, "more": ""}))
    for size, rows in ((999, 61), (1000, 61), (1001, 60), (1999, 60), (2000, 60), (5000, 60)):
        path.write_text(lines(json.dumps({**row, "more": "x" * (size - frame)})))
        assert kwis.read_log(path, **ROLES, skip_bad_lines=True).n == rows, size
    path.write_text(lines(json.dumps(row) + " " * 1000 + "x"))
    assert kwis.read_log(path, **ROLES, skip_bad_lines=True).n == 60


def test_a_bomb_is_refused_where_bad_lines_are_left_out_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kwis.data.read.limits.FREE_BYTES", 1_000_000)
    path = tmp_path / "log.jsonl.gz"
    for bomb in ('{"action": 1}\n' * 500_000, "x" * 5_000_000):
        path.write_bytes(gzip.compress(lines(bomb).encode()))
        with pytest.raises(InputError, match="must not expand to over 50 times its size"):
            kwis.read_log(path, **ROLES, skip_bad_lines=True)


def test_lists_of_lists_in_a_column_that_nobody_uses_are_no_matter(tmp_path: Path) -> None:
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    table = {**columns(60), "more": [[[1], [2, 3]]] * 60}
    path = tmp_path / "log.parquet"
    parquet.write_table(pa.table(table), path)
    for log in (
        kwis.read_log(path, **ROLES),
        kwis.scan_log(path, **ROLES).read(),
        kwis.read_log(table, **ROLES),
    ):
        assert log.n == 60
    with pytest.raises(InputError, match="`more` holds none of these"):
        kwis.read_log(table, propensity="propensity", context=["more"])
