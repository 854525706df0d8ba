"""Searches for the bandwidth with the smallest held-out error.

One shared bandwidth: a scan over a geometric grid, then each promising minimum is refined by safeguarded
Newton steps on the gradient. Several bandwidths, or starts given by the caller: L-BFGS-B from each start (the
paper's Algorithm 1).

Scores are in units of the score at an infinite bandwidth.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.polynomial import Polynomial

from kwis.kernel import KernelPlan
from kwis.kernel.held_out import CrossValidation, Score, halving_grid
from kwis.typing import Bandwidth, Floats

OCTAVE = math.log(2)
SPACING = OCTAVE / 2  # of the scan, in log h
_ABOVE, _COUNT = 5, 27  # the scan goes from 5 octaves above the typical distance to 8 below
FARTHEST = 10.0  # octaves from the typical distance: beyond, the kernel is flat or isolates every row
_REACH = 2.0**FARTHEST
_FINER, _AROUND, _MOST = (
    OCTAVE / 24,
    36,
    8,
)  # second scan of a kinked curve: spacing, nodes on each side, minima refined
_CLOSE = 0.02  # a local minimum of the scan this close to the best is refined too
_STEPS, _PATIENCE = 60, 4  # of a refinement: evaluations at most, and steps that need not halve the bracket
_LEVEL = 1e-12  # relative difference between scores that counts as none
ROUGH = 1e-7  # relative gain in score at which single precision has done its part
_FLAT = 1e-13  # relative gain in score at which a refinement ends
NEAR = 0.01  # a Newton step in log h so short that the minimum is known where its place need not be exact
# A descent may take this many evaluations. Then it must be on the way to a gain over the best end so far of
# at least this share: at the pace of the last few evaluations, within so many times as many.
_UNTRIED, _WORTH, _PACE, _AHEAD = 30, 1e-4, 10, 8


@dataclass(frozen=True, slots=True)
class Progress:
    """What a callback is told after every evaluation."""

    evaluations: int
    start: int
    starts: int
    score: float


Callback = Callable[[Progress], object]


@dataclass(slots=True)
class Search:
    """Evaluations of one weight vector, counted, reported and remembered; ``uncertainty`` is how far an end
    may be from its minimum in ``log h``, where its place need not be exact.
    """

    plan: KernelPlan
    weight: Floats
    callback: Callback | None = None
    evaluations: int = 0
    start: int = 0
    starts: int = 1
    ends: list[tuple[Bandwidth, float]] = field(default_factory=list)
    uncertainty: float = 0.0

    def score(self, bandwidth: Bandwidth, how: CrossValidation) -> Score:
        return self.told(how.score(self.weight, bandwidth))

    def scan(self, bandwidths: Floats) -> Floats:
        scores = self.plan.locate.scan(self.weight, bandwidths)
        self.told(Score(float(scores.min()), np.zeros(1)))
        return scores

    def told(self, score: Score) -> Score:
        self.evaluations += 1
        if self.callback is not None:
            self.callback(Progress(self.evaluations, self.start, self.starts, score.value))
        return score

    def best(self) -> tuple[Bandwidth, float]:
        """Best end point so far; of equal ones the first."""
        return min(self.ends, key=lambda end: end[1])


def scan_grid(typical: float) -> Floats:
    """Bandwidths around the typical distance."""
    return halving_grid(typical * 2.0**_ABOVE, _COUNT)


def local_minima(scores: Floats) -> list[int]:
    """Indices of the promising minima of a scanned curve, best first; of a plateau only the widest bandwidth
    counts.
    """
    wider, narrower = np.append(np.inf, scores[:-1]), np.append(scores[1:], np.inf)
    dips = np.flatnonzero((scores < wider * (1 - _LEVEL)) & (scores <= narrower * (1 + 2 * _LEVEL)))
    return [
        int(i)
        for i in dips[np.argsort(scores[dips], kind="stable")]
        if scores[i] <= scores.min() * (1 + _CLOSE)
    ]


def shared_bandwidth(search: Search, typical: float, kinked: bool, exact: bool = True) -> None:
    """Scan, then refine the promising minima; end points go to ``search.ends``.

    The curve of a compact kernel is ``kinked`` wherever a row gains a neighbour: it is scanned again, more
    finely, around its best part. Unless the place of the minimum is to be ``exact``, it is found to about a
    hundredth in ``log h``, which moves estimates by far less than their standard error.
    """
    grid, spacing = scan_grid(typical), SPACING
    scores = search.scan(grid)
    dips = local_minima(scores)
    if kinked:
        grid, spacing = grid[dips[0]] * np.exp(_FINER * np.arange(_AROUND, -_AROUND - 1, -1)), _FINER
        scores = search.scan(grid)
        dips = local_minima(scores)[:_MOST]
    search.starts = len(dips)
    for start, dip in enumerate(dips):
        search.start = start
        low = math.log(grid[dip + 1] if dip + 1 < grid.size else typical / _REACH)
        high = math.log(grid[dip - 1] if dip else typical * _REACH)
        offset, curvature = _vertex(scores, dip, spacing)
        node = math.log(grid[dip])
        valley = Valley(low, high, node, float(scores[dip]), node + offset, curvature)
        if exact:
            refine(search, valley)
        elif dip == 0:
            search.ends.append((float(grid[0]), valley.score))  # as good as infinite
        elif not search.ends or valley.score - curvature * spacing**2 / 4 < search.best()[1]:
            bottom = descend(search, search.plan.locate, valley, ROUGH, NEAR)
            search.ends.append((math.exp(bottom.x), bottom.score))
            search.uncertainty = max(search.uncertainty, bottom.uncertainty)


def polynomial_minimum(x: Floats, values: Floats) -> tuple[float, float]:
    """Lowest point of the polynomial through the points, among its stationary points between them and the
    points themselves.
    """
    polynomial = Polynomial.fit(x, values, x.size - 1)
    roots = polynomial.deriv().roots()
    inside = roots.real[(np.abs(roots.imag) < 1e-9) & (roots.real > x.min()) & (roots.real < x.max())]
    points = [
        *((float(polynomial(root)), float(root)) for root in inside),
        *zip(values.tolist(), x.tolist(), strict=True),
    ]
    score, lowest = min(points)
    return lowest, score


def _vertex(scores: Floats, dip: int, spacing: float) -> tuple[float, float]:
    """Offset from the dip to the vertex of the parabola through it and its neighbours, and its curvature."""
    if dip == 0 or dip == scores.size - 1:
        return 0.0, 0.0
    finer, here, coarser = scores[dip + 1], scores[dip], scores[dip - 1]
    bend = finer - 2 * here + coarser
    if bend <= 0:
        return 0.0, 0.0
    return float(spacing * np.clip((finer - coarser) / (2 * bend), -0.9, 0.9)), float(bend / spacing**2)


@dataclass(frozen=True, slots=True)
class Valley:
    """A minimum seen on a scan, in ``log h``: what brackets it, its node and score, and where a parabola
    would have it.
    """

    low: float
    high: float
    node: float
    score: float
    guess: float
    curvature: float


def refine(search: Search, valley: Valley) -> None:
    """Find the bottom of a valley, first roughly, then exactly; it goes to ``search.ends``."""
    if search.plan.locate is not search.plan.finish:
        rough = descend(search, search.plan.locate, valley, ROUGH)
        valley = replace(valley, guess=rough.x, curvature=rough.curvature, score=math.inf)
    bottom = descend(search, search.plan.finish, valley, _FLAT)
    search.ends.append((math.exp(bottom.x), bottom.score))


@dataclass(frozen=True, slots=True)
class Bottom:
    """Where a descent ended, in ``log h``, and how far that may be from the minimum: by its last step, or by
    the one that was not worth taking.
    """

    x: float
    score: float
    curvature: float
    uncertainty: float = 0.0


def descend(search: Search, how: CrossValidation, valley: Valley, gain: float, near: float = 0.0) -> Bottom:
    """Newton steps on the gradient with a secant curvature; bisection where that is not positive or the
    bracket does not shrink. A step shorter than ``near`` is the last, and its score is that of the parabola.
    """
    low, high, x, curvature = valley.low, valley.high, valley.guess, valley.curvature
    best = Bottom(x, math.inf, curvature)
    previous: tuple[float, float] | None = None
    width, slow, misled = high - low, 0, False
    for steps in range(_STEPS):
        score = search.score(math.exp(x), how)
        slope = float(score.gradient[0])
        if previous is not None and x != previous[0]:
            curvature = (slope - previous[1]) / (x - previous[0])
        previous = (x, slope)
        newton = abs(slope) / curvature if curvature > 0 else math.inf
        if score.value < best.score:
            best = Bottom(x, score.value, curvature, newton)
        low, high = (x, high) if slope < 0 else (low, x)
        hope = abs(slope) * (high - low if curvature <= 0 else min(high - low, abs(slope) / (2 * curvature)))
        if hope <= gain * score.value or high - low < 1e-9:
            if misled or best.score <= valley.score * (1 + gain):
                break
            # The guess led to flat ground above the node that was scanned: begin again from there.
            misled, low, high, x = True, valley.low, valley.high, valley.node
            continue
        width, slow = (high - low, 0) if high - low <= width / 2 else (width, slow + 1)
        step = x - slope / curvature if curvature > 0 and slow < _PATIENCE else math.nan
        known = steps > 0 and abs(step - x) < near  # the curvature between two points, not that of the scan
        if known and low < step < high and score.value <= valley.score * (1 + gain):
            return Bottom(step, score.value - slope * (x - step) / 2, curvature, abs(step - x))
        x = step if low < step < high else (low + high) / 2
    return replace(best, uncertainty=min(best.uncertainty, high - low))


class _HopelessError(Exception):
    """Ends a descent that will not reach its rival."""


def descend_from(
    search: Search, start: Floats, how: CrossValidation, route: Route, rival: float = math.inf
) -> Bandwidth:
    """L-BFGS-B from ``start`` along one route; returns where it ended, or its best point if it lost touch
    with a ``rival`` score.
    """
    from scipy.optimize import minimize

    lowest = [math.inf]
    best = first = np.clip(route.coordinates(start), *np.transpose(route.bounds()))

    def objective(x: Floats) -> tuple[float, Floats]:
        nonlocal best
        score = search.score(route.bandwidth(x), how)
        if score.value < lowest[-1]:
            best = x.copy()
        lowest.append(min(score.value, lowest[-1]))
        if _hopeless(lowest, rival):
            raise _HopelessError
        return score.value, route.chain(x, score.gradient)

    options = {"maxfun": route.cap, "maxiter": route.cap}
    minimise: Any = minimize
    with contextlib.suppress(_HopelessError):
        best = minimise(
            objective, first, jac=True, method="L-BFGS-B", bounds=route.bounds(), options=options
        ).x
    return route.bandwidth(best)


def _hopeless(lowest: list[float], rival: float) -> bool:
    """Whether a descent with these lowest scores so far is too slow to be worth going on with
    beside a rival.
    """
    if len(lowest) <= _UNTRIED or math.isinf(rival):
        return False
    return lowest[-1] - rival * (1 - _WORTH) > _AHEAD * (lowest[-1 - _PACE] - lowest[-1])


@dataclass(frozen=True, slots=True)
class Route:
    """Coordinates of a search: ``log h``, or ``(scale / h)^2``, in which dropping a feature is a plain bound
    at 0.

    ``scales`` holds the typical distance of every feature, or of the rows for one shared bandwidth.
    """

    scales: Floats
    inverse: bool
    cap: int

    def coordinates(self, h: Floats) -> Floats:
        return (self.scales / h) ** 2 if self.inverse else np.log(h)

    def bandwidth(self, x: Floats) -> Bandwidth:
        h = self.scales / np.sqrt(self._bounded(x)) if self.inverse else np.exp(x)
        return h if h.size > 1 else float(h[0])

    def chain(self, x: Floats, gradient: Floats) -> Floats:
        """Gradient in ``log h`` turned into one in ``x``."""
        return -0.5 * gradient / self._bounded(x) if self.inverse else gradient

    def bounds(self) -> list[tuple[float, float]]:
        if self.inverse:
            return [(0.0, _REACH**2)] * self.scales.size
        return [(math.log(scale / _REACH), math.log(scale * _REACH)) for scale in self.scales]

    def _bounded(self, x: Floats) -> Floats:
        return np.maximum(x, _REACH**-2)


def drop_features(search: Search, bandwidth: Floats, score: float, scales: Floats) -> tuple[Bandwidth, float]:
    """Make bandwidths at the upper end of the search infinite, unless that costs anything."""
    dropped = np.where(bandwidth >= 0.99 * scales * _REACH, np.inf, bandwidth)
    if np.array_equal(dropped, bandwidth) or np.isinf(dropped).all():
        return bandwidth, score
    without = search.score(dropped, search.plan.finish).value
    return (dropped, without) if without <= score * (1 + 1e-9) else (bandwidth, score)
