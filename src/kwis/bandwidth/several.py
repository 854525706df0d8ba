"""Shared bandwidths for many weight vectors on the same contexts and folds, hundreds at the price of a few.

All vectors are scanned together in float32 on the grid of the single search. Around its minima each is then
scored in float64 at five finer nodes, common to all vectors so that kernels are shared; the minimum of the
polynomial through them is the answer, its score within 1e-6 of the smallest. The few vectors whose minimum
lies off the grid are searched one by one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kwis import _validation as check
from kwis.bandwidth.search import Callback, Progress, local_minima, polynomial_minimum, scan_grid
from kwis.bandwidth.select import Problem
from kwis.bandwidth.standardised import Standardised
from kwis.kernel import KernelPlan, uses_compiled_tiles
from kwis.kernel.lattice import LatticeCV
from kwis.kernel.many import ManyCV
from kwis.kernel.one_hot import OneHotCV
from kwis.kernel.profiles import RBF, Kernel
from kwis.results import BandwidthChoice
from kwis.runtime.threads import engine
from kwis.typing import ArrayLike, Bandwidth, Floats, Seed

_FEW = 4  # vectors; fewer are quicker one by one
_NEAR = 0.05  # share above a vector's best score within which its curve is scanned more closely
_FINE = math.log(2) / 28  # spacing of the fine nodes in log h
_OFFSETS = np.arange(-2, 3)  # of the nodes around a minimum
_WIDER = 4  # how much farther apart nodes are where the minimum was not between them
_ROUNDS = 8  # of looking for it
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
    mass: ArrayLike | None = None,
    rng: Seed = 0,
    callback: Callback | None = None,
    max_evaluations: int = 600,
) -> tuple[BandwidthChoice, ...]:
    """:func:`select_bandwidth` for every column of ``weights`` (n, E), on the same folds.

    Shared bandwidths of many columns come from matrix products common to all; their scores are within 1e-6
    relative of those of the single selection. One per feature, and compact kernels, are searched column by
    column. The callback's ``start`` counts the columns done.

    Parameters
    ----------
    context
        ``(n, d)`` numbers.
    weights
        ``(n, E)`` importance weights, one column per policy.
    folds, per_feature, kernel, categorical, group, mass, rng, callback, max_evaluations
        As in :func:`kwis.select_bandwidth`.

    Returns
    -------
    tuple of BandwidthChoice
        One for every column of ``weights``.

    See Also
    --------
    kwis.select_bandwidth : for one policy.
    kwis.KernelWIS : uses the bandwidth.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.linspace(0, 1, 60)[:, None]
    >>> weights = np.column_stack([1 + x, 1 + np.cos(30 * x)])  # the second changes faster
    >>> [round(choice.value, 4) for choice in kwis.select_bandwidths(x, weights)]
    [0.0215, 0.0123]
    """
    problem = Problem.of(context, categorical, folds, kernel, group, rng, mass)
    columns = check.weight_columns(weights, "weights", problem.geometry.n)
    cap = check.whole(max_evaluations, "max_evaluations", 1)
    count = columns.shape[1]
    apart = (
        per_feature
        or count <= _FEW
        or problem.kernel.compact
        or LatticeCV.fits(problem.geometry, problem.folds)
    )
    choices: list[BandwidthChoice] = []

    def told(progress: Progress) -> None:
        if callback is not None:
            callback(replace(progress, start=len(choices), starts=count))

    with engine():
        plan = problem.plan()

        def alone(column: Floats) -> BandwidthChoice:
            return problem.select(plan, column, None, per_feature, cap, told)

        for first in range(0, count, 1 if apart else _BATCH):
            if apart:
                choices.append(alone(columns[:, first].copy()))
            else:
                batch = columns[:, first : first + _BATCH]
                together = _together(problem, plan, batch, told)
                choices += [
                    choice or alone(column) for choice, column in zip(together, batch.T.copy(), strict=True)
                ]
    return tuple(choices)


def _together(
    problem: Problem, plan: KernelPlan, columns: Floats, told: Callback
) -> list[BandwidthChoice | None]:
    """Choices of all columns, None for those whose minimum lies where the polynomials do not reach."""
    scaled = [Standardised.of(column, problem.folds) for column in columns.T.copy()]
    weights = np.stack([column.weight for column in scaled], axis=1)
    curves = _Curves(_scores(problem, plan), weights, scan_grid(problem.typical), told)
    dips = curves.dips(np.array([column.score > 0 for column in scaled]))
    curves.refine(dips)
    lost = {dip.vector for dip in dips if math.isfinite(dip.x) and not dip.found}
    ends: list[list[tuple[Bandwidth, float]]] = [[] for _ in scaled]
    for dip in dips:
        if math.isfinite(dip.x):
            ends[dip.vector].append((math.exp(dip.x), dip.score))
    return [
        None if vector in lost else problem.choice(column, ends[vector], curves.passes, False)
        for vector, column in enumerate(scaled)
    ]


Scores = Callable[[Floats, Floats, Floats, Any], Floats]
"""From weights, bandwidths, the pairs of them that are wanted, and a precision, to ``(bandwidths, vectors)``
scores.
"""


def _scores(problem: Problem, plan: KernelPlan) -> Scores:
    if isinstance(plan.finish, OneHotCV):
        indicators = plan.finish
        return lambda weights, bandwidths, wanted, _: indicators.scan_many(weights, bandwidths, wanted)
    return ManyCV(
        problem.geometry, problem.folds, problem.kernel, uses_compiled_tiles(problem.geometry, problem.kernel)
    ).scan


@dataclass(slots=True)
class _Dip:
    """A minimum of one vector's curve: where it seems to be, in ``log h``, and its score.

    ``step`` is how many fine nodes the next five lie apart; ``found`` whether the minimum is placed.
    """

    vector: int
    x: float
    score: float = math.inf
    step: int = 1
    found: bool = False

    def place(self, x: Floats, scores: Floats) -> None:
        """Move to the minimum of the polynomial through some nodes."""
        self.x, self.score = polynomial_minimum(x, scores)
        inside = x[0] < self.x < x[-1]
        self.found = inside and self.step == 1
        self.step = 1 if inside else _WIDER


@dataclass(slots=True)
class _Curves:
    """Scores of all vectors along the bandwidth."""

    scores: Scores
    weights: Floats
    grid: Floats
    told: Callback
    passes: int = 0

    def scan(self, bandwidths: Floats, wanted: Floats, dtype: Any) -> Floats:
        scores = self.scores(self.weights, bandwidths, wanted, dtype)
        self.passes += bandwidths.size
        self.told(Progress(self.passes, 0, 1, float(scores[wanted].min(initial=1.0))))
        return scores

    def dips(self, varies: Floats) -> list[_Dip]:
        """Promising minima: every other node of the grid for all vectors, those between only where a vector's
        scores are near its best.
        """
        scores = np.full((self.grid.size, varies.size), np.inf)
        wanted = np.zeros(scores.shape, dtype=bool)
        wanted[::2] = varies
        scores[::2] = np.where(varies, self.scan(self.grid[::2], wanted[::2], np.float32), np.inf)
        near = scores[::2] <= (1 + _NEAR) * scores.min(axis=0)
        wanted[1::2] = (near[:-1] | near[1:]) & varies
        between = self.scan(self.grid[1::2], wanted[1::2], np.float32)
        scores[1::2] = np.where(wanted[1::2], between, np.inf)
        return [
            _Dip(int(vector), self._lowest(scores[:, vector], index))
            for vector in np.flatnonzero(varies)
            for index in local_minima(scores[:, vector])
        ]

    def _lowest(self, scores: Floats, index: int) -> float:
        """``log h`` at the minimum of the polynomial through the nodes around a dip; infinite where it lies
        beyond the grid.
        """
        if index == 0 and scores[0] <= scores[1]:
            return math.inf
        nodes = np.arange(max(index - 2, 0), min(index + 3, self.grid.size))
        nodes = nodes[np.isfinite(scores[nodes])]
        return polynomial_minimum(np.log(self.grid[nodes]), scores[nodes])[0]

    def refine(self, dips: list[_Dip]) -> None:
        """Place every dip on nodes so fine that the polynomial through five of them is exact.

        A minimum that is not between its five nodes is looked for among wider ones, then again among fine
        ones.
        """
        self._beyond_the_grid([dip for dip in dips if math.isinf(dip.x)])
        pending = [dip for dip in dips if math.isfinite(dip.x)]
        for _ in range(_ROUNDS):
            if not pending:
                return
            places = [dip.step * (round(dip.x / (_FINE * dip.step)) + _OFFSETS) for dip in pending]
            nodes = np.unique(places)
            wanted = np.zeros((nodes.size, self.weights.shape[1]), dtype=bool)
            for dip, place in zip(pending, places, strict=True):
                wanted[np.searchsorted(nodes, place), dip.vector] = True
            scores = self.scan(np.exp(nodes * _FINE), wanted, np.float64)
            for dip, place in zip(pending, places, strict=True):
                dip.place(place * _FINE, scores[np.searchsorted(nodes, place), dip.vector])
            pending = [dip for dip in pending if not dip.found]

    def _beyond_the_grid(self, dips: list[_Dip]) -> None:
        """Far above the typical distance a curve is nearly straight in ``1/h^2``: where it falls towards 0,
        infinity is its minimum.
        """
        if not dips:
            return
        wanted = np.zeros((1, self.weights.shape[1]), dtype=bool)
        wanted[0, [dip.vector for dip in dips]] = True
        scores = self.scan(np.array([4 * self.grid[0]]), wanted, np.float64)
        for dip in dips:
            if scores[0, dip.vector] < 1.0:
                dip.x = math.log(self.grid[0])
