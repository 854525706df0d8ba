"""The story past the paper, with its numbers drawn from stored results."""

from __future__ import annotations

import math
from dataclasses import dataclass

from kwis_paper.beyond.columns import (
    ABLATION_COLUMNS,
    AVERAGED,
    BEST,
    MODELLED,
    RECOMMENDED,
    REPAIRED,
    WEIGHTED,
)
from kwis_paper.beyond.figures import all_figures
from kwis_paper.beyond.intervals import DEFAULT_METHOD
from kwis_paper.beyond.kernel_study import kernel_words
from kwis_paper.beyond.naming import NAMES, called
from kwis_paper.beyond.summary import (
    SEVEN,
    coverage,
    datasets_of,
    error,
    finished,
    picks,
    regret,
    settings_of,
    with_all,
)
from kwis_paper.beyond.tables import all_tables
from kwis_paper.figures import Figure
from kwis_paper.further import MISREPORTS
from kwis_paper.records import CellFacts
from kwis_paper.results import Results
from kwis_paper.tables import Table
from kwis_paper.tables.writers import as_markdown

INTRODUCTION = (
    "The paper names what it leaves open: which estimator to use, intervals that cover too seldom, "
    "bandwidths, and large errors where the "
    "behaviour propensities are wrong. Here the same experiments, on the same logs and test sets, are "
    "answered by pipelines that repair "
    "the propensities from the logged actions and model rewards, both on the training log, and choose the "
    "estimator by the standard errors "
    "on each test set and by whether its rows have neighbours. Everything is measured against the expected "
    "truth."
)
_RULES = {
    "cross-validation": "normalised-kernel-wis",
    "SLOPE": "normalised-kernel-wis-slope",
    "the plug-in": "normalised-kernel-wis-plug-in",
    "averaged by a PAC-Bayes bound": AVERAGED,
    "shrunk per feature": "normalised-kernel-wis-shrunk",
    "the best in hindsight": f"normalised-kernel-wis-{BEST}",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Chapter:
    """A heading, what is to be said, and the tables and figures behind it."""

    title: str
    paragraphs: tuple[str, ...]
    tables: tuple[Table, ...] = ()
    figures: tuple[Figure, ...] = ()


def chapters(results: Results) -> list[Chapter]:
    """The story, from results."""
    tables = {table.key.removeprefix("beyond-"): table for table in all_tables(results)}
    figures = {figure.key.removeprefix("beyond-"): figure for figure in all_figures(results)}
    degrees = tuple(figure for key, figure in figures.items() if key.startswith("degree-"))

    def chapter(
        title: str, paragraphs: list[str], names: tuple[str, ...], drawn: tuple[Figure, ...] = ()
    ) -> Chapter:
        return Chapter(
            title=title,
            paragraphs=tuple(paragraphs),
            tables=tuple(tables[name] for name in names),
            figures=drawn,
        )

    return [
        chapter("What was aimed for", [], ("goals",)),
        chapter("What repair changes", _repair(results), ("errors", "ablation")),
        chapter("Where nothing reveals the label", _scenarios(results), ("scenarios", "degrees"), degrees),
        chapter(
            "How wrong, how smooth",
            _measures(results),
            (),
            (figures["misfit-all"], figures["smoothness-all"]),
        ),
        chapter("Intervals", _intervals(results), ("intervals",)),
        chapter("Which estimator to use", _choice(results), ("regret",)),
        chapter("Bandwidths and kernels", _bandwidths(results), ("bandwidths", "kernels")),
    ]


def _repair(results: Results) -> list[str]:
    cells = [facts for facts in finished(results, "non-oracle") if facts.dataset in SEVEN]
    if not cells:
        return ["The non-oracle pipelines are not in these results yet."]
    given, kernel, repaired, ours, oracle = (
        _by_dataset(results, name, cells)
        for name in ("wis", "kernel-wis", "repaired-wis", RECOMMENDED, "oracle-wis")
    )
    lead = (
        f"Over {len(datasets_of(cells))} non-oracle datasets, mean errors are {given:.3f} for WIS and "
        f"{kernel:.3f} for Kernel-WIS with the "
        f"propensities as given, {repaired:.3f} for WIS with repaired ones, {ours:.3f} for the pipeline "
        f"recommended, and {oracle:.3f} for "
        "WIS with oracle propensities."
    )
    said = [lead]
    parts = finished(results, "non-oracle", column=ABLATION_COLUMNS[0])
    if parts:
        scale, actions, context, logged = (error(results, name, parts) for name in ABLATION_COLUMNS)
        said.append(
            f"Of the repair, on {len(parts):,} experiments: the scale alone leaves an error of {scale:.3f}, "
            f"the K by K correction alone "
            f"{actions:.3f}, the context alone {context:.3f}, all of it "
            f"{error(results, 'repaired-wis', parts):.3f}; where only the logged "
            f"action's propensity is known, {logged:.3f}. In this setting the given distribution reveals the "
            f"label, which flatters the K "
            "by K correction: the next part has no such help."
        )
    return said


def _by_dataset(results: Results, name: str, cells: list[CellFacts]) -> float:
    """Mean over datasets of the mean error."""
    means = [
        error(results, name, [facts for facts in cells if facts.dataset == dataset])
        for dataset in datasets_of(cells)
    ]
    return math.fsum(means) / len(means)


def _scenarios(results: Results) -> list[str]:
    ran = [how for how in MISREPORTS if finished(results, how)]
    if not ran:
        return ["The settings that reveal no label are not in these results yet."]
    lines = []
    for how in ran:
        cells = finished(results, how)
        kernel, ours, oracle = (
            error(results, name, cells) for name in ("kernel-wis", RECOMMENDED, "oracle-wis")
        )
        lines.append(
            f"{how} {kernel:.3f} to {ours:.3f} ({ours / kernel:.2f} times; oracle propensities {oracle:.3f})"
        )
    lead = "Propensities fitted, rounded, stale, tempered or without a covariate say nothing of the label."
    return [f"{lead} From raw Kernel-WIS to recommended: {'; '.join(lines)}."]


def _measures(results: Results) -> list[str]:
    if not settings_of(results):
        return ["There are no results yet."]
    return [
        (
            "Every estimator against how wrong the given propensities are, and against how smooth the "
            "policies "
            "are."
        )
    ]


def _intervals(results: Results) -> list[str]:
    said = []
    for setting in ("oracle", "non-oracle"):
        cells = finished(results, setting)
        share, width = coverage(results, RECOMMENDED, DEFAULT_METHOD, cells).at(0.95)
        if cells:
            said.append(
                f"At 95 %, the interval of the pipeline recommended covers {share:.1%} of {setting} test "
                f"sets, {width:.3f} wide on average."
            )
    return said or ["There are no intervals in these results yet."]


def _choice(results: Results) -> list[str]:
    cells = [facts for setting in settings_of(results) for facts in finished(results, setting)]
    if not cells:
        return ["There are no recommendations in these results yet."]
    found, chosen = regret(results, cells), picks(results, cells)
    often = ", ".join(
        f"{called(name)} ({count / sum(chosen.values()):.0%})" for name, count in chosen.items()
    )
    told = (
        f"Over {len(cells):,} experiments of {len(settings_of(results))} settings the recommended pipeline "
        f"has a mean error of "
        f"{found.recommended:.4f}, the best single one in hindsight, {called(found.name)}, {found.best:.4f}: "
        f"a regret of "
        f"{found.share:+.1%}. Picked were {often}."
    )
    return [told, *_by_repair(results, cells)]


def _by_repair(results: Results, cells: list[CellFacts]) -> list[str]:
    """When to use what: the weights, where the repair left the propensities alone and where it did not."""
    found = results.measures.get("repair", {})
    said = []
    for word, prefix in (("kept", ""), ("repaired", REPAIRED)):
        part = [facts for facts in cells if facts.key in found and found[facts.key].words == word]
        if part:
            names = [prefix + name for name in (*WEIGHTED, *MODELLED[1:])]
            listed = ", ".join(f"{NAMES[name]} {error(results, name, part):.4f}" for name in names)
            given = (
                ""
                if word == "kept"
                else f", against {error(results, 'wis', part):.4f} of WIS with the propensities as given"
            )
            said.append(f"Where the propensities were {word} ({len(part):,} experiments): {listed}{given}.")
    return said


def _bandwidths(results: Results) -> list[str]:
    said = []
    for setting, given in (("oracle", "right propensities"), ("non-oracle", "wrong propensities")):
        cells = with_all(results, setting, _RULES.values())
        if cells:
            listed = ", ".join(f"{words} {error(results, name, cells):.4f}" for words, name in _RULES.items())
            said.append(
                f"Normalised Kernel-WIS with {given}, on {len(cells):,} experiments, by its bandwidth: "
                f"{listed}."
            )
    return [*(said or ["There are no other bandwidths in these results yet."]), *kernel_words(results)]


def as_page(results: Results) -> str:
    """The story as Markdown, without its figures."""
    body = []
    for part in chapters(results):
        tables = [as_markdown(table) for table in part.tables]
        body.append(f"## {part.title}\n\n" + "\n\n".join((*part.paragraphs, *tables)))
    return "\n\n".join(["# Past the paper", introduction(results), *body]) + "\n"


def introduction(results: Results) -> str:
    """What this is about, and how its IW and SNIW policies were trained."""
    if results.design.training != "once":
        return INTRODUCTION
    trained = sum(facts.policy_type in ("IW", "SNIW") for facts in results.cells.values())
    return (
        f"{INTRODUCTION} The {trained:,} experiments with IW and SNIW policies here, of "
        f"{len(results.cells):,}, have policies trained once per dataset; those of the reproduction, and of "
        "the study of kernels, are trained on every log. Gibbs policies are the same in both."
    )
