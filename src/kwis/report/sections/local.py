"""The local mean weight: where the propensities hold, and where they do not."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kwis.checks.findings import LocalMeanWeight, MeanTest, PropensityReport
from kwis.report.charts import Curve, Forest, Plot, Point, Scale, Stripe, linear
from kwis.report.sections.common import fold_after
from kwis.report.view import Block, Cell, Figure, PageTable, Section
from kwis.report.wording import count, number, p_value, percent, span
from kwis.result.evaluation import Evaluation

_POINTS, _MOST_REGIONS = 90, 12
_LEAD = (
    "With right propensities the weights average to 1 around every context. Kernel-WIS divides by this local "
    "mean, "
    "so it shows what there is to mend."
)


def local_mean_weight(evaluation: Evaluation) -> Section:
    blocks = [
        _block(name, found.local, evaluation.propensity) for name, found in evaluation.diagnostics.items()
    ]
    return Section(
        key="local-mean-weight",
        title="Local mean weight",
        short="Local mean",
        lead=_LEAD,
        blocks=fold_after(blocks, 0),
    )


def _block(target: str, found: LocalMeanWeight, report: PropensityReport) -> Block:
    rejected = found.p_value < report.level  # marks beside a test that passes would contradict it
    departing = [test for test in found.tests if test.p_value < report.level] if rejected else []
    # Wrong rows of one region pull the means of every region they are part of; the report names where it
    # starts.
    flagged = [test for test in departing if test.region in report.regions] or departing
    share = (
        f"The band leaves 1 out around {percent(found.outside, 1)} of the contexts; 5\u202f% or less is "
        f"chance."
    )
    test = f"Test of a mean of 1 everywhere and in every region: {p_value(found.p_value)}."
    figures = [] if found.mean.size == 0 else [_curve(target, found, marked=rejected)]
    if found.tests:
        figures.append(_regions(target, found.tests, flagged))
    others = len(departing) - len(flagged)
    pulled = (
        (
            f"{count(others)} more {'region departs' if others == 1 else 'regions depart'} from 1 because "
            f"rows "
            f"of these are in them."
        ),
    )
    points = tuple(_where(each) for each in flagged[:5]) + (pulled if others else ())
    return Block(title=target, paragraphs=(f"{share} {test}",), points=points, figures=tuple(figures))


def _where(test: MeanTest) -> str:
    """One region in words; it starts with the name of a column, which keeps its case."""
    return (
        f"{test.region}: mean weight {number(test.mean, 2)}, 95\u202f% {span(test.low, test.high, 2)}, "
        f"{count(test.n)} rows."
    )


def _curve(target: str, found: LocalMeanWeight, *, marked: bool) -> Figure:
    """Contexts in the order of their local mean weight, thinned to what a screen can show."""
    order = np.argsort(found.mean, kind="stable")
    picked = order[
        np.unique(np.linspace(0, order.size - 1, min(_POINTS, order.size)).round().astype(np.int64))
    ]
    shares = np.linspace(0, 100, picked.size)
    points = tuple(
        Point(
            x=float(share),
            y=mean,
            low=low,
            high=high,
            hint=f"local mean weight {number(mean, 2)}, 95\u202f% {span(low, high, 2)}",
            look="flag" if marked and (low > 1 or high < 1) else "quiet",
        )
        for share, mean, low, high in zip(
            shares,
            found.mean[picked].tolist(),
            found.low[picked].tolist(),
            found.high[picked].tolist(),
            strict=True,
        )
    )
    lows, highs = np.nanquantile(found.low, 0.02), np.nanquantile(found.high, 0.98)
    chart = Plot(
        title=f"Local mean weight of {target}",
        description=(
            f"From {number(float(found.mean.min()), 2)} to {number(float(found.mean.max()), 2)}; it "
            f"should be 1."
        ),
        x=Scale(0.0, 100.0),
        y=linear((float(lows), float(highs), *found.mean.tolist()), include=(1.0,)),
        x_name="contexts in order, %",
        y_name="local mean weight",
        curves=(Curve(points=points),),
        levels=((1.0, ""),),
    )
    caption = "Contexts from the lowest to the highest local mean weight with a pointwise 95\u202f% band" + (
        "; marked where the band leaves 1 out." if marked else "."
    )
    return Figure(chart=chart, caption=caption)


def _regions(target: str, tests: Sequence[MeanTest], flagged: Sequence[MeanTest]) -> Figure:
    furthest = {id(test) for test in sorted(tests, key=lambda test: -abs(test.z))[:_MOST_REGIONS]}
    marked = {id(test) for test in flagged}
    stripes = tuple(
        Stripe(
            label=test.region,
            value=test.mean,
            low=test.low,
            high=test.high,
            words=f"{number(test.mean, 2)} ({span(test.low, test.high, 2)})",
            hint=f"{_where(test)[:-1]}, {p_value(test.p_value)} allowing for all tests",
            look="flag" if id(test) in marked else "plain",
        )
        for test in tests
        if id(test) in furthest
    )
    chart = Forest(
        title=f"Mean weight of {target} by region",
        description="; ".join(_where(test)[:-1] for test in flagged)
        or "No region departs from 1 by more than chance.",
        stripes=stripes,
        axis="mean weight",
        reference=1.0,
        reference_name="right propensities",
    )
    left_out = (
        f" The {_MOST_REGIONS} regions furthest from 1 of {count(len(tests))}."
        if len(tests) > _MOST_REGIONS
        else ""
    )
    caption = (
        f"95\u202f% intervals, each by itself; marked where the propensities fail by more than chance among "
        f"all tests.{left_out}"
    )
    return Figure(chart=chart, caption=caption, numbers=_table(target, tests))


def _table(target: str, tests: Sequence[MeanTest]) -> PageTable:
    lines = tuple(
        (
            Cell(test.region),
            Cell(count(test.n), test.n),
            Cell(number(test.mean, 3), test.mean),
            Cell(number(test.low, 3), test.low),
            Cell(number(test.high, 3), test.high),
            Cell(p_value(test.p_value), test.p_value),
        )
        for test in tests
    )
    columns = ("Region", "Rows", "Mean weight", "Low", "High", "p, all tests")
    return PageTable(
        caption=f"Mean weight of {target}, every region", columns=columns, rows=lines, folded=True
    )
