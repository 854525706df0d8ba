"""Bandwidth selection by cross-validation: the paper's Algorithm 1 and faster routes to the same minimum."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kwis import _validation as check
from kwis.bandwidth.rough import rough_bandwidths
from kwis.bandwidth.scale import default_starts, feature_scales, typical_distance
from kwis.bandwidth.search import (
    Callback,
    Route,
    Search,
    descend_from,
    drop_features,
    shared_bandwidth,
)
from kwis.bandwidth.standardised import Standardised
from kwis.kernel import KernelPlan, cross_validation
from kwis.kernel.geometry import Geometry
from kwis.kernel.held_out import Folds, Sampled
from kwis.kernel.profiles import RBF, Kernel, as_kernel
from kwis.results import BandwidthChoice
from kwis.runtime.threads import engine
from kwis.stats.folds import as_folds
from kwis.typing import ArrayLike, Bandwidth, Floats, Ints, Seed

# By which a finite bandwidth must beat an infinite one: less is rounding, of double and of single precision.
_GAIN, _ROUGH_GAIN = 1e-12, 1e-6


def select_bandwidth(
    context: ArrayLike,
    weight: ArrayLike,
    *,
    folds: Any = 5,
    starts: ArrayLike | None = None,
    per_feature: bool = False,
    kernel: Kernel | str = RBF,
    categorical: Iterable[int] | int = (),
    group: Any = None,
    mass: ArrayLike | None = None,
    rng: Seed = 0,
    callback: Callback | None = None,
    max_evaluations: int = 600,
    exact: bool = True,
) -> BandwidthChoice:
    """Bandwidth at which the kernel mean of the weights predicts held-out weights best.

    Parameters
    ----------
    context
        ``(n, d)`` numbers, used as given: see :func:`kwis.standardise`.
    weight
        ``(n,)`` importance weights.
    folds
        Number of folds (drawn once, with ``rng``, whole groups together), or one label per row.
    starts
        Initial bandwidths, ``(m,)`` or ``(m, d)``: L-BFGS-B over ``log h`` runs from each, as in the paper.
        By default the quickest exact route is taken: a scan and a refinement for one shared bandwidth; for
        one per feature, starts log-spaced around the median distance, searched over ``log h`` and over
        ``1/h^2``.
    per_feature
        Choose one bandwidth per feature instead of one for all.
    kernel
        A :class:`kwis.Kernel` or the name of one.
    categorical
        Columns of ``context`` that hold integer codes, compared for equality.
    group
        One label per row; rows of a group share a fold.
    mass
        How often each row counts, as one predicted and as one that predicts; by default once.
    rng
        A seed or a generator, for the folds.
    callback
        Called after every evaluation with its number, the start it belongs to and the score relative to an
        infinite bandwidth's.
    max_evaluations
        Cap for each start of a search by L-BFGS-B.
    exact
        False: a shared bandwidth to a few hundredths in ``log h``, in single precision and several times
        faster.

    Returns
    -------
    BandwidthChoice
        ``value`` is infinite where the mean of all weights predicts at least as well as any kernel mean.

    See Also
    --------
    kwis.select_bandwidths : for the weights of several policies.
    kwis.cv_score : the score that is minimised.
    kwis.KernelWIS : does it with ``bandwidth="cv"``.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.linspace(0, 1, 60)[:, None]
    >>> round(kwis.select_bandwidth(x, 1 + x[:, 0]).value, 4)
    0.0215
    """
    problem = Problem.of(context, categorical, folds, kernel, group, rng, mass)
    weights = check.weights(weight, "weight", problem.geometry.n)
    begin = None if starts is None else check.starts(starts, problem.geometry.d, per_feature)
    cap = check.whole(max_evaluations, "max_evaluations", 1)
    with engine():
        return problem.select(problem.plan(), weights, begin, per_feature, cap, callback, exact)


def select_each(
    context: Floats,
    weights: Sequence[Floats],
    *,
    folds: int,
    kernel: Kernel,
    categorical: Iterable[int],
    group: Ints | None,
    mass: Floats | None,
    rng: Seed,
    exact: bool,
) -> list[BandwidthChoice]:
    """:func:`select_bandwidth` of one shared bandwidth for each of several weights, to the same bits.

    Contexts and folds are prepared once for all, and unless ``exact`` kernels are worked out once.
    """
    problem = Problem.of(context, categorical, folds, kernel, group, rng, mass)
    with engine():
        plan = problem.plan()
        if exact or not problem.can_be_rough(plan):
            return [problem.select(plan, weight, None, False, 1, None, exact) for weight in weights]
        return problem.select_roughly(plan, weights)


@dataclass(frozen=True, slots=True)
class Problem:
    """Contexts, folds and kernel of a selection, checked."""

    geometry: Geometry
    folds: Folds
    kernel: Kernel
    typical: float

    @classmethod
    def of(
        cls,
        context: ArrayLike,
        categorical: Any,
        folds: Any,
        kernel: Kernel | str,
        group: Any,
        rng: Seed,
        mass: ArrayLike | None = None,
    ) -> Problem:
        contexts = check.contexts(context)
        geometry = Geometry.of(contexts, check.categorical_columns(categorical, contexts))
        labels = as_folds(folds, geometry.n, rng, group)
        counted = None if mass is None else check.masses(mass, geometry.n)
        return cls(geometry, Folds.of(labels, counted), as_kernel(kernel), typical_distance(geometry))

    def plan(self) -> KernelPlan:
        return cross_validation(self.geometry, self.folds, self.kernel)

    def select(
        self,
        plan: KernelPlan,
        weight: Floats,
        starts: Floats | None,
        per_feature: bool,
        cap: int,
        callback: Callback | None = None,
        exact: bool = True,
    ) -> BandwidthChoice:
        scaled = Standardised.of(weight, self.folds)
        if scaled.score == 0:
            return self.choice(scaled, [], 0, per_feature)
        search, gain = Search(plan, scaled.weight, callback), _GAIN
        if starts is not None:
            self._from_starts(search, starts, cap)
        elif per_feature and self.geometry.d > 1:
            self._per_feature(search, cap)
        elif not exact and self.can_be_rough(plan):
            rough_bandwidths([search], self.typical)
            gain = _ROUGH_GAIN
        else:
            shared_bandwidth(search, self.typical, self.kernel.compact, exact)
            gain = _GAIN if exact else _ROUGH_GAIN
        return self._found(scaled, search, per_feature, gain)

    def can_be_rough(self, plan: KernelPlan) -> bool:
        """Whether a bandwidth that need not be exact has a quicker road."""
        return isinstance(plan.locate, Sampled) and not self.kernel.compact

    def select_roughly(self, plan: KernelPlan, weights: Sequence[Floats]) -> list[BandwidthChoice]:
        """What :meth:`select` finds for each of the weights where one shared bandwidth need not be exact."""
        scaled = [Standardised.of(weight, self.folds) for weight in weights]
        searches = [Search(plan, one.weight) for one in scaled]
        uneven = [search for search, one in zip(searches, scaled, strict=True) if one.score > 0]
        if uneven:
            rough_bandwidths(uneven, self.typical)
        return [
            self._found(one, search, False, _ROUGH_GAIN) if one.score > 0 else self.choice(one, [], 0, False)
            for one, search in zip(scaled, searches, strict=True)
        ]

    def _found(self, scaled: Standardised, search: Search, per_feature: bool, gain: float) -> BandwidthChoice:
        made = self.choice(scaled, search.ends, search.evaluations, per_feature, self._isolated(search), gain)
        return made if np.isinf(made.value).all() else replace(made, uncertainty=search.uncertainty)

    def _from_starts(self, search: Search, starts: Floats, cap: int) -> None:
        """L-BFGS-B from every start where evaluations are cheap, then from the best end, with what its start
        left of the cap, exactly.
        """
        scales = self._scales(starts.ndim > 1)
        rough, exact = search.plan.locate, search.plan.finish
        search.starts = len(starts)
        left = []
        for number, start in enumerate(starts):
            search.start, before = number, search.evaluations
            end = descend_from(search, np.atleast_1d(start), rough, Route(scales, False, cap))
            left.append(max(cap - (search.evaluations - before), 1))
            search.ends.append((end, search.score(end, exact).value))
        if rough is not exact:
            search.start = best = min(range(len(starts)), key=lambda number: search.ends[number][1])
            end = descend_from(
                search, np.atleast_1d(search.ends[best][0]), exact, Route(scales, False, left[best])
            )
            search.ends[best] = end, search.score(end, exact).value

    def _per_feature(self, search: Search, cap: int) -> None:
        """Locate minima from the shared optimum and from every start along both routes, then finish the best
        one along both, exactly.

        The route over ``1/h^2`` is the quicker one: it goes first, and what it finds spares the other its
        slow approaches to worse minima.
        """
        scales = self._scales(True)
        shared_bandwidth(search, self.typical, self.kernel.compact)
        shared, score = search.best()
        everywhere = np.full(self.geometry.d, shared)
        search.ends = [(everywhere, score)]
        routes = [(everywhere, True)] + [
            (start, inverse) for inverse in (True, False) for start in default_starts(scales)
        ]
        search.starts = len(routes) + 1
        for number, (start, inverse) in enumerate(routes):
            search.start = number
            end = descend_from(
                search, start, search.plan.locate, Route(scales, inverse, cap), search.best()[1]
            )
            search.ends.append((end, search.score(end, search.plan.finish).value))
        search.start = len(routes)
        end = search.best()[0]
        for how, inverse in ((search.plan.locate, False), (search.plan.finish, True)):
            end = descend_from(search, np.asarray(end), how, Route(scales, inverse, cap))
        score = search.score(end, search.plan.finish).value
        search.ends.insert(0, drop_features(search, np.asarray(end), score, scales))

    def _scales(self, per_feature: bool) -> Floats:
        return feature_scales(self.geometry, self.typical) if per_feature else np.array([self.typical])

    def _isolated(self, search: Search) -> int:
        value = search.best()[0]
        return search.plan.finish.score(search.weight, value).isolated if self.kernel.compact else 0

    def choice(
        self,
        scaled: Standardised,
        ends: list[tuple[Bandwidth, float]],
        evaluations: int,
        per_feature: bool,
        isolated: int = 0,
        gain: float = _GAIN,
    ) -> BandwidthChoice:
        """The best end point, or infinity where the mean of the other folds does no worse."""
        infinite = np.full(self.geometry.d, np.inf) if per_feature else math.inf
        value, score = min(ends, key=lambda end: end[1], default=(infinite, 1.0))
        if not score < 1 - gain:
            value, score, isolated = infinite, 1.0, 0
        end_points = np.array([end for end, _ in ends], dtype=np.float64)
        if per_feature:
            value, end_points = (
                check.read_only(np.broadcast_to(value, self.geometry.d)),
                end_points.reshape(len(ends), self.geometry.d),
            )
        return BandwidthChoice(
            value=value,
            score=scaled.restore(score),
            end_points=check.read_only(end_points),
            end_scores=check.read_only(np.array([scaled.restore(end) for _, end in ends])),
            evaluations=evaluations,
            isolated=isolated,
        )
