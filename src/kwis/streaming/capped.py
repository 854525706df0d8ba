"""Sums with and without a cap on the weights that grows with the rows: ``sqrt(n)``, the cap of
:class:`kwis.TruncatedVIS`.

What a row contributes under a cap is known once the cap has passed its weight: from then on it can only grow.
Rows still above it are held aside; as weights average about 1, there are at most about ``sqrt(n)`` of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

import numpy as np

from kwis.streaming.rows import Layout, Rows, joined
from kwis.streaming.sums import Exact, Sums
from kwis.typing import Floats


@dataclass(frozen=True, slots=True, eq=False)
class CappedSums:
    """Sums over the rows below the cap so far, and the rows above it; ``add`` changes the sums in place, so
    use what it returns.
    """

    layout: Layout
    seed: int
    below: Sums
    above: Rows

    @classmethod
    def empty(cls, layout: Layout, replicates: int, seed: int) -> Self:
        return cls(
            layout, seed, Sums.empty(layout.width, replicates), Rows.none(layout.targets, layout.rewards)
        )

    @property
    def cap(self) -> float:
        """Square root of the interactions so far."""
        return math.sqrt(self.below.total.rounded[0] + self.above.mass.sum())

    def add(self, rows: Rows) -> CappedSums:
        """Take rows in, and those held aside that the cap has passed."""
        cap = math.sqrt(self.below.total.rounded[0] + self.above.mass.sum() + rows.mass.sum())
        return self._settled(self.below, [self.above, rows], cap)

    def merge(self, other: CappedSums) -> CappedSums:
        below, parts = self.below.merge(other.below), [self.above, other.above]
        return self._settled(
            below, parts, math.sqrt(below.total.rounded[0] + sum(part.mass.sum() for part in parts))
        )

    def _settled(self, below: Sums, parts: list[Rows], cap: float) -> CappedSums:
        kept = []
        for part in parts:
            above = (part.weight > cap).any(axis=1)
            settled = part if not above.any() else part.take(~above)
            if settled.n:
                below.add(settled.draw, self.layout.terms(settled), self.seed)
            kept.append(part.take(above))
        return CappedSums(self.layout, self.seed, below, joined(kept))

    def finished(self) -> Sums:
        """Sums of the terms as they are, followed by those of the same terms with every weight cut off at the
        cap.
        """
        below = Sums(
            *(
                _twice(sums, axes)
                for sums, axes in ((self.below.total, 1), (self.below.products, 2), (self.below.resampled, 1))
            )
        )
        if self.above.n:
            terms = np.concatenate(
                [self.layout.terms(self.above), self.layout.terms(self.above, self.cap)], axis=1
            )
            below.add(self.above.draw, terms, self.seed)
        return below


def _twice(sums: Exact, axes: int) -> Exact:
    """The same sums for the terms and their capped twins, which below the cap are equal."""
    return Exact(_repeated(sums.high, axes), _repeated(sums.low, axes))


def _repeated(values: Floats, axes: int) -> Floats:
    if axes == 1:
        return np.concatenate([values, values])
    whole = np.triu(values) + np.triu(values, 1).T  # products fill the upper triangle only
    return np.tile(whole, (2, 2))
