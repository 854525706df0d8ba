"""What DuckDB is asked to do: run a query and hand over its columns; its errors come out as one sentence of
ours.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from kwis.data.columns import EXACT
from kwis.data.read.queries import QUERY_CELLS, confine, in_time, one_select
from kwis.data.table import Table, refuse_alike, table_of
from kwis.errors import InputError
from kwis.runtime.scratch import scratch

if TYPE_CHECKING:
    import duckdb

_WHOLE = {"tinyint", "smallint", "integer", "bigint", "utinyint", "usmallint", "uinteger", "ubigint"}
_AS_IS = {"boolean", "float", "double", "varchar"} | _WHOLE
_HUGE = {"hugeint", "uhugeint", "bignum", "varint"}
_AS_NUMBER = {"decimal"} | _HUGE
MOST_RECORDS = 10  # in a list; longer ones are no features of one decision
FILE = "__kwis_file__"
"""Column that holds the file of a row while files are read."""
_NO_VALUES = {"null", '"null"'}
_AS_TEXT = {"enum", "uuid"}
_AS_SECONDS = {"time", "time_ns", "time with time zone", "interval"}


@contextmanager
def connect(database: str = ":memory:") -> Iterator[duckdb.DuckDBPyConnection]:
    """Connection to a database file, opened for reading only, or to a new one in memory. What does not fit
    into memory goes to a temporary folder; DuckDB's own choice would be the working directory or that of the
    database.
    """
    import duckdb

    with ExitStack() as stack:
        try:
            folder = stack.enter_context(scratch())
        except OSError:  # no place to write: memory has to do
            folder = ""
        with clear_errors(f"cannot open {database!r}"):
            opened = duckdb.connect(database, read_only=database != ":memory:")
        connection = stack.enter_context(opened)
        connection.execute(f"SET temp_directory={literal(folder)}")
        yield connection


@contextmanager
def clear_errors(doing: str) -> Iterator[None]:
    """Turn an error of DuckDB into one sentence: what could not be done, and its own first line."""
    import duckdb

    try:
        yield
    except duckdb.Error as failure:
        raise InputError(f"{doing}: {first_line(failure)}") from None
    except UnicodeDecodeError:
        raise InputError(f"{doing}: it is not UTF-8") from None
    except RuntimeError as failure:  # newer versions of DuckDB say so of names of columns
        if "conversion error" not in str(failure):
            raise
        raise InputError(f"{doing}: it is not UTF-8") from None


def first_line(failure: Exception) -> str:
    """The gist of a longer message, without its class and without a full stop."""
    lines = [line.strip() for line in str(failure).splitlines() if line.strip()]
    text = re.sub(r"^[A-Z][A-Za-z ]* (Error|Exception): ", "", lines[0]) if lines else type(failure).__name__
    return text.rstrip(".!")


def quoted(name: str) -> str:
    """SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """SQL string."""
    return "'" + text.replace("'", "''") + "'"


def escaped(path: str) -> str:
    """A path that DuckDB will not take for a pattern."""
    return "".join(f"[{sign}]" if sign in "*?[" else sign for sign in path)


def listed(paths: Sequence[str]) -> str:
    """SQL list of paths, none of which DuckDB will take for a pattern."""
    return "[" + ", ".join(literal(escaped(path)) for path in paths) + "]"


def lines_of(path: str) -> str:
    """SQL that reads the lines of a text file, compressed or not, as the column ``line``."""
    options = (
        "auto_detect=false, header=false, delim='\x01', quote='', escape='', columns={'line': 'VARCHAR'}"
    )
    return f"read_csv({listed([path])}, {options})"


def refuse_renamed(names: Sequence[str], own: Sequence[str], path: str) -> None:
    """Refuse a file with columns that DuckDB renamed, as their names differ in case only; ``own`` are those
    in the file.
    """
    renamed = [name for name in names if name not in own and re.fullmatch(r".+_\d+", name, re.DOTALL)]
    if renamed:
        base = renamed[0].rpartition("_")[0].casefold()
        alike = [name for name in own if name.casefold() == base]
        refuse_alike(sorted(alike, key=lambda name: (name not in names, name)), f" in {path!r}")


def run_query(connection: duckdb.DuckDBPyConnection, query: str, *, confined: bool = True) -> Table:
    """Result of a query that somebody wrote; ``confined`` to what the connection holds."""
    with in_time(connection), clear_errors("`query` failed"):
        if confined:
            confine(connection)
        statement = one_select(connection, query)
        return query_table(connection, statement, "`query` failed", most=QUERY_CELLS)


