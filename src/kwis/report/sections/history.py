"""Change over time or between loggers, and the rows that move the estimates most."""

from __future__ import annotations

from dataclasses import replace

from kwis.checks.findings import Drift, InfluentialRow, TargetPeriod
from kwis.report.charts import Forest, Stripe
from kwis.report.sections.common import axis_name, decimals_of, fold_after, label_of, names_of, number_cell
from kwis.report.view import Block, Cell, Figure, PageTable, Section
from kwis.report.wording import count, decimals_for, number, p_value, percent, rough, sentence, span
from kwis.result.evaluation import Evaluation

_SIGMAS = 1.959963984540054
_MOST_TARGETS = 6


def drift(evaluation: Evaluation) -> Section | None:
    found = evaluation.drift
    if found is None or not found.periods:
        return None
    what = "over time" if found.by == "time" else "between loggers"
    tests = (
        f"Tests of no change: {label_of(evaluation, found.reward_name)} {p_value(found.reward_p_value)}, "
        f"actions {p_value(found.action_p_value)}, "
    )
    block = Block(
        points=tuple(sentence(words, names_of(evaluation)) for words in found.findings)
        or (f"No change {what} beyond chance.",),
        paragraphs=(f"{tests}context {p_value(found.context_p_value)}.",),
        figures=(_periods(evaluation, found),),
    )
    return Section(
        key="drift",
        title=f"Change {what}",
        short="Change",
        lead="An answer from a log holds for the time it was written in.",
        blocks=(block,),
    )


def _periods(evaluation: Evaluation, found: Drift) -> Figure:
    decimals, stripes = decimals_of(evaluation, found.reward_name), []
    label = label_of(evaluation, found.reward_name)
    for place, period in enumerate(found.periods):
        shares = ", ".join(
            f"{name} {percent(share)}"
            for name, share in zip(found.action_names, period.actions.tolist(), strict=True)
        )
        stripe = _stripe(period.label, period.reward, period.std_error, decimals)
        hint = f"{period.label}: {stripe.words}, {count(period.n)} rows; {shares}"
        heading = "As logged" if found.targets and place == 0 else None
        stripes.append(replace(stripe, hint=hint, heading=heading))
    for name, periods in list(found.targets.items())[:_MOST_TARGETS]:
        stripes += _target_stripes(name, periods, decimals)
    chart = Forest(
        title=f"Mean of {label} by {'period' if found.by == 'time' else 'logger'}",
        description="; ".join(stripe.hint for stripe in stripes[:6]),
        stripes=tuple(stripes),
        axis=axis_name(evaluation, found.reward_name),
    )
    return Figure(
        chart=chart,
        caption=(
            "Mean reward as logged, and policies by WIS on the rows of each period, with 95\u202f% "
            "intervals; hover for the shares of the actions."
        ),
    )


def _target_stripes(name: str, periods: tuple[TargetPeriod, ...], decimals: int) -> list[Stripe]:
    stripes = []
    for place, period in enumerate(periods):
        stripe = _stripe(period.label, period.value, period.std_error, decimals)
        hint = f"{name}, {period.label}: {stripe.words}, {count(period.n)} rows"
        stripes.append(replace(stripe, hint=hint, look="accent", heading=name if place == 0 else None))
    return stripes


def _stripe(label: str, value: float, std_error: float, decimals: int) -> Stripe:
    low, high = value - _SIGMAS * std_error, value + _SIGMAS * std_error
    words = f"{number(value, decimals)} ({span(low, high, decimals)})"
    return Stripe(label=label, value=value, low=low, high=high, words=words, hint=words)


def influential_rows(evaluation: Evaluation) -> Section | None:
    found = {
        name: each.weights.influential
        for name, each in evaluation.diagnostics.items()
        if each.weights.influential
    }
    if not found:
        return None
    lead = (
        f"Look at these rows by hand: the effect is what WIS would lose without the row, in "
        f"{label_of(evaluation, evaluation.rewards[0])} per decision."
    )
    blocks = [Block(tables=(_influence(name, rows),), title=name) for name, rows in found.items()]
    return Section(
        key="rows", title="Rows that move the estimate", short="Rows", lead=lead, blocks=fold_after(blocks, 0)
    )


def _influence(target: str, rows: tuple[InfluentialRow, ...]) -> PageTable:
    decimals, named = decimals_for(abs(each.effect) for each in rows), any(each.id for each in rows)
    lines = tuple(
        (
            Cell(count(each.row), each.row),
            *((Cell(each.id or ""),) if named else ()),
            Cell(each.action),
            Cell(rough(each.weight), each.weight),
            Cell(rough(each.reward), each.reward),
            Cell(percent(each.share, 2), each.share),
            number_cell(each.effect, decimals, signed=True),
        )
        for each in rows
    )
    identified = ("Row", "Id") if named else ("Row",)
    columns = (*identified, "Action", "Weight", "Reward", "Share of weight", "Effect")
    return PageTable(
        caption=f"Most influential rows for {target}, numbered from 0",
        columns=columns,
        rows=lines,
    )
