"""The estimates to use first, then, folded away, every estimate of every policy."""

from __future__ import annotations

from collections.abc import Sequence

from kwis.report.charts import Forest, Stripe
from kwis.report.charts.forest import cut
from kwis.report.sections.common import (
    axis_name,
    claim_words,
    decimals_of,
    interval_words,
    label_of,
    number_cell,
    relative_words,
    value_words,
)
from kwis.report.sections.glossary import glossary
from kwis.report.view import Block, Cell, Figure, PageTable, Section
from kwis.report.wording import confidence, count, number, span
from kwis.result.brief import trustworthy
from kwis.result.evaluation import Evaluation
from kwis.result.records import LOGGING_POLICY, Change, Recommendation, Row, every_policy

_MOST_STRIPES = 40


def estimates(evaluation: Evaluation) -> Section:
    lead = "The estimate to use for each policy, beside the mean of the log; all others are folded below."
    brief = tuple(_brief(evaluation, reward) for reward in evaluation.rewards)
    every = tuple(_every(evaluation, reward) for reward in evaluation.rewards)
    meanings = Block(
        title="What the estimators are", points=tuple(glossary(evaluation.settings.sentences)), folded=True
    )
    return Section(key="estimates", title="Estimates", lead=lead, blocks=(*brief, *every, meanings))


def _brief(evaluation: Evaluation, reward: str) -> Block:
    """The recommended estimates of one reward, the runner-up and the range of the trustworthy ones."""
    rows = [row for row in _ordered(evaluation, reward) if row.recommended]
    decimals, several = decimals_of(evaluation, reward), len(evaluation.rewards) > 1
    figure = _values(evaluation, rows, reward, brief=True)
    found = [each for each in evaluation.recommendations if each.reward == reward]
    return Block(
        title=_title(evaluation, reward) if several else "",
        figures=(figure,),
        closing=tuple(_summary(evaluation, each, decimals) for each in found),
    )


def _title(evaluation: Evaluation, reward: str) -> str:
    return f"Reward: {label_of(evaluation, reward)}"


def _summary(evaluation: Evaluation, found: Recommendation, decimals: int) -> str:
    """A policy in a sentence or three: its change, the runner-up, and how far trustworthy estimates go."""
    change, second, relative = found.change, found.runner_up, found.change.relative
    sizes = [value_words(change.claim, decimals, signed=True)]
    sizes += [] if relative is None else [relative_words(relative)]
    words = f"{found.target} by {found.row.estimator}: {', '.join(sizes)} against the {LOGGING_POLICY}."
    if second is not None:
        words += f" Runner-up: {second.estimator}, {value_words(second.interval, decimals)}."
    values = [row.interval.value for row in trustworthy(evaluation, found.target, found.reward)]
    if len(values) > 1:
        words += f" {count(len(values))} trustworthy estimates: {span(min(values), max(values), decimals)}."
    return words


def _ordered(evaluation: Evaluation, reward: str) -> list[Row]:
    """The rows of a reward, the logging policy first."""
    order = {name: place for place, name in enumerate((LOGGING_POLICY, *evaluation.targets))}
    rows = (row for row in evaluation.rows if row.reward == reward)
    return sorted(rows, key=lambda row: order[row.target])


def _every(evaluation: Evaluation, reward: str) -> Block:
    """All estimates of one reward, untrustworthy ones hollow."""
    rows, order = _ordered(evaluation, reward), {name: j for j, name in enumerate(evaluation.targets)}
    logged = (
        each for each in evaluation.changes if each.reward == reward and each.baseline == LOGGING_POLICY
    )
    changes = sorted(logged, key=lambda each: order[each.target])
    figures = [_values(evaluation, rows, reward, brief=False)]
    if changes:
        figures.append(_differences(evaluation, changes, rows, reward))
    named = f" of {label_of(evaluation, reward)}" if len(evaluation.rewards) > 1 else ""
    return Block(
        title=f"All estimators{named}",
        figures=tuple(figures),
        tables=(_table(rows, changes, label_of(evaluation, reward), decimals_of(evaluation, reward)),),
        folded=True,
    )


