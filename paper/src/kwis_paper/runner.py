"""Runs cells and stores what comes out; stopped anywhere and started again, it goes on where it was.

Bandwidths are chosen for fixed batches of cells, whatever is already done, so that a resumed run does the
same arithmetic as an undisturbed one; they are stored before anything is estimated with them. Each cell is
stored as soon as it is finished. A run claims a batch before it starts on it and leaves batches that another
living run has claimed to that one, so that several runs on one store share the work.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import TextIO

from kwis import InputError, WeightedSample
from kwis.estimators import Estimator
from kwis.runtime.threads import default_threads, engine
from kwis.typing import Bandwidth
from kwis_paper import cost, stages
from kwis_paper.catalogue import DatasetSpec
from kwis_paper.datasets import Dataset, load
from kwis_paper.estimates import PER_FEATURE, PLAIN, SHARED
from kwis_paper.grid import SETTINGS, Cell, dataset_cells
from kwis_paper.progress import Progress
from kwis_paper.records import CellFacts, StoredBandwidth
from kwis_paper.sample import whole_pairs
from kwis_paper.simulate import Design, Laboratory
from kwis_paper.store import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What to run.

    Attributes
    ----------
    datasets
        Names of datasets, or the path of one table with its ``label``.
    settings
        Settings of the grid.
    left_out
        Also run the cells the paper left out for their cost.
    extra
        Estimators from outside the package, each a column of its own.
    replicates
        Bootstrap resamples; 0 for none.
    per_feature
        ``per-feature`` or ``per-feature-plain`` bandwidths instead of shared ones, for the cells ``only``
        (all if None).
    pairs
        Take so many pairs of logging and behaviour policy from each dataset and setting, with all their
        cells; 0 for all. Bandwidths are chosen for batches of the cells taken, so they agree with those of a
        whole run to the tolerance of the search only.
    threads
        Threads of the engine; all cores if None.
    """

    datasets: tuple[str, ...]
    settings: tuple[str, ...] = SETTINGS
    label: str | None = None
    left_out: bool = False
    extra: tuple[Estimator[WeightedSample], ...] = ()
    replicates: int = 0
    per_feature: str | None = None
    only: frozenset[str] | None = None
    pairs: int = 0
    threads: int | None = None

    @property
    def estimators(self) -> tuple[str, ...]:
        """Names of the estimators asked for."""
        if self.per_feature is not None:
            return (stages.estimator_of(self.per_feature),)
        return (*PLAIN, *SHARED, *(one.name for one in self.extra))


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """What a run did, and how many cells it left to another run that was at work on them."""

    finished: int
    skipped: int
    failed: int
    seconds: float
    elsewhere: int = 0

    def plus(self, other: Summary) -> Summary:
        """Both runs taken together."""
        return Summary(
            finished=self.finished + other.finished,
            skipped=self.skipped + other.skipped,
            failed=self.failed + other.failed,
            seconds=self.seconds + other.seconds,
            elsewhere=self.elsewhere + other.elsewhere,
        )


@dataclass(slots=True)
class Tally:
    """What a run has done so far."""

    finished: int = 0
    elsewhere: int = 0
    failed: set[str] = field(default_factory=set)


def estimator_from(path: str) -> Estimator[WeightedSample]:
    """An estimator named as ``module:attribute``: an instance, or a class to be called without arguments."""
    module, _, attribute = path.partition(":")
    if not module or not attribute:
        raise InputError(f"`estimator` must look like my.module:MyEstimator, got {path!r}")
    try:
        found = getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise InputError(
            f"`estimator` must name something that can be imported, got {path!r} ({error})"
        ) from error
    estimator = found() if isinstance(found, type) else found
    if not callable(getattr(estimator, "estimate", None)) or not isinstance(
        getattr(estimator, "name", None), str
    ):
        raise InputError(f"`estimator` must have a name and a method estimate(sample), got {path!r}")
    if estimator.name in (*PLAIN, *SHARED, PER_FEATURE):
        raise InputError(f"`estimator` must have a name of its own, got {estimator.name!r}")
    return estimator


