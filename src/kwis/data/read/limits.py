"""Limits that keep a small file from filling the memory: lines, columns, cells and what a compressed file
expands to.
"""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Sequence
from typing import IO, TYPE_CHECKING

from kwis.errors import InputError

if TYPE_CHECKING:
    import duckdb

LINE_BYTES = 1_000_000
COLUMNS = 10_000
EXPANSION = 50  # logs shrink to a tenth or so when they are compressed
FREE_BYTES = 200_000_000  # what any file may expand to
CELL_BYTES = 8
SPARSE_CELL_BYTES = 160  # a cell of JSON, gaps and their encoding included, takes up to 300 while it is read
_CHUNK = 1 << 20


def opened(path: str) -> IO[bytes]:
    """A file, or what is inside a gzip."""
    return gzip.open(path, "rb") if path.lower().endswith(".gz") else open(path, "rb")  # type: ignore[return-value]


def refuse_columns(count: int, path: str) -> None:
    if count > COLUMNS:
        raise InputError(f"`source` must have at most {COLUMNS:,} columns, and {path!r} has {count:,}")


def refuse_cells(rows: int, columns: int, paths: Sequence[str], each: int = CELL_BYTES) -> None:
    """Refuse a table that takes far more memory than its files are large."""
    size = sum(os.path.getsize(path) for path in paths)
    if rows * columns * each > FREE_BYTES + EXPANSION * size:
        raise InputError(
            f"`source` must not expand to over {EXPANSION} times its size, and {paths[0]!r} holds {rows:,} "
            f"rows of {columns:,} columns "
            f"in {size:,} bytes; leave out columns that are nearly empty, or write it as CSV"
        )


def refuse_expansion(connection: duckdb.DuckDBPyConnection, paths: Sequence[str]) -> None:
    """Refuse compressed files that expand to far more than their size; no more than that is looked at."""
    from kwis.data.read.duck import lines_of

    for path in paths:
        if path.lower().endswith(".zst"):
            lines = f"SELECT coalesce(sum(strlen(line) + 1), 0) FROM {lines_of(path)}"
            _refuse_size(int(connection.execute(lines).fetchall()[0][0]), path)
        else:
            refuse_gzip_expansion(path)


def refuse_gzip_expansion(path: str) -> None:
    """The same for a gzip; nothing for any other file."""
    if not path.lower().endswith(".gz"):
        return
    size, most = 0, largest_expansion(path)
    try:
        with opened(path) as file:
            while size <= most and (chunk := file.read(_CHUNK)):
                size += len(chunk)
    except (OSError, EOFError, zlib.error) as failure:
        raise InputError(f"cannot read {path!r}: it is damaged, or no gzip: {failure}") from None
    _refuse_size(size, path)


def largest_expansion(path: str) -> int:
    """Bytes that a compressed file may expand to."""
    return FREE_BYTES + EXPANSION * os.path.getsize(path)


def _refuse_size(size: int, path: str) -> None:
    if size > largest_expansion(path):
        raise InputError(
            f"`source` must not expand to over {EXPANSION} times its size, and {path!r} does; unpack it first"
        )
