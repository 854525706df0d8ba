"""Peak memory of every reader, measured in a process of its own: at most 4 times its input and 500 MB; and
small files that would take far more are refused in a sentence, within the same bound.
"""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import duckdb
import numpy as np
import pytest

ROWS = 60_000
UNPACKED = 400_000_000
WORK = """
import resource, sys, warnings
warnings.simplefilter("ignore")
import kwis
options = {} if "dsjson" in sys.argv[1] else {"reward": "reward"}
if sys.argv[1].endswith(("sqlite", "duckdb")):
    options["query"] = "SELECT * FROM log"
try:
    print(len(kwis.read_log(sys.argv[1], **options)))
except kwis.KwisError as refusal:
    print(refusal)
if sys.platform == "linux":  # where the peak of getrusage starts with that of whoever started the process
    print(next(1024 * int(line.split()[1]) for line in open("/proc/self/status") if "VmHWM" in line))
else:
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def read_in_a_process(path: Path) -> tuple[str, int]:
    """What reading ended in, the number of rows or the refusal, and the peak in bytes."""
    done = subprocess.run(
        [sys.executable, "-c", WORK, str(path)], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    end, peak = done.stdout.splitlines()
    return end, int(peak)


def most(size: int) -> int:
    return 4 * size + 500_000_000


@pytest.fixture(scope="module")
def table() -> dict[str, list[object]]:
    rng = np.random.default_rng(0)
    numbers = {f"x{i}": rng.normal(size=ROWS).tolist() for i in range(6)}
    return {
        "action": rng.choice(["a", "b", "c"], ROWS).tolist(),
        "reward": rng.random(ROWS).tolist(),
        "propensity": rng.uniform(0.2, 0.8, ROWS).tolist(),
        "city": rng.choice([f"city {i}" for i in range(50)], ROWS).tolist(),
        **numbers,
    }


def _csv(path: Path, table: dict[str, list[object]]) -> None:
    lines = [",".join(table), *(",".join(map(str, row)) for row in zip(*table.values(), strict=True))]
    text = "\n".join(lines).encode()
    path.write_bytes(gzip.compress(text, 1) if path.suffix == ".gz" else text)


def _json(path: Path, table: dict[str, list[object]]) -> None:
    rows = [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]
    lines = "\n".join(json.dumps(row) for row in rows)
    path.write_text(lines if path.suffix == ".jsonl" else json.dumps(rows))


def _dsjson(path: Path, table: dict[str, list[object]]) -> None:
    lines = [
        json.dumps(
            {
                "_label_cost": -1.0 * (i % 3 == 0),
                "_label_probability": 0.5,
                "_label_Action": 1 + i % 2,
                "a": [1 + i % 2, 2 - i % 2],
                "p": [0.5, 0.5],
                "c": {name: table[name][i] for name in ("city", "x0", "x1", "x2", "x3")},
            }
        )
        for i in range(ROWS)
    ]
    path.write_text("\n".join(lines))


def _parquet(path: Path, table: dict[str, list[object]]) -> None:
    pa = pytest.importorskip("pyarrow")
    pytest.importorskip("pyarrow.parquet").write_table(pa.table(table), path)


def _duckdb(path: Path, table: dict[str, list[object]]) -> None:
    frame = pytest.importorskip("pyarrow").table(table)
    with duckdb.connect(str(path)) as connection:
        connection.register("frame", frame)
        connection.execute("CREATE TABLE log AS FROM frame")


def _sqlite(path: Path, table: dict[str, list[object]]) -> None:
    import sqlite3

    connection = sqlite3.connect(path)
    connection.execute(f"CREATE TABLE log ({', '.join(table)})")
    marks = ", ".join("?" * len(table))
    connection.executemany(f"INSERT INTO log VALUES ({marks})", zip(*table.values(), strict=True))
    connection.commit()
    connection.close()


WRITERS: dict[str, Callable[[Path, dict[str, list[object]]], None]] = {
    "log.csv": _csv,
    "log.csv.gz": _csv,
    "log.jsonl": _json,
    "log.json": _json,
    "log.dsjson": _dsjson,
    "log.parquet": _parquet,
    "log.duckdb": _duckdb,
    "log.sqlite": _sqlite,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", WRITERS)
def test_no_reader_takes_more_than_four_times_its_input_and_500_mb(
    name: str, table: dict[str, list[object]], tmp_path: Path
) -> None:
    path = tmp_path / name
    WRITERS[name](path, table)
    end, peak = read_in_a_process(path)
    assert end == str(ROWS)
    assert peak <= most(path.stat().st_size)


def _packed(path: Path, line: bytes, head: bytes = b"") -> None:
    with gzip.open(path, "wb") as file:
        file.write(head)
        for _ in range(UNPACKED // (100_000 * len(line))):
            file.write(line * 100_000)


def _decision(**changed: object) -> str:
    usual = {"_label_cost": -1, "_label_probability": 0.5, "_label_Action": 1, "a": [1, 2], "p": [0.5, 0.5]}
    return json.dumps({**usual, **changed}) + "\n"


def _bomb(path: Path) -> None:
    """A file of at most 4 MB that would take gigabytes."""
    match path.name:
        case "rows.csv.gz":
            _packed(path, b"1,0,0.5,0\n", b"action,reward,propensity,x\n")
        case "rows.jsonl.gz":
            _packed(path, b'{"action": 1, "reward": 0}\n')
        case "keys.jsonl":
            path.write_text("".join(f'{{"k{i}": 1}}\n' for i in range(25_000)))
        case "nested.jsonl":
            path.write_text("".join(f'{{"action": 1, "c": {{"k{i}": 1}}}}\n' for i in range(9_000)))
        case "context.dsjson":
            path.write_text("".join(_decision(c={f"k{i}": 1}) for i in range(4_000)))
        case "actions.dsjson":
            path.write_text("".join(_decision(a=[1, 10**9], c={"x": i}) for i in range(4_000)))


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("rows.csv.gz", "must not expand to over 50 times its size"),
        ("rows.jsonl.gz", "must not expand to over 50 times its size"),
        ("keys.jsonl", "must have at most 10,000 columns"),
        ("nested.jsonl", "holds 9,000 rows of 9,001 columns"),
        ("context.dsjson", "rows of 4,005 columns"),  # 4,000 keys and 5 fields
        ("actions.dsjson", "must have at most 10,000 columns"),
    ],
)
def test_a_bomb_is_refused_before_it_takes_memory(name: str, sentence: str, tmp_path: Path) -> None:
    path = tmp_path / name
    _bomb(path)
    assert path.stat().st_size < 4_000_000
    end, peak = read_in_a_process(path)
    assert end.startswith("`source` must")
    assert sentence in end
    assert peak <= most(path.stat().st_size)
