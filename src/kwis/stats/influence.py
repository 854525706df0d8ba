"""Standard errors from influence values, by row or by group."""

from __future__ import annotations

import math

import numpy as np

from kwis.stats import long
from kwis.typing import Floats, Ints

_SPARSE = 4  # labels may be so many times as many as rows


def draw_sums(influence: Floats, group: Ints | None) -> Floats:
    """Influence of each independent draw: a row, or the sum over a group."""
    if group is None:
        return influence
    if influence.ndim == 1 and int(group.min()) >= 0 and int(group.max()) < _SPARSE * group.size:
        sums = np.asarray(
            np.bincount(group, weights=influence), dtype=np.float64
        )  # many times quicker than sorting
        present = np.bincount(group) > 0
        return sums if present.all() else sums[present]
    order = np.argsort(group, kind="stable")
    starts = np.flatnonzero(np.diff(group[order], prepend=group[order[0]] - 1))
    return np.add.reduceat(influence[order], starts, axis=0)


def standard_error(influence: Floats, group: Ints | None) -> float:
    """``sqrt(sum IF^2 / (n (n - 1)))``, with groups the spread of their sums; ``nan`` for a single draw."""
    draws = draw_sums(influence, group)
    if draws.size < 2:
        return math.nan
    if long.is_long(draws):
        largest, squares, _ = long.moments(draws)
        if long.in_range(largest):
            return math.sqrt(squares * draws.size / (draws.size - 1)) / influence.shape[0]
    largest = np.abs(draws).max()
    if largest == 0:
        return 0.0
    ratio = draws / largest  # squares of huge influences would overflow
    return float(
        largest * (math.sqrt((ratio * ratio).sum() * draws.size / (draws.size - 1)) / influence.shape[0])
    )


def effective_draws(influence: Floats, group: Ints | None) -> Floats:
    """``(sum IF^2)^2 / sum IF^4`` (T,) for influence (n, T): how many rows (or groups) a standard error rests
    on; all if it is 0.

    Rows of equal influence, whatever its sign, count all; a row that outweighs the others counts alone.
    """
    draws = draw_sums(influence, group)
    largest = np.abs(draws).max(axis=0)
    squares = np.square(draws / np.where(largest > 0, largest, 1.0))
    total = np.square(squares).sum(axis=0)
    return np.where(
        total > 0, np.square(squares.sum(axis=0)) / np.where(total > 0, total, 1.0), float(len(draws))
    )


def resampled_errors(influence: Floats, counts: Floats, group: Ints | None) -> Floats:
    """Standard errors on B resamples, each copy of a row or group counting as a draw of its own."""
    rows = counts.sum(axis=0)
    draws = draw_sums(influence, group)
    if group is not None:
        counts = counts[np.unique(group, return_index=True)[1]]
    drawn = counts.sum(axis=0)
    largest = np.abs(draws).max(axis=0)
    safe = np.where(largest > 0, largest, 1.0)
    ratio = draws / safe
    squares = np.einsum("ib,ib->b", counts, np.square(ratio, out=ratio))
    return safe * np.sqrt(squares * drawn / np.maximum(drawn - 1, 1)) / rows