def _values(evaluation: Evaluation, rows: Sequence[Row], reward: str, *, brief: bool) -> Figure:
    decimals, level = decimals_of(evaluation, reward), evaluation.settings.level
    shown = (
        rows
        if len(rows) <= _MOST_STRIPES
        else [row for row in rows if row.recommended or row.target == LOGGING_POLICY]
    )
    now = next((row.interval.value for row in rows if row.target == LOGGING_POLICY), None)
    stripes, last = [], None
    for row in shown:
        logged = row.target == LOGGING_POLICY
        stripes.append(
            Stripe(
                label=row.target if brief else "mean of the log" if logged else row.estimator,
                value=row.interval.value,
                low=row.interval.low,
                high=row.interval.high,
                words=value_words(row.interval, decimals),
                hint=_hint(row, decimals),
                look=_look(row),
                heading=None if brief or row.target == last else row.target,
            )
        )
        last = row.target
    chart = Forest(
        title=f"Value of each policy, {label_of(evaluation, reward)}"
        + ("" if brief else ", by every estimator"),
        description="; ".join(stripe.hint for stripe in stripes if stripe.look == "strong")
        or "Values with intervals.",
        stripes=tuple(stripes),
        axis=axis_name(evaluation, reward),
        reference=now,
        reference_name="" if now is None else f"now {number(now, decimals)}",
    )
    which = "by its recommended estimator" if brief else "by each estimator"
    return Figure(
        chart=chart,
        caption=f"Value of each policy {which}, with {confidence(level)} intervals{_beyond(chart)}.",
    )


def _look(row: Row) -> str:
    if row.target == LOGGING_POLICY:
        return "plain"
    if row.verdict.level == "do not trust":
        return "hollow"
    return "strong" if row.recommended else "plain"


def _differences(
    evaluation: Evaluation, changes: Sequence[Change], rows: Sequence[Row], reward: str
) -> Figure:
    decimals, level = decimals_of(evaluation, reward), evaluation.settings.level
    shown = changes if len(changes) <= _MOST_STRIPES else [each for each in changes if each.recommended]
    looks = {(row.target, row.estimator): _look(row) for row in rows}
    stripes, last = [], None
    for each in shown:
        stripes.append(
            Stripe(
                label=each.estimator,
                value=each.interval.value,
                low=each.claim.low,
                high=each.claim.high,
                words=value_words(each.claim, decimals, signed=True),
                hint=f"{each.target} minus {each.baseline} by {each.estimator}: "
                f"{number(each.interval.value, decimals, signed=True)}, {claim_words(each, decimals)}",
                look=looks.get((each.target, each.estimator), "plain"),
                heading=None if each.target == last else f"{each.target} minus {each.baseline}",
            )
        )
        last = each.target
    chart = Forest(
        title=f"Difference to the logging policy, {label_of(evaluation, reward)}",
        description="; ".join(stripe.hint for stripe in stripes if stripe.look == "strong")
        or "Differences with intervals.",
        stripes=tuple(stripes),
        axis=f"difference in {axis_name(evaluation, reward)}",
        reference=0.0,
        reference_name="no difference",
    )
    cancels = "what both policies have in common cancels"
    several = max((each.policies for each in changes), default=1)
    together = "" if several == 1 else f" that hold for {every_policy(several)} together"
    beyond = _beyond(chart)
    return Figure(
        chart=chart,
        caption=f"Paired differences: {cancels}, with {confidence(level)} intervals{together}{beyond}.",
    )


def _beyond(chart: Forest) -> str:
    hollow = any(stripe.look == "hollow" for stripe in chart.stripes)
    arrows = (
        "an arrow says that an interval goes on, a cross that all of it lies beyond" if cut(chart) else ""
    )
    parts = ["hollow ones are not to be trusted" if hollow else "", arrows]
    return "".join(f"; {part}" for part in parts if part)


def _hint(row: Row, decimals: int) -> str:
    value = number(row.interval.value, decimals)
    words = f"{row.target} by {row.estimator}: {value}, {interval_words(row.interval, decimals)}"
    return f"{words}, {row.interval.method}; {count(row.estimate.effective_n)} effective rows"


def _table(rows: Sequence[Row], changes: Sequence[Change], label: str, decimals: int) -> PageTable:
    by_row = {(each.target, each.estimator): each.claim for each in changes}
    lines = []
    for row in rows:
        gain = by_row.get((row.target, row.estimator))
        difference = (Cell("–"),) * 3 if gain is None else tuple(
            number_cell(value, decimals, signed=True) for value in (gain.value, gain.low, gain.high)
        )  # fmt: skip
        values = (
            number_cell(value, decimals)
            for value in (row.interval.value, row.interval.low, row.interval.high)
        )
        effective = Cell(count(row.estimate.effective_n), row.estimate.effective_n)
        lines.append(
            (Cell(row.target), Cell(row.estimator), *values, *difference, effective, Cell(row.verdict.level))
        )
    columns = (
        *("Policy", "Estimator", "Value", "Low", "High"),
        *("Difference", "Diff. low", "Diff. high", "Effective rows", "Verdict"),
    )
    strong = frozenset(
        place for place, row in enumerate(rows) if row.recommended and row.target != LOGGING_POLICY
    )
    return PageTable(caption=f"All estimates of {label}", columns=columns, rows=tuple(lines), strong=strong)
