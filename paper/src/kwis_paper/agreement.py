"""How far our numbers agree with the published ones: every table of the paper, no row of it twice.

Rows of Gibbs policies, which need no training to reproduce, are counted apart from those of trained ones.
Everything is against the published truth.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from kwis_paper import published
from kwis_paper.counting import (
    Check,
    counted,
    numbers,
    rounded_gap,
    same_count,
    same_winner,
    table_rows,
    wis_within,
    within,
)
from kwis_paper.coverage_fit import WITHIN, Fit, Scored, scoring_fit
from kwis_paper.grid import cells
from kwis_paper.overall import ESTIMATORS, PLAIN, PUBLISHED_COLUMN, OverallRow, overall_rows
from kwis_paper.results import Results
from kwis_paper.setups import CHOSEN_ON
from kwis_paper.summaries import TABLES, Bucket, buckets, published_coverage, reading_of

# Datasets whose pairs of policies stay clear of the bucket edges, so that the split does not decide the
# counts.
_EXACT = {
    "oracle": ("arrhythmia", "soybean", "page-blocks", "letter", "kropt", "micro-mass"),
    "non-oracle": ("arrhythmia", "soybean", "page-blocks"),
}
UNMATCHABLE = "arrhythmia"
OTHER_READING = "closeness"
"""Name of the results with the other reading of continuous rewards."""


@dataclass(frozen=True, slots=True)
class _Rows:
    """Published rows of the tables by bucket, arrhythmia aside."""

    gibbs: list[Bucket]
    trained: list[Bucket]

    @classmethod
    def of(cls, results: Results, setting: str) -> _Rows:
        # The table of continuous rewards repeats rows of optdigits, which the oracle table has counted.
        rows = [
            row
            for row in buckets(results, setting, "published")
            if row.paper is not None
            and row.dataset != UNMATCHABLE
            and (setting != "continuous" or row.dataset == "optdigitsDist")
        ]
        learnt = setting.startswith("learnt")
        return cls(
            [row for row in rows if row.policy_type == "Gibbs" and not learnt],
            [row for row in rows if row.policy_type != "Gibbs" or learnt],
        )


def checks(results: Results) -> list[Check]:
    """All statements, in the order of the page's summary."""
    rows = {setting: _Rows.of(results, setting) for setting in TABLES}
    return [
        *_counts(results),
        _overall(results),
        _percentiles(results),
        *_oracle(rows["oracle"]),
        *_coverage(results, "oracle"),
        *_non_oracle(rows["non-oracle"]),
        *_coverage(results, "non-oracle"),
        *_continuous(results),
        *_bandwidths(results),
        *(
            table_rows(
                f"Learnt logging, {kind}",
                f"Learnt logging policies, {kind}, trained rows: WIS and Kernel-WIS both within 0.02",
                rows[f"learnt-{kind}"].trained,
                within(0.02),
            )
            for kind in ("oracle", "non-oracle")
        ),
        _winners([row for one in rows.values() for row in one.trained], "Trained"),
    ]


def best_and_weakest(made: Sequence[Check]) -> tuple[Check, Check] | None:
    """The published tables with the largest and the smallest share of agreement."""
    counted = [check for check in made if check.table and check.of]
    if not counted:
        return None
    return max(counted, key=lambda check: check.share), min(counted, key=lambda check: check.share)


def _counts(results: Results) -> list[Check]:
    everything = {setting: buckets(results, setting, "published") for setting in TABLES}
    exact = [
        row
        for name, datasets in _EXACT.items()
        for row in everything[name]
        if row.paper is not None and row.policy_type == "Gibbs" and row.dataset in datasets
    ]
    name = "N of Gibbs rows whose bucket does not depend on the split is the published one"
    return [counted("Counts", name, exact, same_count, 1.0), _totals(everything)]


def _oracle(rows: _Rows) -> list[Check]:
    chosen = [row for row in rows.trained if row.dataset in CHOSEN_ON]
    held_out = [row for row in rows.trained if row.dataset not in CHOSEN_ON]
    words = "trained rows: WIS within 0.02"
    return [
        table_rows(
            "Oracle, Gibbs",
            "Oracle, Gibbs rows: WIS and Kernel-WIS both within 0.01",
            rows.gibbs,
            within(0.01),
            0.90,
        ),
        table_rows(
            "Oracle, trained",
            "Oracle, trained rows: WIS and Kernel-WIS both within 0.02",
            rows.trained,
            within(0.02),
        ),
        counted("Oracle, trained, WIS", f"Oracle, {words}", rows.trained, wis_within(0.02), 0.60),
        counted(
            "… chosen on",
            f"Oracle, {words}, the four datasets that the training was chosen on",
            chosen,
            wis_within(0.02),
        ),
        counted("… held out", f"Oracle, {words}, the other datasets", held_out, wis_within(0.02), 0.50),
    ]


def _non_oracle(rows: _Rows) -> list[Check]:
    return [
        table_rows(
            "Non-oracle, Gibbs",
            "Non-oracle, Gibbs rows: WIS and Kernel-WIS both within 0.02",
            rows.gibbs,
            within(0.02),
            0.85,
        ),
        _winners(rows.gibbs, "Gibbs", 0.85),
        table_rows(
            "Non-oracle, trained",
            "Non-oracle, trained rows: WIS and Kernel-WIS both within 0.02",
            rows.trained,
            within(0.02),
        ),
    ]


def _winners(rows: Sequence[Bucket], policies: str, goal: float = math.nan) -> Check:
    clear = [row for row in rows if row.paper is not None and row.paper.significant]
    where = "Non-oracle, Gibbs rows" if policies == "Gibbs" else "Trained rows of all tables"
    name = f"{where} with a significant published difference: the same winner"
    return counted(f"Same winner, {policies}", name, clear, same_winner, goal)


