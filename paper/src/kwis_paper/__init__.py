"""The paper, reproduced: datasets -> policies -> grid of cells -> runner -> store -> tables and figures.

``run`` fills a :class:`Store` with the results of a :class:`Task`; ``cell`` returns the arrays of one
experiment. Names are loaded when first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kwis_paper.datasets import Dataset, load
    from kwis_paper.grid import Cell, cells
    from kwis_paper.runner import Summary, Task, estimator_from, run
    from kwis_paper.sample import bandwidth_sample
    from kwis_paper.simulate import Design, Experiment, Laboratory
    from kwis_paper.status import SettingStatus, status
    from kwis_paper.store import Store
    from kwis_paper.study import cell

_HOMES = {
    "kwis_paper.datasets": ("Dataset", "load"),
    "kwis_paper.grid": ("Cell", "cells"),
    "kwis_paper.simulate": ("Design", "Experiment", "Laboratory"),
    "kwis_paper.store": ("Store",),
    "kwis_paper.runner": ("Task", "Summary", "run", "estimator_from"),
    "kwis_paper.sample": ("bandwidth_sample",),
    "kwis_paper.status": ("SettingStatus", "status"),
    "kwis_paper.study": ("cell",),
}
_HOME_OF = {name: home for home, members in _HOMES.items() for name in members}

__all__ = [
    "Dataset",
    "load",
    "Cell",
    "cells",
    "Design",
    "Experiment",
    "Laboratory",
    "Store",
    "Task",
    "Summary",
    "run",
    "estimator_from",
    "bandwidth_sample",
    "SettingStatus",
    "status",
    "cell",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'kwis_paper' has no attribute {name!r}")
    return getattr(import_module(_HOME_OF[name]), name)
