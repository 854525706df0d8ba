"""What tables and figures are made of: one record per cell and estimator, whether read from a store or from committed files."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np
from scipy.special import ndtri

from kwis.errors import InputError
from kwis.paper.records import CellFacts, Measure, StoredEstimate
from kwis.paper.simulate import Design
from kwis.paper.store import LEVELS, Store
from kwis.typing import Floats

Truth = Literal["published", "expected"]
TRUTHS: tuple[Truth, ...] = ("published", "expected")
IntervalKind = Literal["influence", "bootstrap"]
INTERVALS: tuple[IntervalKind, ...] = ("influence", "bootstrap")


@dataclass(frozen=True, slots=True)
class Covered:
    """Test sets whose interval covers each truth, one count per level of :data:`kwis.paper.store.LEVELS`."""

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
        Coverage of intervals from the influence function and of percentile bootstrap intervals, where they were run.
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

    def covered(self, kind: IntervalKind) -> Covered | None:
        return self.influence if kind == "influence" else self.bootstrap


@dataclass(frozen=True, slots=True)
class Spanned:
    """Intervals of one cell by one method: test sets covered, and mean width per level."""

    covered: Covered
    width: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenBandwidth:
    """Mean and spread over the features of a cell's bandwidth; a spread beyond the range of numbers is infinite."""

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

    def chosen(self, setting: str, dataset: str | None = None) -> list[CellFacts]:
        """Cells of a setting, and of a dataset if one is named."""
        return [facts for facts in self.cells.values() if facts.setting == setting and dataset in (None, facts.dataset)]

    def datasets(self, setting: str) -> list[str]:
        """Datasets with results in a setting, in the order they appear."""
        return list(dict.fromkeys(facts.dataset for facts in self.cells.values() if facts.setting == setting))

    def errors(self, estimator: str, cells: Iterable[CellFacts], truth: Truth) -> Floats:
        """Mean absolute errors; ``nan`` where the estimator has no result."""
        found = self.outcomes.get(estimator, {})
        return np.array([found[one.key].error(truth) if one.key in found else math.nan for one in cells])

    def values(self, estimator: str, cells: Iterable[CellFacts]) -> Floats:
        """Mean estimates; ``nan`` where the estimator has no result."""
        found = self.outcomes.get(estimator, {})
        return np.array([found[one.key].value if one.key in found else math.nan for one in cells])

    def coverage(self, estimator: str, cells: Iterable[CellFacts], truth: Truth, kind: IntervalKind) -> Floats:
        """``(cells, levels)`` share of test sets covered; ``nan`` where there are no intervals of this kind."""
        found = self.outcomes.get(estimator, {})
        counts = [covered.of(truth) if one.key in found and (covered := found[one.key].covered(kind)) else None for one in cells]
        rows = [(math.nan,) * len(LEVELS) if count is None else count for count in counts]
        return np.array(rows, dtype=np.float64).reshape(len(rows), len(LEVELS)) / self.design.test_sets


def read_store(path: Path | str) -> Results:
    """Results in a store, of finished cells only."""
    if not Path(path).is_file():
        raise InputError(f"`store` must be a file with results, got {str(path)!r} and there is none")
    with Store(path) as store:
        cells = {facts.key: facts for facts in store.cells()}
        estimators = store.estimators()
        return Results(
            design=store.design,
            cells=dict(sorted(cells.items(), key=lambda item: place_of(item[1]))),
            outcomes={name: _outcomes(store, name, cells) for name in estimators},
            bandwidths={kind: _bandwidths(store, kind) for kind in store.bandwidth_kinds()},
            curves=store.curves(),
            timings=tuple(
                Timing(dataset=dataset, setting=setting, stage=stage, cells=count, seconds=seconds, threads=threads)
                for dataset, setting, stage, count, seconds, threads in store.timings()
            ),
            failures=tuple(Failure(*row) for row in store.failures()),
            replicates=store.replicates(),
            intervals=_intervals(store, cells),
            measures=_measures(store),
        )


def place_of(facts: CellFacts) -> tuple[str, ...]:
    """What cells are sorted by."""
    return (facts.dataset, facts.setting, facts.logging, facts.behaviour, facts.evaluation)


