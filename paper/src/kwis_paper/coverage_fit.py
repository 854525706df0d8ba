"""Which level, method and test share of the paper's own intervals fit its published coverage best.

The paper gives none of them. They are fitted on the oracle rows of Gibbs policies, arrhythmia aside, whose
numbers need no training to reproduce, and the other rows are scored at what fits those best.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from kwis_paper.paper_intervals import METHODS
from kwis_paper.results import IntervalKind, Results
from kwis_paper.store import LEVELS
from kwis_paper.summaries import COVERAGE_TABLES, CoverageRow, coverage_rows

HALF = "half"
"""Name of the results with half of the rows as test rows."""
WITHIN = 0.1
_ASIDE = "arrhythmia"
_SETTINGS = tuple(COVERAGE_TABLES)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Fit:
    """One way to read the published coverage, and how far it is from ours on the Gibbs oracle rows."""

    results: Results
    method: IntervalKind
    level: float
    gap: float = math.nan
    agreeing: int = 0
    rows: int = 0

    @property
    def words(self) -> str:
        method = {"fixed-percentile": "percentile", "fixed-bca": "BCa"}[self.method]
        return f"{method} at {self.level:.0%}, a test share of {self.results.design.test_share:g}"

    def gibbs(self) -> list[Scored]:
        """The rows that readings are ranked by."""
        return [
            one
            for one in self.scored("oracle")
            if one.row.bucket.policy_type == "Gibbs" and one.row.bucket.dataset != _ASIDE
        ]

    def scored(self, setting: str) -> list[Scored]:
        """Rows of a setting at this reading, those that both have."""
        place = LEVELS.index(self.level)
        return [
            Scored(row, row.wis[place] - row.paper_wis, row.kernel[place] - row.paper_kernel)
            for row in coverage_rows(self.results, setting, "published", self.method)
            if math.isfinite(row.wis[place]) and math.isfinite(row.paper_wis)
        ]


@dataclass(frozen=True, slots=True)
class Scored:
    """A row of a coverage table, and how far our coverage is from the published one."""

    row: CoverageRow
    wis: float
    kernel: float

    @property
    def gap(self) -> float:
        return (abs(self.wis) + abs(self.kernel)) / 2

    @property
    def agrees(self) -> bool:
        return max(abs(self.wis), abs(self.kernel)) <= WITHIN + 1e-9


def fits(results: Results) -> list[Fit]:
    """All readings that have rows, the best first."""
    return sorted(_readings(results), key=lambda fit: fit.gap)


def scoring_fit(results: Results) -> Fit | None:
    """The best reading among those whose every row was run: what coverage is scored at."""
    wanted = {
        (facts.dataset, facts.setting) for facts in results.cells.values() if facts.setting in _SETTINGS
    }
    for fit in fits(results):
        if wanted <= {(facts.dataset, facts.setting) for facts in fit.results.cells.values()}:
            return fit
    return None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Shown:
    """The intervals that stand for ours where one kind is shown: the paper's own, at what fits its coverage
    best, where they were run.
    """

    results: Results
    kind: IntervalKind
    level: float
    words: str


def shown(results: Results) -> Shown:
    """What coverage is shown at."""
    fit = scoring_fit(results)
    if fit is not None:
        words = f"the paper's own intervals at what fits its coverage best ({fit.words})"
        return Shown(results=fit.results, kind=fit.method, level=fit.level, words=words)
    kind: IntervalKind = "bootstrap" if results.replicates else "influence"
    names = {"bootstrap": "percentile bootstrap", "influence": "influence-function"}
    words = f"{names[kind]} intervals at {LEVELS[-1]:.0%}"
    return Shown(results=results, kind=kind, level=LEVELS[-1], words=words)


def _readings(results: Results) -> Iterator[Fit]:
    half = results.others.get(HALF)
    parts = (results, *([half] if half is not None else []))
    # Readings are compared on the same rows.
    common = set.intersection(*(set(part.datasets("oracle")) for part in parts))
    for part in parts:
        for method in METHODS:
            for level in LEVELS:
                blank = Fit(results=part, method=method, level=level)
                rows = [one for one in blank.gibbs() if one.row.bucket.dataset in common]
                if rows:
                    gap = sum(one.gap for one in rows) / len(rows)
                    agreeing = sum(one.agrees for one in rows)
                    yield replace(blank, gap=gap, agreeing=agreeing, rows=len(rows))
