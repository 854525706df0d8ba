"""Aggregates of the pipelines against the expected truth: what tables, figures and checks are made of."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtri

from kwis.typing import Floats
from kwis_paper.beyond.columns import MAIN_COLUMNS, ORACLE, RECOMMENDED
from kwis_paper.beyond.intervals import INFLUENCE
from kwis_paper.estimates import PLAIN, SHARED
from kwis_paper.records import CellFacts
from kwis_paper.results import Results
from kwis_paper.store import LEVELS

SEVEN = ("arrhythmia", "soybean", "micro-mass", "optdigits", "yeast", "page-blocks", "pendigits")
"""Datasets of the paper's non-oracle suite."""
SINGLE = (
    *PLAIN,
    *SHARED,
    *(name for name in MAIN_COLUMNS if name != RECOMMENDED and not name.startswith(ORACLE)),
)
"""Estimators among which the best in hindsight is looked for: everything a user could have run."""


PAST = "past-the-paper"
"""Name of the results of these studies where they lie beside those of the paper."""
KERNELS = "kernels"
"""Name of the results with every kernel, likewise."""


def past_the_paper(results: Results) -> Results:
    """Results of these studies: those beside the paper's, with the study of kernels, or these themselves."""
    past, kernels = results.others.get(PAST, results), results.others.get(KERNELS)
    return past if kernels is None else replace(past, others={KERNELS: kernels})


def finished(
    results: Results, setting: str, dataset: str | None = None, column: str = RECOMMENDED
) -> list[CellFacts]:
    """Cells that have results of a pipeline."""
    found = results.outcomes.get(column, {})
    return [facts for facts in results.chosen(setting, dataset) if facts.key in found]


def with_all(results: Results, setting: str, columns: Iterable[str]) -> list[CellFacts]:
    """Cells that have results of every one of some pipelines, so that these can be compared."""
    found = [results.outcomes.get(column, {}) for column in columns]
    return [facts for facts in results.chosen(setting) if all(facts.key in one for one in found)]


def settings_of(results: Results, column: str = RECOMMENDED) -> list[str]:
    """Settings with results of a pipeline, in the order they appear."""
    found = results.outcomes.get(column, {})
    return list(dict.fromkeys(facts.setting for facts in results.cells.values() if facts.key in found))


def datasets_of(cells: Iterable[CellFacts]) -> list[str]:
    """Datasets of some cells, in the order they appear."""
    return list(dict.fromkeys(facts.dataset for facts in cells))


def error(results: Results, estimator: str, cells: Sequence[CellFacts]) -> float:
    """Mean absolute error over the cells that have the estimator; ``nan`` if none has."""
    values = results.errors(estimator, cells, "expected")
    kept = values[np.isfinite(values)]
    return float(kept.mean()) if kept.size else math.nan


@dataclass(frozen=True, slots=True, kw_only=True)
class Regret:
    """The estimator recommended, beside the best single one in hindsight, over some cells."""

    recommended: float
    best: float
    name: str
    n: int

    @property
    def share(self) -> float:
        """By how much the recommended one is worse, relative to the best."""
        return self.recommended / self.best - 1 if self.best > 0 else math.nan


def regret(results: Results, cells: Sequence[CellFacts], weight: Floats | None = None) -> Regret:
    """Regret over some cells, which may count differently."""
    errors = {name: _average(results.errors(name, cells, "expected"), weight) for name in SINGLE}
    finite = {name: value for name, value in errors.items() if math.isfinite(value)}
    best = min(finite, key=lambda name: finite[name], default="")
    chosen = _average(results.errors(RECOMMENDED, cells, "expected"), weight)
    return Regret(recommended=chosen, best=finite.get(best, math.nan), name=best, n=len(cells))


def equal_shares(cells: Sequence[CellFacts]) -> Floats:
    """Weights under which every dataset in every setting counts alike."""
    counts = Counter((facts.setting, facts.dataset) for facts in cells)
    return np.array([1 / counts[facts.setting, facts.dataset] for facts in cells])


def _average(values: Floats, weight: Floats | None) -> float:
    # An estimator without a result in some of the cells cannot be compared over them.
    return (
        math.nan
        if not values.size or not np.isfinite(values).all()
        else float(np.average(values, weights=weight))
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """Mean coverage and width per level over some cells."""

    share: tuple[float, ...]
    width: tuple[float, ...]
    n: int

    def at(self, level: float) -> tuple[float, float]:
        place = LEVELS.index(level)
        return self.share[place], self.width[place]


def coverage(results: Results, estimator: str, method: str, cells: Sequence[CellFacts]) -> Coverage:
    """Coverage of the expected truth by intervals of one method."""
    if method == INFLUENCE:
        kept = [facts for facts in cells if facts.key in results.outcomes.get(estimator, {})]
        shares = results.coverage(estimator, kept, "expected", "influence")
        errors = np.array([results.outcomes[estimator][facts.key].std_error for facts in kept])
        widths = 2 * ndtri((1 + np.array(LEVELS)) / 2) * errors[:, None]
    else:
        found = results.intervals.get((estimator, method), {})
        kept = [facts for facts in cells if facts.key in found]
        shares = (
            np.array([found[facts.key].covered.expected for facts in kept], dtype=np.float64)
            / results.design.test_sets
        )
        widths = np.array([found[facts.key].width for facts in kept], dtype=np.float64)
    if not kept:
        return Coverage(share=(math.nan,) * len(LEVELS), width=(math.nan,) * len(LEVELS), n=0)
    return Coverage(
        share=tuple(map(float, shares.mean(axis=0))),
        width=tuple(map(float, widths.mean(axis=0))),
        n=len(kept),
    )


@dataclass(frozen=True, slots=True)
class Gap:
    """Mean paired difference of errors, first minus second, and its standard error."""

    mean: float
    std_error: float
    n: int


def gap(results: Results, first: str, second: str, cells: Sequence[CellFacts]) -> Gap:
    """Difference of two estimators over the cells that have both."""
    difference = results.errors(first, cells, "expected") - results.errors(second, cells, "expected")
    kept = difference[np.isfinite(difference)]
    if not kept.size:
        return Gap(math.nan, math.nan, 0)
    spread = float(kept.std(ddof=1)) / math.sqrt(kept.size) if kept.size > 1 else math.nan
    return Gap(float(kept.mean()), spread, kept.size)


def degree_of(facts: CellFacts) -> float:
    """Degree to which the log of a cell is wrong about its policy; ``nan`` in settings without degrees."""
    how, sign, rest = facts.behaviour.partition("=")
    return float(rest.partition("(")[0]) if sign and how == facts.setting else math.nan


def measured(results: Results, name: str, cells: Sequence[CellFacts]) -> Floats:
    """A measure of every cell; ``nan`` where there is none."""
    found = results.measures.get(name, {})
    return np.array([found[facts.key].value if facts.key in found else math.nan for facts in cells])


def picks(results: Results, cells: Sequence[CellFacts]) -> dict[str, int]:
    """On how many test sets each pipeline was recommended, most often first."""
    found = results.measures.get("picked", {})
    return dict(
        Counter(
            name for facts in cells if facts.key in found for name in found[facts.key].words.split()
        ).most_common()
    )
