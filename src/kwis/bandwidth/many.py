"""Shared bandwidths for many weight vectors on the same contexts and folds, hundreds at the price of a few.

All vectors are scanned together in float32 on the grid of the single search. Around its minima each is then scored in float64 at five
finer nodes, common to all vectors so that kernels are shared; the minimum of the polynomial through them is the answer, its score
within 1e-6 of the smallest.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.polynomial import Polynomial

from kwis import _validation as check
from kwis.bandwidth.search import Callback, Progress, local_minima, scan_grid
from kwis.bandwidth.select import Problem, Standardised
from kwis.kernels import RBF, Kernel
from kwis.results import BandwidthChoice
from kwis.smoothing import uses_compiled_tiles
from kwis.smoothing.lattice import LatticeCV
from kwis.smoothing.many import ManyCV
from kwis.smoothing.threads import engine
from kwis.typing import ArrayLike, Bandwidth, Floats, Seed

_FEW = 4  # vectors; fewer are quicker one by one
_FINE = math.log(2) / 24  # spacing of the fine nodes in log h
_HALF = 2  # fine nodes on each side of a minimum
_ROUNDS = 8  # of moving the fine nodes along where the minimum was not among them
_BATCH = 512  # vectors per pass, which bounds memory


def select_bandwidths(
    context: ArrayLike,
    weights: ArrayLike,
    *,
    folds: Any = 5,
    per_feature: bool = False,
    kernel: Kernel | str = RBF,
    categorical: Iterable[int] | int = (),
    group: Any = None,
    rng: Seed = 0,
    callback: Callback | None = None,
    max_evaluations: int = 600,
) -> tuple[BandwidthChoice, ...]:
    """:func:`select_bandwidth` for every column of ``weights`` (n, E), on the same folds.

    Shared bandwidths of many columns come from matrix products common to all; their scores are within 1e-6 relative of those
    of the single selection. The callback's ``start`` counts the columns done.
    """
    problem = Problem.of(context, categorical, folds, kernel, group, rng)
    columns = check.weight_columns(weights, "weights", problem.geometry.n)
    cap = check.whole(max_evaluations, "max_evaluations", 1)
    with engine():
        if per_feature or columns.shape[1] <= _FEW or LatticeCV.fits(problem.geometry, problem.folds):
            plan = problem.plan()
            return tuple(problem.select(plan, column, None, per_feature, cap, callback) for column in columns.T.copy())
        choices: list[BandwidthChoice] = []
        for first in range(0, columns.shape[1], _BATCH):
            choices += _together(problem, columns[:, first : first + _BATCH])
            if callback is not None:
                callback(Progress(len(choices), len(choices), columns.shape[1], math.nan))
        return tuple(choices)


def _together(problem: Problem, columns: Floats) -> list[BandwidthChoice]:
    scaled = [Standardised.of(column, problem.folds) for column in columns.T.copy()]
    weights = np.stack([column.weight for column in scaled], axis=1)
    curves = _Curves(problem, weights, scan_grid(problem.typical))
    ends: list[list[tuple[Bandwidth, float]]] = [[] for _ in scaled]
    for dip in curves.refined(curves.dips(np.array([column.score > 0 for column in scaled]))):
        ends[dip.vector].append((math.exp(dip.x), dip.score))
    return [problem.choice(column, end, curves.passes, False) for column, end in zip(scaled, ends, strict=True)]


@dataclass(slots=True)
class _Dip:
    """A minimum of one vector's curve: where it seems to be, in ``log h``, and its score."""

    vector: int
    x: float
    score: float = math.inf


