"""Kernel-WIS of logs beyond memory and beyond one machine.

Data flows ``source -> summary -> frame -> pairs -> (blocks | approximate) -> estimate``; a runner, threads
here or the workers of a Dask cluster, carries out the tasks. :func:`kernel_wis` is the front door,
:func:`score_bandwidths` says what bandwidths are worth at full size.

Names are loaded when they are first used: a worker that starts in the middle of a run needs the tasks only.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kwis.large.approximate import Approximation
    from kwis.large.estimate import EXACT_ROWS, kernel_wis, score_bandwidths
    from kwis.large.records import LargeKernelWIS
    from kwis.large.select import Selection
    from kwis.large.source import Weigher

__all__ = [
    "EXACT_ROWS",
    "Approximation",
    "LargeKernelWIS",
    "Selection",
    "Weigher",
    "kernel_wis",
    "score_bandwidths",
]

_HOME_OF = {
    "Approximation": "approximate",
    "EXACT_ROWS": "estimate",
    "LargeKernelWIS": "records",
    "Selection": "select",
    "Weigher": "source",
    "kernel_wis": "estimate",
    "score_bandwidths": "estimate",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'kwis.large' has no attribute {name!r}")
    return getattr(import_module(f"kwis.large.{_HOME_OF[name]}"), name)
