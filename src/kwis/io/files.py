"""CSV, Parquet and JSON lines: one file, a list or pattern of files, or a folder. DuckDB does the reading.

Several files are read in the order of their names and must have the same columns.
"""

from __future__ import annotations

import glob
from collections.abc import Sequence
from pathlib import Path

from kwis.errors import InputError
from kwis.io.delimited import create_from_csv
from kwis.io.duck import clear_errors, connect, listed, query_table, run_query
from kwis.io.json_lines import create_from_json
from kwis.table import Table

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
    name = path.lower().removesuffix(".gz")
    return next((kind for suffix, kind in SUFFIXES.items() if name.endswith(suffix)), None)


def files_of(source: str) -> list[str]:
    """The files meant by a path, a pattern or a folder (looked through, hidden files aside), sorted by name."""
    if Path(source).is_dir():
        inside = (path for path in Path(source).rglob("*") if path.is_file() and not path.name.startswith(("_", ".")))
        found = [str(path) for path in inside if format_of(path.name)]
    elif Path(source).is_file():
        found = [source]
    else:
        found = [path for path in glob.glob(source, recursive=True) if Path(path).is_file()]
    if not found:
        what = "has no CSV, Parquet or JSON file in it" if Path(source).is_dir() else "does not exist"
        raise InputError(f"`source` must be a file, a folder or a pattern that matches files, and {source!r} {what}")
    for path in found:
        if Path(path).stat().st_size == 0:
            raise InputError(f"`source` must have rows, and {path!r} is empty")
    return sorted(found)


def read_files(paths: Sequence[str], kind: str, query: str | None = None, allow_external: bool = False) -> Table:
    """Rows of the files in order; a ``query`` finds them as the table ``log``."""
    doing = f"cannot read {paths[0]!r}" + (f" and {len(paths) - 1} more" if len(paths) > 1 else "")
    with connect() as connection:
        with clear_errors(doing):
            if kind == "csv":
                create_from_csv(connection, paths)
            elif kind == "json":
                create_from_json(connection, paths, "log")
            else:
                connection.execute(f"CREATE TEMP TABLE log AS SELECT * FROM read_parquet({listed(paths)})")
        if query is not None:
            return run_query(connection, query, confined=not allow_external)
        return query_table(connection, "SELECT * FROM log", doing)
