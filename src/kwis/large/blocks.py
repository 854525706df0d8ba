"""Exact Kernel-WIS over the blocks of a log that need not fit in memory.

With ``G = K c`` and ``M = K (c w)`` over all pairs of rows, ``c`` their mass, the weights applied are ``v = w
G / M``; both forms of the estimate and their influence then follow from sums of ``c v`` and ``c v r`` and
from one more pass over the pairs. So two passes, each over every pair of blocks once, give everything; 6
numbers per row are kept between them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kwis.errors import InputError
from kwis.kernel.clouds import Space, sums
from kwis.large.frame import Frame, Rows
from kwis.large.runner import Runner, reduced
from kwis.large.source import Block
from kwis.typing import Floats

_TINY = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """One form of the estimate in numbers; ``error`` is the standard deviation that an approximation adds, 0
    where there is none.
    """

    value: float
    std_error: float
    error: float = 0.0

    @property
    def whole_error(self) -> float:
        """Standard error with that of the approximation in it."""
        return math.hypot(self.std_error, self.error)


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Plain and normalised Kernel-WIS of a log."""

    plain: Figures
    normalised: Figures
    effective_n: float


@dataclass(frozen=True, slots=True, eq=False)
class Totals:
    """Sums over rows: ``c v r``, ``c v`` and ``(c v)^2``."""

    load_reward: float = 0.0
    load: float = 0.0
    squares: float = 0.0

    def __add__(self, other: Totals) -> Totals:
        return Totals(
            self.load_reward + other.load_reward, self.load + other.load, self.squares + other.squares
        )

    @classmethod
    def of(cls, rows: Rows, applied: Floats) -> Totals:
        counted = rows.mass * applied
        return cls(
            float(np.sum(counted * rows.reward)), float(counted.sum()), float(np.sum(counted * counted))
        )

    @property
    def effective_n(self) -> float:
        return self.load**2 / self.squares if self.squares else 0.0


def exact(runner: Runner, blocks: Sequence[Any], frame: Frame, space: Space) -> Found:
    """Kernel-WIS over all pairs of rows."""
    around = kernel_sums(runner, blocks, (None,) * len(blocks), frame, space, "kernel sums of the weights")
    terms = runner.each(
        terms_of,
        [(block, near, frame) for block, near in zip(blocks, around, strict=True)],
        "weights applied",
    )
    parts = runner.each(
        totals_of,
        [(block, near, frame) for block, near in zip(blocks, around, strict=True)],
        "weights applied",
    )
    totals: Totals = runner.fetch(reduced(runner, combined, parts, "weights applied"))
    value, normalised = values_of(totals, frame)
    pulls = kernel_sums(runner, blocks, terms, frame, space, "kernel sums of the influence")
    tasks = [
        (*three, frame, value, normalised, totals.load) for three in zip(blocks, around, pulls, strict=True)
    ]
    squares: Floats = runner.fetch(
        reduced(runner, combined, runner.each(squares_of, tasks, "influence"), "influence")
    )
    errors = [standard_error(float(square), frame) for square in squares]
    return Found(
        plain=Figures(value=unit(value, frame), std_error=errors[0]),
        normalised=Figures(value=unit(normalised, frame), std_error=errors[1]),
        effective_n=totals.effective_n,
    )


def kernel_sums(
    runner: Runner, blocks: Sequence[Any], vectors: Sequence[Any], frame: Frame, space: Space, what: str
) -> list[Any]:
    """``K @ vectors`` block by block; vectors that are None are the mass and the mass times the weight."""
    both = list(zip(blocks, vectors, strict=True))
    if space.infinite:  # everyone is everyone's neighbour
        parts = runner.each(vector_totals, [(*one, frame) for one in both], what)
        return [reduced(runner, combined, parts, what)] * len(blocks)
    return runner.pairs(pair_sums, both, (frame, space), what)


