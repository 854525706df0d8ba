"""What a query may do: select rows of the log or database that it is given, within limits on memory and time,
and nothing else.

Limits hold in databases and connections that kwis opens itself. On a connection that somebody hands over,
settings and what it may reach are theirs; there the query must still be a single SELECT and keep to the time.
"""

from __future__ import annotations

import re
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from kwis.errors import InputError

if TYPE_CHECKING:
    import duckdb

QUERY_SECONDS = 600.0
QUERY_MEMORY = 0.75  # of what DuckDB takes by itself, 80 % of the machine's or the container's
QUERY_CELLS = 500_000_000  # of the result: 4 GB of numbers
SQLITE_CELLS = 50_000_000  # each is a Python object of some 60 bytes
_LIMITS = (
    # names in a query are tables, never variables of the program around it
    "SET python_enable_replacements=false",
    "SET autoinstall_known_extensions=false",
    "SET autoload_known_extensions=false",
    "SET allow_community_extensions=false",
    "SET enable_external_access=false",
    "SET lock_configuration=true",
)
_BEFORE_SQLITE = re.compile(r"\A(\ufeff|[ \t\n\f\r]|--[^\n]*|/\*.*?\*/)*", re.DOTALL)
"""What may come before a statement: blanks and comments, as SQLite sees them."""
_SQLITE_ALLOWED = (
    sqlite3.SQLITE_SELECT,
    sqlite3.SQLITE_READ,
    sqlite3.SQLITE_RECURSIVE,
    sqlite3.SQLITE_FUNCTION,
)


def confine(connection: duckdb.DuckDBPyConnection) -> None:
    """Take away everything from a connection but what it holds already; this cannot be undone."""
    for limit in (_memory_limit(connection), _no_files(connection), *_LIMITS):
        connection.execute(limit)


def _no_files(connection: duckdb.DuckDBPyConnection) -> str:
    """SQL that leaves no folder to a query but the one that the log itself is in already, where it does not
    fit into memory.
    """
    import duckdb

    try:
        connection.execute("SET temp_directory=''")
    except duckdb.NotImplementedException:  # it is in use
        return "SET allowed_directories=[current_setting('temp_directory')]"
    return "SET allowed_directories=[]"


def _memory_limit(connection: duckdb.DuckDBPyConnection) -> str:
    """SQL that lowers the limit on memory; older versions of DuckDB know no percentages."""
    size, unit = connection.execute("SELECT current_setting('memory_limit')").fetchall()[0][0].split()
    return f"SET memory_limit='{QUERY_MEMORY * float(size):.2f} {unit}'"


def one_select(connection: duckdb.DuckDBPyConnection, query: str) -> str:
    """The query up to its semicolon; anything but a single statement that selects rows is refused."""
    import duckdb

    for part in (query, statement := _to_semicolon(query)):
        statements = connection.extract_statements(part)
        if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
            raise InputError(_no_select(query))
    return statement


def _to_semicolon(query: str) -> str:
    """What comes before the first semicolon outside of strings, names and comments, as DuckDB sees them."""
    import duckdb

    text = query.encode()
    ends = [place for place, _ in duckdb.tokenize(query) if text[place : place + 1] == b";"]
    return text[: ends[0]].decode() if ends else query


def confine_sqlite(connection: sqlite3.Connection) -> None:
    """Refuse whatever is no reading of tables: other databases, settings, writing, loading of extensions."""

    def allowed(action: int, _: Any, name: Any, *__: Any) -> int:
        harmless = action in _SQLITE_ALLOWED and not (
            action == sqlite3.SQLITE_FUNCTION and name == "load_extension"
        )
        return sqlite3.SQLITE_OK if harmless else sqlite3.SQLITE_DENY

    connection.set_authorizer(allowed)


def one_sqlite_select(query: str) -> str:
    """The same for SQLite, which runs one statement at a time and takes none in parentheses; what comes after
    WITH can write to a connection that allows it.
    """
    start = _BEFORE_SQLITE.sub("", query, count=1).rstrip("; \t\n\r")
    if start.startswith("("):
        return f"SELECT * FROM {start}"
    if not start.upper().startswith(("SELECT", "WITH", "VALUES")):
        raise InputError(_no_select(query))
    return start


def _no_select(query: str) -> str:
    return f"`query` must be a SELECT, and only one, got {query!r}"


@contextmanager
def in_time(connection: Any) -> Iterator[None]:
    """Interrupt what a connection of either kind does once it has taken too long."""
    late = threading.Event()

    def stop() -> None:
        late.set()
        connection.interrupt()

    timer = threading.Timer(QUERY_SECONDS, stop)
    timer.daemon = True
    timer.start()
    try:
        yield
    except Exception:
        if late.is_set():
            raise InputError(f"`query` must end within {QUERY_SECONDS:g} seconds, and was stopped") from None
        raise
    finally:
        timer.cancel()
