"""What changes when errors are measured against the value of the rewards as logged: a short text with numbers
from the run.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from kwis_paper.claims import CLAIMS
from kwis_paper.findings.record import ours
from kwis_paper.overall import OverallRow, overall_rows
from kwis_paper.records import CellFacts
from kwis_paper.results import TRUTHS, Results, Truth
from kwis_paper.store import LEVELS
from kwis_paper.summaries import notes_of, reward_note
from kwis_paper.tables.record import Entry, Line, Table, number, text, whole
from kwis_paper.tables.writers import as_markdown

Bools = np.ndarray[tuple[int, ...], np.dtype[np.bool_]]
_NAMES = {
    "wis": "WIS",
    "kernel-wis": "Kernel-WIS",
    "normalised-kernel-wis": "Normalised",
    "state-wis": "State-WIS",
    "logged-mean": "Logged mean",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A heading, what is to be said, and the numbers behind it."""

    title: str
    paragraphs: tuple[str, ...]
    tables: tuple[Table, ...] = ()


def parts(results: Results) -> list[Part]:
    """The three questions, answered from results."""
    return [_conclusions(results), _continuous(results), _logged_mean(results)]


def as_page(results: Results) -> str:
    """The text as Markdown."""
    version, command = results.provenance.version, results.provenance.command
    made = (
        f"Made by `{command}`, kwis {version}, from {len(results.cells):,} experiments."
        if command
        else f"{len(results.cells):,} experiments."
    )
    body = [
        f"## {part.title}\n\n" + "\n\n".join((*part.paragraphs, *(_folded(table) for table in part.tables)))
        for part in parts(results)
    ]
    return "\n\n".join(["# The paper's results against the expected truth", INTRODUCTION, made, *body]) + "\n"


INTRODUCTION = (
    "The paper measures errors against the value of a policy without the noise that its logged rewards "
    "carry. One reward in ten is "
    "flipped, so what an estimator can recover from the log is 0.1 + 0.8 V, not V, and an estimator that is "
    "exactly right has a published "
    "error of |0.1 − 0.2 V|. Here the same experiments are measured against that expected value."
)


def _folded(table: Table) -> str:
    return as_markdown(table).replace("## ", "### ", 1).rstrip()


def _conclusions(results: Results) -> Part:
    verdicts = [
        (claim, claim.look(results, "published"), claim.look(results, "expected")) for claim in CLAIMS
    ]
    changed = [(claim, before, after) for claim, before, after in verdicts if before.holds != after.holds]
    judged = sum(before.holds is not None for _, before, _ in verdicts)
    words = {True: "holds", False: "does not hold", None: "cannot be judged"}
    said = [
        f"“{claim.words}” {words[before.holds].capitalize()} against the published truth ({before.words}) "
        f"and {words[after.holds]} against "
        f"the expected one ({after.words})."
        for claim, before, after in changed
    ]
    lead = (
        f"Of {judged} claims that can be judged, {len(changed)} change their verdict when the flip is "
        f"accounted for."
    )
    table = _setting_table(results)
    return Part(
        title="What changes in the conclusions",
        paragraphs=(lead, *said, *notes_of(["arrhythmia"])),
        tables=(table,),
    )


def _setting_table(results: Results) -> Table:
    """Per setting: mean errors, and rows that differ significantly, under both truths."""
    lines = []
    for setting in ("oracle", "non-oracle", "learnt-oracle", "learnt-non-oracle", "continuous"):
        for truth in TRUTHS:
            rows = [
                row
                for row in ours(results, setting, truth)
                if setting != "continuous" or row.dataset == "optdigitsDist"
            ]
            cells = [facts for facts in results.chosen(setting) if facts.published]
            clear = [row.ours for row in rows if row.ours is not None and row.ours.significant]
            kernel = sum(pair.kernel.mean < pair.wis.mean for pair in clear)
            counts = (whole(len(rows)), whole(kernel), whole(len(clear) - kernel))
            lines.append(
                Line(
                    entries=(text(setting), text(truth), *_means(results, cells, truth), *counts),
                    setting=setting,
                )
            )
    return Table(
        key="truths",
        title="Both truths, by setting",
        caption="Mean absolute error over the paper's experiments of a setting, and rows of its table in "
        "which one estimator is "
        "significantly better by Welch's test.",
        columns=("Setting", "Truth", *_NAMES.values(), "Rows", "Kernel-WIS better", "WIS better"),
        lines=tuple(lines),
    )


def _means(results: Results, cells: Iterable[CellFacts], truth: Truth) -> list[Entry]:
    chosen = list(cells)
    return [number(_mean(results, name, chosen, truth)) for name in _NAMES]


def _mean(results: Results, name: str, cells: list[CellFacts], truth: Truth) -> float:
    return float(np.mean(results.errors(name, cells, truth))) if cells else math.nan


