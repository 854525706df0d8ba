"""Sums over long columns in one pass, where numpy would make a column of every step.

Blocks of rows are fixed, each is summed by one thread and partial sums are added in their order, so bits do
not depend on the number of threads. Nothing is scaled: callers see to it that squares and fourth powers of
what they hand over stay in range (:data:`LEAST`, :data:`MOST`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from kwis.runtime.arrays import Pieces
from kwis.runtime.threads import each_block, row_blocks
from kwis.typing import Floats, Ints

LONG = 1 << 17
"""Rows from which on a pass of compiled code is worth loading it."""
LEAST, MOST = 1e-50, 1e50
_BLOCK = 1 << 18
_PIECE = 1 << 13  # rows written at a time, from memory that stays at hand
_BINS = 1 << 17  # by exponent and the first bits after it: 64 to each power of two
FEW = 16


@cache
def loops() -> Any:
    """Compiled code, loaded by the first long column."""
    from kwis.stats import passes

    return passes


def is_long(*columns: Floats) -> bool:
    """Whether columns are long enough, and lie in memory as compiled code expects it."""
    return all(
        one.ndim == 1
        and one.size >= LONG
        and one.dtype == np.float64
        and (one.flags.c_contiguous or is_constant(one))
        for one in columns
    )


def is_constant(column: Floats) -> bool:
    """Whether a column is one number that takes no room."""
    return column.strides == (0,)


def in_range(*sizes: float) -> bool:
    """Whether sums of fourth powers of numbers of these sizes neither overflow nor vanish."""
    return all(LEAST <= size <= MOST for size in sizes)


@dataclass(frozen=True, slots=True)
class Extent:
    """How far numbers that are not negative reach, how many are 0, and their sum and that of their
    squares.
    """

    least_positive: float
    largest: float
    zeros: int
    total: float
    squares: float

    @classmethod
    def of(cls, values: Floats) -> Extent:
        if is_constant(values):
            one, n = float(values[0]), values.size
            return cls(one or np.inf, one, 0 if one else n, one * n, one * one * n)
        parts = _each(values.size, lambda rows: loops().extent(values[rows]))
        zeros, total, squares = parts[:, 2:].sum(axis=0)
        return cls(
            float(parts[:, 0].min()), float(parts[:, 1].max()), int(zeros), float(total), float(squares)
        )


def products(weight: Floats, reward: Floats) -> tuple[float, float]:
    """Sum of the products, and the largest size of a reward."""
    parts = _each(weight.size, lambda rows: loops().products(weight[rows], reward[rows]))
    return float(parts[:, 0].sum()), float(parts[:, 1].max())


def influence_of(weight: Floats, reward: Floats, value: float, factor: float | None) -> Floats:
    """``factor w (r - value)``, or without a factor ``w r - value``."""

    def fill(rows: slice, out: Floats) -> None:
        if factor is None:
            loops().fill_plain(weight[rows], reward[rows], value, out)
        else:
            loops().fill_normalised(weight[rows], reward[rows], value, factor, out)

    return _filled(reward, fill)


def parts_of(weight: Floats, total: float) -> Floats:
    """``w`` over a total."""
    return _filled(weight, lambda rows, out: np.divide(weight[rows], total, out=out))


def _filled(like: Floats, fill: Callable[[slice, Floats], object]) -> Floats:
    """A column like another, from what ``fill`` writes for some rows."""
    found = Pieces.like(like)

    def block(rows: slice) -> None:
        space = np.empty(min(_PIECE, rows.stop - rows.start))
        for part in row_blocks(rows.stop, _PIECE, rows.start):
            out = space[: part.stop - part.start]
            fill(part, out)
            found.put(part, out)

    each_block(block, row_blocks(like.size, _BLOCK))
    return found.whole()


def moments(influence: Floats) -> tuple[float, float, float]:
    """Largest size, and sums of squares and fourth powers."""
    parts = _each(influence.size, lambda rows: loops().moments(influence[rows]))
    squares, fourth = parts[:, 1:].sum(axis=0)
    return float(parts[:, 0].max()), float(squares), float(fourth)


def distances(values: Floats, centre: float) -> float:
    """Sum of the squares of the distances from a number."""
    return float(_each(values.size, lambda rows: (loops().distances(values[rows], centre),)).sum())


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Of the influence of rows with some leverage: largest size, sums of squares and of fourth powers, of the
    squared leverage, and of the squares of what leaving each row out moves; and the largest leverage.
    """

    largest: float
    squares: float
    fourth: float
    leverage: float
    moves: float
    most: float

    @classmethod
    def of(cls, influence: Floats, leverage: Floats) -> LeftOut:
        return cls._of(_each(influence.size, lambda rows: loops().left_out(influence[rows], leverage[rows])))

    @classmethod
    def of_difference(cls, a: Floats, b: Floats, leverage_a: Floats, leverage_b: Floats) -> LeftOut:
        """Of ``a - b``, each row with the larger leverage."""

        def block(rows: slice) -> tuple[float, ...]:
            return loops().left_out_apart(a[rows], b[rows], leverage_a[rows], leverage_b[rows])

        return cls._of(_each(a.size, block))

    @classmethod
    def _of(cls, parts: Floats) -> LeftOut:
        squares, fourth, leverage, moves = (float(part) for part in parts[:, 1:5].sum(axis=0))
        return cls(float(parts[:, 0].max()), squares, fourth, leverage, moves, float(parts[:, 5].max()))


