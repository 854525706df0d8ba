"""WIS against Kernel-WIS by dataset, policy and bucket, every number beside the published one."""

from __future__ import annotations

import math
from collections.abc import Sequence

from kwis_paper.ascent import EPOCHS, SETUPS
from kwis_paper.results import Results, Truth
from kwis_paper.summaries import SIGNIFICANT, Bucket, Pair, Spread, buckets, notes_of, reading_of, reward_note
from kwis_paper.tables.record import MISSING, Entry, Line, Table, difference, number, spread, text, whole
from kwis_paper.training import CLASSIFIER_EPOCHS, CLASSIFIER_STEP, VALIDATION_SHARE

_TITLES = {
    "oracle": ("Oracle behaviour policies", "tbl:k_wis_wis_oracle_results"),
    "non-oracle": ("Non-oracle behaviour policies", "tbl:k_wis_wis_non_oracle_results"),
    "continuous": ("Single-action and continuous rewards", "tbl:k_wis_wis_cont_results"),
    "learnt-oracle": ("Learnt logging policies, oracle", "tbl:k_wis_wis_oracle_results_learnt_policies"),
    "learnt-non-oracle": (
        "Learnt logging policies, non-oracle",
        "tbl:k_wis_wis_non_oracle_results_learnt_policies",
    ),
}
_COLUMNS = (
    ("", "Dataset"),
    ("", "Policy"),
    ("", "Difference"),
    ("N", "ours"),
    ("N", "paper"),
    ("WIS", "ours"),
    ("WIS", "paper"),
    ("WIS", "diff."),
    ("Kernel-WIS", "ours"),
    ("Kernel-WIS", "paper"),
    ("Kernel-WIS", "diff."),
    ("Normalised", "ours"),
    ("Welch p", "ours"),
    ("Welch p", "paper"),
    ("Paired p", "ours"),
)
TRUTH_WORDS = {
    "published": "against the value without the noise of the rewards, as published",
    "expected": (
        "against the value of the rewards as logged; the paper's numbers beside them are against the "
        "value without noise"
    ),
}


def bucket_table(
    results: Results, setting: str, truth: Truth, part: str = "", datasets: tuple[str, ...] = ()
) -> Table:
    """The table of one setting under one truth, of some datasets or of all; ``part`` names results of another
    design.
    """
    rows = [row for row in buckets(results, setting, truth) if not datasets or row.dataset in datasets]
    title, label = _TITLES[setting]
    title += f" ({reading_of(results.design)})" if setting == "continuous" else ""
    caption = (
        f"{title}: mean absolute error ± standard deviation over experiments, {TRUTH_WORDS[truth]}. Bold: "
        f"the better of WIS and "
        "Kernel-WIS, neither if they are within 0.001; p-values of at most 0.05. The paired test compares "
        "the same experiments."
    )
    return Table(
        key=f"{setting}-{truth}{f'-{part}' if part else ''}",
        title=f"{title}, {truth} truth",
        caption=caption,
        columns=tuple(name for _, name in _COLUMNS),
        groups=tuple(group for group, _ in _COLUMNS),
        lines=tuple(_line(row) for row in rows),
        label=label,
        notes=(
            *notes_of([row.dataset for row in rows]),
            *choice_notes(results, setting),
            *missing_notes(rows),
        ),
    )


def choice_notes(results: Results, setting: str) -> tuple[str, ...]:
    """Choices of ours where the paper is silent, which the rows of a setting depend on."""
    on = {
        "per-log": "on the log of every logging policy, with the propensities of the behaviour policy",
        "once": "once per dataset, on what the Gibbs policy with faulty action 0 at temperature 0.5 logged",
    }[results.design.training]
    ascent = (
        f"IW and SNIW policies are trained {on}, by gradient ascent over {EPOCHS} epochs "
        f"({SETUPS[results.design.training].words}): inferred, not in the paper."
    )
    classifier = (
        f"Logging classifiers: Adam with a step of {CLASSIFIER_STEP:g}, at most {CLASSIFIER_EPOCHS} epochs, "
        f"a validation share of "
        f"{VALIDATION_SHARE}, and the epochs that the paper's rule selects; optimiser, step and share are "
        f"ours."
    )
    more = (
        (classifier,)
        if setting.startswith("learnt")
        else (reward_note(results.design),)
        if setting == "continuous"
        else ()
    )
    return (*more, ascent)


def _line(row: Bucket) -> Line:
    ours, paper = row.ours, row.paper
    entries = (
        text(row.dataset),
        text(row.policy_type),
        text(row.bucket),
        whole(ours.n if ours else None),
        whole(paper.n if paper else None),
        *_errors(ours, paper, "wis"),
        *_errors(ours, paper, "kernel-wis"),
        MISSING_ENTRY if row.normalised is None else spread(row.normalised.mean, row.normalised.std),
        p_entry(ours.welch if ours else math.nan),
        p_entry(paper.welch if paper else math.nan),
        p_entry(ours.paired if ours else math.nan),
    )
    return Line(entries=entries, dataset=row.dataset, setting=row.setting)


MISSING_ENTRY = Entry(MISSING)


def _errors(ours: Pair | None, paper: Pair | None, name: str) -> tuple[Entry, Entry, Entry]:
    mine, said = _side(ours, name), _side(paper, name)
    return (
        spread(mine.mean, mine.std, bold=ours is not None and ours.winner == name),
        spread(said.mean, said.std, bold=paper is not None and paper.winner == name),
        difference(mine.mean, said.mean),
    )


def _side(pair: Pair | None, name: str) -> Spread:
    if pair is None:
        return Spread(math.nan, math.nan)
    return pair.wis if name == "wis" else pair.kernel


def p_entry(value: float) -> Entry:
    """A p-value with two decimals, bold by the paper's rule."""
    return number(value, 2, bold=round(value, 2) <= SIGNIFICANT if math.isfinite(value) else False)


def missing_notes(rows: Sequence[Bucket]) -> tuple[str, ...]:
    """Which published rows we have no experiments for, and which of ours the paper has not."""
    lacking = sorted(
        {row.dataset for row in rows if row.ours is None}
        - {row.dataset for row in rows if row.ours is not None}
    )
    elsewhere = [row for row in rows if row.ours is None and row.dataset not in lacking]
    left_out = sorted(
        {
            row.dataset
            for row in rows
            if row.paper is None and not any(other.paper for other in rows if other.dataset == row.dataset)
        }
    )
    notes = []
    if lacking:
        notes.append(f"Not run yet: {', '.join(lacking)}.")
    if elsewhere:
        listed = "; ".join(" ".join(row.label) for row in elsewhere)
        notes.append(f"Published rows into which no experiment of ours falls ({len(elsewhere)}): {listed}.")
    if left_out:
        notes.append(f"Not in the paper's table, ours alone: {', '.join(left_out)}.")
    return tuple(notes)
