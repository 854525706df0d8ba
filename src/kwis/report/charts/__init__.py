"""Figures as inline SVG, from records that say what to show: a forest plot, curves, a histogram.

They know nothing of evaluations. :func:`figure` draws any of them at a given width in pixels.
"""

from __future__ import annotations

from kwis.report.charts.axes import Scale, linear, logarithmic
from kwis.report.charts.curves import Curve, Plot, Point, plot
from kwis.report.charts.forest import Forest, Stripe, forest
from kwis.report.charts.histogram import Bin, Histogram, histogram
from kwis.report.markup import Markup

__all__ = [
    "Chart",
    "Bin",
    "Curve",
    "Forest",
    "Histogram",
    "Plot",
    "Point",
    "Scale",
    "Stripe",
    "figure",
    "linear",
    "logarithmic",
]

Chart = Forest | Plot | Histogram


def figure(key: str, chart: Chart, width: float) -> Markup:
    """Draw a chart; ``key`` names the drawing on the page and must be unique there."""
    if isinstance(chart, Forest):
        return forest(key, chart, width)
    if isinstance(chart, Plot):
        return plot(key, chart, width)
    return histogram(key, chart, width)
