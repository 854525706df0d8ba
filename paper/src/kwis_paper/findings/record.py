"""What was found of a claim, and the rows it was looked for in."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import spearmanr

from kwis_paper.overall import ESTIMATORS, overall_rows
from kwis_paper.records import CellFacts
from kwis_paper.results import Results, Truth
from kwis_paper.summaries import Bucket, buckets


@dataclass(frozen=True, slots=True)
class Finding:
    """What we found; ``holds`` is None where the claim cannot be judged from these results."""

    holds: bool | None
    words: str


Look = Callable[[Results, Truth], Finding]
NOTHING = Finding(None, "no results yet")


def ours(results: Results, setting: str, truth: Truth) -> list[Bucket]:
    """Rows of a setting in which we have experiments and the paper has the dataset."""
    rows = buckets(results, setting, truth)
    datasets = {row.dataset for row in rows if row.paper is not None}
    return [row for row in rows if row.ours is not None and row.dataset in datasets]


def mean_errors(results: Results, cells: Sequence[CellFacts], truth: Truth) -> dict[str, float]:
    return {name: round(float(np.mean(results.errors(name, cells, truth))), 3) for name in ESTIMATORS}


def overall(results: Results, truth: Truth, *settings: str) -> dict[tuple[str, str], dict[str, float]]:
    rows = [
        row
        for row in overall_rows(results)
        if row.cells and row.setting in settings and row.cells[0].published
    ]
    return {(row.setting, row.dataset): mean_errors(results, row.cells, truth) for row in rows}


def rank_correlation(x: list[float], y: list[float]) -> float:
    """Spearman's; ``nan`` where all values are the same."""
    if len(set(x)) < 2 or len(set(y)) < 2:
        return math.nan
    return float(spearmanr(x, y).statistic)
