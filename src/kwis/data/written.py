"""Text that was meant as numbers or dates: one ``unknown`` among ages must not make categories of them all,
silently.

A text column is taken for numbers (or dates) if nine tenths of its filled rows are, or if it has over 20
different ones, and these are half of its rows or ten times as many as its other entries. Then the entries
that are something else are refused, with the ways out. So are decimal commas, thousands separators and
currencies, and numbers stored as text with over 20 different ones. Codes of equal length of which some begin
with a zero, versions, addresses and telephone numbers are labels. ``categorical=`` says that a column does
hold labels. The thresholds were decided on half of the columns in ``tests/data/read/written_columns.py`` and
tried on the other half.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np

from kwis.data.columns import ISO_DATE, Array, Column, column_of_items, dated
from kwis.data.remedy import (
    GAPS,
    SIGNS,
    SpellingError,
    date_expression,
    looks_like_date,
    number_expression,
    refuse_text_for_dates,
    written_dates,
)

NEARLY_ALL = 0.9
MOST = 0.5
FEW_LABELS = 20
FEW_WORDS_SHARE = 0.1  # of different entries: two or three words among many numbers stand for gaps
_PLAIN = re.compile(r"\s*[+-]?(?!0\d)(\d{1,18}|\d*\.\d+|\d+\.)([eE][+-]?\d+)?\s*", re.ASCII)  # as SQL casts
_GROUPED = r"[0-9]{1,3}(?P<mark>[.,'_\u2019\u00a0\u202f ])[0-9]{3}((?P=mark)[0-9]{3})*([.,][0-9]+)?"
_SIGN = "|".join(re.escape(sign) for sign in SIGNS)
_DRESSED = re.compile(
    rf"\s*[+-]?\s*({_SIGN})?\s*[+-]?({_GROUPED}|(?!0\d)[0-9]+([.,][0-9]+)?([eE][+-]?[0-9]+)?)\s*({_SIGN}|%)?\s*"
)
_LABEL = re.compile(r"\s*([+-]?0\d+|[+-]?\d{19,})\s*")


def refuse_all_mixed(columns: Mapping[str, Column]) -> None:
    """Refuse context columns of text that were meant as numbers or dates, all in one sentence."""
    found: list[SpellingError] = []
    for name, column in columns.items():
        try:
            refuse_mixed(name, column)
        except SpellingError as trouble:
            found.append(trouble)
    if len(found) == 1:
        raise found[0]
    if found:
        labels = [_labels(one.column) for one in found]
        ways = dict.fromkeys(way for one in found for way in one.ways if way not in labels)
        raise found[0].joined(found[1:], [*ways, _labels(*(one.column for one in found))])


def refuse_mixed(name: str, column: Column) -> None:
    """Refuse a context column of text that was meant as numbers or dates."""
    if column.kind != "text" or not column.levels:
        return
    if _is_code(column.levels):
        return
    rows = np.bincount(column.values[column.values >= 0], minlength=len(column.levels))
    gaps = np.array([level in GAPS for level in column.levels])
    _refuse_other_dates(name, column, rows, gaps)
    for word, fitting in (("numbers", _numbers(column.levels)), ("dates", _matches(ISO_DATE, column.levels))):
        plain = _matches(_PLAIN, column.levels) if word == "numbers" else fitting
        share = rows[fitting].sum() / max(1, rows[~gaps].sum())
        if not _meant(share, int(fitting.sum()), int((~fitting & ~gaps).sum())):
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


def _meant(share: float, different: int, others: int) -> bool:
    """Whether a column was meant as numbers (or dates), of which it has ``different`` ones in a ``share`` of
    its rows, beside so many other entries.
    """
    if share >= NEARLY_ALL:
        return True
    return different > FEW_LABELS and (share >= MOST or others <= FEW_WORDS_SHARE * different)


def _is_code(levels: Sequence[str]) -> bool:
    """Whether the numbers are codes: digits of one length of which some begin with a zero (postcodes)."""
    digits = [level for level in levels if level.isdigit()]
    alike = len({len(level) for level in digits}) == 1
    return alike and any(level.startswith("0") and len(level) > 1 for level in digits)


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


def _refuse_other_dates(name: str, column: Column, rows: Array, gaps: Array) -> None:
    """Refuse dates that are not written as 2026-03-15, a few words among them or not."""
    written = np.array([looks_like_date(level) for level in column.levels])
    words = [level for level, fits in zip(column.levels, written, strict=True) if not fits]
    share = rows[written].sum() / max(1, rows[~gaps].sum())
    dates = [level for level in column.levels if level not in words]
    if not _meant(share, len(dates), int((~written & ~gaps).sum())) or written_dates(dates) is None:
        return
    row = int(np.argmax(written[column.values] & (column.values >= 0)))
    among = f", and {words[0]!r} among them" if words else ""
    refuse_text_for_dates(
        column,
        f"`{name}` (context) must hold dates such as 2026-03-15, got {column.at(row)!r} at row {row}{among}",
        name,
        [_labels(name)],
        words,
    )


def _labels(*names: str) -> str:
    return f"categorical={list(names)!r} if these are labels"


def _refuse(name: str, word: str, column: Column, odd: Array, fitting: Array) -> None:
    strange = odd[column.values] & (column.values >= 0)
    row, more = int(np.argmax(strange)), int(strange.sum()) - 1
    value = column.at(row)
    others = f" and {more:,} more like it" if more else ""
    share = 1 - (more + 1) / max(1, int((column.values >= 0).sum()))
    usual = f", as it does in {'nearly all' if share >= NEARLY_ALL else 'many'}"
    nearly = "" if word == "plain numbers" else usual
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
