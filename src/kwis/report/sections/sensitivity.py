"""The sceptic's number: how wrong propensities would have to be to undo what is said."""

from __future__ import annotations

import math

from kwis.evaluation.robustness import Robustness
from kwis.report.charts import Curve, Plot, Point, linear
from kwis.report.sections.common import axis_name, brief, decimals_of, fold_after, label_of, number_cell
from kwis.report.view import Block, Cell, Figure, PageTable, Section, Tile
from kwis.report.wording import DASH, number, rough, sentence, span
from kwis.result.evaluation import Evaluation

_LEAD = (
    "How far the difference to the logging policy could move if the odds of every propensity were wrong by "
    "up to a factor, each in the worst direction."
)


def sensitivity(evaluation: Evaluation) -> Section | None:
    found = sorted(evaluation.sensitivity, key=lambda one: evaluation.rewards.index(one.reward))
    if not found:
        return None
    several = len(evaluation.rewards) > 1
    factors = Block(
        tiles=tuple(_tile(evaluation, one, several=several) for one in found),
        closing=("Hidden causes and wrong propensities below that factor leave the answer as it is.",),
    )
    blocks = [_block(evaluation, one, several=several) for one in found if one.gammas]
    return Section(
        key="sensitivity", title="Sensitivity", lead=_LEAD, blocks=(factors, *fold_after(blocks, 0))
    )


def _tile(evaluation: Evaluation, one: Robustness, *, several: bool) -> Tile:
    factor = DASH if one.factor <= 1 else "none" if math.isinf(one.factor) else rough(one.factor)
    note = "not told apart anyway" if one.factor <= 1 else "factor in the odds that undoes it"
    return Tile(_name(evaluation, one, several=several), factor, note)


def _name(evaluation: Evaluation, one: Robustness, *, several: bool) -> str:
    label = label_of(evaluation, one.reward)
    return f"{brief(one.target, 24)}, {brief(label, 24)}" if several else brief(one.target, 24)


def _block(evaluation: Evaluation, one: Robustness, *, several: bool) -> Block:
    return Block(
        title=_name(evaluation, one, several=several),
        paragraphs=(sentence(one.words),),
        figures=(_figure(evaluation, one),),
    )


def _figure(evaluation: Evaluation, one: Robustness) -> Figure:
    decimals = decimals_of(evaluation, one.reward)
    lines = list(zip(one.gammas, one.lows, one.highs, strict=True))
    points = tuple(
        Point(
            x=gamma,
            y=(low + high) / 2,
            low=low,
            high=high,
            hint=f"odds wrong by up to {rough(gamma)}: {span(low, high, decimals, signed=True)}",
            look="quiet",
        )
        for gamma, low, high in lines
    )
    inside = one.gammas[0] < one.factor < one.gammas[-1]
    chart = Plot(
        title=f"Difference of {one.target} if propensities are wrong, {label_of(evaluation, one.reward)}",
        description=sentence(one.words),
        x=linear(one.gammas, margin=0.0),
        y=linear((*one.lows, *one.highs), include=(0.0,)),
        x_name="odds of the propensities wrong by up to a factor of",
        y_name=f"difference in {axis_name(evaluation, one.reward)}",
        curves=(Curve(points=points, joined=False),),
        marks=((one.factor, f"undone at {rough(one.factor)}"),) if inside else (),
        levels=((0.0, "no difference"),),
    )
    caption = f"Range of the difference for {brief(one.target)}, its interval included."
    return Figure(chart=chart, caption=caption, numbers=_table(evaluation, one, lines, decimals))


def _table(
    evaluation: Evaluation, one: Robustness, lines: list[tuple[float, float, float]], decimals: int
) -> PageTable:
    rows = tuple(
        (Cell(number(gamma, 2), gamma), *(number_cell(end, decimals, signed=True) for end in ends))
        for gamma, *ends in lines
    )
    return PageTable(
        caption=f"Range of the difference of {one.target}, {label_of(evaluation, one.reward)}",
        columns=("Factor", "Low", "High"),
        rows=rows,
        folded=True,
    )
