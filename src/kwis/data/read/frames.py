"""Tables held in memory: pandas, polars, Arrow and whatever else narwhals knows, and dictionaries
of arrays.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from kwis.data.columns import Column, object_array, text_of_codes
from kwis.data.read.duck import clear_errors, connect, run_query
from kwis.data.table import Table, is_single, refuse_alike, table_of
from kwis.errors import InputError


def from_arrays(arrays: Mapping[Any, Any]) -> Table:
    """Table from a dictionary of arrays or lists; a matrix ``X`` stands for the columns ``X_0``,
    ``X_1``, ...
    """
    for name, values in arrays.items():
        if is_single(values):
            raise InputError(f"`source` must hold one entry per row, got a single value for {name!r}")
    return table_of([(str(name), values) for name, values in arrays.items()])


def from_frame(source: Any, *, piece: bool = False) -> Table:
    """Table from a data frame of any library that narwhals supports; a lazy one is collected. ``piece`` as in
    ``table_of``.
    """
    import narwhals as nw

    if type(source).__name__ == "LazyFrame":
        source = source.collect()
    names = [str(name) for name in getattr(source, "column_names", getattr(source, "columns", ()))]
    refuse_alike(names)
    if hasattr(source, "set_axis") and not all(isinstance(name, str) for name in source.columns):
        source = source.set_axis(names, axis=1)  # pandas allows numbers as names
    try:
        frame: Any = nw.from_native(source)
    except TypeError:
        raise InputError(
            "`source` must be a path, a data frame, an Arrow table or a dictionary of arrays, "
            f"got {type(source).__module__.partition('.')[0]}.{type(source).__name__}"
            + (
                ", which has one: pass its `table`"
                if isinstance(getattr(source, "table", None), dict)
                else ""
            )
        ) from None
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    parts: list[tuple[str, Any]] = []
    for name in frame.columns:
        try:
            _add(name, frame[name], parts)
        except UnicodeDecodeError:
            raise InputError(f"`{name}` must be text in UTF-8 in every row, and is not") from None
    return table_of(parts, piece=piece)


def query_frame(source: Any, query: str, allow_external: bool = False) -> Table:
    """Result of a query on a data frame, which it finds under the name ``log``."""
    import narwhals as nw

    try:
        frame: Any = nw.from_native(source).lazy().collect()
    except TypeError:
        raise InputError(
            f"`query` must go with a file, a data frame or a database, got {type(source).__name__}"
        ) from None
    with connect() as connection:
        with clear_errors("`source` cannot be queried"):
            connection.register("log", frame.to_native())
        return run_query(connection, query, confined=not allow_external)


def _add(name: str, series: Any, parts: list[tuple[str, Any]]) -> None:
    """Add a series in the form that :func:`kwis.data.columns.column_of` reads alike from every library."""
    import narwhals as nw

    dtype = series.dtype
    if isinstance(dtype, nw.Struct):
        for inner in dtype.fields:
            _add(f"{name}.{inner.name}", series.struct.field(inner.name), parts)
    elif isinstance(dtype, nw.Date | nw.Datetime):
        parts.append((name, _dates(series)))
    elif dtype.is_integer() and (series.null_count() or isinstance(dtype, nw.Int128 | nw.UInt128)):
        parts.append((name, object_array(series.to_list())))
    elif dtype.is_integer():
        parts.append((name, series.to_numpy()))
    elif dtype.is_numeric():
        parts.append((name, _floats(series)))
    elif isinstance(dtype, nw.Boolean) and not series.null_count():
        parts.append((name, series.to_numpy().astype(bool)))
    elif isinstance(dtype, nw.String | nw.Categorical | nw.Enum):
        parts.append((name, _texts(series)))
    else:
        parts.append((name, object_array(series.to_list())))


def _texts(series: Any) -> Any:
    """Text with None where missing, which a cast to text turns into words in some versions of pandas."""
    import narwhals as nw

    if series.implementation.is_pyarrow() and isinstance(series.dtype, nw.String):
        coded = _arrow_text(series.to_native())
        if coded is not None:
            return coded
    empty = series.is_null().to_numpy().astype(bool)
    items = (series if isinstance(series.dtype, nw.String) else series.cast(nw.String)).to_list()
    return object_array([None if gone else item for item, gone in zip(items, empty.tolist(), strict=True)])


def _arrow_text(chunks: Any) -> Column | None:
    """Text by the codes that Arrow gives it, without an object per row; None where there is no text."""
    from pyarrow import types

    if not (types.is_string(chunks.type) or types.is_large_string(chunks.type)):
        return None
    whole = chunks.combine_chunks().dictionary_encode()
    labels = whole.dictionary.to_pylist()
    return text_of_codes(whole.indices.fill_null(-1).to_numpy(), labels) if labels else None


def _floats(series: Any) -> Any:
    import narwhals as nw

    values = series.cast(nw.Float64)
    if not values.null_count():
        return values.to_numpy().astype(np.float64, copy=False)
    empty = values.is_null().to_numpy().astype(bool)
    return np.where(empty, np.nan, values.fill_null(0.0).to_numpy().astype(np.float64))


def _dates(series: Any) -> Column:
    import narwhals as nw

    moments = series.cast(nw.Datetime("us")) if isinstance(series.dtype, nw.Date) else series
    empty = moments.is_null().to_numpy().astype(bool)
    ticks = moments.dt.timestamp("us").fill_null(0).to_numpy().astype(np.int64)
    return Column("date", np.where(empty, np.datetime64("NaT", "us"), ticks.astype("datetime64[us]")))
