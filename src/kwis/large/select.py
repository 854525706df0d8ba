"""Bandwidth selection on a seeded, stratified subset of a large log, and exact scores of bandwidths on some
held-out rows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kwis._validation import read_only
from kwis.bandwidth.select import select_bandwidth
from kwis.kernel.clouds import Space, sums
from kwis.kernel.profiles import Kernel
from kwis.large.blocks import combined
from kwis.large.draw import joined_rows, stratified
from kwis.large.frame import Frame, Rows
from kwis.large.runner import Runner, reduced
from kwis.large.source import Block
from kwis.results import BandwidthChoice
from kwis.runtime.threads import engine
from kwis.typing import Bandwidth, Floats

SELECTION_ROWS = 20_000
"""Bandwidths are selected on about this many rows."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Selection:
    """A bandwidth and what it rests on.

    Attributes
    ----------
    rows
        Size of the subset.
    log_error
        Standard error of the logarithm of the bandwidth, from selections on two halves of the subset: their
        half difference; the largest over features for one bandwidth per feature, 0 where both are infinite,
        ``nan`` where only one is or a half has less than 2 rows.
    """

    choice: BandwidthChoice
    rows: int
    log_error: float


def select(
    runner: Runner,
    blocks: Sequence[Any],
    frame: Frame,
    kernel: Kernel,
    *,
    per_feature: bool,
    size: int,
    seed: int,
) -> Selection:
    """Select on about ``size`` rows, drawn evenly over blocks and sizes of weights."""
    draws = [(block, number, frame, size, seed) for number, block in enumerate(blocks)]
    subset = reduced(
        runner,
        joined_rows,
        runner.each(stratified, draws, "drawing rows to select the bandwidth on"),
        "drawing rows",
    )
    threads = getattr(runner, "task_threads", None)
    rows = int(runner.fetch(runner.call(row_count, subset)))
    parts = ((0, 1), (0, 2), (1, 2)) if rows >= 4 else ((0, 1),)  # a half needs two rows to be cut into folds
    tasks = [
        runner.call(select_on, subset, part, frame.categorical, kernel, per_feature, seed, threads)
        for part in parts
    ]
    choice, *halves = (runner.fetch(task) for task in tasks)
    error = log_error(*(half.value for half in halves)) if halves else math.nan
    return Selection(choice=_in_units(choice, frame), rows=rows, log_error=error)


def row_count(rows: Rows) -> int:
    """Task: number of rows."""
    return rows.n


def select_on(
    rows: Rows,
    part: tuple[int, int],
    categorical: tuple[int, ...],
    kernel: Kernel,
    per_feature: bool,
    seed: int,
    threads: int | None,
) -> BandwidthChoice:
    """Task: selection on every ``part[1]``-th row, in random order, from the ``part[0]``-th on."""
    order = np.random.default_rng([seed, rows.n]).permutation(rows.n)[part[0] :: part[1]]
    with engine(threads):
        return select_bandwidth(
            rows.context[order],
            rows.weight[order],
            folds=min(5, order.size),
            per_feature=per_feature,
            kernel=kernel,
            categorical=categorical,
            mass=rows.mass[order],
            rng=seed,
        )


def _in_units(choice: BandwidthChoice, frame: Frame) -> BandwidthChoice:
    """Scores in units of the squared weight; the frame's weights are a power of two off."""
    with np.errstate(over="ignore", under="ignore"):
        return BandwidthChoice(
            value=choice.value,
            score=float(np.ldexp(choice.score, -2 * frame.weight_shift)),
            end_points=choice.end_points,
            end_scores=read_only(np.ldexp(choice.end_scores, -2 * frame.weight_shift)),
            evaluations=choice.evaluations,
            isolated=choice.isolated,
        )


def log_error(one: Bandwidth, other: Bandwidth) -> float:
    """Half the difference of two logarithms: what two halves say about the error of the whole."""
    a, b = np.log(np.atleast_1d(one)), np.log(np.atleast_1d(other))
    both = np.isinf(a) & np.isinf(b)
    if (np.isinf(a) != np.isinf(b)).any():
        return math.nan
    return float(np.max(np.abs(np.where(both, 0.0, a) - np.where(both, 0.0, b)) / 2, initial=0.0))


def held_out_scores(
    runner: Runner, blocks: Sequence[Any], frame: Frame, spaces: Sequence[Space], *, size: int, seed: int
) -> tuple[Floats, Floats]:
    """Mean squared error with which all other rows predict the weight of about ``size`` rows, at every
    bandwidth, and its standard error.

    Unlike cross-validation on a subset, it is a score for the log as large as it is.
    """
    tasks = [(block, number, frame, size, seed) for number, block in enumerate(blocks)]
    held = reduced(
        runner, joined_rows, runner.each(stratified, tasks, "drawing held-out rows"), "drawing held-out rows"
    )
    rows: Rows = runner.fetch(held)
    scores, errors = [], []
    for space in spaces:
        parts = runner.each(
            sums_around, [(held, block, frame, space) for block in blocks], "predicting held-out rows"
        )
        around = runner.fetch(reduced(runner, combined, parts, "predicting held-out rows"))
        # Each row was among the rows that predict it: its own term is known, and taken off.
        near = np.maximum(around - np.column_stack([rows.mass, rows.mass * rows.weight]), 0.0)
        alone = near[:, 0] <= 1e-12 * around[:, 0]
        predicted = np.where(alone, frame.mean_weight, near[:, 1] / np.where(alone, 1.0, near[:, 0]))
        squares = np.ldexp((rows.weight - predicted) ** 2, -2 * frame.weight_shift)
        score = np.average(squares, weights=rows.mass)
        scores.append(score)
        errors.append(_error_of_mean(squares - score, rows.mass))
    return np.array(scores), np.array(errors)


def _error_of_mean(deviations: Floats, mass: Floats) -> float:
    """Standard error of a mean that counts mass, from the deviations from it."""
    n = mass.size
    return float(np.linalg.norm(mass * deviations) / mass.sum() * np.sqrt(n / (n - 1 or math.nan)))


def sums_around(held: Rows, block: Block, frame: Frame, space: Space) -> Floats:
    """Task: what one block adds to the kernel sums around the held-out rows."""
    rows = frame.load(block)
    vectors = np.column_stack([rows.mass, rows.mass * rows.weight])
    return sums(space.place(held.context), space.place(rows.context), vectors, None, space.kernel)[0]
