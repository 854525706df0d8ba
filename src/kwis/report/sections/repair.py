"""Repaired propensities: what was done, the tests and the estimates before and after."""

from __future__ import annotations

from collections.abc import Iterable

from kwis.checks.findings import PropensityReport
from kwis.evaluation.mend import Repair
from kwis.report.sections.common import decimals_of, label_of, number_cell
from kwis.report.view import Block, Cell, PageTable, Tile
from kwis.report.wording import count, number, p_value, sentence
from kwis.result.evaluation import Evaluation


def repair_block(evaluation: Evaluation) -> Block | None:
    """What repair changed, or None where nothing was repaired."""
    found = evaluation.repair
    if found is None or found.kept or found.after is None:
        return None
    return Block(
        title="Repair",
        paragraphs=(
            sentence(found.note),
            (
                f"That they were right as given: {p_value(found.p_value)}, by the likelihood of held-out "
                f"actions."
            ),
        ),
        points=(_tests("As given", evaluation.propensity), _tests("As repaired", found.after)),
        tiles=tuple(_tiles(found)),
        tables=(_estimates(evaluation, found),),
        closing=(
            (
                "Estimates use the propensities as repaired; they mend nothing that the logged actions and "
                "the "
                "context do not show."
            ),
        ),
    )


def _tests(when: str, report: PropensityReport) -> str:
    words = f"fail ({', '.join(report.regions[:5])})" if report.wrong else "pass"
    return f"{when}: {count(len(report.tests))} tests together {words}, {p_value(report.p_value)}."


def _tiles(found: Repair) -> Iterable[Tile]:
    if (
        "inverse" not in found.terms
    ):  # factors around contexts do not make a distribution, whose log loss would mean something
        yield _tile("Held-out log loss", found.log_loss_before, found.log_loss_after)
    yield _tile("Mean weight of a uniform policy", found.inverse_before, found.inverse_after)
    before, after = found.reliability_before, found.reliability_after
    if before is not None and after is not None:
        yield _tile("Calibration error", before.expected_calibration_error, after.expected_calibration_error)


def _tile(name: str, before: float, after: float) -> Tile:
    return Tile(name, number(after, 3), f"{number(before, 3)} as given")


def _estimates(evaluation: Evaluation, found: Repair) -> PageTable:
    rows = []
    for made in found.estimates:
        decimals = decimals_of(evaluation, made.reward)
        words = (Cell(made.target), Cell(label_of(evaluation, made.reward)), Cell(made.estimator))
        values = (
            number_cell(made.before, decimals),
            number_cell(made.after, decimals),
            number_cell(made.std_error, decimals + 1),
        )
        rows.append((*words, *values))
    columns = ("Policy", "Reward", "Estimator", "As given", "As repaired", "Error of the repair")
    caption = "Recommended estimates before and after"
    return PageTable(caption=caption, columns=columns, rows=tuple(rows), folded=True)
