"""Raw columns of a log, the same whichever library, file or database they came from.

Every source ends as one of four kinds of column, so that the same log gives the same numbers from everywhere:

=======  =============================================  =====================
kind     values                                         missing is
=======  =============================================  =====================
number   int64 (uint64 where needed) or float64         NaN
boolean  0.0 and 1.0                                    NaN
text     integer codes into the sorted ``levels``       -1; empty text counts
date     ``datetime64[us]``, UTC where there is a zone  NaT
=======  =============================================  =====================

Text that is an ISO date in every row is a date: CSV, JSON and SQLite have no dates of their own. That can
only be said of a whole column, so :func:`dated` says it of a table that is complete, and :func:`joined` puts
columns that were read in pieces together.
"""

from __future__ import annotations

import datetime as dt
import numbers
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Literal

import numpy as np

from kwis.typing import Ints

Kind = Literal["number", "boolean", "text", "date"]
Label = str | int | float | bool
Array = np.ndarray[Any, Any]

EXACT = 2**53
"""Whole numbers up to here are exact as floats."""
ISO_DATE = re.compile(
    r"(?P<day>\d{4}-\d{2}-\d{2})"
    r"((?P<time>[ "
    r"T]\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?)(Z|(?P<sign>[+-])(?P<hours>[01]\d|2[0-3]):?(?P<minutes>[0-5]\d)?)?)?"
)


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """One raw column; the module says what each kind holds."""

    kind: Kind
    values: Array
    levels: tuple[str, ...] = ()

    def __len__(self) -> int:
        return int(self.values.shape[0])

    @property
    def missing(self) -> Array:
        """True where the row has no value."""
        if self.kind == "text":
            return np.asarray(self.values < 0)
        if self.kind == "date":
            return np.isnat(self.values)
        return np.isnan(self.values) if self.values.dtype.kind == "f" else np.zeros(len(self), dtype=bool)

    def take(self, rows: Ints) -> Column:
        return replace(self, values=self.values[rows])

    def natural(self) -> Array:
        """Values as a user expects them: text as Python strings (``None`` where missing), yes/no without gaps
        as bool.
        """
        if self.kind == "text":
            return np.array([*self.levels, None], dtype=object)[self.values]
        if self.kind == "boolean" and not self.missing.any():
            return self.values.astype(bool)
        return self.values

    def at(self, row: int) -> Any:
        """The value in one row, as a plain Python object for messages."""
        value = self.natural()[row]
        return (
            value.item()
            if isinstance(value, np.generic) and self.kind != "date"
            else str(value)
            if self.kind == "date"
            else value
        )

    def coded(self) -> tuple[Ints, tuple[Label, ...]]:
        """Codes into the sorted distinct labels, -1 where missing; whole numbers become ``int``."""
        if self.kind == "text":
            return self.values, self.levels
        present = ~self.missing
        distinct, inverse = np.unique(self.values[present], return_inverse=True)
        codes = np.full(len(self), -1, dtype=np.int64)
        codes[present] = inverse
        return codes, tuple(_label(value, self.kind) for value in distinct)


def _label(value: Any, kind: Kind) -> Label:
    if kind == "boolean":
        return bool(value)
    if kind == "date":
        return str(value)
    return int(value) if value.dtype.kind in "iu" or float(value).is_integer() else float(value)


def object_array(items: Sequence[Any]) -> Array:
    """One-dimensional array of Python objects, even where these are lists of equal length."""
    return np.fromiter(items, dtype=object, count=len(items))


def column_of(array: Array) -> Column:
    """Column from a one-dimensional array, masked or not; TypeError for entries that are no value
    of a table.
    """
    hidden = np.ma.getmaskarray(array) if isinstance(array, np.ma.MaskedArray) else None
    data = np.ma.getdata(array)
    kind = data.dtype.kind
    if kind in "OUST":
        items = data.tolist()
        return column_of_items(
            items
            if hidden is None
            else [None if gone else item for item, gone in zip(items, hidden, strict=True)]
        )
    if kind == "M":
        dates = data.astype("datetime64[us]")
        return Column(
            "date", dates if hidden is None else np.where(hidden, np.datetime64("NaT", "us"), dates)
        )
    if kind == "m":
        data = data / np.timedelta64(1, "s")
    if hidden is not None and hidden.any():
        if kind in "iu" and _beyond_floats(data[~hidden]):
            return _text(
                [None if gone else str(item) for item, gone in zip(data.tolist(), hidden, strict=True)]
            )
        data = np.where(hidden, np.nan, data)
    if kind in "iu" and data.dtype.kind in "iu":
        fits = kind == "i" or not len(data) or data.max() < 2**63
        return Column("number", data.astype(np.int64 if fits else np.uint64))
    return Column("boolean" if kind == "b" else "number", data.astype(np.float64))


