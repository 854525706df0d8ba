"""Shared bandwidths that need not be exact, for many weight vectors at once.

A sample of held-out rows rules out most of the range. A scan in single precision, which works out kernels
once for all vectors, scores the rest, and a second one the nodes between those around each minimum. What is
found for a vector does not depend on the others.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kwis.bandwidth.search import (
    FARTHEST,
    NEAR,
    OCTAVE,
    ROUGH,
    SPACING,
    Search,
    Valley,
    descend,
    local_minima,
    polynomial_minimum,
)
from kwis.kernel.held_out import Score, rough_grid
from kwis.typing import Floats

_AGREED = 0.1  # in log h: a minimum that polynomials through different nodes place so well is found
# In log h, how far a minimum may be off at least: of 34 logs two were off by 0.003 and 0.004, where
# polynomials agreed to a third of that.
_LEAST = 0.005
_CAREFUL = 2.0  # times as far as they differ it may be off
_SAME_SCORE = 1e-5  # relative difference of the scores of such polynomials
_SURE = 5.0  # standard errors by which a node of the grid must be worse than the best one to be left out
# A rough scan goes from 3 octaves above to 8 below; from its third node on it is as fine as the other.
_ROUGH_ABOVE, _ROUGH_COUNT, _EVEN = 3, 21, 2


def rough_bandwidths(searches: Sequence[Search], typical: float) -> None:
    """Minima of the held-out error of many weight vectors; they go to the ``ends`` of each search.

    Where polynomials through some nodes agree on the minimum, it is taken for found. Elsewhere nodes half as
    far apart are scored, and if that does not help either it is looked for step by step.
    """
    locate: Any = searches[0].plan.locate
    grid = rough_grid(typical * 2.0**_ROUGH_ABOVE, _ROUGH_COUNT)
    weights = np.stack([search.weight for search in searches], axis=1)
    scores = locate.scan_many(weights, grid, _promising(locate.sampled_scan(weights, grid)))
    finer = grid[_EVEN:] * math.exp(-SPACING / 2)
    between = np.zeros((finer.size, len(searches)), dtype=bool)
    dips = [_dips(curve) for curve in scores.T]
    for number, own in enumerate(dips):
        for dip in own:
            if dip > _EVEN:
                between[max(dip - 2 - _EVEN, 0) : dip + 2 - _EVEN, number] = True
    curves = _Curves(grid, scores).with_nodes(finer, locate.scan_many(weights, finer, between))
    unclear = np.stack([curves.unclear(number, grid[own]) for number, own in enumerate(dips)], axis=1)
    if unclear.any():
        before = curves
        # From the third node on, nodes of both grids take turns.
        for first in (_EVEN, _EVEN + 1):
            below = before.nodes[first::2] * math.exp(-SPACING / 4)
            curves = curves.with_nodes(below, locate.scan_many(weights, below, unclear[first::2]))
    for number, search in enumerate(searches):
        _read_off(search, *curves.known(number, grid[dips[number]]))


def _dips(curve: Floats) -> list[int]:
    """The promising minima of a curve that is known on a part of the grid only, ``nan`` elsewhere."""
    known = np.flatnonzero(np.isfinite(curve))
    return [int(known[0]) + dip for dip in local_minima(curve[known[0] : known[-1] + 1])]


def _promising(parts: Floats) -> Floats:
    """``(bandwidths, vectors)`` which nodes a sample of held-out rows does not rule out, and a node beyond on
    either side.

    The rows are predicted from all others, so the sample's curve is the log's but for noise, which all nodes
    share.
    """
    found = np.zeros(parts.shape[1:], dtype=bool)
    for vector in range(parts.shape[2]):
        own = parts[:, :, vector]
        excess = own - own[:, [int(own.sum(axis=0).argmin())]]
        error = excess.std(axis=0, ddof=1) / math.sqrt(len(excess))
        open_to = np.flatnonzero(excess.mean(axis=0) <= _SURE * error)
        found[max(open_to[0] - 1, 0) : open_to[-1] + 2, vector] = True
    return found


@dataclass(frozen=True, slots=True, eq=False)
class _Curves:
    """``(nodes, vectors)`` scores at bandwidths that fall, ``nan`` where they are not known."""

    nodes: Floats
    scores: Floats

    def with_nodes(self, nodes: Floats, scores: Floats) -> _Curves:
        """The same with more nodes."""
        together = np.append(self.nodes, nodes)
        order = np.argsort(-together)
        return _Curves(together[order], np.concatenate([self.scores, scores])[order])

    def known(self, vector: int, starts: Floats) -> tuple[Floats, Floats, list[int]]:
        """Logarithms and scores of the nodes that one vector is scored at, and which of them are the
        ``starts``.
        """
        known = np.isfinite(self.scores[:, vector])
        nodes = self.nodes[known]
        return np.log(nodes), self.scores[known, vector], np.searchsorted(-nodes, -starts).tolist()

    def unclear(self, vector: int, starts: Floats) -> Floats:
        """``(nodes,)`` beyond which a node in the middle to the next is wanted: those beside a minimum that
        polynomials do not agree on.
        """
        found = np.zeros(self.nodes.size, dtype=bool)
        x, scores, dips = self.known(vector, starts)
        for start in dips:
            dip = _downhill(scores, start)
            around = slice(max(dip - 2, 0), dip + 3)
            place = int(np.searchsorted(-np.log(self.nodes), -x[dip]))
            if place > _EVEN and _lowest(x[around], scores[around])[1] >= _AGREED:
                found[place - 1 : place + 1] = True
        return found


def _downhill(scores: Floats, place: int) -> int:
    """The lowest node that can be reached from one without going up."""
    while True:
        lower = max(place - 1, 0) + int(np.argmin(scores[max(place - 1, 0) : place + 2]))
        if scores[lower] >= scores[place]:
            return place
        place = lower


def _read_off(search: Search, x: Floats, scores: Floats, dips: Sequence[int]) -> None:
    """The promising minima of a curve with these nodes in ``x``, from polynomials where these are precise."""
    search.told(Score(float(scores.min()), np.zeros(1)))
    for coarse in dips:
        if coarse == 0:
            search.ends.append((math.exp(x[0]), float(scores[0])))  # as good as infinite
            continue
        dip = _downhill(scores, coarse)
        around = slice(max(dip - 2, 0), dip + 3)
        (place, score), uncertainty = _lowest(x[around], scores[around])
        if search.ends and score >= search.best()[1]:
            continue
        if uncertainty >= _AGREED:
            low = float(x[dip + 1]) if dip + 1 < x.size else float(x[-1]) - OCTAVE * FARTHEST
            valley = Valley(
                low, float(x[max(dip - 1, 0)]), float(x[dip]), float(scores[dip]), float(x[dip]), 0.0
            )
            bottom = descend(search, search.plan.locate, valley, ROUGH, NEAR)
            place, score, uncertainty = bottom.x, bottom.score, bottom.uncertainty
        search.ends.append((math.exp(place), score))
        off = max(_LEAST, math.hypot(uncertainty, _hidden(x, scores, dip)))
        search.uncertainty = max(search.uncertainty, off)


def _hidden(x: Floats, scores: Floats, dip: int) -> float:
    """How far the rounding of scores may move a minimum."""
    if not 0 < dip < x.size - 1:
        return 0.0
    curvature = 2 * float(np.polyfit(x[dip - 1 : dip + 2] - x[dip], scores[dip - 1 : dip + 2], 2)[0])
    reach = float(x[dip - 1] - x[dip + 1]) / 2
    return (
        min(_CAREFUL * math.sqrt(2 * ROUGH * float(scores[dip]) / curvature), reach)
        if curvature > 0
        else reach
    )


def _lowest(x: Floats, scores: Floats) -> tuple[tuple[float, float], float]:
    """Place and score of the minimum of the polynomial through five nodes, and by how much it may be off,
    as the places by four of them say; infinite where the scores differ as well, or there are not as many.
    """
    if x.size < 5:
        return (math.nan, float(scores.min())), math.inf
    whole = polynomial_minimum(x, scores)
    parts = [polynomial_minimum(x[some], scores[some]) for some in (slice(4), slice(1, 5))]
    if max(abs(score - whole[1]) for _, score in parts) > _SAME_SCORE * whole[1]:
        return whole, math.inf
    return whole, _CAREFUL * max(abs(place - whole[0]) for place, _ in parts)