@dataclass(slots=True)
class _Curves:
    """Scores of all vectors along the bandwidth."""

    problem: Problem
    weights: Floats
    grid: Floats
    passes: int = 0

    def scan(self, bandwidths: Floats, wanted: Floats, dtype: Any) -> Floats:
        compiled = uses_compiled_tiles(self.problem.geometry, self.problem.kernel)
        self.passes += bandwidths.size
        return ManyCV(self.problem.geometry, self.problem.folds, self.problem.kernel, compiled).scan(
            self.weights, bandwidths, wanted, dtype
        )

    def dips(self, varies: Floats) -> list[_Dip]:
        """Promising minima: every other node of the grid for all vectors, the nodes between only beside a dip."""
        scores = np.full((self.grid.size, varies.size), np.inf)
        scores[::2] = self.scan(self.grid[::2], np.tile(varies, (self.grid[::2].size, 1)), np.float32)
        rough = [(vector, 2 * index) for vector in np.flatnonzero(varies) for index in local_minima(scores[::2, vector])]
        beside = np.zeros((self.grid.size, varies.size), dtype=bool)
        for vector, index in rough:
            beside[[max(index - 1, 1), min(index + 1, self.grid.size - 2)], vector] = True
        between = self.scan(self.grid[1::2], beside[1::2], np.float32)
        scores[1::2][beside[1::2]] = between[beside[1::2]]
        return [_Dip(int(vector), self._lowest(scores[:, vector], index)) for vector, index in rough]

    def _lowest(self, scores: Floats, index: int) -> float:
        """``log h`` at the minimum of the polynomial through the nodes around a dip; infinite where it lies beyond the grid."""
        if index == 0 and scores[0] <= scores[1]:
            return math.inf
        nodes = np.arange(max(index - 2, 0), min(index + 3, self.grid.size))
        return _polynomial_minimum(np.log(self.grid[nodes]), scores[nodes])[0]

    def refined(self, dips: list[_Dip]) -> Iterator[_Dip]:
        """Place every dip on nodes so fine that the polynomial through five of them is exact."""
        self._beyond_the_grid([dip for dip in dips if math.isinf(dip.x)])
        open_dips = [dip for dip in dips if math.isfinite(dip.x)]
        for _ in range(_ROUNDS):
            if not open_dips:
                return
            centres = [round(dip.x / _FINE) for dip in open_dips]
            nodes = np.unique([centre + offset for centre in centres for offset in range(-_HALF, _HALF + 1)])
            wanted = np.zeros((nodes.size, self.weights.shape[1]), dtype=bool)
            places = [np.searchsorted(nodes, centre + np.arange(-_HALF, _HALF + 1)) for centre in centres]
            for dip, place in zip(open_dips, places, strict=True):
                wanted[place, dip.vector] = True
            scores = self.scan(np.exp(nodes * _FINE), wanted, np.float64)
            still_open = []
            for dip, place in zip(open_dips, places, strict=True):
                dip.x, dip.score = _polynomial_minimum(nodes[place] * _FINE, scores[place, dip.vector])
                if dip.x in (nodes[place[0]] * _FINE, nodes[place[-1]] * _FINE):
                    still_open.append(dip)
                else:
                    yield dip
            open_dips = still_open
        yield from open_dips

    def _beyond_the_grid(self, dips: list[_Dip]) -> None:
        """Far above the typical distance a curve is nearly straight in ``1/h^2``: where it falls towards 0, infinity is its minimum."""
        far = 4 * self.grid[0]
        wanted = np.zeros((1, self.weights.shape[1]), dtype=bool)
        wanted[0, [dip.vector for dip in dips]] = True
        scores = self.scan(np.array([far]), wanted, np.float64) if dips else wanted
        for dip in dips:
            if scores[0, dip.vector] < 1.0:
                dip.x = math.log(self.grid[0])


def _polynomial_minimum(x: Floats, values: Floats) -> tuple[float, float]:
    """Lowest point of the polynomial through the points, among its stationary points between them and the points themselves."""
    polynomial = Polynomial.fit(x, values, x.size - 1)
    roots = polynomial.deriv().roots()
    inside = roots.real[(np.abs(roots.imag) < 1e-9) & (roots.real > x.min()) & (roots.real < x.max())]
    points = [*((float(polynomial(root)), float(root)) for root in inside), *zip(values.tolist(), x.tolist(), strict=True)]
    score, lowest = min(points)
    return lowest, score
