"""What a page shows, ready to be laid out: every number is already words, every figure a record that says
what to draw.

A :class:`Page` knows nothing of evaluations, so that other pages can be made of the same pieces.
"""

from __future__ import annotations

from dataclasses import dataclass

from kwis.report.charts import Chart


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a table; ``order`` is what a number is sorted by, None for text."""

    words: str
    order: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PageTable:
    """A table that can be sorted by any column; ``strong`` numbers the lines to read first."""

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    strong: frozenset[int] = frozenset()
    folded: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A chart with the sentence below it and, folded away, the numbers it shows."""

    chart: Chart
    caption: str = ""
    numbers: PageTable | None = None


@dataclass(frozen=True, slots=True)
class Tile:
    """One number worth a box of its own, what it is, and what to think of it."""

    name: str
    words: str
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Badge:
    """A verdict at a glance; ``tone`` is ``good``, ``fair`` or ``poor``."""

    words: str
    tone: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """A policy in a few numbers, beside its like."""

    name: str
    badge: Badge | None
    headline: str
    lines: tuple[str, ...]
    strong: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Part of a section, shown in the order of its fields; blocks that are ``folded`` open on a click."""

    title: str = ""
    badge: Badge | None = None
    paragraphs: tuple[str, ...] = ()
    points: tuple[str, ...] = ()
    tiles: tuple[Tile, ...] = ()
    figures: tuple[Figure, ...] = ()
    tables: tuple[PageTable, ...] = ()
    code: str = ""
    closing: tuple[str, ...] = ()
    folded: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A section with its heading, what it is about, and its blocks; ``key`` is its address within
    the page, ``short`` its name in the bar where the title is too long for it.
    """

    key: str
    title: str
    lead: str
    blocks: tuple[Block, ...]
    short: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A whole page: the answer, then the evidence.

    Attributes
    ----------
    title
        Title of the window.
    kicker
        Small line above the answer.
    answer, support
        The answer in a sentence, and the sentences that qualify it.
    colophon
        Last line.
    """

    title: str
    kicker: str
    answer: str
    support: tuple[str, ...]
    badge: Badge | None
    cards: tuple[Card, ...]
    sections: tuple[Section, ...]
    colophon: str
