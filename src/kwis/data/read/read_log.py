"""The door for data: one function that reads a log from anywhere."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Unpack, cast

from kwis._call import call_of
from kwis.data.log import LoggedBandit
from kwis.data.read.arguments import (
    LogArguments,
    Reading,
    reading_of,
    refuse_unknown,
    roles_of,
    takes_log_arguments,
)
from kwis.data.read.assemble import assemble
from kwis.data.read.databases import database_kind, read_database, read_sqlite
from kwis.data.read.duck import run_query
from kwis.data.read.files import SUFFIXES, files_of, read_files
from kwis.data.read.folders import base_of
from kwis.data.read.frames import from_arrays, from_frame, query_frame
from kwis.data.read.obp import from_feedback, is_feedback
from kwis.data.read.recognise import recognised
from kwis.data.read.source import Roles, Source
from kwis.errors import InputError
from kwis.runtime.scratch import remove_left_once
from kwis.typing import LogSource

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

FORMATS = ("csv", "parquet", "json", "dsjson", "duckdb", "sqlite", "obp")


@takes_log_arguments
def read_log(source: LogSource, **said: Unpack[LogArguments]) -> LoggedBandit:
    """Read logged decisions from a table, a file or a database, check them and make arrays of them.

    Parameters
    ----------
    source
        A pandas or polars frame, an Arrow table, a dictionary of arrays, an Open Bandit Pipeline feedback
        dictionary, or the path of a CSV, Parquet, JSON or dsjson file, of a folder or pattern of them, or of
        a DuckDB or SQLite database. An open connection to either database will do too.
    {log arguments}

    Returns
    -------
    LoggedBandit
        Actions, rewards, propensities and encoded context; ``print(log.describe())`` shows what was read.

    See Also
    --------
    kwis.scan_log : the same for a log that may be larger than memory.
    kwis.evaluate : takes the same arguments and reads the log itself.
    kwis.sample_log : a log to try things on.

    Examples
    --------
    >>> frame = {"age": [20, 40] * 20, "action": ["a", "b"] * 20, "p": [0.5] * 40, "reward": [1, 0] * 20}
    >>> log = kwis.read_log(frame, propensity="p", context=["age"])
    >>> log.action_names, len(log.propensity)
    (('a', 'b'), 40)
    """
    refuse_unknown(said, "read_log")
    read = read_source(source, reading_of(said))
    call = call_of(read_log, {"source": source, **said})
    return replace(assemble(read, completed(roles_of(said), read)), call=call)


def completed(given: Roles, found: Source) -> Roles:
    """The roles given, and for the rest those that the source itself knows."""
    own = {
        entry.name: getattr(found.roles, entry.name)
        for entry in fields(Roles)
        if getattr(given, entry.name) is None
    }
    return replace(given, **own)


def read_source(source: LogSource, reading: Reading = Reading()) -> Source:  # noqa: B008 - it cannot change
    """The table behind a source, in the format named or else recognised."""
    if reading.format is not None and reading.format not in FORMATS:
        raise InputError(f"`format` must be one of {', '.join(FORMATS)}, got {reading.format!r}")
    remove_left_once()
    query = reading.query
    if isinstance(source, str | os.PathLike):
        return _read_path(os.fspath(source), reading)
    if isinstance(source, sqlite3.Connection):
        return Source(table=read_sqlite(source, _needed(query)), query=query, dialect="sqlite")
    if type(source).__name__ == "DuckDBPyConnection":
        table = run_query(cast("DuckDBPyConnection", source), _needed(query), confined=False)
        return Source(table=table, query=query, dialect="duckdb")
    if isinstance(source, Mapping):
        if query is not None:
            raise InputError("`query` must go with a file, a data frame or a database, got a dictionary")
        return (
            from_feedback(source)
            if reading.format == "obp" or is_feedback(source)
            else Source(table=from_arrays(source))
        )
    if query is not None:
        return Source(table=query_frame(source, query, reading.allow_external), query=query, dialect="duckdb")
    return Source(table=from_frame(source), dialect="duckdb")


def _read_path(path: str, reading: Reading) -> Source:
    said = reading.format
    database = said if said in ("duckdb", "sqlite") else database_kind(path)
    if database is not None and said in (None, "duckdb", "sqlite"):
        return read_database(path, database, reading.query, reading.allow_external)
    paths = files_of(path)
    kinds = {said or recognised(name) for name in paths}
    if len(kinds) > 1:
        raise InputError(
            f"`source` must hold files of one format, and {path!r} has "
            f"{' and '.join(sorted(map(str, kinds)))}"
        )
    kind = kinds.pop()
    if kind is None or kind == "obp":
        known = ", ".join(SUFFIXES)
        raise InputError(f"`format` must be given for {path!r}, whose name ends with none of {known}")
    if reading.skip_bad_lines and kind not in ("json", "dsjson"):
        raise InputError(f"`skip_bad_lines` must go with JSON, got {kind}")
    if kind == "dsjson":
        from kwis.data.read.dsjson import read_dsjson

        if reading.query is not None:
            raise InputError("`query` must go with a table or a database, got dsjson")
        return read_dsjson(paths, skip_bad_lines=reading.skip_bad_lines)
    return read_files(paths, kind, reading, base=base_of(path))


def _needed(query: str | None) -> str:
    if query is None:
        raise InputError("`query` must be given to read from a database")
    return query
