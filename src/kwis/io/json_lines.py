"""JSON lines: one object per line; nested objects become columns ``outer.inner``."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kwis.errors import InputError
from kwis.io.duck import FILE, listed, literal, quoted, refuse_renamed
from kwis.io.uneven import kinds_of, uneven

if TYPE_CHECKING:
    import duckdb

# Types that hold for every row, one column per key however rare it is, and dates left as text: DuckDB would expect one way of
# writing them in the whole file, and kwis.columns recognises them column by column.
_OPTIONS = (
    "sample_size=-1, maximum_depth=-1, map_inference_threshold=-1, field_appearance_threshold=0, "
    "dateformat='(never)', timestampformat='(never)'"
)


def create_from_json_files(connection: duckdb.DuckDBPyConnection, paths: Sequence[str]) -> dict[str, str]:
    """Create the table ``rows``; columns that hold different things in different files are left out and come back."""
    create_from_json(connection, paths, "cells", f"filename={literal(FILE)}")
    names = connection.sql("SELECT * FROM cells").columns
    if any(name.rpartition("_")[2].isdigit() and name.rpartition("_")[0] for name in names):
        keys = connection.sql(
            f"SELECT DISTINCT unnest(json_keys(json)) FROM read_json_objects({listed(paths)}, hive_partitioning=false)"
        ).fetchall()
        refuse_renamed([name for name in names if name != FILE], [str(key) for (key,) in keys], paths[0])
    differing = {}
    if len(paths) > 1:
        reader = f"read_json({{}}, hive_partitioning=false, {_OPTIONS})"
        differing = uneven(paths, [kinds_of(connection, path, reader) for path in paths], complete=False)
    kept = ", ".join(quoted(name) for name in names if name not in differing)
    connection.execute(f"CREATE TEMP VIEW rows AS SELECT {kept} FROM cells")
    return differing


def create_from_json(connection: duckdb.DuckDBPyConnection, paths: Sequence[str], table: str, more: str = "filename=false") -> None:
    """Create a table from JSON files."""
    import duckdb

    try:
        connection.execute(
            f"CREATE TEMP TABLE {table} AS SELECT * FROM read_json({listed(paths)}, hive_partitioning=false, {more}, {_OPTIONS})"
        )
    except duckdb.InvalidInputException:
        _refuse_broken_line(paths)
        raise


def _refuse_broken_line(paths: Sequence[str]) -> None:
    """Name the first line that is no JSON object; DuckDB's own count of lines is not to be relied on."""
    for path in paths:
        with gzip.open(path, "rb") if path.lower().endswith(".gz") else open(path, "rb") as lines:
            for number, line in enumerate(lines):
                if number == 0 and line.lstrip().startswith(b"["):
                    return  # one list over several lines
                try:
                    broken = bool(line.strip()) and not isinstance(json.loads(line), dict)
                except ValueError:
                    broken = True
                if broken:
                    place = f"row {number} (line {number + 1})"
                    raise InputError(f"{path!r} must hold one JSON object per line, got something else at {place}")
