"""JSON lines: one object per line; nested objects become columns ``outer.inner``."""

from __future__ import annotations

import json
import os
import re
from codecs import BOM_UTF8
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import accumulate
from typing import IO, TYPE_CHECKING, Any

from kwis.data.columns import EXACT
from kwis.data.read.duck import FILE, lines_of, listed, literal, quoted, refuse_renamed
from kwis.data.read.limits import (
    SPARSE_CELL_BYTES,
    opened,
    refuse_cells,
    refuse_columns,
    refuse_expansion,
    refuse_gzip_expansion,
)
from kwis.data.read.uneven import kinds_of, uneven
from kwis.errors import InputError
from kwis.runtime.scratch import scratch

if TYPE_CHECKING:
    import duckdb

SHOWN = 60  # signs of a line in an error
LONGEST = 16 << 20  # bytes of an object, which DuckDB reads
LEVELS = 127  # of objects and lists in a line, which DuckDB reads
_START = 1_000  # bytes in which a list begins
_SIGNS = re.compile(
    rb'"(?:[^"\\]|\\.)*"|[\[\]{}]', re.DOTALL
)  # brackets, and the text in which they mean nothing
_LIST = re.compile(rb"\s*\[\s*(\{|$)")
_FEW_COLUMNS = 100  # with so many, rows of which most are empty are no matter

# Types that hold for every row, one column per key however rare it is, and dates left as text: DuckDB would
# expect one way of writing them in the whole file, and kwis.data.columns recognises them column by column.
_OPTIONS = (
    "sample_size=-1, maximum_depth=-1, map_inference_threshold=-1, field_appearance_threshold=0, "
    "dateformat='(never)', timestampformat='(never)'"
)


def create_from_json_files(connection: duckdb.DuckDBPyConnection, paths: Sequence[str]) -> dict[str, str]:
    """Create the table ``rows``; columns that hold different things in different files are left out and come
    back.
    """
    create_from_json(connection, paths, "cells", f"filename={literal(FILE)}")
    marked = _marked(connection, paths)
    names = connection.sql("SELECT * FROM cells").columns
    if any(name.rpartition("_")[2].isdigit() and name.rpartition("_")[0] for name in names):
        keys = connection.sql(
            f"SELECT DISTINCT unnest(json_keys(json)) FROM read_json_objects({listed(paths)}, "
            f"hive_partitioning=false{marked})"
        ).fetchall()
        refuse_renamed([name for name in names if name != FILE], [str(key) for (key,) in keys], paths[0])
    differing = {}
    if len(paths) > 1:
        reader = f"read_json({{}}, hive_partitioning=false, {_OPTIONS}{marked})"
        differing = uneven(paths, [kinds_of(connection, path, reader) for path in paths], complete=False)
    kept = ", ".join(quoted(name) for name in names if name not in differing)
    connection.execute(f"CREATE TEMP VIEW rows AS SELECT {kept} FROM cells")
    return differing


def create_from_json(
    connection: duckdb.DuckDBPyConnection, paths: Sequence[str], table: str, more: str = "filename=false"
) -> None:
    """Create a table from JSON files."""
    import duckdb

    refuse_expansion(connection, paths)
    marked = _marked(connection, paths)
    try:
        width = sum(
            _width(kind)
            for kind in connection.sql(
                f"SELECT * FROM read_json({listed(paths)}, hive_partitioning=false, {_OPTIONS}{marked})"
            ).types
        )
        refuse_columns(width, paths[0])
        if width > _FEW_COLUMNS:
            counted = f"SELECT count(*) FROM read_json_objects({listed(paths)}, hive_partitioning=false)"
            refuse_cells(int(connection.execute(counted).fetchall()[0][0]), width, paths, SPARSE_CELL_BYTES)
        connection.execute(
            f"CREATE TEMP TABLE {table} AS SELECT * FROM read_json({listed(paths)}, hive_partitioning=false, "
            f"{more}{marked}, {_OPTIONS})"
        )
        _keep_long_integers(connection, table, f"{listed(paths)}, hive_partitioning=false, {more}{marked}")
    except duckdb.InvalidInputException:
        _refuse_broken_line(paths)
        raise


def _marked(connection: duckdb.DuckDBPyConnection, paths: Sequence[str]) -> str:
    """SQL that says that files are lists where a byte order mark keeps DuckDB from seeing it."""
    return ", format='array'" if any(_is_marked_list(connection, path) for path in paths) else ""


def _is_marked_list(connection: duckdb.DuckDBPyConnection, path: str) -> bool:
    if path.lower().endswith(".zst"):  # DuckDB takes the mark away when it unpacks
        first = connection.execute(f"SELECT line FROM {lines_of(path)} LIMIT 1").fetchone()
        return first is not None and str(first[0]).lstrip().startswith("[")
    with opened(path) as file:
        start = file.read(_START)
    return start.startswith(BOM_UTF8) and start.removeprefix(BOM_UTF8).lstrip().startswith(b"[")


def _width(kind: Any) -> int:
    """Columns that a value becomes: a nested object one for every key that any row has."""
    if kind.id in ("list", "array"):
        return _width(dict(kind.children)["child"])
    return sum(_width(inner) for _, inner in kind.children) if kind.id == "struct" else 1


