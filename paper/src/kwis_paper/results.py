"""What tables and figures are made of: one record per cell and estimator, whether read from a store or from
committed files.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np

from kwis.typing import Floats
from kwis_paper.records import CellFacts, Measure
from kwis_paper.simulate import Design
from kwis_paper.store import LEVELS

if TYPE_CHECKING:
    from kwis_paper.setups import Trial

Truth = Literal["published", "expected"]
TRUTHS: tuple[Truth, ...] = ("published", "expected")
IntervalKind = Literal["influence", "bootstrap", "fixed-percentile", "fixed-bca"]
INTERVALS: tuple[IntervalKind, ...] = ("influence", "bootstrap", "fixed-percentile")
"""Kinds of intervals with a table of their own; the fixed ones are the paper's."""
DIGITS = 7
"""Significant digits kept of the paper's estimators."""


@dataclass(frozen=True, slots=True)
class Covered:
    """Test sets whose interval covers each truth, one count per level of :data:`kwis_paper.store.LEVELS`."""

    published: tuple[int, ...]
    expected: tuple[int, ...]

    def of(self, truth: Truth) -> tuple[int, ...]:
        return self.published if truth == "published" else self.expected


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """One cell by one estimator, over its test sets.

    Attributes
    ----------
    value, std_error
        Means of the estimates and of their standard errors.
    error_published, error_expected
        Mean absolute error against either truth.
    influence, bootstrap
        Coverage of intervals from the influence function and of percentile bootstrap intervals, where they
        were run.
    """

    value: float
    std_error: float
    error_published: float
    error_expected: float
    influence: Covered
    bootstrap: Covered | None = None
    kernel_average: float | None = None

    def error(self, truth: Truth) -> float:
        return self.error_published if truth == "published" else self.error_expected


@dataclass(frozen=True, slots=True)
class Spanned:
    """Intervals of one cell by one method: test sets covered, and mean width per level."""

    covered: Covered
    width: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenBandwidth:
    """Mean and spread over the features of a cell's bandwidth; a spread beyond the range of numbers is
    infinite.
    """

    mean: float
    std: float
    features: int
    evaluations: int

    @property
    def overflowed(self) -> bool:
        return not (math.isfinite(self.mean) and math.isfinite(self.std))


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """Seconds a stage took for all its cells."""

    dataset: str
    setting: str
    stage: str
    cells: int
    seconds: float
    threads: int


@dataclass(frozen=True, slots=True)
class Failure:
    """A cell without estimates, and why."""

    key: str
    estimator: str
    error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """Where results come from: the command and the version of the package that made them."""

    command: str = ""
    version: str = ""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Results:
    """All results of a run.

    Attributes
    ----------
    outcomes
        By estimator, then by the key of the cell.
    bandwidths
        By kind (``shared``, ``per-feature``, ``per-feature-plain``), then by the key of the cell.
    curves
        By dataset and name.
    replicates
        Resamples of the bootstrap intervals, 0 if there are none.
    intervals
        Those of pipelines, by estimator and method, then by the key of the cell.
    measures
        By name, then by the key of the cell.
    others
        Results of other designs that are shown beside these, by name: another reading of continuous rewards,
        another test share, studies past the paper.
    trials
        Ways to train policies that were tried.
    """

    design: Design
    cells: Mapping[str, CellFacts]
    outcomes: Mapping[str, Mapping[str, Outcome]]
    bandwidths: Mapping[str, Mapping[str, ChosenBandwidth]]
    curves: Mapping[tuple[str, str], Floats]
    timings: tuple[Timing, ...] = ()
    failures: tuple[Failure, ...] = ()
    replicates: int = 0
    provenance: Provenance = Provenance()
    intervals: Mapping[tuple[str, str], Mapping[str, Spanned]] = field(default_factory=dict)
    measures: Mapping[str, Mapping[str, Measure]] = field(default_factory=dict)
    others: Mapping[str, Results] = field(default_factory=dict)
    trials: tuple[Trial, ...] = ()

    def chosen(self, setting: str, dataset: str | None = None) -> list[CellFacts]:
        """Cells of a setting, and of a dataset if one is named."""
        return [
            facts
            for facts in self.cells.values()
            if facts.setting == setting and dataset in (None, facts.dataset)
        ]

    def datasets(self, setting: str) -> list[str]:
        """Datasets with results in a setting, in the order they appear."""
        return list(dict.fromkeys(facts.dataset for facts in self.cells.values() if facts.setting == setting))

    def shared_seconds(self) -> dict[str, float]:
        """By dataset, how long training, bandwidths and estimates of the paper's experiments took, with
        shared bandwidths and no bootstrap.
        """
        published = {(facts.dataset, facts.setting) for facts in self.cells.values() if facts.published}
        spent: dict[str, float] = {}
        for timing in self.timings:
            if (
                timing.stage in ("training", "bandwidths", "estimates")
                and (timing.dataset, timing.setting) in published
            ):
                spent[timing.dataset] = spent.get(timing.dataset, 0.0) + timing.seconds
        return spent

    def errors(self, estimator: str, cells: Iterable[CellFacts], truth: Truth) -> Floats:
        """Mean absolute errors; ``nan`` where the estimator has no result."""
        found = self.outcomes.get(estimator, {})
        return np.array([found[one.key].error(truth) if one.key in found else math.nan for one in cells])

    def values(self, estimator: str, cells: Iterable[CellFacts]) -> Floats:
        """Mean estimates; ``nan`` where the estimator has no result."""
        found = self.outcomes.get(estimator, {})
        return np.array([found[one.key].value if one.key in found else math.nan for one in cells])

    def coverage(
        self, estimator: str, cells: Iterable[CellFacts], truth: Truth, kind: IntervalKind
    ) -> Floats:
        """``(cells, levels)`` share of test sets covered; ``nan`` where there are no intervals of
        this kind.
        """
        covered = (self._covered(estimator, one.key, kind) for one in cells)
        counts = [None if one is None else one.of(truth) for one in covered]
        rows = [(math.nan,) * len(LEVELS) if count is None else count for count in counts]
        return np.array(rows, dtype=np.float64).reshape(len(rows), len(LEVELS)) / self.design.test_sets

    def _covered(self, estimator: str, key: str, kind: IntervalKind) -> Covered | None:
        if kind in ("influence", "bootstrap"):
            outcome = self.outcomes.get(estimator, {}).get(key)
            return None if outcome is None else getattr(outcome, kind)
        spanned = self.intervals.get((estimator, kind), {}).get(key)
        return None if spanned is None else spanned.covered


def place_of(facts: CellFacts) -> tuple[str, ...]:
    """What cells are sorted by."""
    return (facts.dataset, facts.setting, facts.logging, facts.behaviour, facts.evaluation)


def short(value: float, digits: int = DIGITS) -> float:
    """Number to so many significant digits: what is kept of results, so that tables are the same from a store
    and from its export.

    It also makes equal what differs by rounding alone, such as Kernel-WIS at an infinite bandwidth and WIS.
    """
    return float(f"{value:.{digits}g}") if math.isfinite(value) else float(value)
