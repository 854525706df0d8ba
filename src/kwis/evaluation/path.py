"""Normalised Kernel-WIS along the bandwidth, from State-WIS to WIS."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from kwis._validation import read_only
from kwis.bandwidth.scale import typical_distance
from kwis.estimators import traits
from kwis.estimators.along import Curve, curves_along
from kwis.estimators.protocol import Smoother
from kwis.estimators.state_wis import StateWIS
from kwis.estimators.wis import WIS
from kwis.evaluation.measure import Measured, Policy
from kwis.kernel.geometry import Geometry
from kwis.result.records import Path
from kwis.results import Estimate
from kwis.sample import WeightedSample
from kwis.stats.subsets import drawn_rows
from kwis.typing import Floats, Ints

FULL_ROWS = SUBSET_ROWS = 2_000
"""Up to the former many rows a path uses all of them, above as many as the latter, drawn at random."""
_OCTAVES = 3  # on both sides of the typical distance between contexts
_FINE_ROWS = 5_000  # up to so many rows the grid has two points per octave, above one


def path_rows(n: int, seed: int) -> Ints | None:
    """Rows that paths are computed on; None: all."""
    return None if n <= FULL_ROWS else drawn_rows(n, SUBSET_ROWS, seed)


def paths_of(
    chosen: Sequence[tuple[Policy, Smoother]],
    rewards: Sequence[str],
    level: float,
    rows: Ints | None,
    measured: Sequence[Measured] = (),
) -> list[Path]:
    """One path for every policy and reward, with influence intervals; the error of a repair is not in them.

    Parameters
    ----------
    chosen
        Policies, each with its estimator at the bandwidth chosen.
    rows
        Those to be used; None: all.
    measured
        What was measured on all rows; it may have the estimates at the bandwidth chosen.
    """
    if not chosen:
        return []
    first = chosen[0][0].samples[0]
    geometry = Geometry.of(first.context, first.categorical)
    typical = typical_distance(geometry if rows is None else geometry.take(rows))
    known = () if rows is not None else measured
    routes = [_Route.of(policy, estimator, rows, typical, rewards, known) for policy, estimator in chosen]
    routes = [route for route in routes if route.samples[0].weight.any()]
    curves: dict[int, list[Curve]] = {}
    for kernel in dict.fromkeys(route.estimator.kernel for route in routes):
        some = [place for place, route in enumerate(routes) if route.estimator.kernel == kernel]
        own = [routes[place] for place in some]
        found = curves_along([one.samples for one in own], [one.inside for one in own], kernel)
        curves.update(zip(some, found, strict=True))
    return [
        route.path(number, reward, curves[place][number], level)
        for place, route in enumerate(routes)
        for number, reward in enumerate(rewards)
    ]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Route:
    """The bandwidths that one policy is followed along.

    Attributes
    ----------
    samples
        One for every reward, on the rows of the path.
    known
        By the place of the reward, estimates at the bandwidth chosen that were made before.
    """

    target: str
    samples: Sequence[WeightedSample]
    estimator: Smoother
    grid: Floats
    known: Mapping[int, Estimate]

    @classmethod
    def of(
        cls,
        policy: Policy,
        estimator: Smoother,
        rows: Ints | None,
        typical: float,
        rewards: Sequence[str],
        measured: Sequence[Measured],
    ) -> _Route:
        samples = policy.samples if rows is None else tuple(sample.take(rows) for sample in policy.samples)
        known = {
            rewards.index(one.reward): one.estimate
            for one in measured
            if one.target == policy.name and _same(one, estimator)
        }
        grid = bandwidth_grid(typical, float(estimator.bandwidth), samples[0].n)
        return cls(target=policy.name, samples=samples, estimator=estimator, grid=grid, known=known)

    @property
    def chosen(self) -> float:
        return float(self.estimator.bandwidth)

    @property
    def inside(self) -> Floats:
        """Bandwidths that the estimates are not known at."""
        return self.grid[~np.isin(self.grid, [0.0, math.inf, *([self.chosen] if self.known else [])])]

    def path(self, number: int, reward: str, curve: Curve, level: float) -> Path:
        """That of one reward, from its curve at the bandwidths inside."""
        sample, known = self.samples[number], self.known.get(number)
        at = {0.0: StateWIS(normalised=True).estimate(sample), math.inf: WIS().estimate(sample)}
        at |= {} if known is None else {self.chosen: known}
        points = {h: (one.value, one.std_error) for h, one in at.items()}
        points |= dict(
            zip(self.inside.tolist(), zip(*map(np.ndarray.tolist, curve), strict=True), strict=True)
        )
        values, errors = np.array([points[h] for h in self.grid.tolist()]).T
        reach = NormalDist().inv_cdf((1 + level) / 2) * errors
        return Path(
            target=self.target,
            reward=reward,
            bandwidths=read_only(self.grid),
            values=read_only(values.copy()),
            lows=read_only(values - reach),
            highs=read_only(values + reach),
            chosen=self.chosen,
            level=level,
            rows=sample.n,
        )


def _same(one: Measured, estimator: Smoother) -> bool:
    """Whether this is the normalised form of the estimator."""
    family, plain = traits.family(estimator), not traits.needs_predictions(one.estimator)
    normalised = family is not None and plain and traits.normalised(one.estimator)
    return normalised and traits.family(one.estimator) == family


def bandwidth_grid(typical: float, chosen: float, n: int) -> Floats:
    """0, bandwidths around the typical distance with the chosen one among them, and infinity."""
    steps = 2 if n <= _FINE_ROWS else 1
    around = typical * 2.0 ** (np.arange(-_OCTAVES * steps, _OCTAVES * steps + 1) / steps)
    apart = around if math.isinf(chosen) else around[np.abs(np.log(around / chosen)) > 0.05]
    return np.unique([0.0, *apart, chosen, math.inf])
