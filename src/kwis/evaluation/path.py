"""Normalised Kernel-WIS along the bandwidth, from State-WIS to WIS."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist

import numpy as np

from kwis._validation import read_only
from kwis.bandwidth.scale import typical_distance
from kwis.estimators.kernel_wis import KernelWIS
from kwis.estimators.state_wis import StateWIS
from kwis.evaluation.measure import Policy
from kwis.evaluation.records import Path
from kwis.evaluation.together import Job, estimates_together
from kwis.smoothing.geometry import Geometry
from kwis.typing import Floats, Ints

FULL_ROWS = 20_000
"""Up to this many rows a path uses all of them, above ``SUBSET_ROWS`` drawn at random."""
SUBSET_ROWS = 5_000
_OCTAVES = 3  # on both sides of the typical distance between contexts
_FINE_ROWS = 5_000  # up to so many rows the grid has two points per octave, above one


def path_rows(n: int, seed: int) -> Ints | None:
    """Rows that paths are computed on; None: all."""
    return None if n <= FULL_ROWS else np.sort(np.random.default_rng(seed).choice(n, SUBSET_ROWS, replace=False))


def paths_of(policy: Policy, estimator: KernelWIS, rewards: Sequence[str], level: float, rows: Ints | None) -> list[Path]:
    """One path per reward, with influence intervals; ``estimator`` has the kernel and the bandwidth chosen."""
    samples = policy.samples if rows is None else tuple(sample.take(rows) for sample in policy.samples)
    if not samples[0].weight.any():
        return []
    chosen = float(estimator.bandwidth)
    grid = bandwidth_grid(typical_distance(Geometry.of(samples[0].context, samples[0].categorical)), chosen, samples[0].n)
    found = []
    for bandwidth in grid:
        rule = KernelWIS(bandwidth, kernel=estimator.kernel, normalised=True) if bandwidth > 0 else StateWIS(normalised=True)
        found.append(estimates_together([Job(rule, sample) for sample in samples]))
    reach = NormalDist().inv_cdf((1 + level) / 2)
    values = np.array([[one.value for one in row] for row in found])
    errors = np.array([[one.std_error for one in row] for row in found])
    return [
        Path(
            target=policy.name,
            reward=reward,
            bandwidths=read_only(grid),
            values=read_only(values[:, j]),
            lows=read_only(values[:, j] - reach * errors[:, j]),
            highs=read_only(values[:, j] + reach * errors[:, j]),
            chosen=chosen,
            level=level,
            rows=samples[0].n,
        )
        for j, reward in enumerate(rewards)
    ]


def bandwidth_grid(typical: float, chosen: float, n: int) -> Floats:
    """0, bandwidths around the typical distance with the chosen one among them, and infinity."""
    steps = 2 if n <= _FINE_ROWS else 1
    around = typical * 2.0 ** (np.arange(-_OCTAVES * steps, _OCTAVES * steps + 1) / steps)
    apart = around if math.isinf(chosen) else around[np.abs(np.log(around / chosen)) > 0.05]
    return np.unique([0.0, *apart, chosen, math.inf])
