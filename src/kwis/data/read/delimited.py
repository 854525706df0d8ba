"""CSV files, read strictly: a row with too many or too few cells is an error, never a guess.

The first line names the columns; the separator (comma, semicolon, tab or bar) is the one that splits it most.
A column is numeric if every cell is a number, empty, or one of the usual words for a gap; numbers with
leading zeros are labels.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kwis.data.read.duck import FILE, lines_of, listed, literal, quoted
from kwis.data.read.limits import LINE_BYTES, opened, refuse_columns, refuse_expansion
from kwis.data.read.uneven import uneven
from kwis.data.remedy import GAPS
from kwis.data.table import refuse_alike
from kwis.errors import InputError

if TYPE_CHECKING:
    import duckdb

_EXACT_DIGITS = 15  # whole numbers of so many digits are exact as floats
_AT_ONCE = 10  # columns per query: the time to plan one grows faster than its length
_AS_UTF8 = "save it as UTF-8 (in Excel: CSV UTF-8; from Latin-1: iconv -f latin1 -t utf-8 OLD > NEW)"
_PROBLEMS = {
    "MISSING COLUMNS": "too few cells",
    "TOO MANY COLUMNS": "too many cells",
    "UNQUOTED VALUE": "a quotation mark that is never closed or closed too early",
    "LINE SIZE OVER MAXIMUM": "a line that is too long",
}


def create_from_csv(connection: duckdb.DuckDBPyConnection, paths: Sequence[str]) -> dict[str, str]:
    """Create the view ``rows`` from CSV files of one first line; columns that differ between files are left
    out and come back.
    """
    refuse_expansion(connection, paths)
    names, separator = _header(connection, paths[0])
    for path in paths[1:]:
        if _header(connection, path)[0] != names:
            raise InputError(
                f"files must have the same columns, and those of {path!r} differ from those of {paths[0]!r}"
            )
    # A line break within a name would be taken for the one that ends every line.
    ending = (
        ", new_line='\\r\\n'"
        if any("\n" in name for name in names) and _first_line(connection, paths[0]).endswith(b"\r\n")
        else ""
    )
    columns = ", ".join(f"'c{i}': 'VARCHAR'" for i in range(len(names)))
    connection.execute(
        f"CREATE TEMP TABLE cells AS SELECT * FROM read_csv({listed(paths)}, auto_detect=false, header=true, "
        f"delim={literal(separator)}, "
        f"quote='\"', escape='\"', nullstr='', columns={{{columns}}}, null_padding=false, "
        f"store_rejects=true, "
        f"hive_partitioning=false, filename={literal(FILE)}{ending})"
    )
    _refuse_broken_rows(connection, len(names))
    differing = uneven(paths, _kinds(connection, paths, names), complete=False) if len(paths) > 1 else {}
    typed = zip(names, _typed(connection, len(names)), strict=True)
    expressions = [f"{expression} AS {quoted(name)}" for name, expression in typed if name not in differing]
    connection.execute(
        f"CREATE TEMP VIEW rows AS SELECT {', '.join([*expressions, quoted(FILE)])} FROM cells"
    )
    return differing


def _kinds(
    connection: duckdb.DuckDBPyConnection, paths: Sequence[str], names: Sequence[str]
) -> list[dict[str, str]]:
    """What each column holds in each file: numbers alone, no number at all, or "empty" where that cannot be
    said.
    """
    by_file: dict[str, dict[str, str]] = {path: {} for path in paths}
    for i, name in enumerate(names):
        for path, *counts in connection.execute(
            f"SELECT {quoted(FILE)}, {_counts(f'c{i}')} FROM cells GROUP BY 1"
        ).fetchall():
            filled, numeric, _, _, _, gaps, _ = counts
            known = filled - gaps
            by_file[path][name] = (
                "empty" if not known else "number" if numeric == known else "empty" if numeric else "text"
            )
    return [by_file[path] for path in paths]


def _header(connection: duckdb.DuckDBPyConnection, path: str) -> tuple[list[str], str]:
    """Column names and separator; every name must be there once."""
    try:
        first = _first_line(connection, path).decode("utf-8-sig")
    except (UnicodeDecodeError, OSError, EOFError):
        raise InputError(f"`source` must be text in UTF-8, and {path!r} is not; {_AS_UTF8}") from None
    if len(first) > LINE_BYTES:
        raise InputError(
            f"`source` must have lines of at most {LINE_BYTES:,} bytes, and the first of {path!r} is longer"
        )
    if "\0" in first:
        raise InputError(f"`source` must be text in UTF-8, and {path!r} is not; {_AS_UTF8}")
    if "\r" in first.replace("\r\n", "\n").rstrip("\r\n"):
        raise InputError(
            f"`source` must end its lines with a line feed, and {path!r} has a carriage return within the "
            f"first"
        )
    try:
        splits = [
            (next(csv.reader(io.StringIO(first, newline=""), delimiter=mark), []), mark) for mark in ",;\t|"
        ]
    except csv.Error:
        raise InputError(
            f"`source` must name its columns in the first line, and a name in that of {path!r} is too long"
        ) from None
    names, separator = max(splits, key=lambda split: len(split[0]))
    refuse_columns(len(names), path)
    if not any(name.strip() for name in names):
        raise InputError(f"`source` must name its columns in the first line, and {path!r} does not")
    names = [name.strip() or f"column{i}" for i, name in enumerate(names)]
    refuse_alike(names, f" in {path!r}")
    return names, separator


def _first_line(connection: duckdb.DuckDBPyConnection, path: str) -> bytes:
    """The first line, with the next ones while a quotation mark is open: DuckDB finds what is wrong further
    down, and where.
    """
    if path.lower().endswith(".zst"):
        return str(connection.execute(f"SELECT line FROM {lines_of(path)} LIMIT 1").fetchall()[0][0]).encode()
    with opened(path) as file:
        line = file.readline(LINE_BYTES + 1)
        while line.count(b'"') % 2 and len(line) <= LINE_BYTES and (more := file.readline(LINE_BYTES)):
            line += more
    return line


def _refuse_broken_rows(connection: duckdb.DuckDBPyConnection, width: int) -> None:
    broken = connection.execute(
        "SELECT e.line, e.error_type, s.file_path FROM reject_errors e JOIN reject_scans s USING (scan_id, "
        "file_id) "
        "ORDER BY file_id, line LIMIT 1"
    ).fetchone()
    if broken is None:
        return
    line, error, path = broken
    if error in ("INVALID ENCODING", "INVALID UNICODE"):
        raise InputError(
            f"{path!r} must be text in UTF-8, got other bytes at row {line - 2} (line {line}); {_AS_UTF8}"
        )
    problem = _PROBLEMS.get(str(error), str(error).lower())
    raise InputError(
        f"{path!r} must have {width} cells in every row, got {problem} at row {line - 2} (line {line})"
    )


def _typed(connection: duckdb.DuckDBPyConnection, width: int) -> list[str]:
    """SQL expression of each column: whole numbers, numbers, yes/no, or the text as it is."""
    expressions: list[str] = []
    for start in range(0, width, _AT_ONCE):
        cells = [f"c{i}" for i in range(start, min(width, start + _AT_ONCE))]
        found = connection.execute(
            f"SELECT {', '.join(_counts(cell) for cell in cells)} FROM cells"
        ).fetchone()
        assert found is not None  # an aggregate always has a row
        expressions += [_expression(cell, *found[7 * i : 7 * i + 7]) for i, cell in enumerate(cells)]
    return expressions


def _counts(cell: str) -> str:
    """Counts of a column: cells filled, numbers, whole numbers of up to 18 digits and of any, the longest,
    words for a gap, yes/no.
    """
    gaps = _gap_words()
    number = (
        f"TRY_CAST({cell} AS DOUBLE) IS NOT NULL AND {cell} NOT IN ({gaps}) AND NOT contains({cell}, '_')"
    )
    return (
        f"count({cell}), "
        f"count_if({number} AND NOT regexp_matches({cell}, '^[+-]?0[0-9]')), "
        f"count_if(regexp_full_match({cell}, '[+-]?[0-9]{{1,18}}')), "
        f"count_if(regexp_full_match({cell}, '[+-]?[0-9]+')), "
        f"coalesce(max(CASE WHEN regexp_full_match({cell}, '[+-]?[0-9]+') THEN length({cell}) END), 0), "
        f"count_if({cell} IN ({gaps})), "
        f"count_if(lower({cell}) IN ('true', 'false'))"
    )


def _gap_words() -> str:
    return ", ".join(literal(gap) for gap in GAPS)


def _expression(
    cell: str, filled: int, numeric: int, short: int, whole: int, longest: int, gaps: int, yes_no: int
) -> str:
    if numeric and numeric == short == filled:
        return f"CAST({cell} AS BIGINT)"
    if longest > _EXACT_DIGITS and numeric == whole and numeric + gaps == filled:
        # floats would take different labels for one
        return f"CASE WHEN {cell} NOT IN ({_gap_words()}) THEN {cell} END"
    if numeric and numeric + gaps == filled:
        return f"TRY_CAST({cell} AS DOUBLE)"
    if yes_no and yes_no + gaps == filled:
        return f"TRY_CAST({cell} AS BOOLEAN)"
    return cell