def query_table(
    connection: duckdb.DuckDBPyConnection,
    query: str,
    doing: str,
    *,
    most: int | None = None,
    lists: Callable[[str], bool] | None = None,
) -> Table:
    """Result of a query as a table, in its row order, of ``most`` cells; nested records become columns
    ``outer.inner``, and so do lists of records whose name ``lists`` accepts.
    """
    with clear_errors(doing):
        relation = connection.sql(query)
    refuse_alike(relation.columns)
    wanted: list[tuple[str, str]] = []
    opaque: list[str] = []

    def length(name: str, expression: str) -> int:
        """Records in the longest list; 0 if the list is not to be taken apart."""
        if lists is None or not lists(name):
            return 0
        longest = relation.aggregate(f"coalesce(max(len({expression})), 0)").fetchall()[0][0]
        return int(longest) if longest <= MOST_RECORDS else 0

    with clear_errors(doing):
        for name, kind in zip(relation.columns, relation.types, strict=True):
            _expand(name, quoted(name), kind, wanted, opaque, length)
    exact = {
        f"CAST({quoted(name)} AS DOUBLE)": quoted(name)
        for name, kind in zip(relation.columns, relation.types, strict=True)
        if _is_huge(kind)
    }
    if not wanted:
        raise InputError(f"{doing}: there is no column of numbers, text, dates or yes/no values")
    with clear_errors(doing):
        rows = relation.project(
            ", ".join(f"{expression} AS c{i}" for i, (_, expression) in enumerate(wanted))
        )
        fetched = (rows if most is None else rows.limit(most // len(wanted) + 1)).fetchnumpy()
        huge = [
            i
            for i, (_, expression) in enumerate(wanted)
            if expression in exact and _beyond_floats(fetched[f"c{i}"])
        ]
        if huge:  # as text: floats would take different labels for one
            fetched |= relation.project(
                ", ".join(f"CAST({exact[wanted[i][1]]} AS VARCHAR) AS c{i}" for i in huge)
            ).fetchnumpy()
    if most is not None and len(fetched["c0"]) * len(wanted) > most:
        raise InputError(f"`query` must give at most {most:,} cells, got more")
    table = table_of([(name, fetched[f"c{i}"]) for i, (name, _) in enumerate(wanted)])
    return replace(table, opaque=(*table.opaque, *opaque))


def _is_huge(kind: Any) -> bool:
    """Whether a type holds whole numbers of more than 64 bits."""
    return kind.id in _HUGE or (kind.id == "decimal" and dict(kind.children).get("scale") == 0)


def _beyond_floats(values: Any) -> bool:
    known = np.ma.compressed(values) if isinstance(values, np.ma.MaskedArray) else values
    return bool((np.abs(known) > EXACT).any())


def _expand(
    name: str,
    expression: str,
    kind: Any,
    wanted: list[tuple[str, str]],
    opaque: list[str],
    length: Callable[[str, str], int],
) -> None:
    """Expressions whose results NumPy can hold, one per plain column, several for a record or a short list of
    records.
    """
    if str(kind) == "JSON":  # text in some rows and numbers in others: text without its quotation marks
        wanted.append((name, f"json_extract_string({expression}, '$')"))
    elif str(kind) == "JSON[]":
        wanted.append((name, f"list_transform({expression}, lambda x: json_extract_string(x, '$'))"))
    elif kind.id in _AS_IS or (
        kind.id in ("list", "array") and dict(kind.children)["child"].id in _AS_IS | _AS_NUMBER
    ):
        wanted.append((name, expression))
    elif kind.id in _AS_NUMBER | _NO_VALUES:
        wanted.append((name, f"CAST({expression} AS DOUBLE)"))
    elif kind.id in _AS_TEXT:
        wanted.append((name, f"CAST({expression} AS VARCHAR)"))
    elif kind.id in _AS_SECONDS:
        wanted.append((name, f"epoch({expression})"))
    elif kind.id in ("timestamp_ns", "timestamptz_ns", "timestamp_ns with time zone"):
        wanted.append((name, f"make_timestamp(epoch_ns({expression}) // 1000)"))
    elif kind.id == "date" or kind.id.startswith("timestamp"):
        wanted.append(
            (name, f"make_timestamp(epoch_us({expression}))")
        )  # UTC, whatever the zone of the session
    elif kind.id == "struct":
        for inner, inner_kind in kind.children:
            _expand(
                f"{name}.{inner}",
                f"struct_extract({expression}, {literal(inner)})",
                inner_kind,
                wanted,
                opaque,
                length,
            )
    elif _is_list_of_records(kind) and (count := length(name, expression)):
        for i in range(count):
            place = name if count == 1 else f"{name}.{i}"
            inner = dict(kind.children)["child"]
            _expand(place, f"list_extract({expression}, {i + 1})", inner, wanted, opaque, length)
    else:
        opaque.append(name)


def _is_list_of_records(kind: Any) -> bool:
    return kind.id in ("list", "array") and dict(kind.children)["child"].id == "struct"
