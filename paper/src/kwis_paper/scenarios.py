"""What the paper's figures show of its tables: per dataset, the share of rows one estimator wins and by how
much in the median.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from kwis_paper.catalogue import SPECS
from kwis_paper.results import Results
from kwis_paper.store import LEVELS
from kwis_paper.summaries import DECIMALS, Bucket, CoverageRow, Pair

Side = Literal["ours", "paper"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """A dataset over its rows.

    Attributes
    ----------
    won, lost
        Share of rows in which Kernel-WIS is strictly better or strictly worse at the printed precision.
    gain
        Median over rows of ``(WIS - Kernel-WIS) / (WIS + Kernel-WIS)``; for coverage, mean of Kernel-WIS
        minus WIS.
    """

    dataset: str
    rows: int
    won: float
    lost: float
    gain: float


def by_dataset(rows: Iterable[Bucket], side: Side) -> list[Scenario]:
    """Errors, by dataset."""
    pairs: dict[str, list[Pair]] = {}
    for row in rows:
        pair = row.ours if side == "ours" else row.paper
        if pair is not None and math.isfinite(pair.gain):
            pairs.setdefault(row.dataset, []).append(pair)
    return [_errors(dataset, found) for dataset, found in pairs.items()]


def _errors(dataset: str, pairs: Sequence[Pair]) -> Scenario:
    gaps = [round(pair.wis.mean, DECIMALS) - round(pair.kernel.mean, DECIMALS) for pair in pairs]
    return _scenario(dataset, gaps, statistics.median(pair.gain for pair in pairs))


def coverage_by_dataset(rows: Iterable[CoverageRow], side: Side, level: float = 0.95) -> list[Scenario]:
    """Coverage, by dataset, ours at one level."""
    place = LEVELS.index(level)
    gaps: dict[str, list[float]] = {}
    for row in rows:
        gap = row.kernel[place] - row.wis[place] if side == "ours" else row.paper_kernel - row.paper_wis
        if math.isfinite(gap):
            gaps.setdefault(row.bucket.dataset, []).append(round(gap, DECIMALS))
    return [_scenario(dataset, found, statistics.fmean(found)) for dataset, found in gaps.items()]


def _scenario(dataset: str, gaps: Sequence[float], gain: float) -> Scenario:
    n = len(gaps)
    won, lost = sum(gap > 1e-9 for gap in gaps), sum(gap < -1e-9 for gap in gaps)
    return Scenario(dataset=dataset, rows=n, won=won / n, lost=lost / n, gain=gain)


def size_of(dataset: str, results: Results) -> float:
    """Rows of a dataset: of its file for the paper's, of what was run for one's own."""
    if dataset in SPECS:
        return float(SPECS[dataset].rows)
    found = next((facts for facts in results.cells.values() if facts.dataset == dataset), None)
    return math.nan if found is None else float(found.n_train + found.n_test)


def paper_size_of(dataset: str) -> float:
    """Rows of a dataset as the paper prints them."""
    rows = SPECS[dataset].paper_rows if dataset in SPECS else None
    return math.nan if rows is None else float(rows)


def actions_of(dataset: str) -> float:
    """Actions of a dataset of the catalogue; ``nan`` for one's own."""
    return float(SPECS[dataset].n_actions) if dataset in SPECS else math.nan
