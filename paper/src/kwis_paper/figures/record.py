"""A figure as a record: panels that say what to draw, and the words around them."""

from __future__ import annotations

from dataclasses import dataclass

from kwis.report.charts import Plot
from kwis.report.charts import figure as draw_report_chart
from kwis.report.markup import Markup
from kwis_paper.figures.boxes import Boxes, boxes
from kwis_paper.figures.grids import Heatmap, Pictures, heatmap, pictures
from kwis_paper.figures.lines import Lines, lines
from kwis_paper.figures.scatter import Scatter, scatter

Chart = Scatter | Boxes | Heatmap | Pictures | Lines | Plot
WIDTH = 460.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A figure.

    Attributes
    ----------
    key
        Name of its files and its address on the page.
    label
        Of the figure in the paper's source; ``parts`` are those of its panels.
    setting
        Setting it is about, by which a reader filters; empty for none.
    notes
        What must be known to read it, such as results that are missing.
    """

    key: str
    title: str
    caption: str
    panels: tuple[Chart, ...]
    label: str = ""
    parts: tuple[str, ...] = ()
    setting: str = ""
    notes: tuple[str, ...] = ()


def draw(key: str, chart: Chart, width: float = WIDTH) -> Markup:
    """Draw a panel as SVG; ``key`` names the drawing and must be unique on a page."""
    if isinstance(chart, Scatter):
        return scatter(key, chart, width)
    if isinstance(chart, Boxes):
        return boxes(key, chart, width)
    if isinstance(chart, Heatmap):
        return heatmap(key, chart, width)
    if isinstance(chart, Pictures):
        return pictures(key, chart, width)
    if isinstance(chart, Lines):
        return lines(key, chart, width)
    return draw_report_chart(key, chart, width)
