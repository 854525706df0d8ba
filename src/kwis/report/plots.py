"""The charts of the report one by one: as matplotlib axes, or as SVG where matplotlib is not installed."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from importlib.util import find_spec
from os import PathLike
from typing import Any

from kwis import _validation as check
from kwis.errors import UnsupportedError
from kwis.report.charts import Chart, Forest, Histogram, Plot, figure
from kwis.report.html import asset
from kwis.report.summary import page_of
from kwis.result.evaluation import Evaluation
from kwis.runtime.writing import writable, write_whole

KINDS = ("forest", "weights", "segments", "path", "propensity")
_WIDTH = 720.0
_COLOURS = {"strong": "#2457d6", "accent": "#2457d6", "flag": "#b3261e"}
_OTHER = "#8b95a3"

_NAME = "kwis-chart"  # of the title, by which a drawing of ours is known


@dataclass(frozen=True, slots=True, repr=False)
class Drawing:
    """A chart as SVG text; notebooks show it."""

    svg: str

    def _repr_svg_(self) -> str:
        return self.svg

    def save(self, path: str | PathLike[str]) -> Any:
        """Write the SVG to a file, and return its path."""
        return write_whole(writable(path, marks=(_NAME.encode(),)), self.svg.encode("utf-8"))

    def __repr__(self) -> str:
        return f"Drawing(SVG, {len(self.svg):,} characters)"


def plot_of(evaluation: Evaluation, kind: str, target: str | None, reward: str | None) -> Any:
    """One chart of an evaluation, see :meth:`kwis.Evaluation.plot`."""
    chart = chart_of(evaluation, kind, target, reward)
    return Drawing(svg_of(chart)) if find_spec("matplotlib") is None else axes_of(chart)


def chart_of(
    evaluation: Evaluation, kind: str, target: str | None = None, reward: str | None = None
) -> Chart:
    """The chart of that kind in the report, for the first target and reward unless they are named."""
    check.one_of(kind, "kind", KINDS)
    policy = check.one_of(target or evaluation.targets[0], "target", evaluation.targets)
    outcome = check.one_of(reward or evaluation.rewards[0], "reward", evaluation.rewards)
    titles = {
        "forest": [(f"Value of each policy, {outcome}", "")],
        "weights": [(f"Distribution of the weights of {policy}", "")],
        "segments": [(f"{policy} minus logging policy by ", f", {outcome}")],
        "path": [(f"Estimate of {policy} along the bandwidth", f", {outcome}")],
        # Without the probability of every action there is no calibration to show.
        "propensity": [("Reliability of the propensities", ""), (f"Mean weight of {policy} by region", "")],
    }[kind]
    figures = [
        shown
        for section in page_of(evaluation).sections
        for block in section.blocks
        for shown in block.figures
    ]
    for start, end in titles:
        for shown in figures:
            if shown.chart.title.startswith(start) and shown.chart.title.endswith(end):
                return shown.chart
    needs = {"segments": "; give `by` to kwis.evaluate", "path": "; it needs a kernel estimator"}
    raise UnsupportedError(f"this evaluation has no chart of kind {kind!r}{needs.get(kind, '')}")


def svg_of(chart: Chart) -> str:
    """A drawing that needs no page around it: its colours are those of a light one."""
    style = asset("page.css")
    light = style[: style.index("}")]
    colours = dict(re.findall(r"--([a-z-]+): (#[0-9a-f]+)", light))
    rules = "\n".join(
        line for line in style.splitlines() if line.startswith((".k-", "svg ")) and ":hover" not in line
    )
    rules = re.sub(r"var\(--([a-z-]+)\)", lambda found: colours[found[1]], rules)
    drawn = figure(_NAME, chart, _WIDTH).text
    start = drawn.index(">") + 1
    head = drawn[:start].replace("<svg", '<svg xmlns="http://www.w3.org/2000/svg"', 1)
    family = "svg { font-family: system-ui, sans-serif; }"
    return f"{head}<style>{family}\n{rules}</style>{drawn[start:]}"


def axes_of(chart: Chart) -> Any:
    """The same as axes of matplotlib, on a figure of pyplot's, which notebooks and ``plt.show()`` display."""
    import matplotlib.pyplot as plt

    height = 1.2 + 0.3 * len(chart.stripes) if isinstance(chart, Forest) else 3.6
    _, axes = plt.subplots(figsize=(7.2, height), layout="constrained")
    if isinstance(chart, Forest):
        _forest(axes, chart)
    elif isinstance(chart, Plot):
        _curves(axes, chart)
    else:
        _histogram(axes, chart)
    axes.set_title(_plain(chart.title), fontsize=10, loc="left")
    axes.spines[["top", "right"]].set_visible(False)
    return axes


def _plain(text: str) -> str:
    """Text in which matplotlib finds no formula."""
    return text.replace("$", r"\$")


def _colour(look: str) -> str:
    return _COLOURS.get(look, _OTHER)


def _forest(axes: Any, chart: Forest) -> None:
    for place, stripe in enumerate(chart.stripes):
        colour = _colour(stripe.look)
        inside = "white" if stripe.look == "hollow" else colour
        axes.plot([stripe.low, stripe.high], [place, place], color=colour, linewidth=1.5)
        axes.plot([stripe.value], [place], "o", color=colour, markerfacecolor=inside)
    axes.set_yticks(range(len(chart.stripes)), [_plain(stripe.label) for stripe in chart.stripes])
    axes.invert_yaxis()
    if chart.reference is not None:
        axes.axvline(chart.reference, color=_OTHER, linestyle=":", linewidth=1)
    axes.set_xlabel(_plain(chart.axis))


def _curves(axes: Any, chart: Plot) -> None:
    for curve in chart.curves:
        points = [point for point in curve.points if math.isfinite(point.y)]
        x, y = [point.x for point in points], [point.y for point in points]
        low, high = [point.low for point in points], [point.high for point in points]
        if curve.intervals == "band":
            axes.fill_between(x, low, high, color=_COLOURS["accent"], alpha=0.15, linewidth=0)
        else:
            axes.vlines(x, low, high, color=_COLOURS["accent"], linewidth=1.5)
        axes.plot(x, y, "-" if curve.joined else "o", color=_COLOURS["accent"])
    for value, name in chart.marks:
        axes.axvline(value, color=_COLOURS["accent"], linestyle=":", label=_plain(name))
    if chart.diagonal:
        axes.axline((chart.x.low, chart.x.low), slope=1, color=_OTHER, linestyle=":")
    if chart.ticks is not None:
        axes.set_xticks([value for value, _ in chart.ticks], [_plain(words) for _, words in chart.ticks])
    axes.set_xlabel(_plain(chart.x_name))
    axes.set_ylabel(_plain(chart.y_name))


def _histogram(axes: Any, chart: Histogram) -> None:
    lows = [column.low for column in chart.columns]
    widths = [column.high - column.low for column in chart.columns]
    shares = [100 * column.share for column in chart.columns]
    edges = [*lows, chart.columns[-1].high]
    axes.bar(lows, shares, widths, align="edge", color="#d3d9e3", label=chart.names[0])
    axes.stairs(
        [100 * column.second for column in chart.columns],
        edges,
        color=_COLOURS["accent"],
        label=chart.names[1],
    )
    if chart.x.log:
        axes.set_xscale("log")
    axes.legend(frameon=False)
    axes.set_xlabel(_plain(chart.x_name))
    axes.set_ylabel("%")
