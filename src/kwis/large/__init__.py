"""Kernel-WIS of logs beyond memory and beyond one machine.

Data flows ``source -> summary -> frame -> pairs -> (blocks | approximate) -> estimate``; a runner, threads here or the workers of a Dask
cluster, carries out the tasks. :func:`kernel_wis` is the front door, :func:`score_bandwidths` says what bandwidths are worth at full size.
"""

from __future__ import annotations

from kwis.large.approximate import Approximation
from kwis.large.estimate import EXACT_ROWS, kernel_wis, score_bandwidths
from kwis.large.records import LargeKernelWIS
from kwis.large.select import Selection

__all__ = ["EXACT_ROWS", "Approximation", "LargeKernelWIS", "Selection", "kernel_wis", "score_bandwidths"]