def column_of_items(items: Sequence[Any]) -> Column:
    """Column from Python objects, by what they all are; a mixture of numbers and text is text."""
    if str in (kinds := set(map(type, items))) and kinds <= {str, type(None)}:
        return _text(items)
    present = [item for item in items if not _absent(item)]
    if present and all(isinstance(item, bool | np.bool_) for item in present):
        return Column("boolean", np.array([np.nan if _absent(item) else float(item) for item in items]))
    if not present or all(isinstance(item, numbers.Real | Decimal) for item in present):
        if present and all(_is_whole(item) for item in present):
            return _whole([None if _absent(item) else int(item) for item in items])
        return Column(
            "number", np.array([np.nan if _absent(item) else float(item) for item in items], dtype=np.float64)
        )
    if all(isinstance(item, dt.date | np.datetime64) for item in present):
        return Column(
            "date",
            np.array([None if _absent(item) else _moment(item) for item in items], dtype="datetime64[us]"),
        )
    if all(isinstance(item, dt.timedelta) for item in present):
        return Column(
            "number", np.array([np.nan if _absent(item) else item.total_seconds() for item in items])
        )
    if all(isinstance(item, dt.time) for item in present):
        return Column("number", np.array([np.nan if _absent(item) else _seconds(item) for item in items]))
    if any(
        isinstance(item, list | tuple | dict | set | bytearray | memoryview | np.ndarray) for item in present
    ):
        raise TypeError("not a value of a table")
    return _text(
        [
            None
            if _absent(item)
            else item.decode("utf-8", "replace")
            if isinstance(item, bytes)
            else str(item)
            for item in items
        ]
    )


def _is_whole(item: Any) -> bool:
    return isinstance(item, numbers.Integral) or (
        isinstance(item, Decimal) and abs(item) >= EXACT and item == item.to_integral_value()
    )


def _whole(items: Sequence[int | None]) -> Column:
    """Whole numbers; as text where no type of number holds them all exactly, as labels must not be taken for
    each other.
    """
    present = [item for item in items if item is not None]
    low, high = min(present), max(present)
    if len(present) == len(items) and low >= -(2**63) and high < 2**63:
        return Column("number", np.array(present, dtype=np.int64))
    if len(present) == len(items) and low >= 0 and high < 2**64:
        return Column("number", np.array(present, dtype=np.uint64))
    if low >= -EXACT and high <= EXACT:
        return Column("number", np.array([np.nan if item is None else float(item) for item in items]))
    return _text([None if item is None else str(item) for item in items])


def _beyond_floats(values: Array) -> bool:
    """Whether whole numbers are too large for floats to tell apart."""
    return bool(len(values)) and (int(values.max()) > EXACT or int(values.min()) < -EXACT)


def _absent(item: Any) -> bool:
    if item is None or type(item).__name__ in ("NAType", "NaTType", "MaskedConstant"):
        return True
    return (isinstance(item, float | np.floating) and bool(item != item)) or (
        isinstance(item, np.datetime64) and bool(np.isnat(item))
    )


def _moment(item: Any) -> Any:
    if isinstance(item, dt.datetime) and item.tzinfo is not None:
        return item.astimezone(dt.UTC).replace(tzinfo=None)
    return item


def _seconds(item: dt.time) -> float:
    return item.hour * 3600.0 + item.minute * 60 + item.second + item.microsecond / 1e6


def _utc(text: str) -> np.datetime64:
    """The moment of an ISO date, in UTC where it has an offset."""
    found = ISO_DATE.fullmatch(text)
    assert found is not None
    moment = np.datetime64(found["day"] + (found["time"] or ""), "us")
    if found["sign"] is None:
        return moment
    minutes = 60 * int(found["hours"]) + int(found["minutes"] or 0)
    return moment + np.timedelta64(-minutes if found["sign"] == "+" else minutes, "m")


