r"""Kernel-WIS of very large logs from a sample of neighbours, with an error bar on the estimate.

1. *Neighbours.* A seeded sample ``S`` of rows, drawn with probabilities ``pi`` that are half uniform and half in proportion to the
   weight, evenly over the blocks and over the sizes of weights. Every row of the log gets ``G`` and ``M`` from it: its own term exact, the
   sampled others divided by ``pi``. So every row has an approximate ``v' = w G / M``: noisy, and too large on average.
2. *Check.* A random sample ``R`` of rows, larger terms more likely (priority sampling, inclusion probabilities ``rho``), gets its exact
   ``v`` from all rows of the log. The estimate is the sum of ``v' r`` over all rows plus that of ``(v - v') r / rho`` over ``R``:
   unbiased for the exact sum whatever the first step did, so the upward bias of the noisy denominator is taken out. The spread of the
   corrections is the error bar.

Both steps look at ``n m`` pairs for samples of ``m`` rows, instead of ``n^2``. The error relative to the standard error of the estimate
goes as ``sqrt(n) / m``, so ``m`` in proportion to ``sqrt(n)`` keeps it constant, and time grows as ``n^1.5``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from kwis.large.blocks import Figures, Found, Totals, applied_to, combined, influence_parts, reactive, unit
from kwis.large.draw import Neighbours, Sampled, chosen_of, draw_neighbours, joined, keep_smallest
from kwis.large.frame import Frame
from kwis.large.pairs import Space, sums
from kwis.large.runner import Runner, reduced
from kwis.large.source import Block
from kwis.typing import Floats

_FEWEST = 2000
_PER_ROOT = 20  # neighbours per square root of the rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Approximation:
    """How Kernel-WIS was approximated, to be reported beside it.

    Attributes
    ----------
    neighbours, checked
        Rows in the sample of neighbours, and rows whose exact weights corrected the estimate.
    error, normalised_error
        Standard deviation of the difference to the exact value, plain and normalised; 1.96 times that covers it in 95 % of samples.
    """

    neighbours: int
    checked: int
    error: float
    normalised_error: float


def sample_size(n: int, wanted: int | None = None) -> int:
    """Rows in each of the two samples."""
    return min(n, wanted or max(_FEWEST, math.ceil(_PER_ROOT * math.sqrt(n))))


def approximate(runner: Runner, blocks: Sequence[Any], frame: Frame, space: Space, *, size: int, seed: int) -> tuple[Found, Approximation]:
    """Kernel-WIS from samples of ``size`` rows."""
    tasks: list[tuple[Any, ...]] = [(block, number, frame, size, seed) for number, block in enumerate(blocks)]
    drawn = runner.each(draw_neighbours, tasks, "drawing neighbours")
    near = reduced(runner, joined, drawn, "drawing neighbours")
    tasks = [(block, number, frame, space, near, size, seed) for number, block in enumerate(blocks)]
    screened = runner.each(screen, tasks, "local means from neighbours")
    totals: Totals = runner.fetch(reduced(runner, combined, runner.each(_totals, [(one,) for one in screened], "sums"), "sums"))
    smallest = runner.each(_candidates, [(one,) for one in screened], "choosing rows to check")
    kept = reduced(runner, partial(keep_smallest, size + 1), smallest, "choosing rows to check")
    sampled = runner.call(chosen_of, kept, size)
    checks = runner.each(check, [(*two, frame, space, sampled) for two in zip(blocks, screened, strict=True)], "checking rows exactly")
    checked: Checked = runner.fetch(reduced(runner, combined, checks, "checking rows exactly"))
    rows: Sampled = runner.fetch(sampled)
    return _assembled(frame, totals, rows, checked, int(runner.fetch(runner.call(len, near))))


@dataclass(frozen=True, slots=True, eq=False)
class Screened:
    """First step on one block: weights applied, approximately, and the rows most likely to be checked."""

    applied: Floats
    totals: Totals
    candidates: Sampled


def screen(block: Block, number: int, frame: Frame, space: Space, near: Neighbours, size: int, seed: int) -> Screened:
    """Task: local means of a block from the sampled neighbours."""
    rows = frame.load(block)
    # Any v' will do, so single precision will; its distances must not drown in rounding, though.
    dtype = np.float32 if space.roomy else np.float64
    found = sums(space.place(rows.context, dtype), space.place(near.context, dtype), near.vectors, None, space.kernel)[0]
    own = np.column_stack([rows.mass, rows.mass * rows.weight])
    mine = near.block == number
    found[near.row[mine]] -= near.vectors[mine]
    around = np.maximum(found, 0.0) + own
    applied = applied_to(rows, around, frame.mass)
    return Screened(applied, Totals.of(rows, applied), Sampled.candidates(rows, applied, around, frame, number, seed, size + 1))


def _totals(screened: Screened) -> Totals:
    return screened.totals


def _candidates(screened: Screened) -> Sampled:
    return screened.candidates


@dataclass(frozen=True, slots=True, eq=False)
class Checked:
    """Second step on some rows: their part of the exact sums of the rows checked, and second moments of the influence."""

    around: Floats
    moments: Floats

    def __add__(self, other: Checked) -> Checked:
        return Checked(self.around + other.around, self.moments + other.moments)


def check(block: Block, screened: Screened, frame: Frame, space: Space, sampled: Sampled) -> Checked:
    """Task: kernel sums between a block and the rows checked, both ways: their exact local means, and its influence."""
    rows = frame.load(block)
    mine = np.column_stack([rows.mass, rows.mass * rows.weight])
    reward = sampled.rows.reward - frame.mean_reward
    pulling = reactive(sampled.rows, sampled.applied, reward, sampled.around) / sampled.chance[:, None]
    around, pulls = sums(space.place(sampled.rows.context), space.place(rows.context), mine, pulling, space.kernel)
    of_reward, of_load = influence_parts(rows, screened.applied, rows.reward - frame.mean_reward, pulls)
    parts = np.stack([of_reward, of_load, np.ones(rows.n)]) * (rows.mass * (frame.n / frame.mass))
    return Checked(around, parts @ parts.T)


def _assembled(frame: Frame, totals: Totals, sampled: Sampled, checked: Checked, neighbours: int) -> tuple[Found, Approximation]:
    rows, chance = sampled.rows, sampled.chance
    gap = rows.mass * (applied_to(rows, checked.around, frame.mass) - sampled.applied)
    load_reward = totals.load_reward + float(np.sum(gap * rows.reward / chance))
    load = totals.load + float(np.sum(gap / chance))
    value, normalised = load_reward / frame.mass, load_reward / load
    spread = np.sqrt(1 - chance) / chance
    errors = [
        float(np.sqrt(np.sum((gap * rows.reward * spread) ** 2))) / frame.mass,
        float(np.sqrt(np.sum((gap * (rows.reward - normalised) * spread) ** 2))) / load,
    ]
    mean = frame.mean_reward
    plain = _squares(checked.moments, [1.0, mean, -value])
    ratio = _squares(checked.moments, [1.0, mean - normalised, 0.0]) * (frame.mass / load) ** 2
    found = Found(
        plain=_figures(value, plain, errors[0], frame),
        normalised=_figures(normalised, ratio, errors[1], frame),
        effective_n=totals.effective_n,
    )
    made = Approximation(neighbours=neighbours, checked=rows.n, error=found.plain.error, normalised_error=found.normalised.error)
    return found, made


def _squares(moments: Floats, weights: Sequence[float]) -> float:
    """Sum of squares of a combination of the columns that the moments are of."""
    w = np.array(weights)
    return float(w @ moments @ w)


def _figures(value: float, squares: float, error: float, frame: Frame) -> Figures:
    std_error = math.sqrt(max(squares, 0.0) / (frame.n * (frame.n - 1)))
    return Figures(value=unit(value, frame), std_error=unit(std_error, frame), error=unit(error, frame))
