"""Columns that are not the same in all files of a log: numbers in one, text in another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kwis.data.read.duck import listed

if TYPE_CHECKING:
    import duckdb

_NUMBERS = (
    "tinyint",
    "smallint",
    "integer",
    "bigint",
    "hugeint",
    "utinyint",
    "usmallint",
    "uinteger",
    "ubigint",
    "uhugeint",
)
_KINDS = {
    **dict.fromkeys((*_NUMBERS, "float", "double", "decimal", "boolean"), "number"),
    **dict.fromkeys(("varchar", "enum", "uuid"), "text"),
    "date": "date",
    "null": "empty",
    '"null"': "empty",
}


def kinds_of(connection: duckdb.DuckDBPyConnection, path: str, reader: str) -> dict[str, str]:
    """What each column of a file holds; ``reader`` is the SQL that reads a list of files, with ``{}`` for the
    list.
    """
    relation: Any = connection.sql(f"SELECT * FROM {reader.format(listed([path]))}")
    return {name: _kind(kind.id) for name, kind in zip(relation.columns, relation.types, strict=True)}


def _kind(word: str) -> str:
    return "date" if word.startswith("timestamp") else _KINDS.get(word, word)


def uneven(paths: Sequence[str], kinds: Sequence[Mapping[str, str]], *, complete: bool) -> dict[str, str]:
    """Columns that differ, with the sentence that refuses them; ``complete``: every file must have every
    column.
    """
    found: dict[str, str] = {}
    first: dict[str, tuple[str, str]] = {}
    for path, own in zip(paths, kinds, strict=True):
        for name, kind in own.items():
            known, place = first.setdefault(name, (kind, path))
            if known == "empty":
                first[name] = (kind, path)
            elif kind not in (known, "empty"):
                found.setdefault(
                    name,
                    f"`{name}` must be of one type in all files, got {kind} in {path!r} and {known} in "
                    f"{place!r}",
                )
    for path, own in zip(paths, kinds, strict=True):
        for name in first if complete else ():
            if name not in own:
                found.setdefault(name, f"column `{name}` is missing from file {path!r}")
    return found


def note_on(names: Sequence[str]) -> tuple[str, ...]:
    listed_names = ", ".join(f"`{name}`" for name in names)
    return (f"not in every file, or not of one type, and left out: {listed_names}",) if names else ()
