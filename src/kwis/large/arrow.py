"""Arrow columns as what the estimators need: numbers, with ``nan`` where they are missing, and labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from kwis.errors import InputError
from kwis.typing import Floats, Ints

Kind = Literal["number", "date", "text", "empty"]


def kind_of(type_: Any, name: str, place: str) -> Kind:
    """What an Arrow type holds; yes/no counts as the numbers 0 and 1."""
    from pyarrow import types

    if types.is_null(type_):
        return "empty"
    if (
        types.is_boolean(type_)
        or types.is_integer(type_)
        or types.is_floating(type_)
        or types.is_decimal(type_)
    ):
        return "number"
    if types.is_date(type_) or types.is_timestamp(type_):
        return "date"
    if types.is_dictionary(type_):
        return kind_of(type_.value_type, name, place)
    if types.is_string(type_) or types.is_large_string(type_) or types.is_string_view(type_):
        return "text"
    raise InputError(f"`{name}` must hold numbers, dates or text, got {type_} in {place}")


def alike(parts: Sequence[Any]) -> Any:
    """One table of several whose columns may differ in type, as integers differ from floats."""
    import pyarrow as pa

    if len(parts) == 1:
        return parts[0]
    first = parts[0]
    columns = []
    for name in first.column_names:
        pieces = [part.column(name) for part in parts]
        if any(piece.type != pieces[0].type for piece in pieces):
            common = {"number": pa.float64(), "date": pa.timestamp("us"), "text": pa.string()}
            kind = next(
                (
                    found
                    for found in (kind_of(piece.type, name, "a file") for piece in pieces)
                    if found != "empty"
                ),
                "number",
            )
            pieces = [piece.cast(common[kind]) for piece in pieces]
        columns.append(
            pa.chunked_array([chunk for piece in pieces for chunk in piece.chunks], type=pieces[0].type)
        )
    return pa.table(columns, names=first.column_names)


def numbers(column: Any) -> Floats:
    """Floats, dates as seconds since 1970, ``nan`` where missing."""
    import pyarrow as pa
    from pyarrow import types

    if types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if types.is_date(column.type) or types.is_timestamp(column.type):
        micros = column.cast(pa.timestamp("us")).cast(pa.int64())
        return numbers(micros) / 1e6
    if not types.is_float64(column.type):
        column = column.cast(pa.float64())
    return np.asarray(column.to_numpy(), dtype=np.float64)


def labels(column: Any) -> tuple[Ints, tuple[str | None, ...]]:
    """Codes, and the label of each code; a missing label is None."""
    import pyarrow as pa
    import pyarrow.compute as pc

    coded = pc.dictionary_encode(column.cast(pa.string()), null_encoding="encode").combine_chunks()
    if isinstance(coded, pa.ChunkedArray):
        coded = coded.chunk(0)
    return np.asarray(coded.indices.to_numpy(zero_copy_only=False), dtype=np.int64), tuple(
        coded.dictionary.to_pylist()
    )
