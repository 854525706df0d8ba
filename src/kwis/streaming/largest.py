"""The rows with the largest weights, and the spread of all weights in buckets: what diagnostics need of them,
in bounded memory.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from kwis.streaming.rows import Rows, joined
from kwis.typing import Floats, Ints

MOST = 100_000
"""Most rows kept: the ``3 sqrt(n)`` largest weights that a tail index is fitted to, for logs of up to 10^9
rows.
"""

_SHIFT = 43  # leaves nine bits after the point: buckets that are 0.2 % wide


def tail_rows(rows: int | None) -> int:
    """How many of the largest weights to keep for a log of so many rows."""
    return MOST if rows is None else min(MOST, max(100, 3 * math.isqrt(rows) + 10))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Largest:
    """Rows whose ``mass * weight`` for one target is largest; ties by identity, so that the choice does not
    depend on the order.
    """

    target: int
    capacity: int
    rows: Rows
    floor: float = 0.0

    @classmethod
    def empty(cls, target: int, targets: int, rewards: int, capacity: int) -> Self:
        return cls(target=target, capacity=capacity, rows=Rows.none(targets, rewards))

    def loads(self) -> Floats:
        return self.rows.mass * self.rows.weight[:, self.target]

    def add(self, rows: Rows) -> Largest:
        """Take rows in."""
        candidates = rows.mass * rows.weight[:, self.target] >= max(self.floor, np.finfo(float).tiny)
        return self._pruned(joined([self.rows, rows.take(candidates)])) if candidates.any() else self

    def merge(self, other: Largest) -> Largest:
        return replace(self, floor=max(self.floor, other.floor))._pruned(joined([self.rows, other.rows]))

    def _pruned(self, rows: Rows) -> Largest:
        if rows.n <= 2 * self.capacity:  # pruned rarely, so that each row is looked at a few times at most
            return replace(self, rows=rows)
        return replace(self, rows=rows)._cut()

    def _cut(self) -> Largest:
        order = np.lexsort((self.rows.identity, -self.loads()))[: self.capacity]
        kept = self.rows.take(order)
        full = kept.n == self.capacity
        return replace(
            self, rows=kept, floor=float(kept.mass[-1] * kept.weight[-1, self.target]) if full else self.floor
        )

    def finished(self) -> Rows:
        """The rows kept, the largest first."""
        return self._cut().rows if self.rows.n else self.rows


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Spread:
    """Mass of the rows by weight, in buckets of 0.2 %; smallest and largest weight as they are.

    Attributes
    ----------
    positive
        Number of rows whose weight is not 0.
    """

    bucket: Ints
    mass: Floats
    smallest: float = np.inf
    largest: float = -np.inf
    positive: int = 0

    @classmethod
    def empty(cls) -> Self:
        return cls(bucket=np.empty(0, dtype=np.int64), mass=np.empty(0))

    def add(self, weight: Floats, mass: Floats) -> Spread:
        """Take weights in."""
        if not weight.size:
            return self
        bucket = np.ascontiguousarray(weight + 0.0).view(np.int64) >> _SHIFT
        fresh = Spread(
            bucket=bucket,
            mass=mass,
            smallest=float(weight.min()),
            largest=float(weight.max()),
            positive=int(np.count_nonzero(weight)),
        )
        return self.merge(fresh)

    def merge(self, other: Spread) -> Spread:
        bucket, place = np.unique(np.concatenate([self.bucket, other.bucket]), return_inverse=True)
        return Spread(
            bucket=bucket,
            mass=np.bincount(place, np.concatenate([self.mass, other.mass]), minlength=bucket.size).astype(
                np.float64
            ),
            smallest=min(self.smallest, other.smallest),
            largest=max(self.largest, other.largest),
            positive=self.positive + other.positive,
        )

    @property
    def zero_mass(self) -> float:
        """Mass of the rows whose weight is 0."""
        return float(self.mass[self.bucket == 0].sum())

    def quantiles(self, probabilities: Floats) -> Floats:
        """Weights below which the given shares of the mass lie, to 0.2 %; the two ends exactly."""
        below = np.cumsum(self.mass) / self.mass.sum()
        places = np.minimum(np.searchsorted(below, probabilities - 1e-12), self.bucket.size - 1)
        edges = (self.bucket << _SHIFT).view(np.float64), ((self.bucket + 1) << _SHIFT).view(np.float64)
        middle = np.where(self.bucket == 0, 0.0, (edges[0] + edges[1]) / 2)[places]
        middle = np.clip(middle, self.smallest, self.largest)
        return np.where(probabilities <= 0, self.smallest, np.where(probabilities >= 1, self.largest, middle))
