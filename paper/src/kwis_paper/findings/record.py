"""What was found of a claim, and the rows it was looked for in: ours under either truth, or the paper's own.

A claim's test is put to the published rows as well. Where a claim holds in our rows and not in the paper's,
or the other way round, a reader can see whether the experiments differ or the reading of the words does.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from scipy.stats import spearmanr

from kwis_paper import published
from kwis_paper.overall import ESTIMATORS, PUBLISHED_COLUMN, SETTING_OF, overall_rows
from kwis_paper.records import CellFacts
from kwis_paper.results import Results, Truth
from kwis_paper.summaries import Bucket, buckets


@dataclass(frozen=True, slots=True)
class Finding:
    """What we found; ``holds`` is None where the claim cannot be judged from these results."""

    holds: bool | None
    words: str


Source = Truth | Literal["paper"]
Look = Callable[[Results, Source], Finding]
NOTHING = Finding(None, "no results yet")
UNPRINTED = Finding(None, "–")
"""For claims that the published tables cannot answer."""


def ours(results: Results, setting: str, source: Source) -> list[Bucket]:
    """Rows of a setting in which we have experiments and the paper has the dataset; or, with the paper's
    numbers in place of ours, the published ones.
    """
    if source == "paper":
        return [replace(row, ours=row.paper) for row in buckets(results, setting, "published") if row.paper]
    rows = buckets(results, setting, source)
    datasets = {row.dataset for row in rows if row.paper is not None}
    return [row for row in rows if row.ours is not None and row.dataset in datasets]


def mean_errors(results: Results, cells: Sequence[CellFacts], truth: Truth) -> dict[str, float]:
    return {name: round(float(np.mean(results.errors(name, cells, truth))), 3) for name in ESTIMATORS}


def overall(results: Results, source: Source, *settings: str) -> dict[tuple[str, str], dict[str, float]]:
    """Errors of every estimator by setting and dataset."""
    if source == "paper":
        return {place: means for place, means in _published_errors().items() if place[0] in settings}
    rows = [
        row
        for row in overall_rows(results)
        if row.cells and row.setting in settings and row.cells[0].published
    ]
    return {(row.setting, row.dataset): mean_errors(results, row.cells, source) for row in rows}


def _published_errors() -> dict[tuple[str, str], dict[str, float]]:
    table = published.table("overall")
    names = zip(table.column("reward"), table.column("behaviour"), table.column("dataset"), strict=True)
    places = [(SETTING_OF[str(reward), str(behaviour)], str(dataset)) for reward, behaviour, dataset in names]
    columns = {name: table.column(PUBLISHED_COLUMN[name]) for name in ESTIMATORS}
    return {
        place: {name: float(column[number]) for name, column in columns.items()}
        for number, place in enumerate(places)
    }


def rank_correlation(x: list[float], y: list[float]) -> tuple[float, float]:
    """Spearman's, and its p-value; ``nan`` where all values are the same."""
    if len(set(x)) < 2 or len(set(y)) < 2:
        return math.nan, math.nan
    found = spearmanr(x, y)
    return float(found.statistic), float(found.pvalue)