def _continuous(results: Results) -> list[Check]:
    """Both readings; the one that fits the Gibbs rows better is the count of the table."""
    readings = [results, *(one for one in (results.others.get(OTHER_READING),) if one is not None)]
    found = []
    for part in readings:
        rows, words = _Rows.of(part, "continuous"), reading_of(part.design)
        name = f"Continuous rewards ({words}), {{}} rows: WIS and Kernel-WIS both within {{}}"
        found.append(
            (
                table_rows(f"Continuous, {words}", name.format("Gibbs", 0.01), rows.gibbs, within(0.01)),
                table_rows(
                    f"Continuous, trained, {words}",
                    name.format("trained", 0.02),
                    rows.trained,
                    within(0.02),
                ),
            )
        )
    return [check for pair in found for check in pair]


def _coverage(results: Results, setting: str) -> list[Check]:
    fit = scoring_fit(results)
    if fit is None:
        return []
    rows = [one for one in fit.scored(setting) if one.row.bucket.dataset != UNMATCHABLE]
    return [_covered(setting, kind, rows, fit) for kind in ("Gibbs", "trained")]


def _covered(setting: str, kind: str, rows: Sequence[Scored], fit: Fit) -> Check:
    mine = [one for one in rows if (one.row.bucket.policy_type == "Gibbs") == (kind == "Gibbs")]
    ran = fit.results.datasets(setting)
    published_rows = [
        label
        for label in published_coverage(setting)
        if label[0] != UNMATCHABLE and label[0] in ran and (label[1] == "Gibbs") == (kind == "Gibbs")
    ]
    gap = sum(one.gap for one in mine) / len(mine) if mine else math.nan
    return Check(
        short=f"Coverage, {setting}, {kind}",
        name=f"Coverage, {setting}, {kind} rows: WIS and Kernel-WIS both within {WITHIN:g} at what fits the "
        f"Gibbs oracle rows best ({fit.words}); mean gap {gap:.3f}",
        agreeing=sum(one.agrees for one in mine),
        of=len(published_rows),  # a row into which no experiment of ours falls does not agree
        table=True,
    )


def _overall(results: Results) -> Check:
    """Every number of the overall table: it mixes Gibbs and trained policies."""
    gaps = [
        rounded_gap(np.mean(results.errors(name, row.cells, "published")), said)
        for row in _published_rows(results)
        for name in ESTIMATORS
        if row.cells and (said := _said("overall", PUBLISHED_COLUMN[name], row)) is not None
    ]
    return numbers("Overall errors", "Overall errors, numbers of all five estimators within 0.02", gaps, 0.02)


def _percentiles(results: Results) -> Check:
    gaps = [
        rounded_gap(np.percentile(results.values(name, row.cells), share), said, 2)
        for row in _published_rows(results)
        for name in ESTIMATORS
        for share in (75, 100)
        if row.cells and (said := _said("percentiles", f"{PUBLISHED_COLUMN[name]}_p{share}", row)) is not None
    ]
    return numbers("Percentiles", "75th and 100th percentiles, numbers within 0.05", gaps, 0.05)


def _bandwidths(results: Results) -> list[Check]:
    """The table of shared and per-feature bandwidths; its WIS and shared columns are the overall table's."""
    found = results.outcomes.get(PLAIN, {})
    gaps = []
    for row in _published_rows(results):
        sample = [facts for facts in row.cells if facts.key in found]
        said = _said("bandwidth_sensitivity", "unique", row)
        if sample and said is not None:
            gaps.append(rounded_gap(np.nanmean(results.errors(PLAIN, sample, "published")), said))
    name = "Per-feature bandwidths, rows within 0.02 on the experiments sampled"
    return [numbers("Per-feature bandwidths", name, gaps, 0.02)]


def _published_rows(results: Results) -> list[OverallRow]:
    return [row for row in overall_rows(results) if row.dataset != UNMATCHABLE]


def _said(table: str, column: str, row: OverallRow) -> float | None:
    found = published.table(table).value(
        column, reward=row.words[0], behaviour=row.words[1], dataset=row.dataset
    )
    return None if found is None else float(found)


def incomplete(results: Results) -> list[str]:
    """Datasets and settings of the paper with fewer experiments than its grid, in words."""
    wanted = Counter((cell.dataset, cell.setting) for cell in cells() if not cell.left_out)
    have = Counter((facts.dataset, facts.setting) for facts in results.cells.values())
    return [
        f"{dataset} {setting} ({have[dataset, setting]:,} of {count:,})"
        for (dataset, setting), count in wanted.items()
        if have[dataset, setting] < count
    ]


def _totals(rows: dict[str, tuple[Bucket, ...]]) -> Check:
    """Experiments per dataset and setting, over all policies and buckets, those included that only
    we have.
    """
    pairs = [
        _total(found, dataset)
        for found in rows.values()
        for dataset in dict.fromkeys(row.dataset for row in found)
    ]
    published = [(ours, paper) for ours, paper in pairs if paper]
    compared = [(ours, paper) for ours, paper in published if ours]
    agreeing = sum(ours == paper for ours, paper in compared)
    name = "Total N of every dataset and setting is the published one"
    return Check(
        short="Totals",
        name=name,
        agreeing=agreeing,
        of=len(compared),
        goal=1.0,
        missing=len(published) - len(compared),
    )


def _total(rows: Iterable[Bucket], dataset: str) -> tuple[int, int]:
    mine = [row for row in rows if row.dataset == dataset]
    return sum(row.ours.n for row in mine if row.ours), sum(row.paper.n for row in mine if row.paper)
