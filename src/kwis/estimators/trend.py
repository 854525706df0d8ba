"""What rows say whose exact weights are known about the weights of all others: a regression on the contexts.

Errors of sampled neighbours are smooth in the context, as kernel sums are. So the gap between exact and
approximate weights, relative to the weight, is fitted by a polynomial, which takes most of it out of every
row. What is left is still corrected from the rows checked: a poor fit costs precision, not correctness.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from kwis.kernel.points import Points
from kwis.runtime.arrays import stretches
from kwis.runtime.threads import one_blas_thread, row_blocks
from kwis.typing import Floats, Ints

_ROWS_EACH = 7  # rows that are not certain, for each coefficient
_FAR = 3.0  # standard deviations: contexts beyond count as if they were there, a polynomial would run away
_BLOCK = 4096  # rows
_TINY = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True, slots=True, eq=False)
class Trend:
    """A relative gap (F of them) as a polynomial of the contexts, of degree 2 where the rows suffice, else of
    1 or 0.

    Attributes
    ----------
    columns, middle, scale
        Numeric columns that the kernel sees, and what makes them numbers between -3 and 3.
    degree, coefficients
        Of the polynomial; ``(p, F)``.
    ends
        ``(2, F)``: smallest and largest gap seen, which no fitted one exceeds.
    widening
        By how many times the gap left at each row checked is larger where the row itself has no part in the
        fit.
    """

    columns: Ints
    middle: Floats
    scale: Floats
    degree: int
    coefficients: Floats
    ends: Floats
    widening: Floats

    @classmethod
    def of(cls, points: Points, rows: Ints, gap: Floats, worth: Floats) -> Trend | None:
        """Fitted to the relative gaps (k, F) at the rows checked by weighted least squares; None where they
        are too few.

        A prior that counts as one more row, at which there is no gap, keeps it defined for columns that are
        constant or repeat each other.
        """
        bandwidth = np.asarray(points.space.bandwidth)[list(points.space.numeric)]
        columns = np.flatnonzero(np.isfinite(bandwidth))
        degree = _degree(columns.size, int(np.count_nonzero(worth)))
        if degree is None:
            return None
        here = points.numeric[rows][:, columns]
        middle, scale = _middle(here)
        terms = _terms(here, middle, scale, degree)
        counted = terms * worth[:, None]
        with one_blas_thread:
            squares = counted.T @ terms
            prior = max(float(np.trace(squares)), _TINY) / terms.size
            inverse = np.linalg.inv(squares + prior * np.eye(terms.shape[1]))
            coefficients = inverse @ (counted.T @ gap)
            leverage = np.einsum("ij,ij->i", counted @ inverse, terms)
        return cls(
            columns, middle, scale, degree, coefficients, np.stack([gap.min(axis=0), gap.max(axis=0)]),
            1 / (1 - leverage),
        )  # fmt: skip

    def at(self, points: Points, part: slice) -> Iterator[tuple[slice, Floats]]:
        """Fitted gaps, for blocks of rows of the part: their places in it, and the gaps (b, F)."""
        with one_blas_thread:
            for block in row_blocks(part.stop, _BLOCK, part.start):
                here = points.numeric[block][:, self.columns]
                fitted = _terms(here, self.middle, self.scale, self.degree) @ self.coefficients
                place = slice(block.start - part.start, block.stop - part.start)
                yield place, np.clip(fitted, *self.ends)


def improve(applied: Floats, points: Points, rows: Ints, exact: Floats, share: Floats) -> Floats:
    """Take out of the approximate weights, in place, what the gaps of rows checked say of all others; returns
    by how many times the gaps left are larger where a row has no part in that.

    ``share`` is what a gap of each row is multiplied by in the error that is to be small.
    """
    near = applied[rows]
    size = share * near.mean(axis=1)
    gap = np.divide(exact - near, near, out=np.zeros(near.shape), where=near > 0)
    trend = Trend.of(points, rows, gap, np.square(size / max(float(size.max()), _TINY)))
    if trend is None:
        return np.ones(rows.size)
    for part in stretches(applied.shape[0]):
        for place, gap in trend.at(points, part):
            applied[part][place] *= 1 + gap
    return trend.widening


def _degree(columns: int, rows: int) -> int | None:
    """The largest for which there are rows enough."""
    sizes = (1, 1 + columns, (1 + columns) * (2 + columns) // 2)
    return max((degree for degree, size in enumerate(sizes) if size * _ROWS_EACH <= rows), default=None)


def _middle(values: Floats) -> tuple[Floats, Floats]:
    """Means and standard deviations of columns, 1 for a constant one; whatever their units."""
    largest = np.abs(values).max(axis=0, initial=0.0)
    unit = np.where(largest > 0, largest, 1.0)
    spread = (values / unit).std(axis=0) * unit
    return (values / unit).mean(axis=0) * unit, np.where(spread > 0, spread, 1.0)


def _terms(values: Floats, middle: Floats, scale: Floats, degree: int) -> Floats:
    """Products of up to ``degree`` columns."""
    one = np.ones((values.shape[0], 1))
    if degree == 0:
        return one
    z = np.clip((values - middle) / scale, -_FAR, _FAR)
    if degree == 1:
        return np.hstack([one, z])
    first, second = np.triu_indices(z.shape[1])
    return np.hstack([one, z, z[:, first] * z[:, second]])
