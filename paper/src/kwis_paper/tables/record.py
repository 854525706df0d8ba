"""A table as a record: what it shows, not how it is written."""

from __future__ import annotations

import math
from dataclasses import dataclass

MISSING = "–"


@dataclass(frozen=True, slots=True)
class Entry:
    """A cell: words to show, the number behind them if there is one, and whether the paper's rule makes it
    bold.
    """

    words: str
    value: float | None = None
    bold: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A row, with the dataset and setting it is about, by which a reader filters."""

    entries: tuple[Entry, ...]
    dataset: str = ""
    setting: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table.

    Attributes
    ----------
    key
        Name of its files and its address on the page.
    label
        Of the table in the paper's source that it reproduces; empty for ours.
    columns
        Heading of each column; ``groups`` has the heading above it, empty where there is none.
    notes
        What must be known to read it, such as results that are missing.
    """

    key: str
    title: str
    caption: str
    columns: tuple[str, ...]
    lines: tuple[Line, ...]
    label: str = ""
    groups: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def text(words: str, *, bold: bool = False) -> Entry:
    return Entry(words, bold=bold)


def number(value: float, decimals: int = 3, *, bold: bool = False, signed: bool = False) -> Entry:
    """A number to so many decimals; a dash where there is none."""
    if math.isnan(value):
        return Entry(MISSING)
    shown = f"{value:+.{decimals}f}" if signed else f"{value:,.{decimals}f}"
    # A difference that rounds to nothing has no sign.
    if signed and float(shown) == 0:
        shown = shown[1:]
    return Entry(shown, value, bold)


def whole(value: int | None) -> Entry:
    return Entry(MISSING) if value is None else Entry(f"{value:,}", float(value))


def spread(mean: float, std: float, *, bold: bool = False) -> Entry:
    """``0.123 ± 0.045``, as the paper prints it."""
    if math.isnan(mean):
        return Entry(MISSING)
    return Entry(f"{mean:.3f} ± {std:.3f}" if math.isfinite(std) else f"{mean:.3f}", mean, bold)


def difference(ours: float, paper: float, decimals: int = 3) -> Entry:
    """Ours minus the published number, at the printed precision; a dash where either is missing."""
    return number(
        round(ours, decimals) - paper if math.isfinite(ours) and math.isfinite(paper) else math.nan,
        decimals,
        signed=True,
    )
