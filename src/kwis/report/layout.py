"""View records as HTML elements; no arithmetic, no words of its own beyond labels of controls."""

from __future__ import annotations

from collections.abc import Iterator

from kwis.report.charts import figure
from kwis.report.markup import Markup, Node, element, joined
from kwis.report.view import Badge, Block, Card, Cell, Figure, Page, PageTable, Section, Tile

_WIDE, _SLIM = 720.0, 328.0  # a column of text, and what a telephone of 360 pixels leaves between its margins


def body(page: Page) -> Markup:
    """Everything within ``body``."""
    keys = _keys()
    return joined(
        (
            _header(page),
            _bar(page),
            element("main", *(_section(section, keys) for section in page.sections)),
            _footer(page),
        )
    )


def _keys() -> Iterator[str]:
    number = 0
    while True:
        number += 1
        yield f"figure-{number}"


def _header(page: Page) -> Markup:
    return element(
        "header",
        element("p", page.kicker, class_="kicker"),
        element("h1", page.answer),
        *(element("p", words, class_="support") for words in page.support[:1]),
        element("p", _badge(page.badge), " ", *page.support[1:2], class_="trust") if page.badge else None,
        *(element("p", words, class_="support minor") for words in page.support[2:]),
        element("div", *map(_card, page.cards), class_="cards") if page.cards else None,
    )


def _bar(page: Page) -> Markup:
    """Links to the sections, which stay in sight."""
    links = [
        element("a", section.short or section.title, href=f"#{section.key}") for section in page.sections
    ]
    return element("nav", element("div", *links), aria_label="Sections")


def _footer(page: Page) -> Markup:
    return element("footer", element("p", page.colophon))


def _badge(badge: Badge | None) -> Markup | None:
    return None if badge is None else element("span", badge.words, class_=f"badge {badge.tone}")


def _card(card: Card) -> Markup:
    return element(
        "article",
        element("h2", card.name, title=card.name, class_="name"),
        element("p", card.headline, class_="big"),
        *(element("p", words, class_="line") for words in card.lines),
        element("p", _badge(card.badge)) if card.badge else None,
        class_="card strong" if card.strong else "card",
    )


def _section(section: Section, keys: Iterator[str]) -> Markup:
    heading = element("h2", section.title)
    lead = element("p", section.lead, class_="lead") if section.lead else None
    return element(
        "section", heading, lead, *(_block(block, keys) for block in section.blocks), id=section.key
    )


def _block(block: Block, keys: Iterator[str]) -> Markup:
    inside: list[Node] = [
        *(element("p", words) for words in block.paragraphs),
        element("ul", *(element("li", words) for words in block.points)) if block.points else None,
        element("dl", *map(_tile, block.tiles), class_="tiles") if block.tiles else None,
        *(_figure(shown, keys) for shown in block.figures),
        *map(_table, block.tables),
        element("pre", element("code", block.code)) if block.code else None,
        *(element("p", words) for words in block.closing),
    ]
    name = joined((block.title, " " if block.badge else None, _badge(block.badge)))
    if block.folded:
        return element("details", element("summary", name), *inside, class_="block")
    return element("div", element("h3", name) if block.title else None, *inside, class_="block")


def _tile(tile: Tile) -> Markup:
    note = element("dd", tile.note, class_="note") if tile.note else None
    return element("div", element("dt", tile.name), element("dd", tile.words, class_="figure"), note)


def _figure(shown: Figure, keys: Iterator[str]) -> Markup:
    """The drawing for a desk and the one for a telephone; the style sheet shows the one that fits."""
    key = next(keys)
    return element(
        "figure",
        element("div", figure(key, shown.chart, _WIDE), class_="wide"),
        element("div", figure(f"{key}-slim", shown.chart, _SLIM), class_="slim"),
        element("figcaption", shown.caption) if shown.caption else None,
        _table(shown.numbers) if shown.numbers is not None else None,
    )


def _table(table: PageTable) -> Markup:
    numeric = [any(row[j].order is not None for row in table.rows) for j in range(len(table.columns))]
    head = element("tr", *(_heading(name, number=numeric[j]) for j, name in enumerate(table.columns)))
    lines = []
    for place, row in enumerate(table.rows):
        cells = (_cell(cell, number=number) for cell, number in zip(row, numeric, strict=True))
        lines.append(element("tr", *cells, class_="strong" if place in table.strong else None))
    grid = element(
        "table", element("caption", table.caption), element("thead", head), element("tbody", *lines)
    )
    if table.folded:
        return element(
            "details",
            element("summary", table.caption),
            element("div", grid, class_="scroll"),
            class_="numbers",
        )
    return element("div", grid, class_="scroll")


def _heading(name: str, *, number: bool) -> Markup:
    return element("th", name, scope="col", class_="number" if number else None)


def _cell(cell: Cell, *, number: bool) -> Markup:
    order = None if cell.order is None else repr(float(cell.order))
    return element("td", cell.words, data_order=order, class_="number" if number else None)
