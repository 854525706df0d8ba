"""Tables of errors by dataset, by part of the repair, by scenario and by degree; all against the expected
truth.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from kwis_paper.beyond.columns import ABLATION_COLUMNS, RECOMMENDED
from kwis_paper.beyond.naming import NAMES, table_of
from kwis_paper.beyond.summary import datasets_of, degree_of, error, finished, measured, settings_of
from kwis_paper.further import MISREPORTS
from kwis_paper.results import Results
from kwis_paper.tables.record import Entry, Line, Table, number, text, whole

_GROUPS = {"oracle": "Oracle propensities", "repaired": "Repaired propensities"}


def error_table(results: Results) -> Table:
    """Error by dataset and pipeline; propensities as given, repaired and of the oracle side by side."""
    lines = []
    for setting in settings_of(results):
        cells = finished(results, setting)
        for dataset in datasets_of(cells):
            part = [facts for facts in cells if facts.dataset == dataset]
            values = [error(results, name, part) for name in NAMES]
            entries = (text(setting), text(dataset), whole(len(part)), *_with_smallest(values))
            lines.append(Line(entries=entries, dataset=dataset, setting=setting))
    return table_of(
        "errors",
        "Error by dataset and pipeline",
        "Mean absolute error against the expected truth; the smallest that a user could have had is bold, so "
        "oracle columns never are.",
        ("Setting", "Dataset", "N", *NAMES.values()),
        lines,
        groups=(
            "",
            "",
            "",
            *(_GROUPS.get(name.partition("-")[0], "Propensities as given") for name in NAMES),
        ),
    )


def _with_smallest(values: Sequence[float]) -> list[Entry]:
    own = [
        value
        for name, value in zip(NAMES, values, strict=True)
        if not name.startswith("oracle-") and math.isfinite(value)
    ]
    least = min(own, default=math.nan)
    return [
        number(
            value,
            bold=not name.startswith("oracle-") and round(value, 3) <= round(least, 3)
            if math.isfinite(value)
            else False,
        )
        for name, value in zip(NAMES, values, strict=True)
    ]


def ablation_table(results: Results) -> Table:
    """WIS with each part of the repair alone, on the experiments that have all of them."""
    columns = ("wis", *ABLATION_COLUMNS, "repaired-wis", "oracle-wis")
    lines = []
    for setting in settings_of(results, ABLATION_COLUMNS[0]):
        cells = finished(results, setting, column=ABLATION_COLUMNS[0])
        for dataset in datasets_of(cells):
            part = [facts for facts in cells if facts.dataset == dataset]
            entries = (
                text(setting),
                text(dataset),
                whole(len(part)),
                *(number(error(results, name, part)) for name in columns),
            )
            lines.append(Line(entries=entries, dataset=dataset, setting=setting))
    return table_of(
        "ablation",
        "Parts of the repair",
        "Error of WIS with propensities as given, with each part of the repair alone, with the whole repair "
        "where only the logged action's "
        "propensity is known, with all of it, and with oracle propensities. In the non-oracle setting the "
        "given distribution reveals the "
        "label, so that the K by K part can nearly contain the truth; in the other settings it does not.",
        ("Setting", "Dataset", "N", "As given", "Scale", "K by K", "Context", "Logged only", "All", "Oracle"),
        lines,
    )


def scenario_table(results: Results) -> Table:
    """The question asked of the non-oracle suite, asked of every setting and dataset."""
    lines = []
    for setting in settings_of(results):
        cells = finished(results, setting)
        parts = [
            ("all", cells),
            *((name, [facts for facts in cells if facts.dataset == name]) for name in datasets_of(cells)),
        ]
        for dataset, part in parts:
            kernel, ours, oracle = (
                error(results, name, part) for name in ("kernel-wis", RECOMMENDED, "oracle-wis")
            )
            said = "yes" if ours <= 0.5 * kernel else "no"
            misfits = [float(measured(results, name, part).mean()) for name in ("misfit", "misfit-repaired")]
            entries = (
                text(setting),
                text(dataset),
                whole(len(part)),
                *(number(value) for value in (kernel, ours, oracle)),
                number(ours / kernel, 2),
                text(said),
                *(number(value) for value in misfits),
            )
            lines.append(Line(entries=entries, dataset="" if dataset == "all" else dataset, setting=setting))
    return table_of(
        "scenarios",
        "Half of raw Kernel-WIS?",
        "Error of raw Kernel-WIS, of the pipeline recommended and of WIS with oracle propensities, and how "
        "far the propensities are from "
        "those that logged, as given and as repaired (mean Kullback–Leibler divergence in nats).",
        (
            "Setting",
            "Dataset",
            "N",
            "Kernel-WIS",
            "Recommended",
            "Oracle WIS",
            "Ratio",
            "Half",
            "Misfit given",
            "Misfit repaired",
        ),
        lines,
    )


_BY_DEGREE = (
    "wis",
    "kernel-wis",
    "normalised-kernel-wis",
    "doubly-robust-wis",
    "repaired-wis",
    RECOMMENDED,
    "oracle-wis",
)


def degree_table(results: Results) -> Table:
    """Error by the degree to which the log is wrong, over all datasets."""
    lines = []
    for setting in (name for name in MISREPORTS if name in settings_of(results)):
        cells = finished(results, setting)
        for degree in sorted({degree_of(facts) for facts in cells}):
            part = [facts for facts in cells if degree_of(facts) == degree]
            misfit = float(measured(results, "misfit", part).mean())
            values = [error(results, name, part) for name in _BY_DEGREE]
            entries = (
                text(setting),
                number(degree, 2),
                whole(len(part)),
                number(misfit),
                *map(number, values),
            )
            lines.append(Line(entries=entries, setting=setting))
    return table_of(
        "degrees",
        "Error by degree of misspecification",
        "Mean absolute error over all datasets with results. Degrees: share of the training log left out of "
        "the fit, step of rounding, "
        "accuracy lost since, power, share of columns dropped.",
        ("Setting", "Degree", "N", "Misfit", *(NAMES[name] for name in _BY_DEGREE)),
        lines,
    )
