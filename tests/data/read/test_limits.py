"""Small files that would fill the memory are refused in a sentence; compressed files and arrays of JSON are
read like any other.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import duckdb
import pytest

import kwis
from kwis.data.read.assemble import LARGEST_REWARD
from kwis.data.read.limits import refuse_cells, refuse_columns, refuse_gzip_expansion
from kwis.data.read.predictions import read_predictions
from kwis.errors import InputError
from tests.cli.example import columns, write_csv


@pytest.mark.parametrize("name", ["log.csv.gz", "log.jsonl.gz", "log.csv.zst", "log.jsonl.zst"])
def test_a_bomb_is_refused(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kwis.data.read.limits.FREE_BYTES", 1_000_000)
    lines = b"action,reward\n" + b"1,0\n" * 2_000_000 if "csv" in name else b'{"a": 1}\n' * 1_000_000
    plain, path = tmp_path / "plain.csv", tmp_path / name
    if name.endswith(".gz"):
        path.write_bytes(gzip.compress(lines))
    else:
        plain.write_bytes(lines)
        zeros = f"read_csv('{plain}', header=false, delim='\x01', quote='', columns={{'l': 'VARCHAR'}})"
        duckdb.sql(
            f"COPY (SELECT l FROM {zeros}) TO '{path}' (FORMAT csv, HEADER false, QUOTE '', DELIMITER "
            f"'\x01', COMPRESSION zstd)"
        )
    with pytest.raises(
        InputError,
        match=r"^`source` must not expand to over 50 times its size, and '.*' does; unpack it first$",
    ):
        kwis.read_log(path)


def test_a_parquet_bomb_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kwis.data.read.limits.FREE_BYTES", 1_000_000)
    path = tmp_path / "log.parquet"
    duckdb.sql(f"COPY (SELECT 1 AS action, 0 AS reward FROM range(3000000)) TO '{path}' (FORMAT parquet)")
    with pytest.raises(
        InputError,
        match=(
            r"^`source` must not expand to over 50 times its size, and '.*' holds 3,000,000 rows of 2 "
            r"columns"
        ),
    ):
        kwis.read_log(path)


def test_too_many_columns_and_too_long_lines_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "log.csv"
    path.write_text(",".join(f"c{i}" for i in range(10_001)) + "\n")
    with pytest.raises(InputError, match=r"^`source` must have at most 10,000 columns, and '.*' has 10,001$"):
        kwis.read_log(path)
    path.write_text("x" * 1_000_001 + ",action\n1,2\n")
    with pytest.raises(
        InputError,
        match=r"^`source` must have lines of at most 1,000,000 bytes, and the first of '.*' is longer$",
    ):
        kwis.read_log(path)
    monkeypatch.setattr("kwis.data.read.limits.FREE_BYTES", 1_000_000)
    path = tmp_path / "log.jsonl"
    path.write_text("".join(f'{{"k{i}": 1}}\n' for i in range(1500)))
    with pytest.raises(
        InputError,
        match=r"holds 1,500 rows of 1,500 columns in [\d,]+ bytes; leave out columns that are nearly empty",
    ):
        kwis.read_log(path)


@pytest.mark.parametrize("packed", ["", ".gz", ".zst"])
@pytest.mark.parametrize("kind", ["csv", "jsonl", "json", "marked.json"])
def test_compressed_files_and_arrays_give_the_same_log(packed: str, kind: str, tmp_path: Path) -> None:
    rows = [dict(zip(columns(60), row, strict=True)) for row in zip(*columns(60).values(), strict=True)]
    text = {
        "csv": write_csv(tmp_path / "plain.csv", columns(60)).read_text(),
        "jsonl": "".join(json.dumps(row) + "\n" for row in rows),
        "json": json.dumps(rows, indent=1),
        "marked.json": "\ufeff" + json.dumps(rows, indent=1),
    }[kind]
    path = tmp_path / f"log.{kind}{packed}"
    if packed == ".zst":
        pa = pytest.importorskip("pyarrow")
        with pa.CompressedOutputStream(str(path), "zstd") as stream:
            stream.write(text.encode())
    else:
        path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    log = kwis.read_log(path, propensity="propensity", context=["age", "country"])
    scanned = kwis.scan_log(path, propensity="propensity", context=["age", "country"]).read()
    assert log.reward[:, 0].tolist() == scanned.reward[:, 0].tolist() == columns(60)["reward"]
    assert log.table.column("age").values.tolist() == columns(60)["age"]


@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_bad_lines_of_a_list_cannot_be_left_out(mark: str, indent: int | None, tmp_path: Path) -> None:
    path = tmp_path / "log.json"
    path.write_text(mark + json.dumps([{"action": 1}, {"action": 2}], indent=indent), encoding="utf-8")
    with pytest.raises(InputError, match=r"and '.*' holds one list: leave it out$"):
        kwis.read_log(path, skip_bad_lines=True)


def test_of_two_lists_one_may_have_a_byte_order_mark(tmp_path: Path) -> None:
    rows = [dict(zip(columns(60), row, strict=True)) for row in zip(*columns(60).values(), strict=True)]
    for name, mark in (("a", "\ufeff"), ("b", "")):
        (tmp_path / f"{name}.json").write_text(mark + json.dumps(rows), encoding="utf-8")
    assert kwis.read_log(tmp_path, propensity="propensity", context=["age", "country"]).n == 120


def test_what_is_just_at_a_limit_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refuse_columns(10_000, "log.csv")
    path = tmp_path / "log.csv"
    path.write_bytes(b"x" * 10)
    most = (200_000_000 + 50 * 10) // 8
    refuse_cells(most // 2, 2, [str(path)])
    with pytest.raises(InputError, match="must not expand"):
        refuse_cells(most + 1, 1, [str(path)])
    packed = tmp_path / "log.csv.gz"
    packed.write_bytes(gzip.compress(b"a,b\n" * 1000))
    monkeypatch.setattr("kwis.data.read.limits.FREE_BYTES", 4000 - 50 * packed.stat().st_size)
    refuse_gzip_expansion(str(packed))
    packed.write_bytes(gzip.compress(b"a,b\n" * 1000 + b"\n"))
    monkeypatch.setattr("kwis.data.read.limits.FREE_BYTES", 4000 - 50 * packed.stat().st_size)
    with pytest.raises(InputError, match="must not expand"):
        refuse_gzip_expansion(str(packed))


def test_rewards_and_predictions_just_at_a_limit_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    largest = {**columns(60), "reward": [LARGEST_REWARD, *columns(60)["reward"][1:]]}
    log = kwis.read_log(largest, propensity="propensity", context=["age"])
    assert log.reward[:, 0].max() == LARGEST_REWARD
    path = tmp_path / "log.pred"
    path.write_bytes(b"0:0.5,1:0.5\n")
    monkeypatch.setattr("kwis.data.read.predictions.LINE_BYTES", 12)
    assert read_predictions(str(path)).shares.shape == (1, 2)
    monkeypatch.setattr("kwis.data.read.predictions.LINE_BYTES", 11)
    with pytest.raises(InputError, match="at most 11 bytes"):
        read_predictions(str(path))
    path.write_text("9999:0.5,1:0.5")
    monkeypatch.setattr("kwis.data.read.predictions.LINE_BYTES", 1000)
    assert read_predictions(str(path)).shares.shape == (1, 10_000)