def _text(items: Sequence[str | None]) -> Column:
    seen: dict[str, int] = {}
    codes = np.array([-1 if not item else seen.setdefault(item, len(seen)) for item in items], dtype=np.int64)
    return _sorted_text(codes, list(seen))


def text_of_codes(codes: Ints, labels: Sequence[str]) -> Column:
    """Text from codes into different labels, negative where missing."""
    seen = [label for label in labels if label]
    place = {label: code for code, label in enumerate(seen)}
    lookup = np.array([*(place.get(label, -1) for label in labels), -1], dtype=np.int64)
    return _sorted_text(lookup[np.maximum(codes, -1)], seen)


def _sorted_text(codes: Ints, labels: Sequence[str]) -> Column:
    """Text from codes into labels in any order, -1 where missing."""
    levels = sorted(labels)
    place = {level: code for code, level in enumerate(levels)}
    lookup = np.array([*(place[label] for label in labels), -1], dtype=np.int64)
    return Column("text", lookup[codes], tuple(levels))


def dated(column: Column) -> Column:
    """The column as dates if it is text and every value is an ISO date; otherwise as it is."""
    if (
        column.kind != "text"
        or not column.levels
        or not all(ISO_DATE.fullmatch(level) for level in column.levels)
    ):
        return column
    try:
        return Column(
            "date", np.array([*map(_utc, column.levels), "NaT"], dtype="datetime64[us]")[column.values]
        )
    except ValueError:  # the shape of a date, but no such day
        return column


def joined(pieces: Sequence[Column]) -> Column | None:
    """One column of several, one after the other; None where they are of different kinds. A piece without
    values fits any.
    """
    if len(pieces) == 1:
        return pieces[0]
    pieces = _exact(pieces)
    kinds = {piece.kind for piece in pieces if len(piece) and not piece.missing.all()} or {"number"}
    if kinds == {"number", "boolean"}:
        kinds = {"number"}
    if len(kinds) > 1:
        return None
    kind = kinds.pop()
    if kind == "text":
        return _joined_text(pieces)
    if kind == "date":
        empty = np.datetime64("NaT", "us")
        return Column(
            "date",
            np.concatenate(
                [piece.values if piece.kind == "date" else np.full(len(piece), empty) for piece in pieces]
            ),
        )
    values = [
        piece.values if piece.kind in ("number", "boolean") else np.full(len(piece), np.nan)
        for piece in pieces
    ]
    whole = all(part.dtype.kind in "iu" for part in values) and len({part.dtype for part in values}) > 1
    return Column(kind, np.concatenate([part.astype(np.uint64) for part in values] if whole else values))


def _exact(pieces: Sequence[Column]) -> Sequence[Column]:
    """Pieces of long whole numbers, all of them as text if one had to be: with gaps, or of both signs beyond
    64 bits.
    """
    whole = [piece.kind == "number" and piece.values.dtype.kind in "iu" for piece in pieces]
    if not any(one and _beyond_floats(piece.values) for piece, one in zip(pieces, whole, strict=True)):
        return pieces
    signs = {piece.values.dtype.kind for piece, one in zip(pieces, whole, strict=True) if one and len(piece)}
    negative = any(
        one and len(piece) and piece.values.min() < 0 for piece, one in zip(pieces, whole, strict=True)
    )
    rest = [piece for piece, one in zip(pieces, whole, strict=True) if not one and len(piece)]
    texts = [piece for piece in rest if piece.kind == "text"]
    if not rest and not (negative and "u" in signs):
        return pieces
    if not all(level.lstrip("+-").isdigit() for piece in texts for level in piece.levels):
        return pieces
    return [_as_text(piece) if piece.kind == "number" else piece for piece in pieces]


def _as_text(piece: Column) -> Column:
    if piece.values.dtype.kind in "iu":
        return _text([str(item) for item in piece.values.tolist()])
    return _text(
        [
            None if item != item else str(int(item)) if item.is_integer() else str(item)
            for item in piece.values.tolist()
        ]
    )


def _joined_text(pieces: Sequence[Column]) -> Column:
    seen: dict[str, int] = {}
    parts = []
    for piece in pieces:
        levels = piece.levels if piece.kind == "text" else ()
        lookup = np.array([*(seen.setdefault(level, len(seen)) for level in levels), -1], dtype=np.int64)
        parts.append(lookup[piece.values] if piece.kind == "text" else np.full(len(piece), -1))
    return _sorted_text(np.concatenate(parts), list(seen))
