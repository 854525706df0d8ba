"""Policies against each other: which is best as far as the data can tell, and by how much, segment by segment
too.
"""

from __future__ import annotations

from collections.abc import Sequence

from kwis.report.charts import Forest, Stripe
from kwis.report.sections.common import (
    axis_name,
    decimals_of,
    fold_after,
    interval_words,
    label_of,
    names_of,
    number_cell,
    value_words,
)
from kwis.report.view import Block, Cell, Figure, PageTable, Section
from kwis.report.wording import confidence, count, number, sentence
from kwis.result.evaluation import Evaluation
from kwis.result.records import Change, Ranking
from kwis.result.segmented import Segments

_MOST_STRIPES = 40


def policies(evaluation: Evaluation) -> Section | None:
    if not any(len(ranking.places) > 1 for ranking in evaluation.rankings):
        return None
    lead = (
        "Every pair on the same rows; the intervals hold for all pairs at once, so that the best of many is "
        "not best by luck."
    )
    several = len(evaluation.rewards) > 1
    blocks = [_ranking(evaluation, ranking, several=several) for ranking in evaluation.rankings]
    return Section(
        key="policies", title="Policies compared", short="Policies", lead=lead, blocks=fold_after(blocks, 1)
    )


def _ranking(evaluation: Evaluation, ranking: Ranking, *, several: bool) -> Block:
    decimals = decimals_of(evaluation, ranking.reward)
    figures = (_pairs(evaluation, ranking, decimals),) if ranking.differences else ()
    return Block(
        title=f"Reward: {label_of(evaluation, ranking.reward)}" if several else "",
        points=tuple(sentence(words, names_of(evaluation)) for words in ranking.words),
        figures=figures,
        tables=(_places(evaluation, ranking, decimals),),
    )


def _pairs(evaluation: Evaluation, ranking: Ranking, decimals: int) -> Figure:
    shown = ranking.differences[:_MOST_STRIPES]
    stripes = tuple(_stripe(each, f"{each.target} \u2212 {each.baseline}", decimals) for each in shown)
    chart = Forest(
        title=f"Differences between policies, {label_of(evaluation, ranking.reward)}",
        description="; ".join(stripe.hint for stripe in stripes[:6]),
        stripes=stripes,
        axis=f"difference in {axis_name(evaluation, ranking.reward)}",
        reference=0.0,
        reference_name="no difference",
    )
    return Figure(
        chart=chart,
        caption="Simultaneous intervals; marked where the difference is not 0 by more than chance.",
    )


def _stripe(each: Change, label: str, decimals: int, heading: str | None = None) -> Stripe:
    """A difference with its simultaneous interval, marked where that leaves 0 out."""
    wide = each.simultaneous
    decided = wide.low > 0 or wide.high < 0
    words = (
        f"{number(wide.value, decimals, signed=True)}, simultaneous "
        f"{interval_words(wide, decimals, signed=True)}"
    )
    return Stripe(
        label=label,
        value=wide.value,
        low=wide.low,
        high=wide.high,
        words=value_words(wide, decimals, signed=True),
        hint=f"{label}: {words}",
        look="strong" if decided else "plain",
        heading=heading,
    )


def _places(evaluation: Evaluation, ranking: Ranking, decimals: int) -> PageTable:
    rows = tuple(
        (
            Cell(place.words, place.best),
            Cell(place.target),
            number_cell(place.row.interval.value, decimals),
            number_cell(place.row.interval.low, decimals),
            number_cell(place.row.interval.high, decimals),
            Cell(place.row.estimator),
            Cell(place.row.verdict.level),
        )
        for place in ranking.places
    )
    columns = ("Place", "Policy", "Value", "Low", "High", "Estimator", "Verdict")
    return PageTable(
        caption=f"Ranking by {label_of(evaluation, ranking.reward)}", columns=columns, rows=rows, folded=True
    )


def segments(evaluation: Evaluation) -> Section | None:
    if not evaluation.segments:
        return None
    blocks = [
        _segments(evaluation, found, reward, target)
        for reward in evaluation.rewards
        for found in evaluation.segments
        for target in evaluation.targets
    ]
    lead = "Differences to the logging policy within each segment; the intervals of one figure hold together."
    return Section(key="segments", title="Segments", lead=lead, blocks=fold_after(blocks))


def _segments(evaluation: Evaluation, found: Segments, reward: str, target: str) -> Block:
    decimals, label = decimals_of(evaluation, reward), label_of(evaluation, reward)
    what = f"{target}, {label}, by {', '.join(found.columns)}"
    chosen = [
        (segment, each)
        for segment in found.segments
        for each in segment.changes
        if (each.reward, each.target) == (reward, target)
    ]
    stripes = tuple(
        _stripe(each, f"{', '.join(segment.values)} ({count(segment.n)})", decimals)
        for segment, each in chosen[:_MOST_STRIPES]
    )
    numbers = _segment_table(what, [(s.label, s.n, c) for s, c in chosen], decimals)
    chart = _segment_chart(evaluation, target, reward, found.columns, stripes)
    parts = [
        f"By {', '.join(found.columns)}",
        *([label] if len(evaluation.rewards) > 1 else []),
        *([target] if len(evaluation.targets) > 1 else []),
    ]
    return Block(
        title=", ".join(parts),
        paragraphs=tuple(sentence(note, names_of(evaluation)) for note in found.notes),
        figures=(Figure(chart=chart, numbers=numbers),) if chosen else (),
    )


def _segment_chart(
    evaluation: Evaluation, target: str, reward: str, columns: Sequence[str], stripes: tuple[Stripe, ...]
) -> Forest:
    return Forest(
        title=f"{target} minus logging policy by {', '.join(columns)}, {label_of(evaluation, reward)}",
        description="; ".join(stripe.hint for stripe in stripes[:6]),
        stripes=stripes,
        axis=f"{target}: difference in {axis_name(evaluation, reward)}",
        reference=0.0,
        reference_name="no difference",
    )


def _segment_table(caption: str, lines: Sequence[tuple[str, int, Change]], decimals: int) -> PageTable:
    rows = tuple(
        (
            Cell(label),
            Cell(count(n), n),
            number_cell(each.interval.value, decimals, signed=True),
            number_cell(each.interval.low, decimals, signed=True),
            number_cell(each.interval.high, decimals, signed=True),
            number_cell(each.simultaneous.low, decimals, signed=True),
            number_cell(each.simultaneous.high, decimals, signed=True),
        )
        for label, n, each in lines
    )
    level = confidence(lines[0][2].interval.level) if lines else ""
    columns = (
        "Segment",
        "Rows",
        "Difference",
        f"Low, {level}",
        f"High, {level}",
        "Low, all at once",
        "High, all at once",
    )
    return PageTable(caption=caption, columns=columns, rows=rows, folded=True)
