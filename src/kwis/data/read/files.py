"""CSV, Parquet and JSON lines: one file, a list or pattern of files, or a folder. DuckDB does the reading.

Several files are read in the order of their names and must have the same columns.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from kwis.data.read.arguments import Reading
from kwis.data.read.delimited import create_from_csv
from kwis.data.read.duck import (
    FILE,
    clear_errors,
    connect,
    escaped,
    listed,
    literal,
    query_table,
    quoted,
    refuse_renamed,
    run_query,
)
from kwis.data.read.folders import (
    FolderValue,
    folder_columns,
    matching,
    named,
    refuse_pipe,
    refuse_unreadable,
    unused_folders,
    walk,
)
from kwis.data.read.folders import note_on as note_on_folders
from kwis.data.read.json_lines import create_from_json_files, good_lines
from kwis.data.read.limits import refuse_cells
from kwis.data.read.source import Source
from kwis.data.read.uneven import kinds_of, uneven
from kwis.data.read.uneven import note_on as note_on_uneven
from kwis.data.table import Table
from kwis.errors import InputError

if TYPE_CHECKING:
    import duckdb

SUFFIXES = {
    ".csv": "csv",
    ".tsv": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".jsonl": "json",
    ".ndjson": "json",
    ".json": "json",
    ".dsjson": "dsjson",
}


def format_of(path: str) -> str | None:
    """What a path holds, by its suffix; a compressed file counts as what it holds."""
    name = path.lower().removesuffix(".gz").removesuffix(".zst")
    return next((kind for suffix, kind in SUFFIXES.items() if name.endswith(suffix)), None)


def files_of(source: str) -> list[str]:
    """The files meant by a path, a pattern or a folder (looked through, hidden files aside), sorted
    by name.
    """
    with named(source):
        refuse_pipe(source)
        if Path(source).is_dir():
            found = [path for path in walk(source) if format_of(path)]
        else:
            found = [_behind(source)] if Path(source).is_file() else matching(source)
    if not found:
        what = "has no CSV, Parquet or JSON file in it" if Path(source).is_dir() else "does not exist"
        raise InputError(
            f"`source` must be a file, a folder or a pattern that matches files, and {source!r} {what}"
        )
    for path in found:
        refuse_unreadable(path)
        refuse_pipe(path)
        if Path(path).stat().st_size == 0:
            raise InputError(f"`source` must have rows, and {path!r} is empty")
    return sorted(found)


def _behind(path: str) -> str:
    """The file behind a link whose own name says nothing, such as ``/dev/stdin``."""
    real = os.path.realpath(path)
    return real if format_of(path) is None and format_of(real) and os.path.isfile(real) else path


def read_files(
    paths: Sequence[str],
    kind: str,
    reading: Reading = Reading(),  # noqa: B008 - it cannot change
    *,
    base: str | None = None,
) -> Source:
    """Rows of the files in order; a query finds them as the table ``log``. Names of folders below ``base``
    make columns.
    """
    doing = f"cannot read {paths[0]!r}" + (f" and {len(paths) - 1} more" if len(paths) > 1 else "")
    folders = folder_columns(paths, base)
    with good_lines(paths, wanted=reading.skip_bad_lines) as good, connect() as connection:
        with clear_errors(doing):
            differing = _CREATE[kind](connection, good.paths)
            notes = (*good.notes, *_with_folders(connection, good.paths, folders, differing))
        if reading.query is not None:
            if differing:
                raise InputError(next(iter(differing.values())))
            table = run_query(connection, reading.query, confined=not reading.allow_external)
            return Source(table=table, notes=notes, query=reading.query, dialect="duckdb")
        table = query_table(connection, "SELECT * FROM log", doing)
    return Source(
        table=replace(table, uneven=differing),
        notes=(*notes, *note_on_uneven(list(differing))),
        dialect="duckdb",
    )


def parquet_head(path: str, columns: Iterable[str]) -> Table:
    """The first rows of a Parquet file; columns that it does not have itself are empty."""
    source = _PARQUET.format(listed([path]))
    doing = f"cannot read {path!r}"
    with connect() as connection, clear_errors(doing):
        own = connection.sql(f"SELECT * FROM {source}").columns
        more = "".join(f", NULL AS {quoted(name)}" for name in columns if name not in own)
        return query_table(connection, f"SELECT *{more} FROM {source} LIMIT {_HEAD}", doing)


def _create_from_parquet(connection: duckdb.DuckDBPyConnection, paths: Sequence[str]) -> dict[str, str]:
    """Create the table ``rows`` from Parquet files; columns that differ between files are left out and come
    back.
    """
    for path in paths:
        names = connection.sql(f"SELECT * FROM {_PARQUET.format(listed([path]))}").columns
        schema = connection.sql(f"SELECT name FROM parquet_schema({literal(escaped(path))})").fetchall()
        refuse_renamed(names, [str(name) for (name,) in schema[1:]], path)
    differing = {}
    if len(paths) > 1:
        differing = uneven(paths, [kinds_of(connection, path, _PARQUET) for path in paths], complete=True)
    own = connection.sql(f"SELECT * FROM {_PARQUET.format(listed(paths[:1]))}").columns
    kept = ", ".join(quoted(name) for name in own if name not in differing)
    if not kept:
        raise InputError(next(iter(differing.values())))
    rows = connection.sql(f"SELECT count(*) FROM {_PARQUET.format(listed(paths))}").fetchall()[0][0]
    refuse_cells(int(rows), len(own), paths)
    reading = _PARQUET.format(listed(paths)).removesuffix(")") + f", filename={literal(FILE)})"
    connection.execute(f"CREATE TEMP TABLE rows AS SELECT {kept}, {quoted(FILE)} FROM {reading}")
    return differing


def _with_folders(
    connection: duckdb.DuckDBPyConnection,
    paths: Sequence[str],
    folders: Mapping[str, Sequence[FolderValue]],
    differing: Iterable[str],
) -> tuple[str, ...]:
    """Create the view ``log``: ``rows`` without their file, and with what the names of folders say; a note on
    what was not used. A column that only some files have, or that differs between them, is theirs too.
    """
    own = connection.sql("SELECT * FROM rows").columns
    unused = unused_folders(folders, [*own, *differing])
    added = "".join(
        f", {_by_file(paths, values)} AS {quoted(name)}"
        for name, values in folders.items()
        if name not in unused
    )
    connection.execute(f"CREATE TEMP VIEW log AS SELECT * EXCLUDE ({quoted(FILE)}){added} FROM rows")
    return note_on_folders(unused)


def _by_file(paths: Sequence[str], values: Sequence[FolderValue]) -> str:
    """SQL that looks up the value of a row's file."""
    types = {type(value) for value in values} - {type(None)}
    kind = "BIGINT" if types == {int} else "DOUBLE" if types == {float} else "VARCHAR"
    entries = ", ".join(
        f"{literal(path)}: {'NULL' if value is None else literal(str(value))}"
        for path, value in zip(paths, values, strict=True)
    )
    return f"CAST(MAP {{{entries}}}[{quoted(FILE)}] AS {kind})"


_PARQUET = "read_parquet({}, hive_partitioning=false)"
_HEAD = 1_000  # rows that are read to refuse wrong names early
_CREATE = {"csv": create_from_csv, "json": create_from_json_files, "parquet": _create_from_parquet}
