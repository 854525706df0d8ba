"""Named lines over common axes, such as the error of several estimators against one quantity."""

from __future__ import annotations

import math
from dataclasses import dataclass

from kwis.report.charts import canvas as strokes
from kwis.report.charts.axes import Scale
from kwis.report.charts.canvas import SMALL, Canvas
from kwis.report.markup import Markup, Node

_HEIGHT = 320.0
_ROW = 18.0
LOOKS = 8
"""Lines that can be told apart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """A line through points ``(x, y)``; ``look`` is one of :data:`LOOKS` numbers from 1."""

    name: str
    look: int
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Lines:
    """Traces on common axes."""

    title: str
    description: str
    x: Scale
    y: Scale
    x_name: str
    y_name: str
    traces: tuple[Trace, ...]


def lines(key: str, shown: Lines, width: float) -> Markup:
    """Draw the traces with a legend above them."""
    legend, rows = _legend(shown, width)
    top = 30 + rows * _ROW
    area = Canvas(
        width=width,
        height=_HEIGHT,
        x=shown.x,
        y=shown.y,
        left=strokes.tick_room(shown.y),
        right=14,
        top=top,
        bottom=46,
    )
    nodes: list[Node] = [
        strokes.vertical_axis(area, ""),
        strokes.horizontal_axis(area, shown.x_name, grid=False),
    ]
    nodes += [strokes.text(0, 14, shown.y_name, look="heading"), *legend]
    for trace in shown.traces:
        nodes += _trace(area, trace)
    return strokes.picture(key, width, _HEIGHT, shown.title, shown.description, nodes)


def _trace(area: Canvas, trace: Trace) -> list[Node]:
    finite = [(x, y) for x, y in trace.points if math.isfinite(x) and math.isfinite(y)]
    places = [(area.across(x), area.down(y)) for x, y in finite]
    if not places:
        return []
    nodes: list[Node] = [strokes.path(places, f"l-{trace.look}")] if len(places) > 1 else []
    for (x, y), (left, down) in zip(finite, places, strict=True):
        dot = strokes.dot(left, down, f"d-{trace.look}", 3.5)
        nodes.append(strokes.hover(f"{trace.name}: {y:.4f} at {x:.3g}", (dot,), left - 8, down - 8, 16, 16))
    return nodes


def _legend(shown: Lines, width: float) -> tuple[list[Node], int]:
    """Names with a stroke of their line, on as many rows as they need."""
    nodes: list[Node] = []
    x, row = 6.0, 1
    for trace in shown.traces:
        room = 40 + strokes.wide(trace.name, SMALL)
        if x + room > width and x > 6:
            x, row = 6.0, row + 1
        y = 16 + row * _ROW
        nodes += [
            strokes.path([(x, y - 4), (x + 18, y - 4)], f"l-{trace.look}"),
            strokes.text(x + 24, y, trace.name, look="tick"),
        ]
        x += room
    return nodes, row
