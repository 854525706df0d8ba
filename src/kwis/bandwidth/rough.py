"""Shared bandwidths that need not be exact, for many weight vectors at once.

A sample of held-out rows rules out most of the range. A scan in single precision, which works out kernels
once for all vectors, scores the rest, and further ones the nodes between those around each minimum. What is
found for a vector does not depend on the others.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kwis.bandwidth.search import (
    FARTHEST,
    NEAR,
    OCTAVE,
    ROUGH,
    Search,
    Valley,
    descend,
    local_minima,
    polynomial_minimum,
)
from kwis.kernel.held_out import Score
from kwis.typing import Floats, Ints

_AGREED = 0.1  # in log h: a minimum that polynomials through different nodes place so well is found
# In log h, how far a minimum may be off at least: of 34 logs two were off by 0.003 and 0.004, where
# polynomials agreed to a third of that.
_LEAST = 0.005
_CAREFUL = 2.0  # times as far as they differ it may be off
_SAME_SCORE = 1e-5  # relative difference of the scores of such polynomials
_SURE = 5.0  # standard errors by which a node must be worse than the best one to be left out
_UNSURE = 2.0  # by which it must be worse for more rows to be asked whether it can be
_GAIN = 1e-6  # relative, by which a finite bandwidth must beat an infinite one: less is rounding
# Nodes lie an eighth of an octave apart, from 5 octaves above the typical distance to 8 below. A scan begins
# with some of them, by their places, from 2 octaves above: where kernels are flat scores hardly bend.
_PER_OCTAVE, _ABOVE, _BELOW = 8, 5, 8
_WIDER = (0, 8, 16)
_FIRST = (24, 32, *range(40, _PER_OCTAVE * (_ABOVE + _BELOW) + 1, 4))
_AROUND = (-6, -4, -2, 2, 4, 6)  # places of a minimum of these that are scored next


def rough_bandwidths(searches: Sequence[Search], typical: float) -> None:
    """Minima of the held-out error of many weight vectors; they go to the ``ends`` of each search.

    Where polynomials through some nodes agree on the minimum, it is taken for found. Elsewhere nodes half as
    far apart are scored, and if that does not help either it is looked for step by step.
    """
    curves = _Curves.of(searches, typical)
    curves.scan(_promising(curves))
    while curves.scan(curves.each(curves.beyond)):
        pass
    starts = [curves.dips(vector) for vector in range(len(searches))]
    curves.scan(curves.each(lambda vector: curves.around(vector, starts[vector])))
    curves.scan(curves.each(lambda vector: curves.unclear(vector, starts[vector])))
    for vector, search in enumerate(searches):
        known = curves.known(vector)
        dips = np.searchsorted(known, starts[vector]).tolist()
        _read_off(search, np.log(curves.nodes[known]), curves.scores[known, vector], dips)


def _promising(curves: _Curves) -> Floats:
    """``(nodes, vectors)`` which of the first nodes a sample of held-out rows does not rule out.

    The rows are predicted from all others, so the sample's curve is the log's but for noise, which all nodes
    share. Where a node is likely to be ruled out by more rows, some more are predicted.
    """
    first = np.zeros(curves.scores.shape, dtype=bool)
    first[list(_FIRST)] = True
    parts = curves.locate.sampled_scan(curves.weights, curves.nodes, first)
    excess, error, best = _excess(parts)
    open_to = excess <= _SURE * error
    doubtful = open_to & (excess > _UNSURE * error)
    asked = doubtful.copy()
    asked[best[doubtful.any(axis=0)], np.flatnonzero(doubtful.any(axis=0))] = True
    more = curves.locate.sampled_scan(curves.weights, curves.nodes, asked, more=True)
    if more is not None:
        excess, error, _ = _excess(np.where(asked, parts + more, np.nan), best)
        open_to &= ~doubtful | (excess <= _SURE * error)
    widest, narrowest = open_to.argmax(axis=0), len(open_to) - 1 - open_to[::-1].argmax(axis=0)
    places = np.arange(len(first))[:, None]
    return first & (widest <= places) & (places <= narrowest)


def _excess(parts: Floats, best: Ints | None = None) -> tuple[Floats, Floats, Ints]:
    """``(nodes, vectors)`` means over parts of the sample by how much a node is worse than the ``best`` one
    of its vector, their standard errors, and the best nodes; nan where a node was not scored.
    """
    total = parts.sum(axis=0)
    best = np.nanargmin(total, axis=0) if best is None else best
    excess = parts - parts[:, best, np.arange(best.size)][:, None, :]
    return excess.mean(axis=0), excess.std(axis=0, ddof=1) / math.sqrt(len(parts)), best


@dataclass(slots=True, eq=False)
class _Curves:
    """``(nodes, vectors)`` scores at bandwidths that fall, ``nan`` where they are not known."""

    locate: Any
    weights: Floats
    nodes: Floats
    scores: Floats

    @classmethod
    def of(cls, searches: Sequence[Search], typical: float) -> _Curves:
        places = np.arange(_PER_OCTAVE * (_ABOVE + _BELOW) + 1)
        nodes = typical * 2.0 ** (_ABOVE - places / _PER_OCTAVE)
        weights = np.stack([search.weight for search in searches], axis=1)
        return cls(searches[0].plan.locate, weights, nodes, np.full((nodes.size, len(searches)), np.nan))

    def scan(self, wanted: Floats) -> bool:
        """Score what is wanted and not known; whether there was any."""
        new = wanted & np.isnan(self.scores)
        if new.any():
            self.scores[new] = self.locate.scan_many(self.weights, self.nodes, new)[new]
        return bool(new.any())

    def each(self, places: Callable[[int], Sequence[int]]) -> Floats:
        """``(nodes, vectors)`` the places of every vector."""
        wanted = np.zeros(self.scores.shape, dtype=bool)
        for vector in range(self.weights.shape[1]):
            wanted[list(places(vector)), vector] = True
        return wanted

    def known(self, vector: int) -> Ints:
        """Places of the nodes that a vector is scored at."""
        return np.flatnonzero(np.isfinite(self.scores[:, vector]))

    def dips(self, vector: int) -> list[int]:
        """Places of the promising minima, the best first."""
        known = self.known(vector)
        return [int(known[dip]) for dip in local_minima(self.scores[known, vector])]

    def beyond(self, vector: int) -> list[int]:
        """Places beyond the nodes at the ends, where a minimum lies at an end, or where the widest node does
        not yet score what an infinite bandwidth does, which is 1: a few far contexts see to that.
        """
        known, dips, found = self.known(vector), self.dips(vector), []
        if known[-1] in dips:
            found += [place for place in _FIRST if place > known[-1]][:2]
        gain, lowest, wide = 1 - self.scores[known[0], vector], known[0] in dips, known[0] <= _FIRST[0]
        if (wide and abs(gain) > _SAME_SCORE) or (lowest and (gain > _GAIN or not wide)):
            found += [place for place in (*_WIDER, *_FIRST) if place < known[0]][-1:]
        return found

    def around(self, vector: int, dips: Sequence[int]) -> list[int]:
        """Places around minima but for one at the widest bandwidth."""
        widest = self.known(vector)[0]
        found = [dip + step for dip in dips if dip > widest for step in _AROUND]
        return [place for place in found if widest < place < self.nodes.size]

    def unclear(self, vector: int, dips: Sequence[int]) -> list[int]:
        """Places in the middle of the nodes around minima that polynomials do not agree on."""
        known, found = self.known(vector), []
        scores, x = self.scores[known, vector], np.log(self.nodes[known])
        for start in np.searchsorted(known, dips).tolist():
            dip = _downhill(scores, start)
            near = slice(max(dip - 2, 0), dip + 3)
            if start > 0 and _lowest(x[near], scores[near])[1] >= _AGREED:
                beside = known[max(dip - 1, 0) : dip + 2]
                found += ((beside[1:] + beside[:-1]) // 2).tolist()
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
