"""Many estimates of the same rows beside each other, for differences of many pairs of them.

What belongs to one estimate is worked out once, and the pairs pass by in compiled code.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kwis._validation import read_only
from kwis.estimators import traits
from kwis.estimators.joint import Contrast
from kwis.runtime.threads import each_block, row_blocks
from kwis.stats import long
from kwis.stats.influence import draw_sums
from kwis.typing import Floats, Ints

EPSILON = float(np.finfo(np.float64).eps)
_LEAST_PART = 1e-30  # of the largest size: fourth powers of what is no smaller stay in range
_PAIRS, _DRAWS = 100, 1 << 16  # that a thread takes at a time, and that are held beside each other


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Side:
    """What differences need of one estimate.

    ``apart`` and ``shift`` are influence and value less those of the estimate that its bias is measured by,
    the former as each draw left out moves it; None and 0 where there is none.
    """

    rows: int
    draws: Floats
    leverage: Floats | None
    effective_n: float
    apart: Floats | None
    shift: float
    shrinks: bool

    @classmethod
    def of(cls, contrast: Contrast, bias_aware: bool, lone: Floats | float) -> Side:
        estimate, group = contrast.estimate, contrast.group
        assert estimate.influence is not None
        apart, shift = None, 0.0
        whole = contrast.unbiased if bias_aware else None
        if whole is not None and whole.influence is not None:
            apart = _fixed(draw_sums(estimate.influence - whole.influence, group) / (1 - lone))
            shift = estimate.value - whole.value
        return cls(
            rows=estimate.influence.size,
            draws=_fixed(draw_sums(estimate.influence, group)),
            leverage=None if estimate.leverage is None else _fixed(estimate.leverage),
            effective_n=estimate.effective_n,
            apart=apart,
            shift=shift,
            shrinks=traits.shrinks(contrast.estimator),
        )


def _fixed(vector: Floats) -> Floats:
    """The same as read-only numbers of an ordinary array: compiled once for all. One number that stands for
    all rows stays one.
    """
    if long.is_constant(vector):
        return vector
    return read_only(np.ascontiguousarray(vector).view(np.ndarray))


def lone_share(n: int, group: Ints | None) -> Floats | float:
    """Share of each draw in all rows, below 1."""
    return 1 / n if group is None else np.minimum(draw_sums(np.full(n, 1 / n), group), 1 - EPSILON)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Apart:
    """Estimates beside each other; their draws, and what they are apart from their references, are taken in
    units near the largest: powers of two, which change no bit of a pair.
    """

    sides: Sequence[Side]
    lone: Floats | float
    group: Ints | None
    unit: float
    apart_unit: float

    @classmethod
    def of(cls, sides: Sequence[Side], lone: Floats | float, group: Ints | None) -> Apart | None:
        """None where passes over long columns do it, some estimates have a leverage and some have none, or
        sizes are so far apart that powers of some would vanish.
        """
        sizes = [size for side in sides if (size := _largest(side.draws)) > 0]
        known = [side.apart for side in sides if side.apart is not None]
        if len({side.leverage is None for side in sides}) > 1 or not sizes:
            return None
        if min(sizes) < _LEAST_PART * max(sizes) or (long.is_long(sides[0].draws) and not known):
            return None
        unit, apart_unit = (_power(one) for one in (max(sizes), max(map(_largest, known), default=0.0)))
        return cls(sides=sides, lone=lone, group=group, unit=unit, apart_unit=apart_unit)

    def sums(self, pairs: Sequence[tuple[int, int]]) -> Floats:
        """``(4, pairs)`` standard errors, those from leaving each draw out and their degrees of freedom, and
        what chance does to the bias.
        """
        first, second = np.ascontiguousarray(np.array(pairs, dtype=np.int64).T)
        blocks, count = row_blocks(first.size, _PAIRS), self.sides[0].draws.size
        moments = np.zeros((5, first.size))
        for draws in row_blocks(count, _DRAWS):
            columns = self._columns(draws)

            def block(some: slice, draws: slice = draws, columns: _Columns = columns) -> Floats:
                return self._moments(draws, columns, first[some], second[some])

            moments += np.concatenate(each_block(block, blocks), axis=1)
        squares, fourth, own, left_out, others = moments
        effective = np.array([side.effective_n for side in self.sides])
        least, n = np.minimum(effective[first], effective[second]), self.sides[0].rows
        return np.stack(
            [
                self.unit * np.sqrt(squares * count / (count - 1)) / n,
                self.unit * np.sqrt(left_out * (count - 1) / count) / n,
                freedom_of(squares, fourth, own, count=count, effective=least),
                self.apart_unit * np.sqrt(others * (count - 1) / count) / n,
            ]
        )

    def _columns(self, draws: slice) -> _Columns:
        nothing = np.zeros(draws.stop - draws.start)
        known = [side.apart for side in self.sides]
        apart = [nothing if one is None else one[draws] / self.apart_unit for one in known]
        if self.sides[0].leverage is None:
            shares = np.broadcast_to(self.lone, self.sides[0].draws.shape)[None, draws].copy()
        elif self.group is None:
            shares = np.stack([_leverage(side)[draws] for side in self.sides])
        else:
            shares = np.empty((0, 0))
        return _Columns(
            draws=np.stack([side.draws[draws] / self.unit for side in self.sides]),
            apart=np.stack(apart) if any(one is not None for one in known) else np.empty((0, 0)),
            shares=shares,
            inverses=_inverses(shares),
        )

    def _moments(self, draws: slice, columns: _Columns, first: Ints, second: Ints) -> Floats:
        from kwis.stats.fused_apart import moments_apart

        shares, inverses, mine, theirs = columns.shares, columns.inverses, first, second
        if self.sides[0].leverage is None:
            mine = theirs = np.zeros_like(first)
        elif self.group is not None:
            mine = theirs = np.arange(first.size)
            shares = np.stack([self._share(a, b)[draws] for a, b in zip(first, second, strict=True)])
            inverses = _inverses(shares)
        found = np.empty((5, first.size))
        moments_apart(columns.draws, shares, inverses, columns.apart, first, second, mine, theirs, found)
        return found

    def _share(self, a: int, b: int) -> Floats:
        """Shares of the groups that a pair leaves out."""
        both = np.maximum(_leverage(self.sides[a]), _leverage(self.sides[b]))
        return draw_sums(both, self.group)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Columns:
    """Some draws of all estimates, an estimate a row; ``shares``, and ``inverses`` of what they leave, have
    one row where all have the same, and none where each pair has its own.
    """

    draws: Floats
    apart: Floats
    shares: Floats
    inverses: Floats


def _leverage(side: Side) -> Floats:
    assert side.leverage is not None
    return side.leverage


def _inverses(shares: Floats) -> Floats:
    return np.asarray(1 / np.maximum(1 - shares, EPSILON))


def _power(size: float) -> float:
    """A power of two near a size."""
    return math.ldexp(1.0, math.frexp(size)[1] - 1)


def _largest(vector: Floats) -> float:
    return max(float(vector.max()), -float(vector.min()))


def freedom_of(squares: Floats, fourth: Floats, shares: Floats, *, count: int, effective: Floats) -> Floats:
    """Degrees of freedom, see :func:`kwis.intervals.student.degrees_of_freedom`, from the sums of squares
    and fourth powers over so many draws and of the squares of their shares; at most one less than the
    effective rows.
    """
    rows = np.divide(squares**2, fourth, out=np.full(squares.shape, float(count)), where=fourth > 0)
    freedom = np.minimum(1 / shares - 1, 2 / np.maximum(1 / rows - 1 / count, EPSILON))
    fewer = np.where(np.isfinite(effective), np.maximum(effective - 1, 1.0), np.inf)
    return np.minimum(np.maximum(freedom, 1.0), fewer)