def _keep_long_integers(connection: duckdb.DuckDBPyConnection, table: str, reading: str) -> None:
    """Read columns again as text that hold whole numbers of which floats would take different ones
    for one.
    """
    types = {
        name: kind for name, kind, *_ in connection.execute(f"DESCRIBE {table}").fetchall() if name != FILE
    }
    floats = [name for name, kind in types.items() if kind == "DOUBLE"]
    if not floats:
        return
    largest = connection.execute(
        f"SELECT {', '.join(f'max(abs({quoted(name)}))' for name in floats)} FROM {table}"
    ).fetchall()[0]
    long = [name for name, size in zip(floats, largest, strict=True) if size is not None and size > EXACT]
    if not long:
        return
    columns = ", ".join(
        f"{literal(name)}: {literal('VARCHAR' if name in long else kind)}" for name, kind in types.items()
    )
    connection.execute(
        f"CREATE TEMP TABLE digits AS SELECT * FROM read_json({reading}, columns={{{columns}}})"
    )
    counts = ", ".join(f"count_if(NOT regexp_full_match({quoted(name)}, '-?[0-9]+'))" for name in long)
    others = connection.execute(f"SELECT {counts} FROM digits").fetchall()[0]
    whole = [name for name, other in zip(long, others, strict=True) if not other]
    numbers = ", ".join(
        f"CAST({quoted(name)} AS DOUBLE) AS {quoted(name)}" for name in long if name not in whole
    )
    if whole:
        connection.execute(
            f"CREATE OR REPLACE TEMP TABLE {table} AS SELECT *{f' REPLACE ({numbers})' if numbers else ''} "
            f"FROM digits"
        )
    connection.execute("DROP TABLE digits")


@dataclass(frozen=True, slots=True)
class GoodLines:
    """Files to be read, and what was left out of them."""

    paths: Sequence[str]
    notes: tuple[str, ...] = ()


@contextmanager
def good_lines(paths: Sequence[str], *, wanted: bool) -> Iterator[GoodLines]:
    """Copies of the files without the lines that are no JSON objects, if ``wanted``; else the files."""
    if not wanted:
        yield GoodLines(paths)
        return
    with scratch() as folder:
        copies = [os.path.join(folder, f"{i}.jsonl") for i in range(len(paths))]
        counts = [_copy_good(path, copy) for path, copy in zip(paths, copies, strict=True)]
        bad, total = sum(bad for bad, _ in counts), sum(total for _, total in counts)
        if bad == total:
            raise InputError(f"{paths[0]!r} must hold one JSON object per line, got none in {total:,} lines")
        notes = (f"left out, as not JSON: {bad:,} of {total:,} lines",) if bad else ()
        yield GoodLines(copies, notes)


def _copy_good(path: str, copy: str) -> tuple[int, int]:
    """Copy the lines that are JSON objects; how many are not, and how many there are."""
    if path.lower().endswith(".zst"):
        raise InputError(f"`skip_bad_lines` must go with plain or gzip files, got {path!r}; unpack it first")
    refuse_gzip_expansion(path)
    bad = total = 0
    with opened(path) as file, open(copy, "wb") as kept:
        for line in _lines(file):
            if not line.strip():
                continue
            if total == 0 and _LIST.match(line.removeprefix(BOM_UTF8)):
                raise InputError(
                    f"`skip_bad_lines` must go with one JSON object per line, and {path!r} holds one list: "
                    f"leave it out"
                )
            total += 1
            if _is_object(line):
                kept.write(line if line.endswith(b"\n") else line + b"\n")
            else:
                bad += 1
    return bad, total


def _lines(file: IO[bytes]) -> Iterator[bytes]:
    """Lines of a file; one that is too long for an object comes as no object."""
    while line := file.readline(LONGEST):
        more = line
        while len(more) == LONGEST and not more.endswith(b"\n"):
            more = file.readline(LONGEST)
            if more.strip():
                line = b"..."
        yield line


def _is_object(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line), dict) and not _is_deep(line)
    except (ValueError, RecursionError):
        return False


def _is_deep(line: bytes) -> bool:
    """Whether objects and lists are nested deeper than can be read."""
    if line.count(b"{") + line.count(b"[") <= LEVELS:
        return False
    signs = _SIGNS.findall(line)
    levels = accumulate(1 if sign in b"{[" else -1 for sign in signs if len(sign) == 1)
    return max(levels, default=0) > LEVELS


def _refuse_broken_line(paths: Sequence[str]) -> None:
    """Name the first line that is no JSON object; DuckDB's own count of lines is not to be relied on."""
    for path in paths:
        if path.lower().endswith(".zst"):
            continue
        with opened(path) as lines:
            for number, line in enumerate(lines):
                if number == 0 and line.lstrip().startswith(b"["):
                    return  # one list over several lines
                if line.strip() and not _is_object(line):
                    place = f"row {number} (line {number + 1})"
                    if _is_deep(line):
                        raise InputError(
                            f"{path!r} must hold objects of at most {LEVELS} levels, got more at {place}; "
                            f"skip_bad_lines=True leaves such lines out"
                        )
                    raise InputError(
                        f"{path!r} must hold one JSON object per line, got something else at {place}: "
                        f"{_shown(line)}; skip_bad_lines=True leaves such lines out"
                    )


def _shown(line: bytes) -> str:
    text = line.decode("utf-8", "replace").strip()
    return repr(text if len(text) <= SHOWN else text[: SHOWN - 3] + "...")
