"""How far a run has come, from its store."""

from __future__ import annotations

from dataclasses import dataclass

from kwis_paper.catalogue import SPECS
from kwis_paper.datasets import load
from kwis_paper.grid import Cell
from kwis_paper.runner import Task, cells_of
from kwis_paper.store import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingStatus:
    """Cells of one dataset and setting: how many there are, are finished with every estimator of the task,
    and failed.
    """

    dataset: str
    setting: str
    total: int
    finished: int
    failed: int


def status(store: Store, task: Task) -> tuple[SettingStatus, ...]:
    """State of every dataset and setting of a task."""
    finished = store.finished(task.estimators)
    failed = {key for key, estimator, _ in store.failures() if estimator in task.estimators}
    found: list[SettingStatus] = []
    for dataset, setting, cells in _parts(task):
        found.append(
            SettingStatus(
                dataset=dataset,
                setting=setting,
                total=len(cells),
                finished=sum(all((cell.key, name) in finished for name in task.estimators) for cell in cells),
                failed=sum(cell.key in failed for cell in cells),
            )
        )
    return tuple(found)


def _parts(task: Task) -> list[tuple[str, str, list[Cell]]]:
    parts = []
    for name in task.datasets:
        # Datasets of the paper are known by name; a table of one's own must be read to know its name and
        # classes.
        known = SPECS[name] if task.label is None and name in SPECS else load(name, label=task.label)
        for setting in task.settings:
            cells = cells_of(known, setting, task)
            if cells:
                parts.append((known.name, setting, cells))
    return parts