def pair_sums(
    one: Block,
    one_vectors: Floats | None,
    other: Block | None,
    other_vectors: Floats | None,
    frame: Frame,
    space: Space,
) -> tuple[Floats, Floats]:
    """Task: what two blocks add to each other's kernel sums; ``other`` None stands for the block itself."""
    mine = frame.load(one)
    here, rows = space.place(mine.context), vectors_of(mine, one_vectors)
    if other is None:
        return sums(here, here, rows, None, space.kernel)
    theirs = frame.load(other)
    return sums(here, space.place(theirs.context), vectors_of(theirs, other_vectors), rows, space.kernel)


def vectors_of(rows: Rows, vectors: Floats | None) -> Floats:
    return np.column_stack([rows.mass, rows.mass * rows.weight]) if vectors is None else vectors


def vector_totals(block: Block, vectors: Floats | None, frame: Frame) -> Floats:
    """Task: sums over the rows of a block."""
    return np.asarray(vectors_of(frame.load(block), vectors).sum(axis=0, keepdims=True))


def combined(*parts: Any) -> Any:
    """Task: the sum of parts, in their order."""
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


def applied_to(rows: Rows, near: Floats, most: float) -> Floats:
    """``w G / M``, at most the mass around."""
    applied = rows.weight * near[:, 0] / np.maximum(near[:, 1], _TINY)
    return np.minimum(applied, most, out=applied)


def terms_of(block: Block, near: Floats, frame: Frame) -> Floats:
    """Task: the vectors whose kernel sums say how the weights applied react to a row."""
    rows = frame.load(block)
    return reactive(rows, applied_to(rows, near, frame.mass), rows.reward, near)


def reactive(rows: Rows, applied: Floats, reward: Floats, near: Floats) -> Floats:
    """``c v r / G``, ``c v r / M``, ``c v / G`` and ``c v / M``."""
    load = rows.mass * applied
    return np.column_stack([load * reward, load * reward, load, load]) / np.maximum(
        near[:, [0, 1, 0, 1]], _TINY
    )


def totals_of(block: Block, near: Floats, frame: Frame) -> Totals:
    """Task: sums that both forms of the estimate are made of."""
    rows = frame.load(block)
    return Totals.of(rows, applied_to(rows, near, frame.mass))


def influence_parts(rows: Rows, applied: Floats, reward: Floats, pulls: Floats) -> tuple[Floats, Floats]:
    """What a row adds to ``sum c v r`` and to ``sum c v``, through its own term and through those of its
    neighbours.
    """
    of_reward = applied * reward + pulls[:, 0] - rows.weight * pulls[:, 1]
    return of_reward, applied + pulls[:, 2] - rows.weight * pulls[:, 3]


def squares_of(
    block: Block, near: Floats, pulls: Floats, frame: Frame, value: float, normalised: float, load: float
) -> Floats:
    """Task: sums of squared influence, plain and normalised."""
    rows = frame.load(block)
    of_reward, of_load = influence_parts(rows, applied_to(rows, near, frame.mass), rows.reward, pulls)
    # Per row, not per unit of mass: a row that stands for many is still one draw.
    scale = rows.mass * (frame.n / frame.mass)
    plain = scale * (of_reward - value)
    ratio = scale * (of_reward - normalised * of_load) * (frame.mass / load)
    return np.array([np.sum(plain * plain), np.sum(ratio * ratio)])


def values_of(totals: Totals, frame: Frame) -> tuple[float, float]:
    """Both forms of the estimate, in the units of the frame."""
    if totals.load == 0:
        raise InputError(
            f"`weight` must be positive in at least one row for kernel-wis, got 0.0 in all {frame.n} rows"
        )
    return totals.load_reward / frame.mass, totals.load_reward / totals.load


def standard_error(squares: float, frame: Frame) -> float:
    """``sqrt(sum IF^2 / (n (n - 1)))`` in units of the reward."""
    if frame.n < 2:
        return math.nan
    return unit(math.sqrt(max(squares, 0.0) / (frame.n * (frame.n - 1))), frame)


def unit(value: float, frame: Frame) -> float:
    """Back to units of the reward."""
    return math.ldexp(value, -frame.reward_shift)
