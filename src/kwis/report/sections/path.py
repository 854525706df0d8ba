"""The bandwidth path: how the estimate goes from State-WIS to WIS, and where the chosen bandwidth lies."""

from __future__ import annotations

import math

from kwis.report.charts import Curve, Plot, Point, Scale, linear, logarithmic
from kwis.report.sections.common import axis_name, decimals_of, fold_after, label_of, number_cell
from kwis.report.view import Block, Cell, Figure, PageTable, Section
from kwis.report.wording import confidence, count, number, rough, span
from kwis.result.evaluation import Evaluation
from kwis.result.records import Path

_LEAD = (
    "A small bandwidth compares each row with contexts like its own (State-WIS, normalised), a large one "
    "with all rows (WIS). "
    "A flat path says that the choice matters little."
)
_END_GAP = 0.12  # room on either side for the two ends, as a share of the finite bandwidths' reach


def bandwidth_path(evaluation: Evaluation) -> Section | None:
    if not evaluation.paths:
        return None
    several = len(evaluation.rewards) > 1
    first = [path for path in evaluation.paths if path.reward == evaluation.rewards[0]]
    rest = [path for path in evaluation.paths if path.reward != evaluation.rewards[0]]
    blocks = [_block(evaluation, path, several=several) for path in (*first, *rest)]
    return Section(
        key="bandwidth",
        title="Bandwidth",
        lead=_LEAD,
        blocks=fold_after(blocks, 0),
    )


def _block(evaluation: Evaluation, path: Path, *, several: bool) -> Block:
    decimals = decimals_of(evaluation, path.reward)
    rows = (
        f"Computed on {count(path.rows)} of {count(evaluation.settings.n)} rows, drawn with the seed of the "
        f"evaluation."
    )
    title = f"{path.target}, {label_of(evaluation, path.reward)}" if several else path.target
    paragraphs = (rows,) if path.rows < evaluation.settings.n else ()
    return Block(title=title, paragraphs=paragraphs, figures=(_figure(evaluation, path, decimals),))


def _figure(evaluation: Evaluation, path: Path, decimals: int) -> Figure:
    finite = [h for h in path.bandwidths.tolist() if 0 < h < math.inf]
    scale = logarithmic(finite, margin=0.0)
    places = [_place(scale, h) for h in path.bandwidths.tolist()]
    lines = list(
        zip(
            path.bandwidths.tolist(),
            path.values.tolist(),
            path.lows.tolist(),
            path.highs.tolist(),
            strict=True,
        )
    )
    points = tuple(
        Point(
            x=place,
            y=value,
            low=low,
            high=high,
            hint=(
                f"{_name(h)}: {number(value, decimals)}, {confidence(path.level)} interval "
                f"{span(low, high, decimals)}"
            ),
            look="strong" if h == path.chosen else "quiet",
        )
        for place, (h, value, low, high) in zip(places, lines, strict=True)
    )
    ticks = [(_place(scale, h), rough(h)) for h in scale.ticks(3)]
    ends = (number(lines[0][1], decimals), number(lines[-1][1], decimals))
    between = tuple(tick for tick in ticks if 0.08 < tick[0] < 0.92)
    chart = Plot(
        title=f"Estimate of {path.target} along the bandwidth, {label_of(evaluation, path.reward)}",
        description=f"From {ends[0]} at State-WIS to {ends[1]} at WIS; chosen: {_name(path.chosen)}.",
        x=Scale(-_END_GAP, 1 + _END_GAP),
        y=linear((*path.lows.tolist(), *path.highs.tolist(), *path.values.tolist())),
        x_name="bandwidth, log scale between the ends",
        y_name=axis_name(evaluation, path.reward),
        curves=(Curve(points=points),),
        ticks=((-_END_GAP, "State-WIS"), *between, (1 + _END_GAP, "WIS")),
        marks=((_place(scale, path.chosen), f"chosen: {_name(path.chosen).removeprefix('bandwidth ')}"),),
    )
    caption = f"Kernel-WIS at each bandwidth with its {confidence(path.level)} interval."
    return Figure(chart=chart, caption=caption, numbers=_table(evaluation, path, lines, decimals))


def _place(scale: Scale, bandwidth: float) -> float:
    """0 to 1 for finite bandwidths, and a little beyond for the two ends."""
    if bandwidth == 0:
        return -_END_GAP
    return 1 + _END_GAP if math.isinf(bandwidth) else scale.share(bandwidth)


def _name(bandwidth: float) -> str:
    if bandwidth == 0:
        return "State-WIS"
    return "WIS" if math.isinf(bandwidth) else f"bandwidth {rough(bandwidth)}"


def _table(
    evaluation: Evaluation, path: Path, lines: list[tuple[float, float, float, float]], decimals: int
) -> PageTable:
    rows = tuple(
        (Cell(_name(h).removeprefix("bandwidth "), h), *(number_cell(value, decimals) for value in rest))
        for h, *rest in lines
    )
    chosen = frozenset(place for place, line in enumerate(lines) if line[0] == path.chosen)
    caption = f"Bandwidth path of {path.target}, {label_of(evaluation, path.reward)}"
    return PageTable(
        caption=caption, columns=("Bandwidth", "Value", "Low", "High"), rows=rows, strong=chosen, folded=True
    )
