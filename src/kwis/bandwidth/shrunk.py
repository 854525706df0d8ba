"""One bandwidth per feature, shrunk towards the shared one.

Left to itself, a search over d bandwidths finds what fits the folds at hand: with more features than rows it
always finds something. Here the bandwidths are ``h exp(x)`` with a penalty ``strength * explained * |x|^2``
on the shape x, where ``explained`` is the share of the weights' variance that the shared bandwidth explains.
The strength is chosen by nested validation: shapes are fitted on one half of the rows and judged by how well
they predict the weights of the other, and the other way round. Unless some shape beats none by more than its
standard error, all features keep the shared bandwidth. A few dozen evaluations on at most 2,000 rows; then
one search along the shape, on all rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kwis import _validation as check
from kwis.bandwidth.scale import typical_distance
from kwis.bandwidth.select import Problem
from kwis.bandwidth.standardised import Standardised
from kwis.kernel import KernelPlan, kernel_means
from kwis.kernel.geometry import Geometry
from kwis.kernel.held_out import Folds
from kwis.kernel.profiles import RBF, Kernel, as_kernel
from kwis.results import BandwidthChoice
from kwis.runtime.threads import engine
from kwis.stats.folds import as_folds
from kwis.stats.subsets import drawn_rows
from kwis.typing import ArrayLike, Floats, Ints, Seed

STRENGTHS = (1.0, 0.3, 0.1, 0.03, 0.01, 0.003)
"""Of the shrinkage, strongest first; each fit starts where the one before ended."""
_MOST_ROWS = 2000
_EVALUATIONS = 6  # per strength
_LAST_EVALUATIONS = 15
_LIMITS = (-3.0, 7.0)  # of the shape, in log h: a feature a thousand times wider is out
_LEAST_ROWS = 20  # per half


def select_shrunk(
    context: ArrayLike,
    weight: ArrayLike,
    *,
    folds: Any = 5,
    kernel: Kernel | str = RBF,
    categorical: Iterable[int] | int = (),
    group: Any = None,
    mass: ArrayLike | None = None,
    rng: Seed = 0,
) -> BandwidthChoice:
    """One bandwidth per feature, as far from the shared one as held-out rows justify.

    Returns
    -------
    BandwidthChoice
        ``value`` has one bandwidth per feature, all equal where no shape was worth it; ``end_points`` are the
        shared and the shaped one.
    """
    generator = check.generator(rng)
    contexts = check.contexts(context)
    weights = check.weights(weight, "weight", contexts.shape[0])
    labels = None if group is None else check.labels(group, "group", weights.size)
    folded = as_folds(folds, weights.size, generator, group)
    columns = check.categorical_columns(categorical, contexts)
    counted = np.ones(weights.size) if mass is None else check.masses(mass, weights.size)
    log = _Rows(contexts, weights, counted, labels, columns, as_kernel(kernel), int(folded.max()) + 1)
    problem = log.problem(folded)
    with engine():
        plan = problem.plan()
        shared = problem.select(plan, weights, None, False, 600)
        search = _Shapes(log.at_most(_MOST_ROWS, generator), generator)
        shape = (
            search.shape()
            if math.isfinite(float(shared.value)) and problem.geometry.d > 1
            else np.zeros(problem.geometry.d)
        )
        return _finished(problem, plan, weights, shared, shape, search.evaluations)


@dataclass(frozen=True, slots=True)
class _Rows:
    """Rows that shapes are fitted or judged on."""

    context: Floats
    weight: Floats
    mass: Floats
    group: Ints | None
    categorical: tuple[int, ...]
    kernel: Kernel
    folds: int

    def take(self, rows: Ints) -> _Rows:
        labels = None if self.group is None else self.group[rows]
        return replace(
            self, context=self.context[rows], weight=self.weight[rows], mass=self.mass[rows], group=labels
        )

    def at_most(self, count: int, rng: np.random.Generator) -> _Rows:
        n = self.weight.size
        return self if n <= count else self.take(drawn_rows(n, count, rng))

    def problem(self, labels: Ints) -> Problem:
        geometry = Geometry.of(self.context, self.categorical)
        return Problem(geometry, Folds.of(labels, self.mass), self.kernel, typical_distance(geometry))

    def units(self) -> int:
        """Rows, or groups, that folds can tell apart."""
        return self.weight.size if self.group is None else int(np.unique(self.group).size)


@dataclass(slots=True)
class _Shapes:
    """Fits of the shape at every strength, counted."""

    rows: _Rows
    rng: np.random.Generator
    evaluations: int = 0

    def shape(self) -> Floats:
        """``log`` of each feature's bandwidth over the shared one; 0 where no shape predicts other rows
        better.
        """
        flat = np.zeros(self.rows.context.shape[1])
        if self.rows.units() < 2 * _LEAST_ROWS:
            return flat
        gains = self._gains()
        mean, error = gains.mean(axis=0), gains.std(axis=0) / math.sqrt(gains.shape[0])
        if not (mean > error).any():
            return flat
        fitted = self._path(self.rows, STRENGTHS[: int(np.argmax(mean)) + 1])
        return flat if fitted is None else fitted[1][-1]

    def _gains(self) -> Floats:
        """``(n, strengths)``: by how much each shape, fitted on the other half, predicts a row better than
        none.
        """
        halves = as_folds(2, self.rows.weight.size, self.rng, self.rows.group)
        gains = np.zeros((halves.size, len(STRENGTHS)))
        for half in (0, 1):
            fit, judge = (
                self.rows.take(np.flatnonzero(halves != half)),
                self.rows.take(np.flatnonzero(halves == half)),
            )
            fitted = self._path(fit, STRENGTHS)
            if fitted is None:
                continue
            h, shapes = fitted
            errors = [
                _squared_errors(fit, judge, h * np.exp(shape))
                for shape in (np.zeros(shapes[0].size), *shapes)
            ]
            gains[halves == half] = np.stack([errors[0] - each for each in errors[1:]], axis=1)
        return gains

    def _path(self, rows: _Rows, strengths: Iterable[float]) -> tuple[float, list[Floats]] | None:
        """Shared bandwidth of these rows and the shapes along the strengths; None where the shared one is
        infinite.
        """
        problem = rows.problem(
            as_folds(min(rows.folds, rows.units()), rows.weight.size, self.rng, rows.group)
        )
        scaled = Standardised.of(rows.weight, problem.folds)
        if scaled.score == 0:
            return None
        plan = problem.plan()
        shared = problem.select(plan, rows.weight, None, False, 600)
        self.evaluations += shared.evaluations
        if not math.isfinite(float(shared.value)):
            return None
        h = float(shared.value)
        explained = 1 - plan.finish.score(scaled.weight, h).value
        shape: Floats = np.zeros(problem.geometry.d)
        found: list[Floats] = []
        for strength in strengths:
            shape = self._fit(plan, scaled.weight, h, strength * max(explained, 0.0), shape)
            found.append(shape)
        return h, found

    def _fit(self, plan: KernelPlan, weight: Floats, h: float, penalty: float, start: Floats) -> Floats:
        from scipy.optimize import minimize

        def objective(x: Floats) -> tuple[float, Floats]:
            self.evaluations += 1
            score = plan.locate.score(weight, h * np.exp(x))
            return score.value + penalty * float(x @ x), score.gradient + 2 * penalty * x

        options = {"maxfun": _EVALUATIONS, "maxiter": _EVALUATIONS}
        minimise: Any = minimize
        return np.asarray(
            minimise(
                objective, start, jac=True, method="L-BFGS-B", bounds=[_LIMITS] * start.size, options=options
            ).x
        )


def _squared_errors(fit: _Rows, judge: _Rows, bandwidth: Floats) -> Floats:
    columns = (fit.mass * fit.weight, fit.mass)
    load, mass = (
        kernel_means(judge.context, fit.context, bandwidth, fit.kernel, fit.categorical, column)
        for column in columns
    )
    unit = max(
        float(fit.weight.max()), float(judge.weight.max()), np.finfo(np.float64).tiny
    )  # squares of huge weights would overflow
    return judge.mass * np.square((judge.weight - load / mass) / unit)


def _finished(
    problem: Problem,
    plan: KernelPlan,
    weight: Floats,
    shared: BandwidthChoice,
    shape: Floats,
    evaluations: int,
) -> BandwidthChoice:
    """The best bandwidth along the shape on all rows, or the shared one for every feature where that is no
    worse.
    """
    everywhere = np.full(problem.geometry.d, float(shared.value))
    value, score, count = everywhere, shared.score, shared.evaluations + evaluations
    ends = [(everywhere, shared.score)]
    if shape.any():
        scaled = Standardised.of(weight, problem.folds)
        h, found, more = _along(plan, scaled.weight, float(shared.value), shape)
        ends.append((h * np.exp(shape), scaled.restore(found)))
        count += more
        if ends[1][1] < score:
            value, score = ends[1]
    return BandwidthChoice(
        value=check.read_only(value),
        score=score,
        end_points=check.read_only(np.stack([end for end, _ in ends])),
        end_scores=check.read_only(np.array([found for _, found in ends])),
        evaluations=count,
        isolated=plan.finish.score(weight, value).isolated if problem.kernel.compact else 0,
    )


def _along(plan: KernelPlan, weight: Floats, start: float, shape: Floats) -> tuple[float, float, int]:
    """Factor of the shape with the smallest held-out error, near the shared bandwidth; the error, and the
    evaluations spent.
    """
    from scipy.optimize import minimize

    spent = 0

    def objective(x: Floats) -> tuple[float, Floats]:
        nonlocal spent
        spent += 1
        score = plan.finish.score(weight, np.exp(x[0] + shape))
        return score.value, np.array([score.gradient.sum()])

    centre = math.log(start)
    minimise: Any = minimize
    options = {"maxfun": _LAST_EVALUATIONS}
    found = minimise(
        objective,
        np.array([centre]),
        jac=True,
        method="L-BFGS-B",
        bounds=[(centre - 3, centre + 3)],
        options=options,
    )
    return math.exp(found.x[0]), float(found.fun), spent
