"""How sums over weights that come from sampled neighbours react to the count of each row.

By way of ``G`` and ``M`` the count of row ``j`` moves ``sum_i t_i``, ``t = c v x``, by ``sum_i K_ij t_i (1 /
G_i - w_j / M_i)``. The rows checked stand for all ``i``, and two halves of them tell how noisy that is. That
noise is multiplied by the weight of ``j``, and where weights are heavy, few rows make up the standard error:
theirs are sums over all rows, approximate terms corrected by those of the rows checked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kwis.runtime.arrays import room, stretches
from kwis.sample import safe_ratio
from kwis.typing import Floats, Ints

if TYPE_CHECKING:
    from kwis.estimators.sampled import SampledWeights

_HEAVY = 0.005  # share in the sum of squared weights: at most 200 rows have it, none where they are mild
_DEPENDENT = 1e-10  # columns of terms that others make up
_TINY = float(np.finfo(np.float64).tiny)


def reaction(sampled: SampledWeights, columns: Floats) -> tuple[Floats, Floats | None]:
    """How ``sum c v x`` reacts to the count of each row through the weights of the others, and half of what
    two halves differ by; of one weighting.
    """
    points, rows, w = sampled.points, sampled.rows, sampled.weight
    if sampled.whole:
        return _met(points.all_pairs(_approximate(sampled, columns, slice(None)), sampled.dtype), w), None
    terms = sampled.mass[rows, None] * sampled.exact * columns[rows]
    pulling = _pulls(terms, sampled.exact_around)
    totals, even = sampled.sums(columns)[:, 0], np.arange(rows.size) % 2 == 0
    halves = []
    for half in (even, ~even):
        counted = calibrated(half * 2 / sampled.chance, terms, totals)[:, None]
        halves.append((rows[half], (pulling * counted)[half]))
    mean, noise = room(columns.shape), room(columns.shape)
    for part in stretches(sampled.mass.size):
        own = _approximate(sampled, columns, part)
        mine, inside = within(rows, part)
        own[mine] = pulling[inside]
        first, second = (_met(_of_others(sampled, *half, part) + own, w[part]) for half in halves)
        mean[part], noise[part] = (first + second) / 2, (first - second) / 2
    heavy = _heaviest(sampled.mass * w[:, 0])
    if heavy.size:
        mean[heavy], noise[heavy] = _met(_over_all(sampled, columns, pulling, heavy), w[heavy]), 0.0
    return mean, noise


def _of_others(sampled: SampledWeights, rows: Ints, pulls: Floats, part: slice) -> Floats:
    """Sums of the pulls of some rows at those of a part, without a row's pull on itself, which is known, and
    the largest of all.
    """
    found = sampled.points.from_rows(rows, pulls, sampled.dtype, part)
    mine, inside = within(rows, part)
    found[mine] -= pulls[inside]
    return found


def _heaviest(weight: Floats) -> Ints:
    """Rows that have a large share in the sum of squared weights."""
    squares = np.square(weight / max(float(weight.max()), _TINY))
    return np.flatnonzero(squares >= _HEAVY * max(float(squares.sum()), _TINY))


def _over_all(sampled: SampledWeights, columns: Floats, pulling: Floats, heavy: Ints) -> Floats:
    """Sums of the pulls of all rows at the heavy ones. What the approximate pull of a row checked missed, it
    missed for the rows that this one stands for as well.
    """
    n, rows = sampled.mass.size, sampled.rows
    pulls = room((n, pulling.shape[1]))
    for part in stretches(n):
        pulls[part] = _approximate(sampled, columns, part)
    pulls[rows] += (pulling - pulls[rows]) / sampled.chance[:, None]
    found = sampled.points.at_rows(heavy, pulls, sampled.dtype)
    known, mine, inside = np.intersect1d(heavy, rows, assume_unique=True, return_indices=True)
    found[mine] += pulling[inside] - pulls[known]  # as above
    return found


def _approximate(sampled: SampledWeights, columns: Floats, part: slice) -> Floats:
    """Pulls of rows by their approximate weights."""
    terms = sampled.mass[part, None] * sampled.applied[part] * columns[part]
    return _pulls(terms, sampled.around[part])


def within(rows: Ints, part: slice) -> tuple[Ints, slice]:
    """Sorted rows that lie in a part: their places there, and which of them they are."""
    first, last = np.searchsorted(rows, (part.start, part.stop))
    inside = slice(int(first), int(last))
    return rows[inside] - part.start, inside


def calibrated(weight: Floats, terms: Floats, totals: Floats) -> Floats:
    """Weights of sampled rows near those given with which the sums of terms (k, q) are the totals (q,) known
    of all rows.

    At a large bandwidth every row meets the same sums, and their error would be that of the whole influence.
    """
    size = np.maximum(np.abs(terms).max(axis=0), _TINY)
    scaled = terms / size
    missing = totals / size - np.einsum("i,ij->j", weight, scaled)
    squares = np.einsum("i,ij,ik->jk", weight, scaled, scaled)
    change = np.linalg.lstsq(squares, missing, rcond=_DEPENDENT)[0]
    return weight * (1 + np.einsum("ij,j->i", scaled, change))


def _pulls(terms: Floats, around: Floats) -> Floats:
    """Terms ``c v x`` over ``G``, then over ``M``."""
    return np.hstack(
        [
            safe_ratio(terms, np.maximum(around[:, :1], _TINY)),
            safe_ratio(terms, np.maximum(around[:, 1:2], _TINY)),
        ]
    )


def _met(pulls: Floats, weight: Floats) -> Floats:
    half = pulls.shape[1] // 2
    return pulls[:, :half] - weight * pulls[:, half:]
