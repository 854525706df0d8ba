"""Numbers and dates as people write them ('31.8%', '€12.50', '15/03/2026'), and SQL that makes them plain.

The expressions use what DuckDB and SQLite have in common, so that they can be pasted into a query on either.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kwis.data.columns import Column
from kwis.errors import InputError

FEW_WORDS = 3
"""So many different words among numbers are named in the SQL, one by one."""
GAPS = ("NA", "N/A", "na", "n/a", "NaN", "nan", "NULL", "null", "None")
"""Words for a gap in a column of numbers."""
YES_NO = (("yes", "no"), ("y", "n"), ("t", "f"))
"""Pairs of words for 1 and 0; readers know true and false themselves."""
SIGNS = (
    *("$", "€", "£", "¥", "₹", "USD", "EUR", "GBP", "CHF", "JPY", "CNY", "INR", "CAD", "AUD", "SEK", "NOK"),
    *("DKK", "PLN", "BRL", "MXN", "zł", "kr"),
)
"""Currencies."""
_SPACES = (" ", "\u00a0", "\u202f", "'", "\u2019", "_")
_PERCENT = re.compile(r"\s*[+-]?\d[\d.,]*\s*%\s*")
_DECIMAL_COMMA = re.compile(r".*\d,(\d{1,2}|\d{4,})\D*|\D*0,\d+\D*|.*\.\d{3},\d+\D*")
_THOUSANDS_COMMA = re.compile(r"\D*[1-9]\d{0,2}(,\d{3})+(\.\d*)?\D*")
_THOUSANDS_DOT = re.compile(r"\D*[1-9]\d{0,2}(\.\d{3})+\D*")
_DATE = re.compile(r"(\d{1,4})([/.-])(\d{1,2})\2(\d{1,4})")


class SpellingError(InputError):
    """A column whose values are numbers or dates, written in a way that has to be translated.

    Attributes
    ----------
    expression
        The SQL that translates a value.
    ways
        Other ways out: arguments to pass, and when.
    others
        SQL for further columns that have to be translated as well.
    """

    def __init__(self, sentence: str, column: str, expression: str, ways: Sequence[str] = ()) -> None:
        super().__init__(sentence)
        self.column, self.expression, self.ways = column, expression, tuple(ways)
        self.others: dict[str, str] = {}

    def joined(self, others: Sequence[SpellingError], ways: Sequence[str]) -> SpellingError:
        """One sentence for this error and those of other columns, with one query for all."""
        names = ", ".join(f"`{one.column}`" for one in others)
        both = SpellingError(f"{self}; so must {names}", self.column, self.expression, ways)
        both.others = {one.column: one.expression for one in others}
        return both

    def sentence(self, query: str | None) -> str:
        """The whole message, with the query that fixes the column."""
        ways = self.ways if query is None else (*self.ways, f"query={query!r}")
        return f"{self}; pass {', or '.join(ways)}" if ways else str(self)


class GapError(InputError):
    """A column that needs a value in every row, and has gaps: the rule, and the rows that break it."""

    def __init__(self, rule: str, name: str, column: Column, gaps: NDArray[np.bool_]) -> None:
        more = int(gaps.sum()) - 1
        rows = f"row {int(np.argmax(gaps))}" + (f" and in {more:,} more" if more else "")
        super().__init__(f"{rule}, got none at {rows}")
        self.column, self.numbers = name, column.kind == "number"

    def condition(self, dialect: str) -> str:
        """SQL for the rows that have a value; a number may be stored as one that is none."""
        name = identifier(self.column)
        number = f" AND NOT isnan({name})" if self.numbers and dialect == "duckdb" else ""
        return f"{name} IS NOT NULL{number}"


def identifier(name: str) -> str:
    """A column in SQL, quoted where it has to be."""
    plain = re.fullmatch(r"[a-z_][a-z0-9_]*", name) is not None and name not in _RESERVED
    return name if plain else '"' + name.replace('"', '""') + '"'


def number_expression(name: str, levels: Sequence[str], words: Sequence[str] = ()) -> str:
    """SQL for the number in each text; ``words`` are entries that are none and become gaps."""
    text = without_words(name, words)
    if text is None:
        return f"TRY_CAST({identifier(name)} AS DOUBLE)"
    numbers = [level for level in levels if level not in words]
    for sign in _to_remove(numbers):
        text = f"replace({text}, {_literal(sign)}, '')"
    if _has_decimal_commas(numbers):
        text = f"replace({text}, ',', '.')"
    share = " / 100" if numbers and all(_PERCENT.fullmatch(level) for level in numbers) else ""
    return f"CAST({text} AS DOUBLE){share}"


def date_expression(name: str, words: Sequence[str]) -> str:
    """SQL for ISO dates among which ``words`` stand, which become gaps."""
    return without_words(name, words) or f"TRY_CAST({identifier(name)} AS DATE)"


def without_words(name: str, words: Sequence[str]) -> str | None:
    """SQL for a column with words as gaps; None if they are too many to name, or cannot be typed."""
    text = identifier(name)
    for word in words:
        text = f"NULLIF({text}, {_literal(word)})"
    return text if len(words) <= FEW_WORDS and all(map(str.isprintable, words)) else None


def _to_remove(numbers: Sequence[str]) -> Iterator[str]:
    """Signs that are no part of the number: currencies, percent signs, separators of thousands."""
    together = "".join(numbers)
    yield from (sign for sign in (*SIGNS, "%", *_SPACES) if sign in together)
    if _has_decimal_commas(numbers):
        if any("," in level and "." in level for level in numbers):
            yield "."
    elif "," in together:
        yield ","
    elif has_thousands_dots(numbers):
        yield "."


def has_thousands_dots(numbers: Sequence[str]) -> bool:
    """Whether dots in amounts of money seem to mark thousands: all have three digits behind, as '2.290 €'."""
    dots = [level for level in numbers if "." in level]
    return any(sign in "".join(dots) for sign in SIGNS) and all(map(_THOUSANDS_DOT.fullmatch, dots))


def _has_decimal_commas(numbers: Sequence[str]) -> bool:
    commas = [level for level in numbers if "," in level]
    return any(_DECIMAL_COMMA.fullmatch(level) for level in commas) and not all(
        _THOUSANDS_COMMA.fullmatch(level) for level in commas
    )


@dataclass(frozen=True, slots=True)
class WrittenDates:
    """How dates are written.

    Attributes
    ----------
    pattern
        In the form of ``strptime``.
    padded
        Whether days and months always have two digits.
    sure
        Whether the values show which of day and month comes first.
    """

    pattern: str
    padded: bool
    sure: bool

    def expression(self, name: str, words: Sequence[str] = ()) -> str:
        """SQL for the date in each text; ``words`` are entries that are none and become gaps."""
        text = without_words(name, words) or identifier(name)
        if not self.padded:
            return f"strptime({text}, {_literal(self.pattern)})"
        starts, start = {}, 1
        for part in (self.pattern[i : i + 2] for i in (0, 3, 6)):
            starts[part] = start
            start += 5 if part == "%Y" else 3
        parts = [f"substr({text}, {starts[part]}, {4 if part == '%Y' else 2})" for part in ("%Y", "%m", "%d")]
        return " || '-' || ".join(parts)


def looks_like_date(level: str) -> bool:
    """Whether a text is three numbers with the same sign between them."""
    return _DATE.fullmatch(level.strip()) is not None


def written_dates(levels: Sequence[str]) -> WrittenDates | None:
    """How texts are written if they are all dates, day, month and year of four digits in any order; else
    None.
    """
    found = [_DATE.fullmatch(level.strip()) for level in levels]
    matches = [match for match in found if match is not None]
    if not levels or len(matches) != len(levels) or len({match[2] for match in matches}) != 1:
        return None
    sign = matches[0][2]
    if all(len(match[1]) == 4 and len(match[4]) <= 2 for match in matches):
        if sign == "-":
            return None  # ISO dates, or no dates
        order, firsts, seconds = ("%Y", "%m", "%d"), [match[3] for match in matches], []
    elif all(len(match[4]) == 4 and len(match[1]) <= 2 for match in matches):
        firsts, seconds = [match[1] for match in matches], [match[3] for match in matches]
        month_first = any(int(second) > 12 for second in seconds)
        order = ("%m", "%d", "%Y") if month_first else ("%d", "%m", "%Y")
    else:
        return None
    decided = not seconds or any(int(number) > 12 for number in (*firsts, *seconds))
    padded = all(
        len(number) == 2 for match in matches for number in (match[1], match[3], match[4]) if len(number) < 4
    )
    return WrittenDates(sign.join(order), padded, decided or sign == ".")


def refuse_text_for_numbers(column: Column, sentence: str, name: str, *, two_words: bool = False) -> None:
    """Refuse a text column where numbers are needed, with the SQL that makes numbers of it.

    ``two_words`` also takes the rarer of any two words for 1, and says that this is a guess.
    """
    yes_no = sorted(column.levels, key=str.lower, reverse=True)  # yes comes after no, y after n, t after f
    known = tuple(map(str.lower, yes_no)) in YES_NO
    if known or (two_words and len(yes_no) == 2 and not any(map(_has_digit, yes_no))):
        rows = np.bincount(column.values[column.values >= 0], minlength=2)
        one = yes_no[0] if known else column.levels[int(np.argmin(rows))]
        guess = "" if known else f" (that {one!r} counts as 1 is a guess)"
        raise SpellingError(sentence + guess, name, f"CAST({identifier(name)} = {_literal(one)} AS INTEGER)")
    words = [level for level in column.levels if not _has_digit(level)]
    if len(words) == len(column.levels) or not all(word in GAPS for word in words):
        raise InputError(sentence)  # words that are no gaps have no number
    doubt = " (that dots mark thousands is a guess)" if has_thousands_dots(column.levels) else ""
    raise SpellingError(sentence + doubt, name, number_expression(name, column.levels, words))


def refuse_text_for_dates(
    column: Column, sentence: str, name: str, ways: Sequence[str] = (), words: Sequence[str] = ()
) -> None:
    """Refuse a text column where dates are needed, with the SQL that makes dates of it; ``words`` are entries
    that are none.
    """
    dates = written_dates([level for level in column.levels if level not in words])
    if dates is None:
        raise InputError(sentence)
    doubt = "" if dates.sure else " (which of day and month comes first is a guess)"
    raise SpellingError(sentence + doubt, name, dates.expression(name, words), ways)


def _has_digit(text: str) -> bool:
    return any(sign.isdigit() for sign in text)


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


_RESERVED = frozenset(
    (
        *("all", "and", "as", "asc", "between", "by", "case", "cast", "check", "column", "create", "cross"),
        *(
            "default",
            "desc",
            "distinct",
            "else",
            "end",
            "except",
            "exists",
            "from",
            "full",
            "group",
            "having",
        ),
        *(
            "in",
            "inner",
            "intersect",
            "into",
            "is",
            "join",
            "left",
            "like",
            "limit",
            "natural",
            "not",
            "null",
        ),
        *(
            "offset",
            "on",
            "or",
            "order",
            "outer",
            "primary",
            "references",
            "right",
            "select",
            "table",
            "then",
        ),
        *("to", "union", "unique", "using", "when", "where", "window", "with"),
    )
)
