"""Runs the pipelines of cells whose plain estimates are there, and stores what comes out; resumable like the
plain run.

Repairs are fitted and bandwidths chosen for fixed batches of cells, whatever is already done; a cell is
stored whole as soon as it is finished.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import TextIO

import numpy as np

from kwis import select_bandwidths
from kwis.kernel.profiles import KERNELS
from kwis.runtime.threads import default_threads, engine
from kwis.typing import Floats, Ints
from kwis_paper import stages
from kwis_paper.beyond import kernels, rule
from kwis_paper.beyond.averaged import averaged
from kwis_paper.beyond.columns import PARTS, RECOMMENDED, REPAIRS, Part
from kwis_paper.beyond.intervals import BOUNDED, bounds_of, intervals_of
from kwis_paper.beyond.measures import Smoothness, divergence
from kwis_paper.beyond.pipelines import Bandwidths, Bench, ablation, clipped_pipelines, main_pipelines
from kwis_paper.beyond.workshop import Pair, Workshop
from kwis_paper.cost import BATCH
from kwis_paper.datasets import Dataset, load
from kwis_paper.estimates import mean_of
from kwis_paper.grid import Cell
from kwis_paper.progress import Progress
from kwis_paper.records import CellFacts, Measure, PipelineResults, StoredBandwidth
from kwis_paper.runner import Summary, Tally, Task, cells_of
from kwis_paper.sample import stratified, whole_pairs
from kwis_paper.simulate import Laboratory
from kwis_paper.store import Store

REPAIRED_KIND = "repaired"


def run_pipelines(store: Store, task: Task, parts: Sequence[str], stream: TextIO | None = None) -> Summary:
    """Run every pipeline of the parts named on every cell of the task that has no results of it yet."""
    start = time.monotonic()
    datasets = [load(name, label=task.label) for name in task.datasets]
    plan = [
        (dataset, PARTS[name], setting, _cells(dataset, setting, task, PARTS[name]))
        for dataset in datasets
        for setting in task.settings
        for name in parts
        if setting in PARTS[name].settings
    ]
    todo = [_pending(store, part, cells) for _, part, _, cells in plan]
    progress, tally = Progress(sum(map(len, todo)), stream), Tally()
    with engine(task.threads):
        for dataset in datasets:
            bench: _Dataset | None = None
            for (owner, part, setting, cells), pending in zip(plan, todo, strict=True):
                if owner is dataset and pending:
                    bench = bench or _Dataset(
                        store, task, Workshop(Laboratory(dataset, store.design)), progress, tally
                    )
                    bench.run(part, setting, cells, pending)
    progress.close()
    skipped = sum(len(cells) for _, _, _, cells in plan) - sum(map(len, todo))
    return Summary(
        finished=tally.finished, skipped=skipped, failed=len(tally.failed), seconds=time.monotonic() - start
    )


def _cells(dataset: Dataset, setting: str, task: Task, part: Part) -> list[Cell]:
    cells = cells_of(dataset, setting, task)
    if part.cells:
        drawn = set(stratified(cells, part.cells))
        return [cell for cell in cells if cell.key in drawn]
    return whole_pairs(cells, part.pairs) if part.pairs else cells


def _pending(store: Store, part: Part, cells: Sequence[Cell]) -> set[str]:
    finished = store.finished(part.columns)
    return {cell.key for cell in cells if any((cell.key, name) not in finished for name in part.columns)}


class _Dataset:
    """The pipelines of one dataset."""

    def __init__(
        self, store: Store, task: Task, workshop: Workshop, progress: Progress, tally: Tally
    ) -> None:
        self.store, self.task, self.workshop, self.progress, self.tally = (
            store,
            task,
            workshop,
            progress,
            tally,
        )
        self.laboratory = workshop.laboratory
        self.sums = stages.Sums(self.laboratory.test_context)
        self.smoothness = Smoothness(self.laboratory)

    def run(self, part: Part, setting: str, cells: Sequence[Cell], pending: set[str]) -> None:
        for batch in (cells[start : start + BATCH] for start in range(0, len(cells), BATCH)):
            todo = [cell for cell in batch if cell.key in pending]
            if not todo:
                continue
            begun = time.monotonic()
            self._prepare(part, batch)
            for cell in todo:
                self._guarded(part, cell)
                self.progress.advance(1, f"{self.laboratory.dataset.name} {setting} {part.name}")
            threads = self.task.threads or default_threads()
            stage = f"{part.name} pipelines"
            self.store.save_timing(
                self.laboratory.dataset.name, setting, stage, len(todo), time.monotonic() - begun, threads
            )

    def _prepare(self, part: Part, batch: Sequence[Cell]) -> None:
        """Fit what the cells of a batch share, several pairs at a time."""
        pairs = [Pair.of(cell) for cell in batch]
        if part.name in ("main", "bounds"):
            self.workshop.prepare(pairs)
        if part.name == "main":
            self._choose_repaired(batch)
        if part.name == "ablation":
            self.workshop.prepare(pairs, REPAIRS)
        if part.name == "kernels" and not all(
            self.store.bandwidth(cell.key, kernels.kind_of(kernel)) for cell in batch for kernel in KERNELS
        ):
            self.store.save_bandwidths(kernels.choose_by_kernel(self.laboratory, batch))

    def _guarded(self, part: Part, cell: Cell) -> None:
        try:
            results = self._stage(part)(cell)
            self.store.save_pipelines(CellFacts.of(cell, self.laboratory.experiment(cell)), results)
            self.tally.finished += 1
        except (
            Exception
        ) as trouble:  # whatever goes wrong in a cell is part of the results, and must not stop the others
            self.tally.failed.add(cell.key)
            self.store.save_failure(cell.key, part.columns, f"{type(trouble).__name__}: {trouble}")

    def _stage(self, part: Part) -> Callable[[Cell], PipelineResults]:
        stages_of = {
            "main": self._main,
            "ablation": self._ablation,
            "bandwidths": self._bandwidths,
            "bounds": self._bounds,
        }
        return {**stages_of, "averages": self._averages, "kernels": self._kernels}[part.name]

    def _main(self, cell: Cell) -> PipelineResults:
        repaired = self.workshop.repair(Pair.of(cell))
        given = self._bandwidth(cell, stages.SHARED_KIND)
        bandwidths = Bandwidths(
            given=given, repaired=given if repaired.kept else self._bandwidth(cell, REPAIRED_KIND)
        )
        found = main_pipelines(self.workshop, cell, self.sums.pairs, bandwidths)
        explained = self.workshop.rewards(cell.logging).explained
        clipped = clipped_pipelines(self.workshop, cell)
        picked = rule.picked(found, clipped, kept=repaired.kept, explained=explained)
        columns = PARTS["main"].columns
        named = ((name, one.estimates) for name, one in found.items() if name in columns)
        return PipelineResults(
            estimates=(*named, (RECOMMENDED, rule.estimates(found, picked, clipped))),
            intervals=intervals_of(found, self.laboratory.experiment(cell).reward, picked, clipped),
            measures=(
                Measure(name="picked", value=math.nan, words=" ".join(picked)),
                Measure(name="isolation", value=float(rule.isolation(found).mean())),
                *self._measures(cell),
            ),
        )

    def _measures(self, cell: Cell) -> tuple[Measure, ...]:
        pair, rows = Pair.of(cell), self.laboratory.rows[1]
        repaired = self.workshop.repair(pair)
        truth, said = (self.laboratory.probabilities(policy)[rows] for policy in pair)
        return (
            Measure(name="misfit", value=divergence(truth, said)),
            Measure(name="misfit-repaired", value=divergence(truth, repaired.test)),
            Measure(name="repair", value=repaired.p_value, words="kept" if repaired.kept else "repaired"),
            Measure(name="explained", value=self.workshop.rewards(cell.logging).explained),
            Measure(
                name="smoothness", value=self.smoothness.of(self.laboratory.evaluated(cell), cell.behaviour)
            ),
        )

    def _ablation(self, cell: Cell) -> PipelineResults:
        found = ablation(self.workshop, cell, REPAIRS)
        return PipelineResults(estimates=tuple((name, one.estimates) for name, one in found.items()))

    def _bounds(self, cell: Cell) -> PipelineResults:
        bench, rows = Bench.of(self.workshop, cell), self.laboratory.rows[1]
        made: list[tuple[str, str, Floats]] = []
        behaviours = (
            self.laboratory.probabilities(cell.behaviour)[rows],
            self.workshop.repair(Pair.of(cell)).test,
        )
        for name, behaviour in zip(BOUNDED, behaviours, strict=True):
            largest = float((bench.evaluation / behaviour).max())
            made += bounds_of(name, bench.weight(behaviour), bench.reward, largest)
        repaired = mean_of(bench.weight(behaviours[1]) * bench.reward)
        return PipelineResults(estimates=((BOUNDED[1], repaired.estimates),), intervals=tuple(made))

    def _bandwidths(self, cell: Cell) -> PipelineResults:
        shared = self._bandwidth(cell, stages.SHARED_KIND)
        return PipelineResults(
            estimates=tuple(kernels.by_criterion(self.laboratory, cell, self.sums.pairs, shared).items())
        )

    def _averages(self, cell: Cell) -> PipelineResults:
        return PipelineResults(estimates=tuple(averaged(self.laboratory, cell, self.sums.pairs).items()))

    def _kernels(self, cell: Cell) -> PipelineResults:
        bandwidths = {kernel: self._bandwidth(cell, kernels.kind_of(kernel)) for kernel in KERNELS}
        return PipelineResults(
            estimates=tuple(kernels.by_kernel(self.laboratory.experiment(cell), bandwidths).items())
        )

    def _bandwidth(self, cell: Cell, kind: str) -> float:
        stored = self.store.bandwidth(cell.key, kind)
        if stored is None:
            raise ValueError(f"no {kind} bandwidth is stored for this cell")
        return float(stored.value[0])

    def _choose_repaired(self, batch: Sequence[Cell]) -> None:
        """Bandwidths for the repaired weights of a batch, where anything was repaired."""
        changed = [cell for cell in batch if not self.workshop.repair(Pair.of(cell)).kept]
        if all(self.store.bandwidth(cell.key, REPAIRED_KIND) is not None for cell in changed):
            return
        train = self.laboratory.rows[0]
        weights = np.stack([self._repaired_weight(cell, train) for cell in changed], axis=1)
        usable = [
            number
            for number in range(len(changed))
            if np.isfinite(weights[:, number]).all() and weights[:, number].any()
        ]
        if not usable:
            return
        choices = select_bandwidths(
            self.laboratory.train_context, weights[:, usable], folds=self.laboratory.fold_labels
        )
        self.store.save_bandwidths(
            StoredBandwidth.of(changed[number].key, REPAIRED_KIND, choice)
            for number, choice in zip(usable, choices, strict=True)
        )

    def _repaired_weight(self, cell: Cell, train: Ints) -> Floats:
        action = self.laboratory.log(cell.logging, 0).action
        propensity = self.workshop.repair(Pair.of(cell)).train[np.arange(train.size), action]
        return self.laboratory.target(cell)[train, action] / propensity
