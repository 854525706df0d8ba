"""How far our numbers agree with the published ones: counts, errors and who wins, against the published
truth.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from kwis_paper.grid import cells
from kwis_paper.results import Results
from kwis_paper.summaries import DECIMALS, TABLES, Bucket, buckets

# Datasets whose pairs of policies stay clear of the bucket edges, so that the split does not decide the
# counts.
_EXACT = {
    "oracle": ("arrhythmia", "soybean", "page-blocks", "letter", "kropt", "micro-mass"),
    "non-oracle": ("arrhythmia", "soybean", "page-blocks"),
}
UNMATCHABLE = "arrhythmia"


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One statement about agreement.

    Attributes
    ----------
    short
        A few words for a heading.
    agreeing, of
        How many rows agree, of those that have both numbers.
    goal
        Share that was aimed for; ``nan`` where the number is shown whatever it is.
    missing
        Published rows that could not be compared, because nothing of ours is in them.
    """

    short: str
    name: str
    agreeing: int
    of: int
    goal: float = math.nan
    missing: int = 0

    @property
    def share(self) -> float:
        return self.agreeing / self.of if self.of else math.nan

    @property
    def met(self) -> bool | None:
        """Whether the goal is reached; None without a goal or without rows."""
        return None if math.isnan(self.goal) or not self.of else self.share >= self.goal - 1e-12


def checks(results: Results) -> list[Check]:
    """All statements, in the order of the page's summary."""
    everything = {setting: buckets(results, setting, "published") for setting in TABLES}
    rows = {setting: [row for row in found if row.paper is not None] for setting, found in everything.items()}
    gibbs = {
        name: [row for row in rows[name] if row.policy_type == "Gibbs" and row.dataset != UNMATCHABLE]
        for name in rows
    }
    exact = [
        row
        for name, datasets in _EXACT.items()
        for row in rows[name]
        if row.policy_type == "Gibbs" and row.dataset in datasets
    ]
    learnt = [
        row for name in rows for row in rows[name] if row.policy_type != "Gibbs" or name.startswith("learnt")
    ]
    own = [row for row in gibbs["continuous"] if row.dataset == "optdigitsDist"]
    clear, clear_learnt = _significant(gibbs["non-oracle"]), _significant(learnt)
    return [
        _counted(
            "Counts",
            "N of Gibbs rows whose bucket does not depend on the split is the published one",
            exact,
            _same_count,
            1.0,
        ),
        _totals(everything),
        _counted(
            "Oracle within 0.01",
            "Oracle Gibbs rows: WIS and Kernel-WIS both within 0.01",
            gibbs["oracle"],
            _within(0.01),
            0.90,
        ),
        _counted(
            "Non-oracle within 0.02",
            "Non-oracle Gibbs rows: WIS and Kernel-WIS both within 0.02",
            gibbs["non-oracle"],
            _within(0.02),
            0.85,
        ),
        _counted(
            "Same winner",
            "Non-oracle Gibbs rows with a significant published difference: the same winner",
            clear,
            same_winner,
            0.85,
        ),
        _counted(
            "Continuous within 0.02", "Continuous rewards, Gibbs rows: both within 0.02", own, _within(0.02)
        ),
        _counted(
            "Trained within 0.02", "Trained policies, all settings: both within 0.02", learnt, _within(0.02)
        ),
        _counted(
            "Trained, same winner",
            "Trained policies with a significant published difference: the same winner",
            clear_learnt,
            same_winner,
        ),
    ]


def incomplete(results: Results) -> list[str]:
    """Datasets and settings of the paper with fewer experiments than its grid, in words."""
    wanted = Counter((cell.dataset, cell.setting) for cell in cells() if not cell.left_out)
    have = Counter((facts.dataset, facts.setting) for facts in results.cells.values())
    return [
        f"{dataset} {setting} ({have[dataset, setting]:,} of {count:,})"
        for (dataset, setting), count in wanted.items()
        if have[dataset, setting] < count
    ]


def _counted(
    short: str, name: str, rows: Sequence[Bucket], agrees: Callable[[Bucket], bool], goal: float = math.nan
) -> Check:
    both = [row for row in rows if row.ours is not None]
    agreeing = sum(agrees(row) for row in both)
    return Check(
        short=short, name=name, agreeing=agreeing, of=len(both), goal=goal, missing=len(rows) - len(both)
    )


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


def _same_count(row: Bucket) -> bool:
    return row.ours is not None and row.paper is not None and row.ours.n == row.paper.n


def _within(tolerance: float) -> Callable[[Bucket], bool]:
    def agrees(row: Bucket) -> bool:
        if row.ours is None or row.paper is None:
            return False
        gaps = (
            _gap(row.ours.wis.mean, row.paper.wis.mean),
            _gap(row.ours.kernel.mean, row.paper.kernel.mean),
        )
        return max(gaps) <= tolerance + 1e-9

    return agrees


def _gap(ours: float, paper: float) -> float:
    """Difference at the printed precision."""
    return abs(round(ours, DECIMALS) - paper)


def _significant(rows: Iterable[Bucket]) -> list[Bucket]:
    return [row for row in rows if row.paper is not None and row.paper.significant]


def same_winner(row: Bucket) -> bool:
    """Whether the estimator with the smaller error is the same one here."""
    if row.ours is None or row.paper is None:
        return False
    return (row.ours.wis.mean > row.ours.kernel.mean) == (row.paper.wis.mean > row.paper.kernel.mean)
