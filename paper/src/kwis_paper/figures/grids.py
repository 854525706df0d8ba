"""A table of numbers as shades, and small pictures made of pixels."""

from __future__ import annotations

from dataclasses import dataclass

from kwis.report.charts import canvas as strokes
from kwis.report.markup import Markup, Node, element


@dataclass(frozen=True, slots=True, kw_only=True)
class Heatmap:
    """``values[row][column]`` between 0 and 1; None is left empty."""

    title: str
    description: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    row_name: str
    column_name: str
    values: tuple[tuple[float | None, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pictures:
    """Named square pictures, each a tuple of rows of shades between 0 and 1."""

    title: str
    description: str
    pictures: tuple[tuple[str, tuple[tuple[float, ...], ...]], ...]


def heatmap(key: str, shown: Heatmap, width: float) -> Markup:
    """Draw shades with their numbers, darkest for 1."""
    left, top = 64.0, 48.0
    step = (width - left - 8) / len(shown.columns)
    height = top + 0.72 * step * len(shown.rows) + 8
    nodes: list[Node] = [
        strokes.text(left, 14, shown.column_name, look="axis"),
        strokes.text(0, top - 8, shown.row_name, look="axis"),
    ]
    nodes += [
        strokes.text(left + (place + 0.5) * step, 34, name, anchor="middle", look="tick")
        for place, name in enumerate(shown.columns)
    ]
    for line, (name, values) in enumerate(zip(shown.rows, shown.values, strict=True)):
        y = top + 0.72 * step * line
        nodes.append(strokes.text(left - 10, y + 0.36 * step + 4, name, anchor="end", look="tick"))
        for place, value in enumerate(values):
            if value is not None:
                hint = f"{shown.row_name} {name}, {shown.column_name} {shown.columns[place]}: {value:.3f}"
                nodes.append(_tile(left + place * step, y, step, 0.72 * step, value, hint))
    return strokes.picture(key, width, height, shown.title, shown.description, nodes)


def _tile(x: float, y: float, width: float, height: float, value: float, hint: str) -> Markup:
    shade = element(
        "rect",
        x=x + 1,
        y=y + 1,
        width=width - 2,
        height=height - 2,
        class_="p-shade",
        fill_opacity=min(max(value, 0.0), 1.0),
    )
    # Above about a half the shade is dark enough to need light words.
    look = "p-light" if value > 0.55 else "p-dark"
    words = strokes.text(x + width / 2, y + height / 2 + 4, f"{value:.2f}", anchor="middle", look=look)
    return strokes.hover(hint, (shade, words), x, y, width, height)


def pictures(key: str, shown: Pictures, width: float) -> Markup:
    """Draw pictures side by side."""
    count = max(len(shown.pictures), 1)
    gap = 14.0
    side = min((width - gap * (count - 1)) / count, 110.0)
    nodes: list[Node] = []
    for place, (name, rows) in enumerate(shown.pictures):
        x = place * (side + gap)
        nodes.append(strokes.text(x + side / 2, 14, name, anchor="middle", look="tick"))
        nodes.append(strokes.bar(x, 22, side, side, "p-frame"))
        pixel = side / len(rows)
        nodes += [
            element(
                "rect",
                x=x + j * pixel,
                y=22 + i * pixel,
                width=pixel,
                height=pixel,
                class_="p-ink",
                fill_opacity=min(max(shade, 0.0), 1.0),
            )
            for i, row in enumerate(rows)
            for j, shade in enumerate(row)
            if shade > 0
        ]
    return strokes.picture(key, width, side + 30, shown.title, shown.description, nodes)
