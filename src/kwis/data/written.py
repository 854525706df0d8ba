"""Text that was meant as numbers or dates: one ``unknown`` among ages must not make categories of them all,
silently.

A text column is taken for numbers (or dates) if nine tenths of its filled rows are, or half of them with over
20 different ones. Then the entries that are something else are refused, with the ways out. So are decimal
commas, thousands separators and currencies, and numbers stored as text with over 20 different ones.
``categorical=`` says that a column does hold labels.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from kwis.data.columns import ISO_DATE, Array, Column, column_of_items, dated
from kwis.data.remedy import (
    GAPS,
    SpellingError,
    date_expression,
    number_expression,
    refuse_text_for_dates,
    written_dates,
)

NEARLY_ALL = 0.9
MOST = 0.5
FEW_LABELS = 20
_PLAIN = re.compile(r"\s*[+-]?(?!0\d)(\d{1,18}|\d*\.\d+|\d+\.)([eE][+-]?\d+)?\s*")
_DRESSED = re.compile(r"\s*[+-]?\s*[$€£¥₹]?\s*[+-]?\d[\d.,'\u00a0\u202f ]*\s*([$€£¥₹%]|USD|EUR|GBP)?\s*")
_LABEL = re.compile(r"\s*([+-]?0\d+|[+-]?\d{19,})\s*")


def refuse_mixed(name: str, column: Column) -> None:
    """Refuse a context column of text that was meant as numbers or dates."""
    if column.kind != "text" or not column.levels:
        return
    _refuse_other_dates(name, column)
    rows = np.bincount(column.values[column.values >= 0], minlength=len(column.levels))
    gaps = np.array([level in GAPS for level in column.levels])
    for word, fitting in (("numbers", _numbers(column.levels)), ("dates", _matches(ISO_DATE, column.levels))):
        plain = _matches(_PLAIN, column.levels) if word == "numbers" else fitting
        share = rows[fitting].sum() / max(1, rows[~gaps].sum())
        if share < MOST or (share < NEARLY_ALL and fitting.sum() <= FEW_LABELS):
            continue
        odd = ~plain & ~gaps if (~plain & ~gaps).any() else ~plain
        if odd.any() and not (word == "numbers" and _is_yes_no(column.levels, plain)):
            _refuse(name, word if plain.any() else "plain numbers", column, odd, fitting)
        if word == "numbers" and fitting.sum() > FEW_LABELS:
            row = int(np.argmin(column.missing))
            raise SpellingError(
                f"`{name}` (context) must hold numbers as numbers or labels as labels, got "
                f"{column.at(row)!r} as text at row {row}",
                name,
                number_expression(name, column.levels, [level for level in column.levels if level in GAPS]),
                [_labels(name)],
            )


def _numbers(levels: Sequence[str]) -> Array:
    """Which levels are numbers, however they are written; leading zeros and very long integers make
    labels.
    """
    return (_matches(_PLAIN, levels) | _matches(_DRESSED, levels)) & ~_matches(_LABEL, levels)


def _matches(pattern: re.Pattern[str], levels: Sequence[str]) -> Array:
    return np.array([pattern.fullmatch(level) is not None for level in levels], dtype=bool)


def _is_yes_no(levels: Sequence[str], plain: Array) -> bool:
    """Whether the numbers are 0 and 1 alone: those are categories anyway, and another word is one more of
    them.
    """
    return bool(plain.any()) and {
        float(level) for level, number in zip(levels, plain, strict=True) if number
    } <= {0.0, 1.0}


def _refuse_other_dates(name: str, column: Column) -> None:
    if written_dates(column.levels) is not None:
        row = int(np.argmin(column.missing))
        sentence = (
            f"`{name}` (context) must hold dates such as 2026-03-15, got {column.at(row)!r} at row {row}"
        )
        refuse_text_for_dates(column, sentence, name, [_labels(name)])


def _labels(name: str) -> str:
    return f"categorical={[name]!r} if these are labels"


def _refuse(name: str, word: str, column: Column, odd: Array, fitting: Array) -> None:
    strange = odd[column.values] & (column.values >= 0)
    row, more = int(np.argmax(strange)), int(strange.sum()) - 1
    value = column.at(row)
    others = f" and {more:,} more like it" if more else ""
    nearly = "" if word == "plain numbers" else ", as it does in nearly all"
    words = [level for level, fits in zip(column.levels, fitting, strict=True) if not fits]
    gap = [] if _DRESSED.fullmatch(value) else [f"missing={[value]!r} if it stands for a gap"]
    raise SpellingError(
        f"`{name}` (context) must hold {word} in every row{nearly}, got {value!r} at row {row}{others}",
        name,
        date_expression(name, words) if word == "dates" else number_expression(name, column.levels, words),
        [*gap, _labels(name)],
    )


def without(column: Column, words: Sequence[str]) -> Column:
    """The column with the given values missing; text of which numbers or dates remain becomes these."""
    if column.kind == "text":
        gone = np.array([*(level in words for level in column.levels), True])
        if not gone[:-1].any():
            return column
        values = np.where(gone[column.values], -1, column.values)
        rest = [
            None if out or level in GAPS else level for level, out in zip(column.levels, gone, strict=False)
        ]
        kept = [level for level in rest if level is not None]
        if kept and _matches(_PLAIN, kept).all():
            lookup = np.array([*(np.nan if level is None else float(level) for level in rest), np.nan])
            return Column("number", lookup[values])
        items = np.array([*column.levels, None], dtype=object)[values]
        return dated(column_of_items(items.tolist()))
    if column.kind == "date":
        return column
    numbers = [float(word) for word in words if _PLAIN.fullmatch(word)]
    gone = np.isin(column.values, numbers)
    return Column(column.kind, np.where(gone, np.nan, column.values)) if gone.any() else column
