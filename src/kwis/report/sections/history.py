"""Change over time or between loggers, and the rows that move the estimates most."""

from __future__ import annotations

from kwis.checks.findings import Drift, InfluentialRow
from kwis.report.charts import Forest, Stripe
from kwis.report.sections.common import decimals_of, fold_after, names_of, number_cell
from kwis.report.view import Block, Cell, Figure, Section, Table
from kwis.report.wording import count, decimals_for, number, p_value, percent, rough, sentence, span
from kwis.result.evaluation import Evaluation

_SIGMAS = 1.959963984540054


def drift(evaluation: Evaluation) -> Section | None:
    found = evaluation.drift
    if found is None or not found.periods:
        return None
    what = "over time" if found.by == "time" else "between loggers"
    tests = (
        f"Tests of no change: reward {p_value(found.reward_p_value)}, actions "
        f"{p_value(found.action_p_value)}, "
    )
    block = Block(
        points=tuple(sentence(words, names_of(evaluation)) for words in found.findings)
        or (f"No change {what} beyond chance.",),
        paragraphs=(f"{tests}context {p_value(found.context_p_value)}.",),
        figures=(_periods(found, decimals_of(evaluation, found.reward_name)),),
    )
    return Section(
        key="drift",
        title=f"Change {what}",
        lead="An answer from a log holds for the time it was written in.",
        blocks=(block,),
    )


def _periods(found: Drift, decimals: int) -> Figure:
    stripes = []
    for period in found.periods:
        low, high = period.reward - _SIGMAS * period.std_error, period.reward + _SIGMAS * period.std_error
        shares = ", ".join(
            f"{name} {percent(share)}"
            for name, share in zip(found.action_names, period.actions.tolist(), strict=True)
        )
        words = f"{number(period.reward, decimals)} ({span(low, high, decimals)})"
        hint = f"{period.label}: {words}, {count(period.n)} rows; {shares}"
        stripes.append(
            Stripe(label=period.label, value=period.reward, low=low, high=high, words=words, hint=hint)
        )
    chart = Forest(
        title=f"Mean of {found.reward_name} by {'period' if found.by == 'time' else 'logger'}",
        description="; ".join(stripe.hint for stripe in stripes[:6]),
        stripes=tuple(stripes),
        axis=f"{found.reward_name} per decision, as logged",
    )
    return Figure(
        chart=chart,
        caption="Mean reward as logged, with 95\u202f% intervals; hover for the shares of the actions.",
    )


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
        f"{evaluation.rewards[0]} per decision."
    )
    blocks = [
        Block(tables=(_influence(name, rows),), title=name if len(found) > 1 else "")
        for name, rows in found.items()
    ]
    return Section(key="rows", title="Rows that move the estimate", lead=lead, blocks=fold_after(blocks))


def _influence(target: str, rows: tuple[InfluentialRow, ...]) -> Table:
    decimals = decimals_for(abs(each.effect) for each in rows)
    lines = tuple(
        (
            Cell(count(each.row), each.row),
            Cell(rough(each.weight), each.weight),
            Cell(rough(each.reward), each.reward),
            Cell(percent(each.share, 2), each.share),
            number_cell(each.effect, decimals, signed=True),
        )
        for each in rows
    )
    return Table(
        caption=f"Most influential rows for {target}, numbered from 0",
        columns=("Row", "Weight", "Reward", "Share of weight", "Effect"),
        rows=lines,
    )
