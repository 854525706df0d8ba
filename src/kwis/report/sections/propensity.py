"""The propensities: whether they are what they say, their reliability curve, and the balance they achieve."""

from __future__ import annotations

import math

from kwis.checks.findings import Balance, PropensityReport
from kwis.models.propensity.reliability import Reliability
from kwis.report.charts import Curve, Forest, Plot, Point, Stripe, linear
from kwis.report.sections.common import badge_of, number_cell
from kwis.report.sections.repair import repair_block
from kwis.report.view import Block, Cell, Figure, PageTable, Section, Tile
from kwis.report.wording import count, number, p_value, sentence
from kwis.result.evaluation import Evaluation

_MOST_FEATURES = 20
_SIGMAS = 1.959963984540054


def propensities(evaluation: Evaluation) -> Section:
    found = evaluation.propensity
    repair = repair_block(evaluation)
    blocks = [_verdict(found), *([] if repair is None else [repair])]
    curve = found.check.reliability
    if curve is not None and curve.predicted.size:
        blocks.append(_reliability(curve, marked=found.wrong))
    repaired = (
        None if evaluation.repair is None or evaluation.repair.kept else evaluation.repair.reliability_after
    )
    if repaired is not None and repaired.predicted.size:
        after = evaluation.repair.after if evaluation.repair is not None else None
        marked = after is not None and after.wrong
        blocks.append(_reliability(repaired, "Calibration after repair", marked=marked))
    balance = _balance(evaluation)
    if balance is not None:
        blocks.append(balance)
    origin = "estimated from this log, cross-fitted" if found.estimated else "taken from the log"
    origin += "" if repair is None else ", and repaired from its actions"
    return Section(
        key="propensities",
        title="Propensities",
        lead=f"Everything above rests on them. Here they were {origin}.",
        blocks=tuple(blocks),
    )


def _verdict(found: PropensityReport) -> Block:
    points = [sentence(words) for words in found.verdict.reasons]
    known = " ".join(found.verdict.reasons)
    points += [f"{test.words}." for test in found.failures if test.words not in known]
    points += [sentence(each.sentence) for each in found.check.findings if each.sentence not in known]
    tests = (
        f"{count(len(found.tests))} tests together: {p_value(found.p_value)}; below {number(found.level, 2)} "
        f"they are called wrong."
    )
    paragraphs = (
        tests if found.tests else "No test could be made.",
        *(sentence(note) for note in found.notes),
    )
    return Block(
        title="Verdict",
        badge=badge_of(found.verdict),
        points=tuple(points) or ("Nothing speaks against them.",),
        paragraphs=paragraphs,
    )


def _reliability(curve: Reliability, title: str = "Calibration", *, marked: bool) -> Block:
    lines = list(
        zip(
            curve.predicted.tolist(),
            curve.observed.tolist(),
            curve.std_error.tolist(),
            curve.count.tolist(),
            strict=True,
        )
    )
    points = tuple(
        Point(
            x=predicted,
            y=observed,
            low=max(observed - _SIGMAS * error, 0.0),
            high=min(observed + _SIGMAS * error, 1.0),
            hint=(
                f"propensity {number(predicted, 3)}: happened {number(observed, 3)} of the time, "
                f"{count(pairs)} pairs of row and action"
            ),
            look="flag" if marked and error > 0 and abs(observed - predicted) > 3 * error else "accent",
        )
        for predicted, observed, error, pairs in lines
    )
    highest = max(max(predicted, observed) for predicted, observed, *_ in lines)
    scale = linear((0.0, min(1.0, highest)), margin=0.04)
    chart = Plot(
        title="Reliability of the propensities"
        if title == "Calibration"
        else "Reliability of the repaired propensities",
        description=f"Expected calibration error {number(curve.expected_calibration_error, 3)}.",
        x=scale,
        y=scale,
        x_name="propensity",
        y_name="how often it happened",
        curves=(Curve(points=points, joined=False, intervals="whiskers"),),
        diagonal=True,
        square=True,
    )
    table = PageTable(
        caption="Reliability, bin by bin",
        columns=("Propensity", "Happened", "Std. error", "Pairs"),
        rows=tuple(
            (*(number_cell(value, 3) for value in line[:3]), Cell(count(line[3]), line[3])) for line in lines
        ),
        folded=True,
    )
    tiles = (
        Tile(
            "Calibration error",
            number(curve.expected_calibration_error, 3),
            f"{number(curve.expected_by_chance, 3)} by chance alone",
        ),
    )
    caption = (
        "What is said to have probability p should happen a share p of the time: points on the line. Bars: "
        "95\u202f%."
    )
    figure = Figure(chart=chart, caption=caption, numbers=table)
    return Block(title=title, tiles=tiles, figures=(figure,), folded=True)


def _balance(evaluation: Evaluation) -> Block | None:
    if not evaluation.diagnostics:
        return None
    found = next(iter(evaluation.diagnostics.values())).balance
    if not found.features:
        return None
    chance = 2 / math.sqrt(found.effective_n) if found.effective_n > 0 else math.nan
    order = sorted(
        range(len(found.features)),
        key=lambda j: -max(abs(float(found.before[j])), abs(float(found.after[j]))),
    )
    wrong = evaluation.propensity.wrong
    stripes = tuple(_feature(found, j, chance, marked=wrong) for j in order[:_MOST_FEATURES])
    chart = Forest(
        title="Balance of the context before and after weighting",
        description="; ".join(stripe.hint for stripe in stripes[:5]),
        stripes=stripes,
        axis="standardised mean difference",
        reference=0.0,
        reference_name="balanced",
    )
    left_out = (
        f" The {_MOST_FEATURES} least balanced of {count(len(order))} features."
        if len(order) > _MOST_FEATURES
        else ""
    )
    caption = (
        "Between the rows of an action and all rows, the action furthest off: hollow as logged, filled when "
        "weighted by one over the "
        f"propensity. Up to about {number(chance, 2)} is chance.{left_out}"
    )
    return Block(
        title="Balance",
        figures=(Figure(chart=chart, caption=caption, numbers=_balance_table(found, evaluation)),),
        folded=True,
    )


def _feature(found: Balance, j: int, chance: float, *, marked: bool) -> Stripe:
    before, after = float(found.before[j]), float(found.after[j])
    was, became = number(before, 2, signed=True), number(after, 2, signed=True)
    return Stripe(
        label=found.features[j],
        value=after,
        low=math.nan,
        high=math.nan,
        words=f"{was} \u2192 {became}",
        hint=f"{found.features[j]}: {was} as logged, {became} weighted",
        look="flag" if marked and abs(after) > max(0.1, chance) else "accent",
        ghost=before,
    )


def _balance_table(found: Balance, evaluation: Evaluation) -> PageTable:
    targets = [
        (name, each.balance.weighted)
        for name, each in evaluation.diagnostics.items()
        if each.balance.weighted is not None
    ]
    rows = tuple(
        (
            Cell(name),
            number_cell(float(found.before[j]), 3, signed=True),
            number_cell(float(found.after[j]), 3, signed=True),
            *(number_cell(float(weighted[j]), 3, signed=True) for _, weighted in targets),
        )
        for j, name in enumerate(found.features)
    )
    columns = ("Feature", "As logged", "Weighted", *(f"For {name}" for name, _ in targets))
    return PageTable(
        caption="Standardised mean differences, every feature", columns=columns, rows=rows, folded=True
    )
