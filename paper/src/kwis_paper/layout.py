"""Tables, figures and controls of the paper's page as HTML elements; no arithmetic here."""

from __future__ import annotations

from collections.abc import Sequence

from kwis.report.markup import Markup, Node, element
from kwis_paper.figures import Figure, draw
from kwis_paper.results import TRUTHS
from kwis_paper.tables import Entry, Line, Table
from kwis_paper.tables.writers import headings

_LONG = 34  # characters beyond which a cell's words may wrap


def table_block(table: Table) -> Markup:
    """A table with its heading, caption and notes."""
    names = headings(table)
    numeric = [
        any(line.entries[place].value is not None for line in table.lines) for place in range(len(names))
    ]
    head = element(
        "tr",
        *(
            element("th", name, scope="col", class_="number" if numeric[place] else None)
            for place, name in enumerate(names)
        ),
    )
    lines = [_line(line, numeric, names) for line in table.lines]
    grid = element("table", element("thead", head), element("tbody", *lines))
    settings = {line.setting for line in table.lines} - {""}
    truth = next((truth for truth in TRUTHS if f"-{truth}" in table.key), None)
    return element(
        "div",
        element("h3", table.title),
        element("p", table.caption, class_="note"),
        element("div", grid, class_="wide-table", tabindex="0"),
        *_notes(table.notes),
        class_="block",
        id=table.key,
        data_setting=" ".join(sorted(settings)) or None,
        data_truth=truth,
    )


def _line(line: Line, numeric: Sequence[bool], names: Sequence[str]) -> Markup:
    cells = [
        _cell(entry, number, name) for entry, number, name in zip(line.entries, numeric, names, strict=True)
    ]
    return element("tr", *cells, data_dataset=line.dataset or None, data_of=line.setting or None)


def _cell(entry: Entry, number: bool, name: str) -> Markup:
    marks = [
        "number" if number else "",
        "bold" if entry.bold else "",
        "paper" if name.endswith(" paper") else "",
        "words" if len(entry.words) > _LONG else "",
    ]
    order = None if entry.value is None else f"{entry.value:.6g}"
    return element("td", entry.words, class_=" ".join(filter(None, marks)) or None, data_order=order)


def figure_block(figure: Figure) -> Markup:
    """A figure with its panels side by side."""
    panels = [
        element("div", draw(f"{figure.key}-{number}", panel))
        for number, panel in enumerate(figure.panels, start=1)
    ]
    return element(
        "div",
        element("h3", figure.title),
        element("figure", element("div", *panels, class_="panels"), element("figcaption", figure.caption)),
        *_notes(figure.notes),
        class_="block",
        id=figure.key,
        data_setting=figure.setting or None,
    )


def _notes(notes: Sequence[str]) -> list[Node]:
    return [element("p", note, class_="note alert") for note in notes]


def tile(name: str, words: str, note: str) -> Markup:
    """A number worth a box of its own."""
    return element(
        "div", element("dt", name), element("dd", words, class_="figure"), element("dd", note, class_="note")
    )


def filters(datasets: Sequence[str], settings: Sequence[str], truths: Sequence[str]) -> Markup:
    """Controls that hide what is not asked for; hidden themselves where scripts do not run."""
    choices = (("dataset", "Dataset", datasets), ("setting", "Setting", settings), ("truth", "Truth", truths))
    nodes = [
        element(
            "label",
            f"{words} ",
            element(
                "select",
                element("option", "all", value=""),
                *(element("option", value, value=value) for value in values),
                name_=name,
            ),
        )
        for name, words, values in choices
    ]
    return element(
        "form",
        *nodes,
        element("button", "Show all", type="reset"),
        element("output", ""),
        id="filters",
        class_="filters",
        hidden=True,
    )
