"""One experiment at a time, for study."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from kwis import InputError, select_bandwidth
from kwis_paper.catalogue import SPECS
from kwis_paper.datasets import load
from kwis_paper.grid import ALL_SETTINGS, Cell, cells
from kwis_paper.simulate import Design, Experiment, Laboratory
from kwis_paper.stages import SHARED_KIND
from kwis_paper.store import Store


def cell(key: str, store: Path | str | None = None) -> Experiment:
    """Arrays of the experiment with this key: contexts, weights and rewards of all test sets, both truths and
    the bandwidth.

    Parameters
    ----------
    key
        As shown by the tables and kept in the store.
    store
        Results to take the design and the bandwidth from. Without it the bandwidth is selected for this cell
        alone, which agrees with the run's to about 1e-6 in the score it minimises.
    """
    found = cell_of(key)
    if store is None:
        design, stored = Design(), None
    else:
        with Store(store) as results:
            design, stored = results.design, results.bandwidth(key, SHARED_KIND)
    laboratory = _laboratory(found.dataset, design)
    experiment = laboratory.experiment(found)
    if stored is not None:
        return replace(experiment, bandwidth=float(stored.value[0]))
    choice = select_bandwidth(experiment.train_context, experiment.train_weight, folds=laboratory.fold_labels)
    return replace(experiment, bandwidth=float(choice.value))


def cell_of(key: str) -> Cell:
    """The cell of the grid that has this key."""
    for candidate in cells(SPECS, ALL_SETTINGS):
        if candidate.key == key:
            return candidate
    raise InputError(f"`key` must be that of a cell of the paper's grid, got {key!r}")


@lru_cache(maxsize=1)
def _laboratory(dataset: str, design: Design) -> Laboratory:
    return Laboratory(load(dataset), design)
