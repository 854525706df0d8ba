"""Box plots, one line each: the middle half as a box, its median, and whiskers from the 5th to the 95th
percentile.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kwis.report.charts import canvas as strokes
from kwis.report.charts.axes import Scale
from kwis.report.charts.canvas import Canvas
from kwis.report.markup import Markup, Node
from kwis.report.wording import rough
from kwis.typing import Floats

_LINE = 24.0
_LABELS = 190.0


@dataclass(frozen=True, slots=True, kw_only=True)
class BoxLine:
    """Percentiles of some values, their number and name; ``look`` is ``ours`` or ``other``."""

    name: str
    percentiles: tuple[float, float, float, float, float]
    n: int
    look: str = "ours"

    @classmethod
    def of(cls, name: str, values: Floats, look: str = "ours") -> BoxLine:
        low, first, median, third, high = (
            float(value) for value in np.percentile(values, [5, 25, 50, 75, 95])
        )
        return cls(name=name, percentiles=(low, first, median, third, high), n=values.size, look=look)


@dataclass(frozen=True, slots=True, kw_only=True)
class Boxes:
    """Box plots on a common axis."""

    title: str
    description: str
    x: Scale
    x_name: str
    lines: tuple[BoxLine, ...]


def boxes(key: str, shown: Boxes, width: float) -> Markup:
    """Draw box plots under each other."""
    height = 20 + _LINE * len(shown.lines) + 46
    labels = max((strokes.wide(line.name) for line in shown.lines), default=0.0)
    left = min(labels, _LABELS) + 14
    area = Canvas(
        width=width, height=height, x=shown.x, y=Scale(0, 1), left=left, right=12, top=14, bottom=46
    )
    nodes: list[Node] = [strokes.horizontal_axis(area, shown.x_name)]
    nodes += [_box(area, line, area.top + _LINE * (place + 0.5)) for place, line in enumerate(shown.lines)]
    return strokes.picture(key, width, height, shown.title, shown.description, nodes)


def _box(area: Canvas, line: BoxLine, y: float) -> Markup:
    low, first, median, third, high = (area.across(value) for value in line.percentiles)
    marks: list[Node] = [
        strokes.text(0, y + 4.5, strokes.shortened(line.name, area.left - 14), full=line.name),
        strokes.line(low, y, high, y, "interval"),
        strokes.bar(first, y - 7, max(third - first, 1.0), 14, f"p-box p-box-{line.look}"),
        strokes.line(median, y - 8, median, y + 8, "p-median"),
    ]
    words = ", ".join(rough(value) for value in line.percentiles)
    return strokes.hover(
        f"{line.name}: 5, 25, 50, 75 and 95 % at {words}; n = {line.n}",
        marks,
        0,
        y - _LINE / 2,
        area.width,
        _LINE,
    )
