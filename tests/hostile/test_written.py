"""Nothing is written but what was asked for: what SECURITY.md lists, and no other file or folder, for however
short a time and by whatever library.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from tests.cli.example import columns, write_csv, write_parquet
from tests.hostile.written import Written, can_trace, run

SMALL = columns(60)
KWIS = ("-m", "kwis")
ROLES = ("--context", "age,country", "--target", "p_new")
QUICK = (*ROLES, "--estimator", "wis", "--repair", "never")
BRIEF = re.compile(r"temporary/([a-z0-9_]{8}|etilqs_\w+)|/dev/shm/sem\.\S+")
"""Files of libraries that are gone as soon as they are there: Python asks whether its temporary folder can be
written to, SQLite sorts, joblib asks for a semaphore.
"""
SCRATCH = re.compile(r"temporary/kwis-scratch-\w+(/.*)?")
CODE = re.compile(r"code(/.*)?")
SCARCE = """
import sys, duckdb
from kwis.cli.main import main
from kwis.runtime import arrays
arrays.kept.__defaults__ = arrays.room.__defaults__ = (1,)  # every array is a large one
connect = duckdb.connect
def small(*arguments, **options):
    opened = connect(*arguments, **options)
    opened.execute("SET memory_limit = '60MB'")
    opened.execute("SET threads = 1")
    return opened
duckdb.connect = small
sys.exit(main(sys.argv[1:]))
"""
"""The command with less memory than a log takes."""


def check(written: Written, place: Path, *asked: str) -> None:
    """All that was written is what was asked for, below ``place``, and what SECURITY.md lists."""
    expected = {place / name for name in asked}
    assert {path for path in written.left if not CODE.fullmatch(_below(path, place))} == expected
    if written.calls is None or written.nameless is None:
        return
    beside = [
        re.escape(_below(path.parent / f".{path.name}", place)) + r"\.[0-9a-f]{16}\.part" for path in expected
    ]
    listed = re.compile("|".join([*beside, *(each.pattern for each in (BRIEF, SCRATCH, CODE))]))
    strange = {
        path
        for path in written.calls - expected
        if path != Path("/dev/null") and not listed.fullmatch(_below(path, place))
    }
    assert strange == set()
    folders = {place / "temporary", *(path.parent for path in expected)}
    assert {path for path in written.nameless - folders if not CODE.fullmatch(_below(path, place))} == set()


def _below(path: Path, place: Path) -> str:
    return str(path.relative_to(place) if path.is_relative_to(place) else path)


def _json_lines(path: Path) -> Path:
    rows = (json.dumps(dict(zip(SMALL, row, strict=True))) for row in zip(*SMALL.values(), strict=True))
    path.write_text("\n".join([*rows, "no JSON"]))
    return path


def _parts(path: Path) -> Path:
    path.mkdir()
    for name in ("a", "b"):
        write_parquet(path / f"{name}.parquet", SMALL)
    return path


def _sqlite(path: Path) -> Path:
    """A database in the mode in which SQLite likes to keep files beside it."""
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode = wal")
    table = columns(20_000)
    connection.execute(f"CREATE TABLE log ({', '.join(table)})")
    rows = zip(*table.values(), strict=True)
    connection.executemany(f"INSERT INTO log VALUES ({', '.join('?' * len(table))})", rows)
    connection.commit()
    connection.close()
    return path


def _duckdb(path: Path) -> Path:
    source = write_csv(path.with_suffix(".csv"), SMALL)
    with duckdb.connect(str(path)) as connection:
        connection.execute(f"CREATE TABLE log AS FROM read_csv('{source}')")
    return path


def _large(path: Path) -> Path:
    """The log again and again, beside numbers that cannot be made smaller."""
    source = write_csv(path.with_suffix(".csv"), SMALL)
    numbers = ", ".join(f"hash(10 * (60 * i + row) + {j}) AS x{j}" for j in range(8))
    with duckdb.connect() as connection:
        connection.execute(
            f"COPY (SELECT i, {numbers}, log.* EXCLUDE row FROM range(17_000) t(i), "
            f"(SELECT *, row_number() OVER () AS row FROM read_csv('{source}')) log) TO '{path}'"
        )
    source.unlink()
    return path


def test_of_a_report_and_json_nothing_else_is_written(tmp_path: Path) -> None:
    log = write_csv(tmp_path / "log.csv", SMALL)
    outputs = ("--report", "report.html", "--json-file", tmp_path / "answer.json")
    written = run([*KWIS, "evaluate", log, *ROLES, *outputs], tmp_path)
    check(written, tmp_path, "working/report.html", "answer.json")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "name", "options"),
    [
        (_json_lines, "log.jsonl", ("--skip-bad-lines",)),
        (_json_lines, "log.jsonl", ("--skip-bad-lines", "--stream")),
        (_parts, "log", ("--stream",)),
        (_duckdb, "log.duckdb", ("--query", "SELECT * FROM log ORDER BY age")),
        (_sqlite, "log.sqlite", ("--query", "SELECT * FROM log ORDER BY propensity")),
    ],
)
def test_reading_writes_nothing(
    make: Callable[[Path], Path], name: str, options: tuple[str, ...], tmp_path: Path
) -> None:
    check(run([*KWIS, "evaluate", make(tmp_path / name), *QUICK, *options], tmp_path), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("command", ["check", "plan", "sensitivity", "compare"])
def test_other_commands_write_nothing(command: str, tmp_path: Path) -> None:
    log = write_csv(tmp_path / "log.csv", SMALL)
    check(run([*KWIS, command, log, *(ROLES[:2] if command == "check" else ROLES)], tmp_path), tmp_path)


@pytest.mark.slow
def test_a_demonstration_writes_its_page(tmp_path: Path) -> None:
    check(run([*KWIS, "demo", "--rows", "300"], tmp_path), tmp_path, "working/kwis-demo.html")


@pytest.mark.slow
@pytest.mark.parametrize("options", [("--query", "SELECT * FROM log WHERE i = 7"), ("--stream",)])
def test_a_log_that_does_not_fit_into_memory_goes_to_the_temporary_folder_alone(
    options: tuple[str, ...], tmp_path: Path
) -> None:
    log = _large(tmp_path / "log.parquet") if "--query" in options else _parts(tmp_path / "log")
    written = run(["-c", SCARCE, "evaluate", log, *QUICK, *options], tmp_path)
    check(written, tmp_path)
    if can_trace():  # the test has seen what it is about
        place = tmp_path / "temporary"
        assert written.calls is not None
        assert written.nameless is not None
        spilt = any(path.parent.parent == place for path in written.calls)
        assert spilt if "--query" in options else place in written.nameless


def test_what_is_not_listed_is_noticed(tmp_path: Path) -> None:
    for code in (
        "open('stray', 'w')",
        "import os; os.mkdir(os.environ['HOME'] + '/.kwis')",
        "import os, tempfile; os.close(tempfile.mkstemp(prefix='kwis-')[0])",
        "open('../log.csv', 'a').write('more')",
    ):
        (tmp_path / "log.csv").write_text("a log")
        written = run(["-c", code], tmp_path)
        with pytest.raises(AssertionError):
            check(written, tmp_path)
    if can_trace():
        gone = "import os, pyarrow as pa; pa.OSFile('stray', 'w').close(); os.unlink('stray')"
        with pytest.raises(AssertionError):
            check(run(["-c", gone], tmp_path), tmp_path)
