r"""Kernel-WIS of very large logs from a sample of neighbours, with an error bar on the estimate.

1. *Neighbours.* A seeded sample ``S`` of rows, drawn with probabilities ``pi`` that are half uniform and half
   in proportion to the weight, evenly over the blocks and over the sizes of weights. Every row of the log
   gets ``G`` and ``M`` from it: its own term exact, the sampled others divided by ``pi``. So every row has an
   approximate ``v' = w G / M``: noisy, and too large on average.
2. *Check.* A random sample ``R`` of rows, larger terms more likely (priority sampling, inclusion
   probabilities ``rho``), gets its exact ``v`` from all rows of the log. The estimate is the sum of ``v' r``
   over all rows plus that of ``(v - v') r / rho`` over ``R``: unbiased for the exact sum whatever the first
   step did, so the upward bias of the noisy denominator is taken out. The spread of the corrections is the
   error bar. The influence function, and with it the standard error, is estimated on the same rows.

Both steps look at ``n m`` pairs for samples of ``m`` rows, instead of ``n^2``. The error relative to the
standard error of the estimate goes as ``sqrt(n) / m``, so ``m`` in proportion to ``sqrt(n)`` keeps it
constant, and time grows as ``n^1.5``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from kwis.kernel.clouds import Space, sums
from kwis.large.blocks import (
    Figures,
    Found,
    Totals,
    applied_to,
    combined,
    influence_parts,
    reactive,
    unit,
    values_of,
)
from kwis.large.draw import (
    Neighbours,
    Sampled,
    chosen_of,
    draw_neighbours,
    joined,
    keep_smallest,
    rank_bound,
    rank_counts,
    take,
)
from kwis.large.frame import Frame
from kwis.large.runner import Runner, reduced
from kwis.large.source import Block
from kwis.typing import Floats, Ints

_FEWEST = 2000
_PER_ROOT = 20  # neighbours per square root of the rows
_CHUNK = 8192


@dataclass(frozen=True, slots=True, kw_only=True)
class Approximation:
    """How Kernel-WIS was approximated, to be reported beside it.

    Attributes
    ----------
    neighbours, checked
        Rows in the sample of neighbours, and rows whose exact weights corrected the estimate.
    error, normalised_error
        Standard deviation of the difference to the exact value, plain and normalised; 1.96 times that covers
        it in 95 % of samples.
    """

    neighbours: int
    checked: int
    error: float
    normalised_error: float


def sample_size(n: int, wanted: int | None = None) -> int:
    """Rows in each of the two samples."""
    return min(n, wanted or max(_FEWEST, math.ceil(_PER_ROOT * math.sqrt(n))))


def approximate(
    runner: Runner, blocks: Sequence[Any], frame: Frame, space: Space, *, size: int, seed: int
) -> tuple[Found, Approximation]:
    """Kernel-WIS from samples of ``size`` rows."""
    tasks: list[tuple[Any, ...]] = [(block, number, frame, size, seed) for number, block in enumerate(blocks)]
    drawn = runner.each(draw_neighbours, tasks, "drawing neighbours")
    near = reduced(runner, joined, drawn, "drawing neighbours")
    tasks = [(block, number, frame, space, near, size, seed) for number, block in enumerate(blocks)]
    screened = runner.each(screen, tasks, "local means from neighbours")
    totals: Totals = runner.fetch(
        reduced(runner, combined, runner.each(_totals, [(one,) for one in screened], "sums"), "sums")
    )
    counts = reduced(
        runner,
        combined,
        runner.each(_counts, [(one,) for one in screened], "choosing rows to check"),
        "choosing rows to check",
    )
    bound = rank_bound(runner.fetch(counts), size + 1)
    smallest = runner.each(_candidates, [(one, bound) for one in screened], "choosing rows to check")
    kept = reduced(runner, partial(keep_smallest, size + 1), smallest, "choosing rows to check")
    sampled = runner.call(chosen_of, kept, size)
    parts = runner.each(
        sums_around, [(block, frame, space, sampled) for block in blocks], "checking rows exactly"
    )
    around = reduced(runner, combined, parts, "checking rows exactly")
    rows: Sampled = runner.fetch(sampled)
    chunks = [(first, sampled, around, frame, space) for first in range(0, rows.rows.n, _CHUNK)]
    spread: Moments = runner.fetch(
        reduced(runner, combined, runner.each(moments, chunks, "influence"), "influence")
    )
    plain, normalised, effective_n = _assembled(frame, totals, rows, runner.fetch(around), spread)
    made = Approximation(
        neighbours=int(runner.fetch(runner.call(len, near))),
        checked=rows.rows.n,
        error=plain.error,
        normalised_error=normalised.error,
    )
    return Found(plain=plain, normalised=normalised, effective_n=effective_n), made


@dataclass(frozen=True, slots=True, eq=False)
class Screened:
    """First step on one block: sums of the weights applied, approximately, and the rows most likely to be
    checked.
    """

    totals: Totals
    candidates: Sampled


def screen(
    block: Block, number: int, frame: Frame, space: Space, near: Neighbours, size: int, seed: int
) -> Screened:
    """Task: local means of a block from the sampled neighbours."""
    rows = frame.load(block)
    # Any v' will do, so single precision will; its distances must not drown in rounding, though.
    dtype = np.float32 if space.roomy else np.float64
    found = sums(
        space.place(rows.context, dtype), space.place(near.context, dtype), near.vectors, None, space.kernel
    )[0]
    own = np.column_stack([rows.mass, rows.mass * rows.weight])
    mine = near.block == number
    found[near.row[mine]] -= near.vectors[mine]
    around = np.maximum(found, 0.0) + own
    applied = applied_to(rows, around, frame.mass)
    return Screened(
        Totals.of(rows, applied), Sampled.candidates(rows, applied, frame, number, seed, size + 1)
    )


def _totals(screened: Screened) -> Totals:
    return screened.totals


def _counts(screened: Screened) -> Ints:
    return rank_counts(screened.candidates)


def _candidates(screened: Screened, bound: float) -> Sampled:
    return screened.candidates.picked(np.flatnonzero(screened.candidates.rank <= bound))


def sums_around(block: Block, frame: Frame, space: Space, sampled: Sampled) -> Floats:
    """Task: what one block adds to the exact kernel sums around the rows checked."""
    rows = frame.load(block)
    mine = np.column_stack([rows.mass, rows.mass * rows.weight])
    return sums(space.place(sampled.rows.context), space.place(rows.context), mine, None, space.kernel)[0]


@dataclass(frozen=True, slots=True, eq=False)
class Moments:
    """Second moments, over all rows, of what a row adds to ``sum c v r``, to ``sum c v``, and of 1.

    Each row is seen twice, through its neighbours in two halves of the rows checked. ``cross`` are moments
    between the two, in which the noise of few neighbours cancels; ``mean`` are moments of their mean, in
    which it does not.
    """

    cross: Floats
    mean: Floats

    def __add__(self, other: Moments) -> Moments:
        return Moments(self.cross + other.cross, self.mean + other.mean)

    def squares(self, weights: Sequence[float]) -> float:
        """Sum of squares of a combination; too large rather than meaningless."""
        w = np.array(weights)
        without_noise = float(w @ self.cross @ w)
        return without_noise if without_noise > 0 else float(w @ self.mean @ w)


def moments(first: int, sampled: Sampled, around: Floats, frame: Frame, space: Space) -> Moments:
    """Task: moments of the influence from the rows checked, of which this one sees ``_CHUNK`` from ``first``
    on.
    """
    rows, applied = sampled.rows, applied_to(sampled.rows, around, frame.mass)
    here = np.arange(first, min(first + _CHUNK, rows.n))
    reward = rows.reward - frame.mean_reward
    exact = reactive(rows, applied, reward, around)
    some, place = take(rows, here), space.place(rows.context[here])
    scale = some.mass * (frame.n / frame.mass) / np.sqrt(sampled.chance[here])
    seen = []
    for parity in (0, 1):
        half = np.arange(parity, rows.n, 2)
        pulling = exact[half] * (2 / sampled.chance[half])[:, None]
        pulls = sums(place, space.place(rows.context[half]), pulling, None, space.kernel)[0]
        among = here % 2 == parity
        pulls[among] -= pulling[here[among] // 2]  # a row's pull on itself is known, and the largest of all
        parts = influence_parts(some, applied[here], reward[here], pulls + exact[here])
        seen.append(np.stack([*parts, np.ones(here.size)]) * scale)
    cross, mean = seen[0] @ seen[1].T, (seen[0] + seen[1]) / 2
    return Moments((cross + cross.T) / 2, mean @ mean.T)


def _assembled(
    frame: Frame, totals: Totals, sampled: Sampled, around: Floats, found: Moments
) -> tuple[Figures, Figures, float]:
    rows, chance = sampled.rows, sampled.chance
    load, first = (rows.mass * applied for applied in (applied_to(rows, around, frame.mass), sampled.applied))
    gap = load - first
    whole = totals + Totals(
        *(float(np.sum(part / chance)) for part in (gap * rows.reward, gap, load**2 - first**2))
    )
    value, normalised = values_of(whole, frame)
    spread = np.sqrt(1 - chance) / chance
    errors = [
        float(np.sqrt(np.sum((gap * rows.reward * spread) ** 2))) / frame.mass,
        float(np.sqrt(np.sum((gap * (rows.reward - normalised) * spread) ** 2))) / whole.load,
    ]
    mean = frame.mean_reward
    plain = found.squares([1.0, mean, -value])
    ratio = found.squares([1.0, mean - normalised, 0.0]) * (frame.mass / whole.load) ** 2
    return (
        _figures(value, plain, errors[0], frame),
        _figures(normalised, ratio, errors[1], frame),
        whole.effective_n,
    )


def _figures(value: float, squares: float, error: float, frame: Frame) -> Figures:
    std_error = math.sqrt(max(squares, 0.0) / (frame.n * (frame.n - 1)))
    return Figures(value=unit(value, frame), std_error=unit(std_error, frame), error=unit(error, frame))
