"""Forest plot: values with their intervals, one line each, under headings, with a line to compare them to."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from kwis.report.charts import canvas as draw
from kwis.report.charts.axes import Scale, linear
from kwis.report.charts.canvas import Canvas
from kwis.report.markup import Markup, Node, element

NARROW = 480.0
_LINE, _TALL_LINE, _EXTRA_LINE, _HEADING = 27.0, 46.0, 18.0, 32.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Stripe:
    """One line of a forest plot.

    Attributes
    ----------
    words
        The numbers in words, shown at the right.
    hint
        What a tooltip says.
    look
        ``plain``, ``accent``, ``strong`` (the one to read) or ``flag`` (something is wrong with it).
    heading
        Starts a new block with this heading.
    ghost
        A second value, drawn hollow: what the first is to be compared with on this line.
    """

    label: str
    value: float
    low: float
    high: float
    words: str
    hint: str
    look: str = "plain"
    heading: str | None = None
    ghost: float = math.nan


@dataclass(frozen=True, slots=True, kw_only=True)
class Forest:
    """A whole forest plot; ``reference`` is a value to compare to, such as 0 or 1, with its name."""

    title: str
    description: str
    stripes: tuple[Stripe, ...]
    axis: str
    reference: float | None = None
    reference_name: str = ""


def forest(key: str, plot: Forest, width: float) -> Markup:
    """Draw a forest plot; narrower than :data:`NARROW` the labels stand above their lines."""
    tall = width < NARROW
    steps = [_step(stripe, width) if tall else _LINE for stripe in plot.stripes]
    headings = sum(stripe.heading is not None for stripe in plot.stripes)
    top = 26.0 if plot.reference_name else 10.0
    height = top + sum(steps) + _HEADING * headings + 50
    label_room, words_room = (0.0, 0.0) if tall else _columns(plot.stripes, width)
    area = Canvas(
        width=width,
        height=height,
        x=_scale(plot),
        y=Scale(0, 1),
        left=label_room + (8 if tall else 14),
        right=words_room + (8 if tall else 14),
        top=top,
        bottom=46,
    )
    nodes: list[Node] = [draw.horizontal_axis(area, plot.axis)]
    if plot.reference is not None and area.x.holds(plot.reference):
        nodes.append(_reference(area, plot.reference, plot.reference_name))
    y = top
    for stripe, step in zip(plot.stripes, steps, strict=True):
        if stripe.heading is not None:
            heading = draw.shortened(stripe.heading, width, draw.FONT * draw.BOLD)
            nodes.append(draw.text(0, y + 22, heading, look="heading", full=stripe.heading))
            y += _HEADING
        nodes.append(_stripe(area, stripe, y, step, tall=tall))
        y += step
    return draw.picture(key, width, height, plot.title, plot.description, nodes)


def usual_range(stripes: Iterable[Stripe], include: Iterable[float] = ()) -> tuple[float, float]:
    """Range that shows the usual intervals whole, and the ones to read; a few that are far wider are cut, and
    drawn with an arrow.
    """
    rows = list(stripes)
    finite = [stripe for stripe in rows if math.isfinite(stripe.low) and math.isfinite(stripe.high)]
    shown = [
        end for stripe in finite if stripe.look == "strong" for end in (stripe.low, stripe.value, stripe.high)
    ] + list(include)
    if not finite:
        points = [
            value for stripe in rows for value in (stripe.value, stripe.ghost) if math.isfinite(value)
        ] + shown
        return min(points, default=0.0), max(points, default=1.0)
    widths = sorted(stripe.high - stripe.low for stripe in finite)
    reach = 4 * (widths[len(widths) // 2] or widths[-1])
    centres = sorted(stripe.value for stripe in finite)
    centre = centres[len(centres) // 2]
    low = max(min(stripe.low for stripe in finite), centre - reach)
    high = min(max(stripe.high for stripe in finite), centre + reach)
    return min(low, *shown, centre), max(high, *shown, centre)


def cut(plot: Forest) -> bool:
    """Whether some interval goes beyond the picture."""
    scale = _scale(plot)
    return any(
        not scale.holds(end)
        for stripe in plot.stripes
        for end in (stripe.low, stripe.high)
        if math.isfinite(end)
    )


def _scale(plot: Forest) -> Scale:
    include = () if plot.reference is None else (plot.reference,)
    low, high = usual_range(plot.stripes, include)
    return linear((low, high), margin=0.04)


def _columns(stripes: Iterable[Stripe], width: float) -> tuple[float, float]:
    """Room for the labels at the left and the numbers at the right."""
    rows = list(stripes)
    label = max((_wide(stripe.label, stripe) for stripe in rows), default=0.0)
    words = max((_wide(stripe.words, stripe) for stripe in rows), default=0.0)
    words = min(words, 0.38 * width)
    return min(label, 0.71 * width - words), words


def _step(stripe: Stripe, width: float) -> float:
    """Height of a line whose label stands above it; numbers that do not fit beside the label get a line of
    their own.
    """
    fits = _wide(stripe.label, stripe) + _wide(stripe.words, stripe) + 12 <= width
    return _TALL_LINE if fits else _TALL_LINE + _EXTRA_LINE


def _wide(words: str, stripe: Stripe) -> float:
    return draw.wide(words) * (draw.BOLD if stripe.look == "strong" else 1.0)


def _reference(area: Canvas, value: float, name: str) -> Markup:
    x = area.across(value)
    half = draw.wide(name, draw.SMALL) / 2
    anchor = "start" if x - half < 0 else "end" if x + half > area.width else "middle"
    return element(
        "g",
        draw.line(x, area.top - 6, x, area.floor, "reference"),
        draw.text(x, area.top - 12, name, anchor=anchor, look="tick"),
    )


def _stripe(area: Canvas, stripe: Stripe, top: float, step: float, *, tall: bool) -> Markup:
    y = top + (step - 13 if tall else step / 2)
    baseline = top + 16 if tall else y + 4.5
    below = _EXTRA_LINE if tall and step > _TALL_LINE else 0.0
    label_room = (
        area.width if below else area.width - _wide(stripe.words, stripe) - 12 if tall else area.left - 14
    )
    strong = stripe.look == "strong"
    label = draw.shortened(stripe.label, label_room, draw.FONT * (draw.BOLD if strong else 1.0))
    bold = " k-bold" if strong else ""
    marks: list[Node] = [
        draw.text(0, baseline, label, look=f"label{bold}"),
        draw.text(area.width, baseline + below, stripe.words, anchor="end", look=f"number{bold}"),
        *_interval(area, stripe, y),
    ]
    return draw.hover(stripe.hint, marks, 0, top, area.width, step)


def _interval(area: Canvas, stripe: Stripe, y: float) -> list[Node]:
    """The line with its ends, arrows where it goes beyond the picture, and the dot."""
    nodes: list[Node] = []
    if math.isfinite(stripe.low) and math.isfinite(stripe.high):
        start, end = area.across(stripe.low), area.across(stripe.high)
        nodes.append(draw.line(start, y, end, y, f"interval k-{stripe.look}"))
        for x, value, side in ((start, stripe.low, -1), (end, stripe.high, 1)):
            inside = area.x.holds(value)
            tip = (
                [(x, y - 4), (x, y + 4)] if inside else [(x - side * 5, y - 4), (x, y), (x - side * 5, y + 4)]
            )
            nodes.append(draw.path(tip, f"interval k-{stripe.look}"))
    if math.isfinite(stripe.ghost) and area.x.holds(stripe.ghost):
        x = area.across(stripe.ghost)
        nodes += [draw.line(x, y, area.across(stripe.value), y, "link"), draw.dot(x, y, "ghost", 4.0)]
    if area.x.holds(stripe.value):
        nodes.append(
            draw.dot(
                area.across(stripe.value), y, f"dot k-{stripe.look}", 5.5 if stripe.look == "strong" else 4.5
            )
        )
    return nodes
