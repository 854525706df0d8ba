"""The paper, reproduced: datasets -> policies -> grid of cells -> runner -> store -> tables and figures.

``run`` fills a :class:`Store` with the results of a :class:`Task`; ``cell`` returns the arrays of one experiment. Names are loaded when
first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kwis.paper.datasets import Dataset, load
    from kwis.paper.grid import Cell, cells
    from kwis.paper.runner import Summary, Task, estimator_from, run
    from kwis.paper.sample import bandwidth_sample
    from kwis.paper.simulate import Design, Experiment, Laboratory
    from kwis.paper.status import SettingStatus, status
    from kwis.paper.store import Store
    from kwis.paper.study import cell

_HOMES = {
    "kwis.paper.datasets": ("Dataset", "load"),
    "kwis.paper.grid": ("Cell", "cells"),
    "kwis.paper.simulate": ("Design", "Experiment", "Laboratory"),
    "kwis.paper.store": ("Store",),
    "kwis.paper.runner": ("Task", "Summary", "run", "estimator_from"),
    "kwis.paper.sample": ("bandwidth_sample",),
    "kwis.paper.status": ("SettingStatus", "status"),
    "kwis.paper.study": ("cell",),
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
        raise AttributeError(f"module 'kwis.paper' has no attribute {name!r}")
    return getattr(import_module(_HOME_OF[name]), name)