def _continuous(results: Results) -> Part:
    title = "What normalising does under continuous rewards"
    cells = results.chosen("continuous", "optdigitsDist")
    if not cells:
        return Part(title=title, paragraphs=("The continuous experiments are not in these results yet.",))
    paragraphs = [reward_note(results.design)]
    for truth in TRUTHS:
        wis, plain, normalised = (
            _mean(results, name, cells, truth) for name in ("wis", "kernel-wis", "normalised-kernel-wis")
        )
        lost = plain - wis
        share = (plain - normalised) / lost if lost > 5e-4 else math.nan
        back = (
            ""
            if math.isnan(share)
            else ", so normalising takes back "
            + ("all" if share > 0.995 else f"{share:.0%}")
            + " of the loss"
        )
        paragraphs.append(
            f"Against the {truth} truth the errors are {wis:.3f} for WIS, {plain:.3f} for Kernel-WIS and "
            f"{normalised:.3f} normalised{back}."
        )
    ratio = results.values("kernel-wis", cells) / results.values("normalised-kernel-wis", cells)
    paragraphs.append(
        f"The mean of weight over local mean weight, which is what normalising divides by, is "
        f"{ratio.mean():.3f} in the mean and "
        f"{ratio.min():.3f} at the least: plain Kernel-WIS shrinks every reward by that factor, which costs "
        f"little where rewards are "
        "mostly 0 and much where they are not."
    )
    lines = [
        _continuous_line(results, policy, truth) for truth in TRUTHS for policy in ("Gibbs", "IW", "SNIW")
    ]
    table = Table(
        key="normalising",
        title="Continuous rewards, by policy",
        caption="Mean absolute error, and coverage of 95 % influence-function intervals.",
        columns=(
            "Truth",
            "Policy",
            "N",
            "WIS",
            "Kernel-WIS",
            "Normalised",
            "WIS covers",
            "Kernel-WIS covers",
            "Normalised covers",
        ),
        lines=tuple(lines),
    )
    return Part(title=title, paragraphs=tuple(paragraphs), tables=(table,))


def _continuous_line(results: Results, policy: str, truth: Truth) -> Line:
    cells = [facts for facts in results.chosen("continuous", "optdigitsDist") if facts.policy_type == policy]
    names = ("wis", "kernel-wis", "normalised-kernel-wis")
    last = len(LEVELS) - 1
    covered = [
        float(np.mean(results.coverage(name, cells, truth, "influence")[:, last])) if cells else math.nan
        for name in names
    ]
    errors = [number(_mean(results, name, cells, truth)) for name in names]
    entries = (text(truth), text(policy), whole(len(cells)), *errors, *map(number, covered))
    return Line(entries=entries, dataset="optdigitsDist", setting="continuous")


def _logged_mean(results: Results) -> Part:
    title = "Kernel-WIS and the mean of the logged rewards"
    rows = [row for row in overall_rows(results) if row.cells and row.setting in ("oracle", "non-oracle")]
    if not rows:
        return Part(title=title, paragraphs=("There are no results yet.",))
    paragraphs = [_against_mean(results, rows, setting) for setting in ("oracle", "non-oracle")]
    lines = [
        Line(
            entries=(text(row.setting), text(row.dataset), *_means(results, row.cells, "expected")),
            dataset=row.dataset,
            setting=row.setting,
        )
        for row in rows
    ]
    table = Table(
        key="logged-mean",
        title="Expected truth, by dataset",
        caption="Mean absolute error against the expected truth. State-WIS is almost the mean of the logged "
        "rewards: it differs only "
        "where contexts repeat.",
        columns=("Setting", "Dataset", *_NAMES.values()),
        lines=tuple(lines),
        notes=notes_of([row.dataset for row in rows]),
    )
    return Part(title=title, paragraphs=tuple(paragraphs), tables=(table,))


def _against_mean(results: Results, rows: list[OverallRow], setting: str) -> str:
    chosen = [row for row in rows if row.setting == setting]
    if not chosen:
        return f"No {setting} results yet."
    kernel, mean, wis = (
        np.array([_mean(results, name, list(row.cells), "expected") for row in chosen])
        for name in ("kernel-wis", "logged-mean", "wis")
    )
    lost, near, ahead = (
        _where(chosen, mask)
        for mask in (mean < kernel, (kernel <= mean) & (mean < kernel + 0.02), mean < wis)
    )
    gap = float((mean - kernel).mean())
    return (
        f"Under {setting} behaviour policies and the expected truth, Kernel-WIS has a smaller error than the "
        f"mean of the logged rewards "
        f"on {len(chosen) - len(lost)} of {len(chosen)} datasets, by {gap:.3f} in the mean"
        f"{_names('; the mean of the rewards is ahead on ', lost)}"
        f"{_names('; that mean is at most 0.02 behind on ', near)}"
        f"{_names('; and that mean beats WIS on ', ahead)}."
    )


def _where(rows: list[OverallRow], mask: Bools) -> list[str]:
    return [row.dataset for row, chosen in zip(rows, mask, strict=True) if chosen]


def _names(words: str, names: list[str]) -> str:
    return f"{words}{', '.join(names)}" if names else ""