def run(store: Store, task: Task, stream: TextIO | None = None) -> Summary:
    """Run every cell of the task that has no results yet; failed ones are tried again."""
    start = time.monotonic()
    datasets = [load(name, label=task.label) for name in task.datasets]
    plan = [
        (dataset, setting, cells_of(dataset, setting, task))
        for dataset in datasets
        for setting in task.settings
    ]
    total = sum(len(cells) for _, _, cells in plan)
    pending = {(dataset.name, setting): pending_of(store, task, cells) for dataset, setting, cells in plan}
    left = sum(map(len, pending.values()))
    work = sum(
        len(pending[dataset.name, setting]) * _searching(dataset, task, store.design)
        + cost.of_cells(dataset.n, len(pending[dataset.name, setting]), store.design)
        for dataset, setting, _ in plan
    )
    progress = Progress(left, stream, work=work)
    tally = Tally()
    with engine(task.threads):
        for dataset in datasets:
            laboratory = Laboratory(dataset, store.design)
            sums = stages.Sums(laboratory.test_context)
            for _, setting, cells in (part for part in plan if part[0] is dataset):
                if pending[dataset.name, setting]:
                    _Setting(store, task, laboratory, sums, setting, progress, tally).run(cells)
            _save_curves(store, laboratory)
    progress.close()
    return Summary(
        finished=tally.finished,
        skipped=total - left,
        failed=len(tally.failed),
        elsewhere=tally.elsewhere,
        seconds=time.monotonic() - start,
    )


def _searching(dataset: Dataset, task: Task, design: Design) -> float:
    """Cost of the bandwidths of a cell beside the shared one."""
    return cost.searching(dataset.n, dataset.context.shape[1], design) if task.per_feature else 0.0


def cells_of(dataset: Dataset | DatasetSpec, setting: str, task: Task) -> list[Cell]:
    """Cells of a task in one dataset and setting."""
    cells = [
        cell
        for cell in dataset_cells(dataset.name, dataset.faulty, [setting])
        if task.left_out or not cell.left_out
    ]
    return whole_pairs(cells, task.pairs) if task.pairs else cells


def pending_of(store: Store, task: Task, cells: Iterable[Cell]) -> set[str]:
    """Keys of cells with something left to do."""
    finished = store.finished(task.estimators)
    bootstrapped = store.bootstrapped(task.replicates) if task.replicates else set()
    return {
        cell.key
        for cell in cells
        if (task.only is None or cell.key in task.only)
        and (
            any((cell.key, name) not in finished for name in task.estimators)
            or (task.replicates and any((cell.key, name) not in bootstrapped for name in (*PLAIN, *SHARED)))
        )
    }


