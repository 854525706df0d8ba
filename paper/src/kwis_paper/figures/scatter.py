"""Named points of a few series, such as a dataset here and in the paper."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from kwis.report.charts import canvas as strokes
from kwis.report.charts.axes import Scale
from kwis.report.charts.canvas import SMALL, Canvas
from kwis.report.markup import Markup, Node, element

_HEIGHT = 300.0
Box = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A point with its name and what a tooltip says."""

    name: str
    x: float
    y: float
    hint: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """Points drawn alike; ``look`` is ``ours``, ``other`` or ``paper``, and ``named`` puts names
    beside them.
    """

    name: str
    look: str
    marks: tuple[Mark, ...]
    named: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Scatter:
    """Series on common axes, with a line at ``level``."""

    title: str
    description: str
    x: Scale
    y: Scale
    x_name: str
    y_name: str
    series: tuple[Series, ...]
    level: float | None = None


def scatter(key: str, shown: Scatter, width: float) -> Markup:
    """Draw named points with a legend above them."""
    area = Canvas(
        width=width,
        height=_HEIGHT,
        x=shown.x,
        y=shown.y,
        left=strokes.tick_room(shown.y),
        right=14,
        top=62,
        bottom=46,
    )
    nodes: list[Node] = [
        strokes.vertical_axis(area, ""),
        strokes.horizontal_axis(area, shown.x_name, grid=False),
    ]
    nodes += [strokes.text(0, 14, shown.y_name, look="heading"), *_legend(shown.series)]
    if shown.level is not None and shown.y.holds(shown.level):
        nodes.append(
            strokes.line(area.left, area.down(shown.level), area.end, area.down(shown.level), "reference")
        )
    taken: list[Box] = [
        _box_of_dot(area, mark) for series in shown.series if series.named for mark in _finite(series)
    ]
    nodes += _joins(area, shown.series)
    for series in shown.series:
        nodes += [_dot(area, series, mark) for mark in _finite(series)]
    for series in shown.series:
        nodes += [_label(area, mark, taken) for mark in _finite(series) if series.named]
    return strokes.picture(key, width, _HEIGHT, shown.title, shown.description, nodes)


def _finite(series: Series) -> list[Mark]:
    return [mark for mark in series.marks if math.isfinite(mark.x) and math.isfinite(mark.y)]


def _joins(area: Canvas, series: Sequence[Series]) -> list[Node]:
    """A line between the points of the same name in two series, such as ours and the paper's."""
    places: dict[str, list[tuple[float, float]]] = {}
    for one in series:
        for mark in _finite(one):
            places.setdefault(mark.name, []).append((area.across(mark.x), area.down(mark.y)))
    return [
        strokes.line(*start, *end, "p-join") for found in places.values() for start, end in pairwise(found)
    ]


def _legend(series: Sequence[Series]) -> list[Node]:
    nodes: list[Node] = []
    x = 6.0
    for one in series:
        nodes += [strokes.dot(x, 34, f"p-{one.look}", 4.5), strokes.text(x + 10, 38, one.name, look="tick")]
        x += 30 + strokes.wide(one.name, SMALL)
    return nodes


def _dot(area: Canvas, series: Series, mark: Mark) -> Markup:
    x, y = area.across(mark.x), area.down(mark.y)
    return strokes.hover(mark.hint, (strokes.dot(x, y, f"p-{series.look}", 5.0),), x - 10, y - 10, 20, 20)


def _box_of_dot(area: Canvas, mark: Mark) -> Box:
    x, y = area.across(mark.x), area.down(mark.y)
    return (x - 5, y - 5, x + 5, y + 5)


def _label(area: Canvas, mark: Mark, taken: list[Box]) -> Markup:
    """The name where it covers no other; the last place tried if it covers one everywhere."""
    x, y = area.across(mark.x), area.down(mark.y)
    room = strokes.wide(mark.name, SMALL)
    for shift in (0.0, -12.0, 12.0, -24.0, 24.0, -36.0, 36.0):
        for side in (1, -1):
            start = x + 8 if side > 0 else x - 8 - room
            box = (start, y + shift - 7, start + room, y + shift + 5)
            free = (
                area.left - 4 <= start
                and start + room <= area.width
                and box[1] >= 46
                and box[3] <= area.floor + 4
            )
            if free and not any(_overlap(box, other) for other in taken):
                taken.append(box)
                return strokes.text(start, y + shift + 4, mark.name, look="tick")
    return element("g", strokes.text(min(x + 8, area.width - room), y + 4, mark.name, look="tick"))


def _overlap(a: Box, b: Box) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]