def _outcomes(store: Store, estimator: str, cells: Mapping[str, CellFacts]) -> dict[str, Outcome]:
    stored = [one for one in store.estimates(estimator) if one.error is None and one.key in cells]
    if not stored:
        return {}
    return dict(zip((one.key for one in stored), summarise(stored, cells, store.bootstrap_ends(estimator)), strict=True))


def summarise(stored: Sequence[StoredEstimate], cells: Mapping[str, CellFacts], ends: Mapping[str, Floats]) -> list[Outcome]:
    """Reduce the estimates on all test sets to what tables need, many cells at once."""
    value = np.stack([one.value for one in stored if one.value is not None])
    std_error = np.stack([one.std_error for one in stored if one.std_error is not None])
    truths = np.array([[cells[one.key].truth_published, cells[one.key].truth_expected] for one in stored])
    errors = np.abs(value[:, None, :] - truths[:, :, None]).mean(axis=2)
    reach = ndtri((1 + np.array(LEVELS)) / 2)[:, None] * std_error[:, None, :]
    influence = _covered(value[:, None, :] - reach, value[:, None, :] + reach, truths)
    bootstrapped = [place for place, one in enumerate(stored) if one.key in ends]
    bootstrap: dict[int, Covered] = {}
    if bootstrapped:
        both = np.stack([ends[stored[place].key] for place in bootstrapped])
        bootstrap = dict(zip(bootstrapped, _covered(both[:, :, 0], both[:, :, 1], truths[bootstrapped]), strict=True))
    return [
        Outcome(
            value=short(value[place].mean()),
            std_error=short(std_error[place].mean()),
            error_published=short(errors[place, 0]),
            error_expected=short(errors[place, 1]),
            influence=influence[place],
            bootstrap=bootstrap.get(place),
            kernel_average=None if one.kernel_average is None else short(one.kernel_average),
        )
        for place, one in enumerate(stored)
    ]


def short(value: float, digits: int = 7) -> float:
    """Number to so many significant digits: what is kept of results, so that tables are the same from a store and from its export.

    It also makes equal what differs by rounding alone, such as Kernel-WIS at an infinite bandwidth and WIS.
    """
    return float(f"{value:.{digits}g}") if math.isfinite(value) else float(value)


def _covered(low: Floats, high: Floats, truths: Floats) -> list[Covered]:
    """Counts from interval ends ``(cells, levels, test_sets)`` and truths ``(cells, 2)``."""
    inside = [((low <= truth) & (truth <= high)).sum(axis=2).tolist() for truth in (truths[:, 0, None, None], truths[:, 1, None, None])]
    return [Covered(tuple(published), tuple(expected)) for published, expected in zip(*inside, strict=True)]


def _intervals(store: Store, cells: Mapping[str, CellFacts]) -> dict[tuple[str, str], dict[str, Spanned]]:
    found: dict[tuple[str, str], dict[str, Spanned]] = {}
    for key, estimator, method, ends in store.intervals():
        if key in cells:
            truths = np.array([[cells[key].truth_published, cells[key].truth_expected]])
            covered = _covered(ends[None, :, 0], ends[None, :, 1], truths)[0]
            width = tuple(short(value, 5) for value in (ends[:, 1] - ends[:, 0]).mean(axis=1))
            found.setdefault((estimator, method), {})[key] = Spanned(covered, width)
    return found


def _measures(store: Store) -> dict[str, dict[str, Measure]]:
    found: dict[str, dict[str, Measure]] = {}
    for key, one in store.measures():
        found.setdefault(one.name, {})[key] = Measure(name=one.name, value=short(one.value, 5), words=one.words)
    return found


def _bandwidths(store: Store, kind: str) -> dict[str, ChosenBandwidth]:
    return {key: _spread(one.value, one.evaluations) for key, one in store.bandwidths(kind).items()}


def _spread(value: Floats, evaluations: int) -> ChosenBandwidth:
    with np.errstate(over="ignore", invalid="ignore"):
        mean, std = float(value.mean()), float(value.std())
    # The spread of infinite bandwidths is no number; it is kept as the overflow it is.
    return ChosenBandwidth(mean=short(mean), std=math.inf if math.isnan(std) else short(std), features=value.size, evaluations=evaluations)
