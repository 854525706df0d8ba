"""SQLite databases in WAL mode, of which SQLite keeps two files beside the database: what is in them is read,
and none is made or left.
"""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from kwis.data.read.arguments import Reading
from kwis.data.read.read_log import read_source


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(tmp_path / "log.db")) as opened:
        opened.execute("PRAGMA journal_mode = wal")
        opened.execute("CREATE TABLE log (a)")
        opened.execute("INSERT INTO log VALUES (1)")
        opened.commit()
        yield opened


def rows(path: Path) -> int:
    return read_source(path, Reading()).table.n


def held(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_one_that_nobody_has_open(connection: sqlite3.Connection, tmp_path: Path) -> None:
    connection.close()
    before = held(tmp_path)
    assert before.keys() == {"log.db"}
    assert rows(tmp_path / "log.db") == 1
    assert held(tmp_path) == before


def test_one_that_a_dead_writer_left(connection: sqlite3.Connection, tmp_path: Path) -> None:
    folder = tmp_path / "copy"
    folder.mkdir()
    for name in ("log.db", "log.db-wal"):
        shutil.copy(tmp_path / name, folder)
    before = held(folder)
    assert rows(folder / "log.db") == 1
    assert held(folder) == before
    (folder / "link.db").symlink_to(folder / "log.db")
    assert rows(folder / "link.db") == 1
    connection.close()


def test_one_that_is_written_to_at_the_moment(connection: sqlite3.Connection, tmp_path: Path) -> None:
    before = set(held(tmp_path))
    assert rows(tmp_path / "log.db") == 1
    connection.execute("INSERT INTO log VALUES (2)")
    connection.commit()
    assert rows(tmp_path / "log.db") == 2
    assert set(held(tmp_path)) == before
