"""Tables of the pipelines, all against the expected truth."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from kwis.paper.beyond.checks import Goal, goals
from kwis.paper.beyond.columns import ABLATION_COLUMNS, BEST, CRITERIA, KERNEL_COLUMNS, OTHER_KERNELS, PIPELINES, RECOMMENDED
from kwis.paper.beyond.intervals import SHOWN
from kwis.paper.beyond.summary import (
    coverage,
    datasets_of,
    degree_of,
    error,
    finished,
    gap,
    measured,
    picks,
    regret,
    settings_of,
)
from kwis.paper.further import MISREPORTS
from kwis.paper.records import CellFacts
from kwis.paper.results import Results
from kwis.paper.store import LEVELS
from kwis.paper.summaries import notes_of
from kwis.paper.tables.record import MISSING, Entry, Line, Table, number, text, whole

NAMES = {
    "logged-mean": "Logged mean",
    "wis": "WIS",
    "kernel-wis": "Kernel-WIS",
    "normalised-kernel-wis": "Normalised",
    "direct-method": "Direct",
    "doubly-robust": "DR",
    "doubly-robust-wis": "DR WIS",
    "doubly-robust-normalised-kernel-wis": "DR normalised",
    "repaired-wis": "Repaired WIS",
    "repaired-kernel-wis": "Repaired Kernel-WIS",
    "repaired-normalised-kernel-wis": "Repaired normalised",
    "repaired-doubly-robust": "Repaired DR",
    "repaired-doubly-robust-wis": "Repaired DR WIS",
    "repaired-doubly-robust-normalised-kernel-wis": "Repaired DR normalised",
    "oracle-wis": "Oracle WIS",
    "oracle-doubly-robust-wis": "Oracle DR WIS",
    RECOMMENDED: "Recommended",
}
_GROUPS = {"oracle": "Oracle propensities", "repaired": "Repaired propensities"}
_NO_RESULTS = "There are no results of these pipelines yet."


def further_tables(results: Results) -> list[Table]:
    """All tables, in the order of the page; none where no pipeline was run."""
    return all_tables(results) if any(name in results.outcomes for name in PIPELINES) else []


def all_tables(results: Results) -> list[Table]:
    """All tables, in the order of the page."""
    return [
        goal_table(results),
        error_table(results),
        ablation_table(results),
        scenario_table(results),
        degree_table(results),
        interval_table(results),
        regret_table(results),
        bandwidth_table(results),
        kernel_table(results),
    ]


def goal_table(results: Results) -> Table:
    """What was aimed for, and whether it was reached."""
    words = {True: "yes", False: "no", None: MISSING}

    def line(goal: Goal) -> Line:
        return Line(entries=(text(goal.number), text(goal.name), text(words[goal.met]), text(goal.figures)))

    return _table(
        "goals",
        "What was aimed for",
        "Every statement with its figures.",
        ("", "Statement", "Reached", "Figures"),
        map(line, goals(results)),
    )


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
    return _table(
        "errors",
        "Error by dataset and pipeline",
        "Mean absolute error against the expected truth; the smallest that a user could have had is bold, so oracle columns never are.",
        ("Setting", "Dataset", "N", *NAMES.values()),
        lines,
        groups=("", "", "", *(_GROUPS.get(name.partition("-")[0], "Propensities as given") for name in NAMES)),
    )


def _with_smallest(values: Sequence[float]) -> list[Entry]:
    own = [value for name, value in zip(NAMES, values, strict=True) if not name.startswith("oracle-") and math.isfinite(value)]
    least = min(own, default=math.nan)
    return [
        number(value, bold=not name.startswith("oracle-") and round(value, 3) <= round(least, 3) if math.isfinite(value) else False)
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
            entries = (text(setting), text(dataset), whole(len(part)), *(number(error(results, name, part)) for name in columns))
            lines.append(Line(entries=entries, dataset=dataset, setting=setting))
    return _table(
        "ablation",
        "Parts of the repair",
        "Error of WIS with propensities as given, with each part of the repair alone, with the whole repair where only the logged action's "
        "propensity is known, with all of it, and with oracle propensities. In the non-oracle setting the given distribution reveals the "
        "label, so that the K by K part can nearly contain the truth; in the other settings it does not.",
        ("Setting", "Dataset", "N", "As given", "Scale", "K by K", "Context", "Logged only", "All", "Oracle"),
        lines,
    )


def scenario_table(results: Results) -> Table:
    """The question asked of the non-oracle suite, asked of every setting and dataset."""
    lines = []
    for setting in settings_of(results):
        cells = finished(results, setting)
        parts = [("all", cells), *((name, [facts for facts in cells if facts.dataset == name]) for name in datasets_of(cells))]
        for dataset, part in parts:
            kernel, ours, oracle = (error(results, name, part) for name in ("kernel-wis", RECOMMENDED, "oracle-wis"))
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
    return _table(
        "scenarios",
        "Half of raw Kernel-WIS?",
        "Error of raw Kernel-WIS, of the pipeline recommended and of WIS with oracle propensities, and how far the propensities are from "
        "those that logged, as given and as repaired (mean Kullback–Leibler divergence in nats).",
        ("Setting", "Dataset", "N", "Kernel-WIS", "Recommended", "Oracle WIS", "Ratio", "Half", "Misfit given", "Misfit repaired"),
        lines,
    )


_BY_DEGREE = ("wis", "kernel-wis", "normalised-kernel-wis", "doubly-robust-wis", "repaired-wis", RECOMMENDED, "oracle-wis")


def degree_table(results: Results) -> Table:
    """Error by the degree to which the log is wrong, over all datasets."""
    lines = []
    for setting in (name for name in MISREPORTS if name in settings_of(results)):
        cells = finished(results, setting)
        for degree in sorted({degree_of(facts) for facts in cells}):
            part = [facts for facts in cells if degree_of(facts) == degree]
            misfit = float(measured(results, "misfit", part).mean())
            values = [error(results, name, part) for name in _BY_DEGREE]
            entries = (text(setting), number(degree, 2), whole(len(part)), number(misfit), *map(number, values))
            lines.append(Line(entries=entries, setting=setting))
    return _table(
        "degrees",
        "Error by degree of misspecification",
        "Mean absolute error over all datasets with results. Degrees: share of the training log left out of the fit, step of rounding, "
        "accuracy lost since, power, share of columns dropped.",
        ("Setting", "Degree", "N", "Misfit", *(NAMES[name] for name in _BY_DEGREE)),
        lines,
    )


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
                    text(NAMES[estimator]),
                    text(method),
                    whole(found.n),
                    *map(number, found.share),
                    number(found.at(0.95)[1]),
                )
                lines.append(Line(entries=entries, setting=setting))
    return _table(
        "intervals",
        "Coverage and width of intervals",
        "Share of test sets whose interval covers the expected truth, by level, and mean width at 95 %.",
        ("Setting", "Estimator", "Interval", "N", *(f"{level:.0%}" for level in LEVELS), "Width at 95 %"),
        lines,
    )


def regret_table(results: Results) -> Table:
    """The estimator recommended beside the best in hindsight."""
    everything = [facts for setting in settings_of(results) for facts in finished(results, setting)]
    groups = [(setting, finished(results, setting)) for setting in settings_of(results)]
    lines = [_regret_line(results, name, cells) for name, cells in (*groups, ("all", everything)) if cells]
    return _table(
        "regret",
        "What was recommended",
        "Error of the pipeline recommended from the training log alone, and of the single one that is best in hindsight over the same "
        "experiments.",
        ("Setting", "N", "Recommended", "Best single", "Which", "Regret", "Picked most often"),
        lines,
    )


def _regret_line(results: Results, name: str, cells: Sequence[CellFacts]) -> Line:
    found, chosen = regret(results, cells), picks(results, cells)
    often = ", ".join(f"{NAMES.get(one, one)} {count / len(cells):.0%}" for one, count in list(chosen.items())[:3])
    entries = (
        text(name),
        whole(found.n),
        number(found.recommended),
        number(found.best),
        text(NAMES.get(found.name, found.name)),
        text(f"{found.share:+.1%}" if math.isfinite(found.share) else MISSING),
        text(often),
    )
    return Line(entries=entries, setting="" if name == "all" else name)


def bandwidth_table(results: Results) -> Table:
    """Normalised Kernel-WIS by how its bandwidth was chosen."""
    rules = ("", *(f"-{rule}" for rule in (*CRITERIA, BEST, "shrunk")))
    names = [f"normalised-kernel-wis{rule}" for rule in rules]
    lines = []
    for setting in settings_of(results, names[-1]):
        cells = finished(results, setting, column=names[-1])
        for dataset in datasets_of(cells):
            part = [facts for facts in cells if facts.dataset == dataset]
            found = gap(results, names[-1], names[0], part)
            entries = (
                text(setting),
                text(dataset),
                whole(len(part)),
                *(number(error(results, name, part), 4) for name in names),
                number(found.mean, 4, signed=True),
                number(found.std_error, 4),
            )
            lines.append(Line(entries=entries, dataset=dataset, setting=setting))
    return _table(
        "bandwidths",
        "Bandwidth criteria and the shrunk per-feature bandwidth",
        "Error of normalised Kernel-WIS with the shared bandwidth of cross-validation, of each criterion tied to the estimate, and with "
        "one bandwidth per feature shrunk towards the shared one; then shrunk minus shared, paired, with its standard error. The best "
        "bandwidth in hindsight, which needs the truth, shows what there is to win.",
        (
            "Setting",
            "Dataset",
            "N",
            "Cross-validation",
            *(rule.capitalize() for rule in CRITERIA),
            "Best in hindsight",
            "Shrunk",
            "Difference",
            "Its error",
        ),
        lines,
    )


def kernel_table(results: Results) -> Table:
    """Kernel-WIS, plain and normalised, with every kernel."""
    columns = ("kernel-wis", "normalised-kernel-wis", *KERNEL_COLUMNS)
    cells = finished(results, "kernels", column=KERNEL_COLUMNS[0])
    lines = []
    for dataset in datasets_of(cells):
        part = [facts for facts in cells if facts.dataset == dataset]
        entries = (text(dataset), whole(len(part)), *(number(error(results, name, part)) for name in columns))
        lines.append(Line(entries=entries, dataset=dataset, setting="kernels"))
    kernels = ("rbf", *OTHER_KERNELS)
    return _table(
        "kernels",
        "Kernels",
        "Error of Kernel-WIS and of its normalised form with every kernel, each with its own cross-validated bandwidth.",
        ("Dataset", "N", *(form for _ in kernels for form in ("Kernel-WIS", "Normalised"))),
        lines,
        groups=("", "", *(kernel for kernel in kernels for _ in range(2))),
    )


def _table(key: str, title: str, caption: str, columns: tuple[str, ...], lines: Iterable[Line], groups: tuple[str, ...] = ()) -> Table:
    made = tuple(lines)
    datasets = [line.dataset for line in made]
    notes = notes_of(datasets) if made else (_NO_RESULTS,)
    return Table(key=f"beyond-{key}", title=title, caption=caption, columns=columns, lines=made, groups=groups, notes=notes)
