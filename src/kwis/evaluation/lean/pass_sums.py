"""What one pass over weights adds up, batch by batch, for the logging policy and for each target."""
# mypy: disable-error-code="no-untyped-call"

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from kwis.data.distributions import TOLERANCE
from kwis.evaluation.lean import loops
from kwis.evaluation.sensitivity import Box
from kwis.stats import long
from kwis.typing import Floats, Ints

EXPONENTS = 2048
SMALL = 0.01  # larger propensities are no action against all odds, however many there are
_SAME = 1 + 1e-9  # smallest propensities up to this factor are one floor, as in kwis.checks.bound


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LoggingSums:
    """Of the logging policy over some rows.

    Attributes
    ----------
    taken, expected, products
        ``(K,)`` how often each action was taken, and by its probabilities should have been; ``(K, K)`` sums
        of the products of the probabilities. Without a whole distribution the latter two are 0.
    exponents
        How many propensities below ``SMALL`` have each power of two.
    ends
        Smallest and largest propensity, how many are 1, the smallest positive probability of any action and
        how many rows have it.
    """

    taken: Floats
    expected: Floats
    products: Floats
    exponents: Ints = field(default_factory=lambda: np.zeros(EXPONENTS, dtype=np.int64))
    ends: Floats = field(default_factory=lambda: np.array([np.inf, -np.inf, 0.0, np.inf, 0.0]))

    @classmethod
    def of(cls, actions: int) -> Self:
        return cls(taken=np.zeros(actions), expected=np.zeros(actions), products=np.zeros((actions, actions)))

    def add(self, code: Ints, chances: Floats, logged: Floats, known: bool) -> tuple[bool, float]:
        """Count some rows in; ``chances`` is (K, m), or has no rows where only the logged action's is known.
        Fills ``logged`` unless it is ``known``. Returns whether everything is a probability, and the smallest
        chance.
        """
        low = _least_if_proper(chances)
        fine = low >= 0.0
        if chances.size:
            loops.add_chances(chances, self.expected, self.products)
        fine &= loops.add_logging(code, chances, logged, known, self.taken, self.ends)
        self._add_floor(chances if chances.size else logged[None], low)
        small = logged[logged < SMALL]
        self.exponents[:] += np.bincount(small.view(np.int64) >> 52, minlength=EXPONENTS)[:EXPONENTS]
        return bool(fine), low

    def _add_floor(self, chances: Floats, low: float) -> None:
        """Count rows with the smallest positive chance of all so far; ``low`` is the smallest of these."""
        floor = low if low > 0 else loops.least_positive(chances)
        if floor * _SAME < self.ends[3]:
            self.ends[3:] = floor, loops.rows_up_to(chances, floor * _SAME)
        elif floor <= self.ends[3] * _SAME:
            self.ends[3:] = (
                min(self.ends[3], floor),
                self.ends[4] + loops.rows_up_to(chances, self.ends[3] * _SAME),
            )

    @classmethod
    def total(cls, parts: Sequence[Self]) -> Self:
        ends = np.array([part.ends for part in parts])
        least = ends[:, 3].min()
        return cls(
            taken=np.sum([part.taken for part in parts], axis=0),
            expected=np.sum([part.expected for part in parts], axis=0),
            products=np.sum([part.products for part in parts], axis=0),
            exponents=np.sum([part.exponents for part in parts], axis=0),
            ends=np.array(
                [
                    ends[:, 0].min(),
                    ends[:, 1].max(),
                    ends[:, 2].sum(),
                    least,
                    ends[ends[:, 3] <= least * _SAME, 4].sum(),
                ]
            ),
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TargetSums:
    """Of one target over some rows: number of rows, sums of the weights and of their squares, of the squares
    to be expected and of the probability beyond the log, rows with such, and the largest weight that any
    action could have had.
    """

    sums: Floats = field(default_factory=lambda: np.zeros(7))

    def add(
        self, code: Ints, chances: Floats, low: float, logged: Floats, wanted: Floats, said: Floats,
        known: bool, never: Any, weight: Floats,
    ) -> bool:  # fmt: skip
        """Count some rows in and fill ``weight``; ``low`` is the smallest of ``chances``, ``wanted`` and
        ``said`` are the target's ``chances`` and ``logged``.
        """
        fine = _least_if_proper(wanted) >= 0.0
        if wanted.size and chances.size and not never.any() and low > 0:
            loops.add_ratios(chances, wanted, self.sums)
        elif wanted.size:
            loops.add_lost(chances, wanted, never, self.sums)
        return bool(fine & loops.add_target(code, logged, wanted, said, known, weight, self.sums))

    @classmethod
    def total(cls, parts: Sequence[Self]) -> Self:
        every = np.array([part.sums for part in parts])
        return cls(sums=np.append(every[:, :6].sum(axis=0), every[:, 6].max()))

    @property
    def n(self) -> int:
        return int(self.sums[0])

    @property
    def mean_weight(self) -> tuple[float, float]:
        """The mean of the weights and its standard error."""
        n, total, squares = (float(value) for value in self.sums[:3])
        mean = total / n
        return mean, float(np.sqrt(max(squares / n - mean**2, 0.0) / n))


@dataclass(slots=True)
class OddsByValue:
    """Sums of a target's probabilities of the actions taken, and of the weights less these, over the rows of
    each reward, where rewards have few values.
    """

    found: dict[float, Floats] = field(default_factory=dict)

    @classmethod
    def of(cls, values: Sequence[float]) -> Self:
        """For rewards that have these values as far as is known: others may come."""
        return cls({float(value): np.zeros(2) for value in values})

    def add(self, logged: Floats, weight: Floats, reward: Floats) -> bool:
        """Count some rows in; False where rewards have many values."""
        levels, sums = np.zeros(long.FEW), np.zeros((long.FEW, 2))
        levels[: len(self.found)], number = list(self.found), len(self.found)
        if number != 2 or not loops.add_two_odds(logged, weight, reward, levels, sums):
            number = loops.add_odds(logged, weight, reward, levels, sums)
        for level, own in zip(levels[: max(number, 0)].tolist(), sums, strict=False):
            self.found[level] = self.found.get(level, 0.0) + own
        return bool(number >= 0)

    @classmethod
    def box(cls, parts: Sequence[Self]) -> Box:
        """How far weights may move as odds of the propensities do."""
        total: dict[float, Floats] = {}
        for part in parts:
            for level, sums in part.found.items():
                total[level] = total.get(level, 0.0) + sums
        levels = sorted((level for level, sums in total.items() if sums[0] > 0), reverse=True)
        constant, odds = np.array([total[level] for level in levels]).T
        return Box(constant, odds, np.array(levels))


def _least_if_proper(chances: Floats) -> float:
    """The smallest chance of all, 0 without any; -1 where those of some row are no distribution."""
    return float(loops.least_if_proper(chances, TOLERANCE)) if chances.size else 0.0


def stirred(key: Any, columns: Floats) -> None:
    """Stir the bits of every column (K, m) into the keys (m,) of the rows."""
    for values in columns:
        loops.stir(key, np.ascontiguousarray(values).view(np.uint64))
