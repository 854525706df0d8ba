"""The query that fixes how a column is written, ready to paste."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from kwis.data.read.source import Source
from kwis.data.remedy import GapError, SpellingError, identifier
from kwis.errors import InputError


@contextmanager
def sql_that_fixes(source: Source) -> Iterator[None]:
    """Add the whole query to an error about how a column is written, or about rows without a value."""
    try:
        yield
    except SpellingError as trouble:
        raise InputError(trouble.sentence(_query(source, trouble))) from None
    except GapError as trouble:
        if source.dialect is None:
            raise
        query = f"SELECT * FROM {_rows(source)} WHERE {trouble.condition(source.dialect)}"
        raise InputError(f"{trouble}; to leave out such rows pass query={query!r}") from None


def _query(source: Source, trouble: SpellingError) -> str | None:
    """The query; None if the source takes none, or its database lacks the functions used."""
    plain = {trouble.column: trouble.expression, **trouble.others}
    if source.dialect is None or (
        source.dialect == "sqlite"
        and any(text.startswith(("strptime", "TRY_CAST")) for text in plain.values())
    ):
        return None
    rows = _rows(source)
    made = {name: f"{text} AS {identifier(name)}" for name, text in plain.items()}
    if source.dialect == "duckdb":
        return f"SELECT * REPLACE ({', '.join(made.values())}) FROM {rows}"
    columns = [made.get(name, identifier(name)) for name in source.table.columns]
    return f"SELECT {', '.join(columns)} FROM {rows}"


def _rows(source: Source) -> str:
    return "log" if source.query is None else f"({source.query.strip().rstrip(';')})"
