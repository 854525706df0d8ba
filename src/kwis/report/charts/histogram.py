"""Histograms whose bins are shares: of the rows, and beside it of something else that the rows add up to."""

from __future__ import annotations

from dataclasses import dataclass

from kwis.report.charts import canvas as draw
from kwis.report.charts.axes import Scale
from kwis.report.charts.canvas import Canvas
from kwis.report.markup import Markup, Node


@dataclass(frozen=True, slots=True, kw_only=True)
class Bin:
    """A bin from ``low`` to ``high`` with the share of the rows in it, and the share of a total that they
    hold.
    """

    low: float
    high: float
    share: float
    second: float
    hint: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Histogram:
    """Columns on a common axis, with vertical lines at places that have a name; ``names`` are those of the
    two shares.
    """

    title: str
    description: str
    x: Scale
    x_name: str
    names: tuple[str, str]
    columns: tuple[Bin, ...]
    marks: tuple[tuple[float, str], ...] = ()


def histogram(key: str, shown: Histogram, width: float) -> Markup:
    """Draw a histogram: bars for the first share, and for the second a line of steps over them."""
    highest = max((max(column.share, column.second) for column in shown.columns), default=1.0) or 1.0
    y = Scale(0.0, 100 * highest * 1.08)
    area = Canvas(
        width=width,
        height=min(0.3 * width, 220.0) + 120,
        x=shown.x,
        y=y,
        left=draw.tick_room(y),
        right=8,
        top=68,
        bottom=48,
    )
    nodes: list[Node] = [
        *_legend(shown.names),
        draw.vertical_axis(area, "", most=4),
        draw.horizontal_axis(area, shown.x_name, grid=False),
    ]
    nodes.append(draw.line(area.left, area.floor, area.end, area.floor, "base"))
    nodes += [_bar(area, column) for column in shown.columns]
    if shown.columns:
        nodes.append(draw.path(_steps(area, shown.columns), "steps"))
    for value, name in shown.marks:
        x = area.across(value)
        nodes += [
            draw.line(x, area.top - 8, x, area.floor, "reference"),
            draw.text(x, area.top - 14, name, anchor="middle", look="tick"),
        ]
    nodes += [_hint(area, column) for column in shown.columns]
    return draw.picture(key, width, area.height, shown.title, shown.description, nodes)


def _legend(names: tuple[str, str]) -> list[Node]:
    second = 26 + draw.wide(names[0], draw.SMALL) + 22
    return [
        draw.bar(0, 2, 14, 11, "column"),
        draw.text(20, 12, names[0], look="tick"),
        draw.line(second, 8, second + 16, 8, "steps"),
        draw.text(second + 22, 12, names[1], look="tick"),
    ]


def _bar(area: Canvas, column: Bin) -> Markup:
    start, end, top = area.across(column.low), area.across(column.high), area.down(100 * column.share)
    return draw.bar(start + 0.75, top, end - start - 1.5, area.floor - top, "column")


def _hint(area: Canvas, column: Bin) -> Markup:
    """An unseen rectangle over the whole height, so that low columns can be hovered too."""
    start, end = area.across(column.low), area.across(column.high)
    return draw.hover(column.hint, (), start, area.top, end - start, area.floor - area.top)


def _steps(area: Canvas, columns: tuple[Bin, ...]) -> list[tuple[float, float]]:
    points = [(area.across(columns[0].low), area.floor)]
    for column in columns:
        y = area.down(100 * column.second)
        points += [(area.across(column.low), y), (area.across(column.high), y)]
    return [*points, (points[-1][0], area.floor)]
