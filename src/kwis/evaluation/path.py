"""Normalised Kernel-WIS along the bandwidth, from State-WIS to WIS."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import ClassVar

import numpy as np

from kwis._validation import read_only
from kwis.bandwidth.scale import typical_distance
from kwis.estimators import traits
from kwis.estimators.neighbourhood import locally_normalised
from kwis.estimators.protocol import Smoother
from kwis.estimators.ratio import Applied, ratio_resamples
from kwis.estimators.state_wis import StateWIS
from kwis.estimators.wis import WIS
from kwis.evaluation.measure import Measured, Policy
from kwis.kernel.geometry import Geometry
from kwis.kernel.ladder import kernel_products_along
from kwis.kernel.profiles import Kernel
from kwis.result.records import Path
from kwis.results import Estimate
from kwis.sample import WeightedSample
from kwis.stats.influence import standard_error
from kwis.stats.subsets import drawn_rows
from kwis.typing import Floats, Ints

FULL_ROWS = SUBSET_ROWS = 3_000
"""Up to the former many rows a path uses all of them, above as many as the latter, drawn at random."""
_OCTAVES = 3  # on both sides of the typical distance between contexts
_FINE_ROWS = 5_000  # up to so many rows the grid has two points per octave, above one


def path_rows(n: int, seed: int) -> Ints | None:
    """Rows that paths are computed on; None: all."""
    return None if n <= FULL_ROWS else drawn_rows(n, SUBSET_ROWS, seed)


def paths_of(
    policy: Policy,
    estimator: Smoother,
    rewards: Sequence[str],
    level: float,
    rows: Ints | None,
    measured: Sequence[Measured] = (),
) -> list[Path]:
    """One path per reward, with influence intervals; the error of a repair is not in them.

    Parameters
    ----------
    estimator
        With the kernel and the bandwidth chosen.
    rows
        Those to be used; None: all.
    measured
        What was measured on all rows; it may have the estimates at the bandwidth chosen.
    """
    samples = policy.samples if rows is None else tuple(sample.take(rows) for sample in policy.samples)
    if not samples[0].weight.any():
        return []
    chosen = float(estimator.bandwidth)
    grid = bandwidth_grid(
        typical_distance(Geometry.of(samples[0].context, samples[0].categorical)), chosen, samples[0].n
    )
    known = {one.reward: one.estimate for one in measured if rows is None and _same(one, policy, estimator)}
    found = [
        _along(sample, grid, estimator, known.get(reward))
        for sample, reward in zip(samples, rewards, strict=True)
    ]
    reach = NormalDist().inv_cdf((1 + level) / 2)
    return [
        Path(
            target=policy.name,
            reward=reward,
            bandwidths=read_only(grid),
            values=read_only(values),
            lows=read_only(values - reach * errors),
            highs=read_only(values + reach * errors),
            chosen=chosen,
            level=level,
            rows=samples[0].n,
        )
        for reward, (values, errors) in zip(rewards, found, strict=True)
    ]


def _same(one: Measured, policy: Policy, estimator: Smoother) -> bool:
    """Whether this is the normalised form of the estimator, for the policy."""
    family, plain = traits.family(estimator), not traits.needs_predictions(one.estimator)
    same = (
        family is not None
        and plain
        and traits.normalised(one.estimator)
        and traits.family(one.estimator) == family
    )
    return same and one.target == policy.name


def _along(
    sample: WeightedSample, grid: Floats, estimator: Smoother, known: Estimate | None
) -> tuple[Floats, Floats]:
    """Estimates and standard errors along the grid; ``known`` is that at the bandwidth of the estimator."""
    at = {0.0: StateWIS(normalised=True).estimate(sample), math.inf: WIS().estimate(sample)}
    at |= {} if known is None else {float(estimator.bandwidth): known}
    values = np.array([at[h].value if h in at else math.nan for h in grid.tolist()])
    errors = np.array([at[h].std_error if h in at else math.nan for h in grid.tolist()])
    rest = np.array([h not in at for h in grid.tolist()])
    values[rest], errors[rest] = _inside(sample, grid[rest], estimator.kernel)
    return values, errors


def _inside(sample: WeightedSample, bandwidths: Floats, kernel: Kernel) -> tuple[Floats, Floats]:
    """The same at positive and finite bandwidths, from one pass over the pairs where the kernel allows it."""
    rule = _Along(bandwidths, kernel)
    found = ratio_resamples(rule, sample, np.ones((sample.n, bandwidths.size)), influence=True)
    assert found.influence is not None
    return found.values, np.array([standard_error(column, sample.group) for column in found.influence.T])


@dataclass(frozen=True, slots=True, eq=False)
class _Along:
    """Normalised Kernel-WIS with a bandwidth of its own on each resample."""

    bandwidths: Floats
    kernel: Kernel
    name: ClassVar[str] = "normalised-kernel-wis"
    normalised: ClassVar[bool] = True

    def applied(self, sample: WeightedSample, counts: Floats) -> Applied:
        """Weights divided by the kernel average of the weights around them."""

        def sums(vectors: Floats) -> Floats:
            pairs = vectors.reshape(sample.n, 2, -1).transpose(2, 0, 1)  # two vectors for each bandwidth
            found = kernel_products_along(
                sample.context, self.bandwidths, self.kernel, sample.categorical, pairs
            )
            return found.transpose(1, 2, 0).reshape(vectors.shape)

        return locally_normalised(sample.weight, counts, sums)


def bandwidth_grid(typical: float, chosen: float, n: int) -> Floats:
    """0, bandwidths around the typical distance with the chosen one among them, and infinity."""
    steps = 2 if n <= _FINE_ROWS else 1
    around = typical * 2.0 ** (np.arange(-_OCTAVES * steps, _OCTAVES * steps + 1) / steps)
    apart = around if math.isinf(chosen) else around[np.abs(np.log(around / chosen)) > 0.05]
    return np.unique([0.0, *apart, chosen, math.inf])