@dataclass(frozen=True, slots=True, eq=False)
class Ranked:
    """Numbers that are not negative, by how many of them have about each size: their order without sorting
    them.
    """

    values: Floats
    counts: Ints

    @classmethod
    def of(cls, values: Floats) -> Ranked:
        def block(rows: slice) -> Ints:
            counts = np.zeros(_BINS, dtype=np.int64)
            loops().count_sizes(values[rows].view(np.int64), counts)
            return counts

        blocks = row_blocks(values.size, 8 * _BLOCK)
        return cls(values, np.asarray(np.sum(each_block(block, blocks), axis=0)))

    def at(self, places: Ints) -> Floats:
        """The values at some places of the sorted array."""
        below = np.concatenate([[0], np.cumsum(self.counts)])
        bins = np.searchsorted(below, places, side="right") - 1
        wanted = np.zeros(_BINS, dtype=np.bool_)
        wanted[bins] = True
        starts = np.concatenate([[0], np.cumsum(np.where(wanted, self.counts, 0))])
        return np.asarray(np.sort(self._within(wanted))[starts[bins] + places - below[bins]])

    def top(self, most: int) -> Floats:
        """The largest values, from low to high."""
        above = np.cumsum(self.counts[::-1])[::-1]
        return np.sort(self._within(above - self.counts < most))[-most:]

    def _within(self, wanted: Any) -> Floats:
        def block(rows: slice) -> Floats:
            some = np.empty(rows.stop - rows.start)
            return some[
                : loops().gather_sizes(self.values[rows], self.values[rows].view(np.int64), wanted, some)
            ].copy()

        return np.concatenate(each_block(block, row_blocks(self.values.size, _BLOCK)))


def heaviest(weight: Floats, reward: Floats, value: float, most: int) -> Ints:
    """Rows with the largest ``|w (r - value)|``, the first of equal ones before others."""

    def block(rows: slice) -> tuple[Floats, Ints]:
        sizes, places = np.full(most, -1.0), np.zeros(most, dtype=np.int64)
        loops().heaviest(weight[rows], reward[rows], value, sizes, places)
        return sizes, places + rows.start

    found = each_block(block, row_blocks(weight.size, _BLOCK))
    sizes, places = (np.concatenate(part) for part in zip(*found, strict=True))
    return np.asarray(places[np.lexsort((places, -sizes))][:most])


def loads(weight: Floats, reward: Floats, usual: float) -> tuple[float, float]:
    """Sums of ``w |r - usual|`` and of its squares."""
    parts = _each(weight.size, lambda rows: loops().loads(weight[rows], reward[rows], usual))
    total, squares = parts.sum(axis=0)
    return float(total), float(squares)


def few_values(values: Floats) -> tuple[Floats, Ints] | None:
    """Different values in order and how often each occurs; None where there are more than sixteen."""
    found, counts = np.empty(FEW), np.zeros(FEW, dtype=np.int64)
    number = loops().few_values(values, found, counts)
    if number < 0:
        return None
    order = np.argsort(found[:number])
    return found[order], counts[order]


def _each(n: int, block: Any) -> Floats:
    return np.array(each_block(block, row_blocks(n, _BLOCK)), dtype=np.float64)