@dataclass
class _Setting:
    """The cells of one dataset in one setting."""

    store: Store
    task: Task
    laboratory: Laboratory
    sums: stages.Sums
    setting: str
    progress: Progress
    tally: Tally

    def run(self, cells: Sequence[Cell]) -> None:
        for batch in (cells[start : start + cost.BATCH] for start in range(0, len(cells), cost.BATCH)):
            if not pending_of(self.store, self.task, batch):
                continue
            with self.store.claimed(batch[0].key) as free:
                # Another run may have finished the batch since, or be at it.
                todo = pending_of(self.store, self.task, batch)
                if free:
                    self._batch(batch, [cell for cell in batch if cell.key in todo])
                else:
                    self.tally.elsewhere += len(todo)

    def _batch(self, batch: Sequence[Cell], todo: Sequence[Cell]) -> None:
        label = f"{self.laboratory.dataset.name} {self.setting}"
        n, design = self.laboratory.dataset.n, self.store.design
        each = cost.estimating(n, design) + _searching(self.laboratory.dataset, self.task, design)
        begun = time.monotonic()
        trained = self.laboratory.train(batch)
        if trained:
            self._time_before("training", trained, begun)
        begun = time.monotonic()
        shared, errors = self._shared(batch)
        self._time_before("bandwidths", len(todo), begun)
        self.progress.advance(0, label, cost.choosing(n, len(todo), design))
        begun = time.monotonic()
        for cell in todo:
            self._cell(cell, shared.get(cell.key), errors.get(cell.key))
            self.progress.advance(1, label, each)
        self._time(self._stage, len(todo), begun)

    @property
    def _stage(self) -> str:
        return self.task.per_feature or (
            f"estimates and {self.task.replicates} resamples" if self.task.replicates else "estimates"
        )

    def _shared(self, batch: Sequence[Cell]) -> tuple[dict[str, StoredBandwidth], dict[str, str]]:
        """Shared bandwidths of a batch, chosen if any of them is not stored, and why some cells have none."""
        found = (self.store.bandwidth(cell.key, stages.SHARED_KIND) for cell in batch)
        stored = {one.key: one for one in found if one is not None}
        if len(stored) == len(batch):
            return stored, {}
        chosen = stages.choose_shared(self.laboratory, batch)
        self.store.save_bandwidths(one for one in chosen.bandwidths if one.key not in stored)
        return {one.key: one for one in chosen.bandwidths} | stored, dict(chosen.errors)

    def _cell(self, cell: Cell, shared: StoredBandwidth | None, error: str | None) -> None:
        try:
            if shared is None:
                raise ValueError(error)
            self._estimate(cell, float(shared.value[0]))
            self.tally.finished += 1
        except (
            Exception
        ) as trouble:  # whatever goes wrong in a cell is part of the results, and must not stop the others
            self.tally.failed.add(cell.key)
            missing = [
                name
                for name in self.task.estimators
                if (cell.key, name) not in self.store.finished(self.task.estimators)
            ]
            self.store.save_failure(cell.key, missing, f"{type(trouble).__name__}: {trouble}")

    def _estimate(self, cell: Cell, shared: float) -> None:
        experiment = self.laboratory.experiment(cell)
        bandwidths: dict[str, Bandwidth] = {stages.SHARED_KIND: shared}
        if self.task.per_feature is not None:
            bandwidths[self.task.per_feature] = self._per_feature(cell, self.task.per_feature, shared)
        counts = None if self.task.per_feature else self.laboratory.resamples
        found = stages.estimate(
            experiment, self.task.estimators, self.sums, bandwidths, self.task.extra, counts
        )
        self.store.save_estimates(CellFacts.of(cell, experiment), found.estimates.items(), found.intervals)
        if self.task.replicates:
            ends = stages.bootstrap(experiment, self.task.replicates, self.sums, shared)
            self.store.save_bootstrap(cell.key, self.task.replicates, ends.items())

    def _per_feature(self, cell: Cell, kind: str, shared: float) -> Bandwidth:
        stored = self.store.bandwidth(cell.key, kind)
        if stored is None:
            stored = stages.choose_per_feature(self.laboratory, cell, kind, shared)
            self.store.save_bandwidths([stored])
        return stored.value

    def _time_before(self, stage: str, cells: int, begun: float) -> None:
        """Time of what comes before the estimates, all for per-feature bandwidths where they are run."""
        if self.task.per_feature:
            self._time(self.task.per_feature, 0, begun)
        else:
            self._time(stage, cells, begun)

    def _time(self, stage: str, cells: int, begun: float) -> None:
        threads = self.task.threads or default_threads()
        self.store.save_timing(
            self.laboratory.dataset.name, self.setting, stage, cells, time.monotonic() - begun, threads
        )


def _save_curves(store: Store, laboratory: Laboratory) -> None:
    """Keep the curves of what was trained on the way."""
    for name, values in laboratory.curves().items():
        store.save_curve(laboratory.dataset.name, name, values)
