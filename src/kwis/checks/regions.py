"""Regions of a log that a person can name: levels of a column, ranges of numbers, stretches of time, loggers.

They are made from the context, the time and the logger alone, never from actions or rewards, so tests by
region stay valid.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from kwis._validation import read_only
from kwis.data.columns import Array, Column
from kwis.data.encode import seconds
from kwis.data.log import LoggedBandit
from kwis.typing import Floats, Ints

Mask = NDArray[np.bool_]

EVERYWHERE = "everywhere"
"""Name of the region that is the whole log."""

_LEAST_ROWS = 50
_MOST_LEVELS = 20
_FEW_VALUES = 5


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Region:
    """Rows of a log with something in common.

    Attributes
    ----------
    column, label
        The raw column (None for the whole log), and the region in words: ``country = BR``.
    rows
        ``(n,)`` True for the rows in it.
    """

    column: str | None
    label: str
    rows: Mask

    @property
    def n(self) -> int:
        return int(self.rows.sum())


def regions_of(log: LoggedBandit, *, bins: int = 4, most: int | None = None) -> tuple[Region, ...]:
    """The whole log, then each context column, the time and the loggers in turn.

    A region has at least 50 rows that stand for at least 1 % of the log. Numbers and dates with more than
    five values are cut into ``bins`` ranges of about equally many rows; of text, up to 20 levels count. No
    more than ``most`` are made, if a number is given.
    """
    return tuple(islice(_each(log, bins), most))


def _each(log: LoggedBandit, bins: int) -> Iterator[Region]:
    yield Region(column=None, label=EVERYWHERE, rows=read_only(np.ones(len(log), dtype=bool)))
    for name in log.context_columns:
        yield from _of_column(name, log.table.column(name), bins, len(log))
    yield from _of_time(log, bins)
    if len(log.logger_names) > 1 and log.logger is not None:
        named = [str(name) for name in log.logger_names]
        yield from _levels("logger", log.logger, named, len(log))


def _of_column(name: str, column: Column, bins: int, n: int) -> Iterator[Region]:
    missing = column.missing
    ordered = column.kind in ("number", "date")
    values = seconds(column) if column.kind == "date" else column.values
    if ordered and np.unique(values[~missing]).size > _FEW_VALUES:
        yield from _ranges(
            name, np.asarray(values, dtype=np.float64), missing, bins, n, column.kind == "date"
        )
    else:
        codes, levels = column.coded()
        yield from _levels(name, codes, [_shown(level, column) for level in levels], n)
    if missing.any():
        yield from _kept(name, f"{name} missing", missing, n)


def _of_time(log: LoggedBandit, bins: int) -> Iterator[Region]:
    if log.time is None:
        return
    name = time_column(log)
    if name not in log.context_columns:
        yield from _ranges(name, log.time, np.isnan(log.time), bins, len(log), is_date(log))


def time_column(log: LoggedBandit) -> str:
    """Name of the raw column that the time was read from, ``time`` where none is equal to it."""
    for name, column in log.table.columns.items():
        if log.time is not None and column.kind in ("date", "number"):
            values = seconds(column) if column.kind == "date" else column.values.astype(np.float64)
            if np.array_equal(values, log.time, equal_nan=True):
                return name
    return "time"


def is_date(log: LoggedBandit) -> bool:
    """Whether the time was read from a column of dates."""
    name = time_column(log)
    return name in log.table and log.table.column(name).kind == "date"


def _shown(level: object, column: Column) -> str:
    if column.kind == "boolean":
        return "yes" if level else "no"
    return str(level).partition("T")[0] if column.kind == "date" else str(level)


def _levels(name: str, codes: Ints, levels: list[str], n: int) -> Iterator[Region]:
    counts = np.bincount(codes[codes >= 0], minlength=len(levels))
    for code in sorted(np.argsort(-counts, kind="stable")[:_MOST_LEVELS]):
        yield from _kept(name, f"{name} = {levels[code]}", codes == code, n)


def _ranges(name: str, values: Floats, missing: Array, bins: int, n: int, dates: bool) -> Iterator[Region]:
    present = values[~missing]
    edges = (
        np.unique(np.quantile(present, np.arange(1, bins) / bins, method="inverted_cdf"))
        if present.size
        else np.empty(0)
    )
    place = np.where(missing, -1, np.searchsorted(edges, np.where(missing, 0.0, values)))
    for code in range(len(edges) + 1):
        rows = place == code
        if rows.any():
            low, high = show_range(values[rows].min(), values[rows].max(), dates)
            yield from _kept(name, f"{name} from {low} to {high}", rows, n)


def show_range(low: float, high: float, dates: bool) -> tuple[str, str]:
    """Both ends of a range as text: days, or the minutes where it lies within a day; numbers with four
    digits.
    """
    if not dates:
        return f"{low:.4g}", f"{high:.4g}"
    start, end = np.datetime64(int(low), "s"), np.datetime64(int(high), "s")
    first, last = str(start.astype("datetime64[D]")), str(end.astype("datetime64[D]"))
    return (
        (first, last)
        if first != last
        else (str(start.astype("datetime64[m]")), str(end.astype("datetime64[m]")))
    )


def _kept(name: str, label: str, rows: Array, n: int) -> Iterator[Region]:
    count = int(rows.sum())
    if max(_LEAST_ROWS, 0.01 * n) <= count < n:
        yield Region(column=name, label=label, rows=read_only(rows))
