"""Tables of intervals, of what was recommended, and of how bandwidths were chosen."""

from __future__ import annotations

import math
from collections.abc import Sequence

from kwis_paper.beyond.columns import AVERAGED, BEST, CRITERIA
from kwis_paper.beyond.intervals import SHOWN
from kwis_paper.beyond.naming import called, table_of
from kwis_paper.beyond.summary import (
    coverage,
    datasets_of,
    error,
    finished,
    gap,
    picks,
    regret,
    settings_of,
    with_all,
)
from kwis_paper.records import CellFacts
from kwis_paper.results import Results
from kwis_paper.store import LEVELS
from kwis_paper.tables.record import MISSING, Line, Table, number, text, whole


def interval_table(results: Results) -> Table:
    """Coverage and width of every interval."""
    lines = []
    for setting in settings_of(results):
        cells = finished(results, setting)
        for estimator, method in SHOWN:
            found = coverage(results, estimator, method, cells)
            if found.n:
                entries = (
                    text(setting),
                    text(called(estimator)),
                    text(method),
                    whole(found.n),
                    *map(number, found.share),
                    number(found.at(0.95)[1]),
                )
                lines.append(Line(entries=entries, setting=setting))
    return table_of(
        "intervals",
        "Coverage and width of intervals",
        "Share of test sets whose interval covers the expected truth, by level, and mean width at 95 %. "
        "Intervals from the influence "
        "function alone leave out the error of a repair; those by Student have it.",
        ("Setting", "Estimator", "Interval", "N", *(f"{level:.0%}" for level in LEVELS), "Width at 95 %"),
        lines,
    )


def regret_table(results: Results) -> Table:
    """The estimator recommended beside the best in hindsight."""
    everything = [facts for setting in settings_of(results) for facts in finished(results, setting)]
    groups = [(setting, finished(results, setting)) for setting in settings_of(results)]
    lines = [_regret_line(results, name, cells) for name, cells in (*groups, ("all", everything)) if cells]
    return table_of(
        "regret",
        "What was recommended",
        "Error of the pipeline recommended, by the standard errors on each test set and by whether its rows "
        "have neighbours, and of the "
        "single one that is best in hindsight over the same experiments.",
        ("Setting", "N", "Recommended", "Best single", "Which", "Regret", "Picked most often"),
        lines,
    )


def _regret_line(results: Results, name: str, cells: Sequence[CellFacts]) -> Line:
    found, chosen = regret(results, cells), picks(results, cells)
    often = ", ".join(
        f"{called(one)} {count / sum(chosen.values()):.0%}" for one, count in list(chosen.items())[:3]
    )
    entries = (
        text(name),
        whole(found.n),
        number(found.recommended),
        number(found.best),
        text(called(found.name)),
        text(f"{found.share:+.1%}" if math.isfinite(found.share) else MISSING),
        text(often),
    )
    return Line(entries=entries, setting="" if name == "all" else name)


def bandwidth_table(results: Results) -> Table:
    """Normalised Kernel-WIS by how its bandwidth was chosen."""
    shared, shrunk, best = (
        "normalised-kernel-wis",
        "normalised-kernel-wis-shrunk",
        f"normalised-kernel-wis-{BEST}",
    )
    names = (shared, *(f"{shared}-{rule}" for rule in CRITERIA), AVERAGED, best, shrunk)
    lines = []
    for setting in settings_of(results, shrunk):
        cells = with_all(results, setting, names)
        for dataset in datasets_of(cells):
            part = [facts for facts in cells if facts.dataset == dataset]
            found = gap(results, shrunk, shared, part)
            entries = (
                text(setting),
                text(dataset),
                whole(len(part)),
                *(number(error(results, name, part), 4) for name in names),
                number(found.mean, 4, signed=True),
                number(found.std_error, 4),
            )
            lines.append(Line(entries=entries, dataset=dataset, setting=setting))
    return table_of(
        "bandwidths",
        "Bandwidth criteria and the shrunk per-feature bandwidth",
        "Error of normalised Kernel-WIS with the shared bandwidth of cross-validation, of each criterion "
        "tied to the estimate, averaged "
        "over bandwidths by a PAC-Bayes bound, and with one bandwidth per feature shrunk towards the shared "
        "one; then shrunk minus shared, "
        "paired, with its standard error. The best bandwidth in hindsight, which needs the truth, shows what "
        "there is to win.",
        (
            "Setting",
            "Dataset",
            "N",
            "Cross-validation",
            *(rule.capitalize() for rule in CRITERIA),
            "Averaged",
            "Best in hindsight",
            "Shrunk",
            "Difference",
            "Its error",
        ),
        lines,
    )
