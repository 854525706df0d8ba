"""Columns that hold a list in every row: candidates, and scores aligned with them.

A list may come as a list (Parquet, Arrow, JSON, Python) or as text: ``a|b|c``, ``a;b;c``, ``a,b,c``,
``[a, b]`` or ``["a", "b"]``. Equally long lists of numbers are read as a block of columns
(:class:`kwis.data.table.Table`) and count as lists too.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from kwis.data.columns import Array, Column, column_of_items, joined
from kwis.typing import Ints

if TYPE_CHECKING:
    from kwis.data.table import Table

_BRACKETS = {"[": "]", "(": ")", "{": "}"}
_SEPARATORS = ("|", ";", ",")


@dataclass(frozen=True, slots=True, eq=False)
class ListColumn:
    """A list per row: the entries of all rows one after the other, and how many each row has."""

    entries: Column
    lengths: Ints

    def __len__(self) -> int:
        return int(self.lengths.shape[0])

    @property
    def rows(self) -> Ints:
        """Row of every entry."""
        return np.repeat(np.arange(len(self)), self.lengths)

    def take(self, rows: Ints) -> ListColumn:
        starts = np.cumsum(self.lengths) - self.lengths
        lengths = self.lengths[rows]
        within = np.arange(int(lengths.sum())) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        return ListColumn(self.entries.take(np.repeat(starts[rows], lengths) + within), lengths)


def list_column(items: Sequence[Any]) -> ListColumn | None:
    """Column of lists from Python objects, no list being an empty one; None if some are something else."""
    lists = [_entries(item) for item in items]
    if not any(found is not None for found in lists):
        return None
    if any(found is None and item is not None for found, item in zip(lists, items, strict=True)):
        return None
    lengths = np.array([0 if found is None else len(found) for found in lists], dtype=np.int64)
    try:
        entries = column_of_items([entry for found in lists for entry in found or ()])
    except TypeError:  # lists of lists
        return None
    return ListColumn(entries, lengths)


def _entries(item: Any) -> list[Any] | None:
    if isinstance(item, np.ma.MaskedArray):
        return list(item.tolist())
    if isinstance(item, np.ndarray):
        return list(item.tolist()) if item.ndim == 1 else None
    return list(item) if isinstance(item, list | tuple | set | frozenset) else None


def lists_joined(pieces: Sequence[ListColumn]) -> ListColumn | None:
    """One column of several, one after the other; None where their entries are of different kinds."""
    entries = joined([piece.entries for piece in pieces])
    return (
        None if entries is None else ListColumn(entries, np.concatenate([piece.lengths for piece in pieces]))
    )


def block_as_lists(columns: Mapping[str, Column], members: Sequence[str]) -> ListColumn | None:
    """A block of columns as the equally long lists that it was made from; gaps are no entries."""
    picked = [columns[name] for name in members]
    if {column.kind for column in picked} == {"boolean"}:
        return None
    n, width = len(picked[0]), len(picked)
    together = joined(picked)
    if together is None:
        return None
    row_by_row = together.take(np.arange(n * width).reshape(width, n).T.ravel())
    present = ~row_by_row.missing
    return ListColumn(row_by_row.take(np.flatnonzero(present)), present.reshape(n, width).sum(axis=1))


def lists_in(table: Table, name: str) -> ListColumn | None:
    """The lists that a name stands for: a column of lists, a block, or a column of text or single values;
    None for no such name.
    """
    if name in table.lists:
        return table.lists[name]
    if name in table.blocks:
        return block_as_lists(table.columns, table.blocks[name])
    if name not in table:
        return None
    column = table.column(name)
    if column.kind != "text":
        present = ~column.missing
        return ListColumn(column.take(np.flatnonzero(present)), present.astype(np.int64))
    return _from_text(column)


def _from_text(column: Column) -> ListColumn:
    parsed: list[list[Any]] = [*(split_text(level) for level in column.levels), []]
    sizes = np.array([len(entries) for entries in parsed])
    codes: Array = column.values  # -1, the last of the parsed, where there is no text
    every = ListColumn(column_of_items([entry for entries in parsed for entry in entries]), sizes)
    return every.take(np.where(codes < 0, len(parsed) - 1, codes))


def split_text(text: str) -> list[Any]:
    """Entries of a list written as text."""
    text = text.strip()
    bracketed = len(text) > 1 and _BRACKETS.get(text[0]) == text[-1]
    if bracketed and text[0] == "[":
        try:
            return list(json.loads(text))
        except ValueError:  # not JSON: words without quotation marks
            pass
    inner = text[1:-1] if bracketed else text
    separator = next((mark for mark in _SEPARATORS if mark in inner), None)
    words = [inner] if separator is None else inner.split(separator)
    return [bare for word in words if (bare := word.strip().strip("'\""))]
