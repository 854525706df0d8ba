"""What one pass over weights adds up, batch by batch, for the logging policy and for each target."""
# mypy: disable-error-code="no-untyped-def, no-untyped-call, misc"

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from kwis.checks.drawn import mixed
from kwis.data.distributions import TOLERANCE
from kwis.evaluation.sensitivity import Box
from kwis.runtime.compile import compiled
from kwis.stats.long import few_values, loops
from kwis.typing import Floats, Ints

EXPONENTS = 2048
SMALL = 0.01  # larger propensities are no action against all odds, however many there are
_SAME = 1 + 1e-9  # smallest propensities up to this factor are one floor, as in kwis.checks.bound
_CERTAIN = 1 - 1e-9


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

    def add(self, code: Ints, chances: Floats, logged: Floats, known: bool) -> bool:
        """Count some rows in; ``chances`` is (K, m), or has no rows where only the logged action's is known.
        Fills ``logged`` unless it is ``known``. False where something is no probability.
        """
        fine = _add_logging(code, chances, logged, known, self.taken, self.expected, self.products, self.ends)
        small = logged[logged < SMALL]
        self.exponents[:] += np.bincount(small.view(np.int64) >> 52, minlength=EXPONENTS)[:EXPONENTS]
        return bool(fine)

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
        self, code: Ints, chances: Floats, logged: Floats, wanted: Floats, said: Floats, known: bool,
        never: Any, weight: Floats,
    ) -> bool:  # fmt: skip
        """Count some rows in and fill ``weight``; ``wanted`` and ``said`` are the target's ``chances`` and
        ``logged``.
        """
        return bool(_add_target(code, chances, logged, wanted, said, known, never, weight, self.sums))

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

    def add(self, logged: Floats, weight: Floats, reward: Floats) -> bool:
        """Count some rows in; False where rewards have many values."""
        few = few_values(reward)
        if few is None:
            return False
        out = np.zeros((2, few[0].size))
        loops().odds_by_value(logged, weight, reward, few[0], out)
        for level, sums in zip(few[0].tolist(), out.T, strict=True):
            self.found[level] = self.found.get(level, 0.0) + sums
        return True

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


def stirred(key: Any, columns: Floats) -> None:
    """Stir the bits of every column (K, m) into the keys (m,) of the rows."""
    for values in columns:
        _stir(key, np.ascontiguousarray(values).view(np.uint64))


@compiled(nogil=True, error_model="numpy")
def _stir(key, bits):
    for i in range(key.shape[0]):
        key[i] = mixed(key[i] + bits[i] * np.uint64(0x9E3779B97F4A7C15))


@compiled(nogil=True, error_model="numpy", inline="always")
def _proper(chances, i):
    """Whether the chances of a row are a distribution."""
    total, fine = 0.0, True
    for a in range(chances.shape[0]):
        x = chances[a, i]
        fine &= (x >= 0.0) & (x <= 1.0)
        total += x
    return fine & (abs(total - 1.0) <= TOLERANCE)


@compiled(nogil=True, error_model="numpy")
def _add_logging(code, chances, logged, known, taken, expected, products, ends):
    k, fine = chances.shape[0], True
    smallest, largest, certain, least, ties = ends[0], ends[1], ends[2], ends[3], ends[4]
    for i in range(code.shape[0]):
        if k and not known:
            logged[i] = chances[code[i], i]
        p = logged[i]
        fine &= (p > 0.0) & (p <= 1.0)
        taken[code[i]] += 1.0
        smallest, largest = min(smallest, p), max(largest, p)
        certain += p >= _CERTAIN
        floor = p
        if k:
            fine &= _proper(chances, i)
            floor = np.inf
            for a in range(k):
                x = chances[a, i]
                if x > 0.0:
                    floor = min(floor, x)
                expected[a] += x
                for b in range(a + 1):
                    products[a, b] += x * chances[b, i]
        if floor * _SAME < least:
            least, ties = floor, 1.0
        elif floor <= least * _SAME:
            least, ties = min(least, floor), ties + 1.0
    ends[0], ends[1], ends[2], ends[3], ends[4] = smallest, largest, certain, least, ties
    return fine


@compiled(nogil=True, error_model="numpy")
def _add_target(code, chances, logged, wanted, said, known, never, weight, sums):
    k, whole, fine = wanted.shape[0], chances.shape[0], True
    total, squares, foreseen, lost, rows, ceiling = sums[1], sums[2], sums[3], sums[4], sums[5], sums[6]
    for i in range(code.shape[0]):
        if k and not known:
            said[i] = wanted[code[i], i]
        w = said[i] / logged[i]
        weight[i] = w
        fine &= (said[i] >= 0.0) & (said[i] <= 1.0) & (w < np.inf)
        total += w
        squares += w * w
        if k:
            fine &= _proper(wanted, i)
            beyond = 0.0
            for a in range(k):
                x = wanted[a, i]
                if never[a] or (whole and chances[a, i] == 0.0):
                    beyond += x
                if whole and chances[a, i] > 0.0:
                    foreseen += x * x / chances[a, i]
                    ceiling = max(ceiling, x / chances[a, i])
            lost += beyond
            rows += beyond > 0.0
    sums[0] += code.shape[0]
    sums[1], sums[2], sums[3], sums[4], sums[5], sums[6] = total, squares, foreseen, lost, rows, ceiling
    return fine
