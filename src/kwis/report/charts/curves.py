"""Curves with bands and points on two axes: bandwidth paths, reliability, anything of y against x."""

from __future__ import annotations

import math
from dataclasses import dataclass

from kwis.report.charts import canvas as draw
from kwis.report.charts.axes import Scale
from kwis.report.charts.canvas import Canvas
from kwis.report.markup import Markup, Node, element, joined

_RADIUS = {"strong": 6.0, "accent": 4.5}


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """A point of a curve, with an interval where it has one.

    ``look`` is ``plain``, ``quiet`` (unseen until hovered), ``accent``, ``strong`` or ``flag``.
    """

    x: float
    y: float
    low: float = math.nan
    high: float = math.nan
    hint: str = ""
    look: str = "plain"


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """Points joined by a line, if ``joined``, their intervals drawn as a band or as whiskers."""

    points: tuple[Point, ...]
    name: str = ""
    joined: bool = True
    intervals: str = "band"
    look: str = "plain"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    """Curves on common axes.

    Attributes
    ----------
    ticks
        Places and words of the horizontal axis, where the scale's own would not do.
    diagonal
        Whether to draw y = x.
    marks
        Vertical lines with a name each; ``levels`` the same for horizontal ones.
    """

    title: str
    description: str
    x: Scale
    y: Scale
    x_name: str
    y_name: str
    curves: tuple[Curve, ...]
    ticks: tuple[tuple[float, str], ...] | None = None
    diagonal: bool = False
    marks: tuple[tuple[float, str], ...] = ()
    levels: tuple[tuple[float, str], ...] = ()
    square: bool = False


def plot(key: str, shown: Plot, width: float) -> Markup:
    """Draw curves; square plots are as high as they are wide."""
    top = 42.0 if shown.marks else 28.0
    left = draw.tick_room(shown.y)
    width = min(width, 420.0) if shown.square else width
    height = width - left - 12 + top + 48 if shown.square else min(0.3 * width, 220.0) + top + 60
    area = Canvas(width=width, height=height, x=shown.x, y=shown.y, left=left, right=14, top=top, bottom=48)
    nodes: list[Node] = [draw.vertical_axis(area, shown.y_name), _bottom(area, shown)]
    if shown.diagonal:
        low, high = max(area.x.low, area.y.low), min(area.x.high, area.y.high)
        nodes.append(
            draw.line(area.across(low), area.down(low), area.across(high), area.down(high), "reference")
        )
    nodes += [_level(area, value, name) for value, name in shown.levels]
    nodes += [_mark(area, value, name) for value, name in shown.marks]
    nodes += [_curve(area, curve) for curve in shown.curves]
    return draw.picture(key, width, height, shown.title, shown.description, nodes)


def _bottom(area: Canvas, shown: Plot) -> Markup:
    if shown.ticks is None:
        return draw.horizontal_axis(area, shown.x_name, grid=shown.square)
    nodes: list[Node] = []
    for value, words in shown.ticks:
        x = area.across(value)
        half = draw.wide(words, draw.SMALL) / 2
        anchor = "start" if x - half < 0 else "end" if x + half > area.width else "middle"
        nodes.append(
            draw.text(min(max(x, 0.0), area.width), area.floor + 18, words, anchor=anchor, look="tick")
        )
        nodes.append(draw.line(x, area.floor, x, area.floor + 4, "grid"))
    nodes.append(draw.below_axis(area, shown.x_name))
    return joined(nodes)


def _level(area: Canvas, value: float, name: str) -> Markup:
    y = area.down(value)
    words = draw.text(area.end, y - 6, name, anchor="end", look="tick") if name else None
    return element("g", draw.line(area.left, y, area.end, y, "reference"), words)


def _mark(area: Canvas, value: float, name: str) -> Markup:
    x = area.across(value)
    half = draw.wide(name, draw.SMALL) / 2
    anchor = "start" if x - half < area.left else "end" if x + half > area.end else "middle"
    return element(
        "g",
        draw.line(x, area.top - 4, x, area.floor, "chosen"),
        draw.text(x, area.top - 9, name, anchor=anchor, look="accent"),
    )


def _curve(area: Canvas, curve: Curve) -> Markup:
    finite = [point for point in curve.points if math.isfinite(point.y)]
    bounded = [point for point in finite if math.isfinite(point.low) and math.isfinite(point.high)]
    nodes: list[Node] = []
    if curve.intervals == "band" and len(bounded) > 1:
        xs = [area.across(point.x) for point in bounded]
        nodes.append(
            draw.band(
                xs, [area.down(point.low) for point in bounded], [area.down(point.high) for point in bounded]
            )
        )
    if curve.joined and len(finite) > 1:
        nodes.append(
            draw.path(
                [(area.across(point.x), area.down(point.y)) for point in finite], f"curve k-{curve.look}"
            )
        )
    spacing = (area.end - area.left) / max(len(finite), 1)
    for point in finite:
        x, y = area.across(point.x), area.down(point.y)
        marks: list[Node] = []
        if curve.intervals == "whiskers" and math.isfinite(point.low) and math.isfinite(point.high):
            marks.append(
                draw.line(x, area.down(point.low), x, area.down(point.high), f"interval k-{point.look}")
            )
        marks.append(draw.dot(x, y, f"dot k-{point.look}", _RADIUS.get(point.look, 3.5)))
        reach = min(max(spacing, 10.0), 24.0)
        nodes.append(draw.hover(point.hint, marks, x - reach / 2, area.top, reach, area.floor - area.top))
    return element("g", *nodes)
