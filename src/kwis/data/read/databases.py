"""Results of SQL queries on DuckDB and SQLite databases, opened for reading only.

SQLite is read through Python's own module: DuckDB would first have to download an extension.
"""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kwis.data.columns import object_array
from kwis.data.read.duck import connect, first_line, quoted, run_query
from kwis.data.read.folders import named
from kwis.data.read.queries import SQLITE_CELLS, confine_sqlite, in_time, one_sqlite_select
from kwis.data.read.source import Source
from kwis.data.table import Table, refuse_alike, table_of
from kwis.errors import InputError
from kwis.runtime.scratch import scratch


def database_kind(path: str) -> str | None:
    """``"sqlite"`` or ``"duckdb"`` by the first bytes of the file, None for anything else."""
    with named(path):
        if not Path(path).is_file():
            return None
        with Path(path).open("rb") as file:
            start = file.read(16)
    if start.startswith(b"SQLite format 3"):
        return "sqlite"
    return "duckdb" if start[8:12] == b"DUCK" else None


def read_database(path: str, kind: str, query: str | None, allow_external: bool = False) -> Source:
    """Result of ``query`` on the database file; without one, its only table."""
    if kind == "sqlite":
        with _sqlite(path) as source:
            wanted = _Wanted.of(query, lambda: _sqlite_tables(source))
            if not allow_external:
                confine_sqlite(source)
            table = read_sqlite(source, wanted.query)
        return Source(table=table, notes=wanted.notes, query=wanted.query, dialect="sqlite")
    with connect(path) as connection:
        wanted = _Wanted.of(query, lambda: _duckdb_tables(connection))
        table = run_query(connection, wanted.query, confined=not allow_external)
    return Source(table=table, notes=wanted.notes, query=wanted.query, dialect="duckdb")


@contextmanager
def _sqlite(path: str) -> Iterator[sqlite3.Connection]:
    """Connection to a file, opened for reading only.

    Of a database in WAL mode SQLite keeps two files beside it, which a reader would make and leave there if
    nobody else has it open. So it is then read as it stands, or, with what a dead writer left to be merged,
    from a copy.
    """
    with ExitStack() as stack, named(path):
        file, how = Path(path).resolve(), "mode=ro"
        unmerged, shared = (file.with_name(f"{file.name}-{end}") for end in ("wal", "shm"))
        if _is_wal(file) and not shared.exists():
            if unmerged.exists() and unmerged.stat().st_size:
                folder = Path(stack.enter_context(scratch()))
                for each in (unmerged, file):
                    shutil.copyfile(each, folder / each.name)
                file = folder / file.name
            else:
                how = "mode=ro&immutable=1"
        connection = sqlite3.connect(f"{file.as_uri()}?{how}", uri=True)
        yield stack.enter_context(closing(connection))


def _is_wal(file: Path) -> bool:
    """Whether changes to the database go to a second file first, by its header."""
    with file.open("rb") as stream:
        return 2 in stream.read(20)[18:]


def read_sqlite(connection: sqlite3.Connection, query: str) -> Table:
    """Result of ``query`` on an open SQLite connection."""
    try:
        with in_time(connection), _reading_only(connection):
            cursor = connection.execute(one_sqlite_select(query))
            rows = cursor.fetchmany(SQLITE_CELLS // max(1, len(cursor.description or ())) + 1)
    except (sqlite3.Error, sqlite3.Warning) as failure:
        raise InputError(f"`query` failed: {first_line(failure)}") from None
    names = [str(entry[0]) for entry in cursor.description]
    if len(rows) * len(names) > SQLITE_CELLS:
        raise InputError(f"`query` must give at most {SQLITE_CELLS:,} cells, got more")
    refuse_alike(names)
    columns = zip(*rows, strict=True) if rows else ([] for _ in names)
    return table_of([(name, object_array(list(values))) for name, values in zip(names, columns, strict=True)])


@contextmanager
def _reading_only(connection: sqlite3.Connection) -> Iterator[None]:
    """Nothing is written to the databases of a connection, which is then as it was."""
    try:
        before = connection.execute("PRAGMA query_only").fetchone()[0]
    except sqlite3.DatabaseError:  # a connection that is confined refuses all settings, and writing with them
        yield
        return
    connection.execute("PRAGMA query_only = 1")
    try:
        yield
    finally:
        connection.execute(f"PRAGMA query_only = {int(before)}")


@dataclass(frozen=True, slots=True)
class _Wanted:
    """The query to run, and what to say about it."""

    query: str
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, query: str | None, tables: Callable[[], list[str]]) -> _Wanted:
        """The query given, or all of a database's only table."""
        if query is not None:
            return cls(query)
        names = tables()
        if len(names) == 1:
            note = f"the log is the table `{names[0]}`, the only one of its database"
            return cls(f"SELECT * FROM {quoted(names[0])}", (note,))
        known = f"its tables are {', '.join(names)}" if names else "it has no tables"
        raise InputError(
            f"`query` must be given to read from a database, such as 'SELECT * FROM "
            f"{names[0] if names else 'log'}'; {known}"
        )


def _sqlite_tables(connection: sqlite3.Connection) -> list[str]:
    try:
        return [
            str(name)
            for (name,) in connection.execute(
                "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') "
                "AND name NOT GLOB 'sqlite_*' ORDER BY name"
            )
        ]
    except sqlite3.Error as failure:
        raise InputError(f"cannot read the database: {first_line(failure)}") from None


def _duckdb_tables(connection: Any) -> list[str]:
    rows = connection.execute(
        "SELECT table_name FROM information_schema.tables ORDER BY table_name"
    ).fetchall()
    return [str(name) for (name,) in rows]
