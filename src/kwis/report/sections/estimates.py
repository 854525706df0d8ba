"""Every estimate of every policy, as values and as differences to the logging policy."""

from __future__ import annotations

from collections.abc import Sequence

from kwis.report.charts import Forest, Stripe
from kwis.report.charts.forest import cut
from kwis.report.sections.common import (
    claim_words,
    decimals_of,
    fold_after,
    interval_words,
    number_cell,
    value_words,
)
from kwis.report.sections.glossary import glossary
from kwis.report.view import Block, Cell, Figure, Section, Table
from kwis.report.wording import confidence, count, number
from kwis.result.evaluation import Evaluation
from kwis.result.records import LOGGING_POLICY, Change, Row, every_policy

_MOST_STRIPES = 40


def estimates(evaluation: Evaluation) -> Section:
    lead = (
        "The marked estimate of each policy is the one to use; the others show how much depends on that "
        "choice."
    )
    blocks = tuple(_block(evaluation, reward) for reward in evaluation.rewards)
    meanings = Block(title="What the estimators are", points=tuple(glossary(evaluation.settings.sentences)))
    return Section(key="estimates", title="Estimates", lead=lead, blocks=fold_after((*blocks, meanings), 1))


def _block(evaluation: Evaluation, reward: str) -> Block:
    order = {name: place for place, name in enumerate((LOGGING_POLICY, *evaluation.targets))}
    rows = sorted((row for row in evaluation.rows if row.reward == reward), key=lambda row: order[row.target])
    logged = (
        each for each in evaluation.changes if each.reward == reward and each.baseline == LOGGING_POLICY
    )
    changes = sorted(logged, key=lambda each: order[each.target])
    decimals = decimals_of(evaluation, reward)
    figures = [_values(rows, reward, decimals, evaluation.settings.level)]
    if changes:
        figures.append(_differences(changes, reward, decimals, evaluation.settings.level))
    title = f"Reward: {reward}" if len(evaluation.rewards) > 1 else ""
    return Block(title=title, figures=tuple(figures), tables=(_table(rows, changes, reward, decimals),))


def _values(rows: Sequence[Row], reward: str, decimals: int, level: float) -> Figure:
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
                label="mean of the log" if logged else row.estimator,
                value=row.interval.value,
                low=row.interval.low,
                high=row.interval.high,
                words=value_words(row.interval, decimals),
                hint=_hint(row, decimals),
                look="strong" if row.recommended and not logged else "plain",
                heading=None if row.target == last else row.target,
            )
        )
        last = row.target
    chart = Forest(
        title=f"Value of each policy, {reward}",
        description="; ".join(stripe.hint for stripe in stripes if stripe.look == "strong")
        or "Values with intervals.",
        stripes=tuple(stripes),
        axis=f"{reward} per decision",
        reference=now,
        reference_name="" if now is None else f"now {number(now, decimals)}",
    )
    return Figure(
        chart=chart,
        caption=(
            f"Value of each policy by each estimator, with {confidence(level)} intervals{_beyond(chart)}."
        ),
    )


def _differences(changes: Sequence[Change], reward: str, decimals: int, level: float) -> Figure:
    shown = changes if len(changes) <= _MOST_STRIPES else [each for each in changes if each.recommended]
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
                look="strong" if each.recommended else "plain",
                heading=None if each.target == last else f"{each.target} minus {each.baseline}",
            )
        )
        last = each.target
    chart = Forest(
        title=f"Difference to the logging policy, {reward}",
        description="; ".join(stripe.hint for stripe in stripes if stripe.look == "strong")
        or "Differences with intervals.",
        stripes=tuple(stripes),
        axis=f"difference in {reward} per decision",
        reference=0.0,
        reference_name="no difference",
    )
    cancels = "what both policies have in common cancels"
    several = max((each.policies for each in changes), default=1)
    together = "" if several == 1 else f" that hold for {every_policy(several)} together"
    return Figure(
        chart=chart,
        caption=(
            f"Paired differences: {cancels}, with {confidence(level)} intervals{together}{_beyond(chart)}."
        ),
    )


def _beyond(chart: Forest) -> str:
    return (
        "; an arrow says that an interval goes on, a cross that all of it lies beyond" if cut(chart) else ""
    )


def _hint(row: Row, decimals: int) -> str:
    value = number(row.interval.value, decimals)
    words = f"{row.target} by {row.estimator}: {value}, {interval_words(row.interval, decimals)}"
    return f"{words}, {row.interval.method}; {count(row.estimate.effective_n)} effective rows"


def _table(rows: Sequence[Row], changes: Sequence[Change], reward: str, decimals: int) -> Table:
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
        "Policy",
        "Estimator",
        "Value",
        "Low",
        "High",
        "Difference",
        "Diff. low",
        "Diff. high",
        "Effective rows",
        "Verdict",
    )
    strong = frozenset(
        place for place, row in enumerate(rows) if row.recommended and row.target != LOGGING_POLICY
    )
    return Table(
        caption=f"All estimates of {reward}", columns=columns, rows=tuple(lines), strong=strong, folded=True
    )
