r"""Kernel-WIS of large logs from sampled neighbours, with an error bar, for weights and rewards in any
number.

1. *Neighbours.* A seeded sample of rows, half uniform and half in proportion to the weight, evenly over the
   sizes of weights. Every row gets ``G`` and ``M`` from it: its own term exact, the others divided by their
   chance. So every row has an approximate weight ``v' = w G / M``: noisy, and too large on average.
2. *Check.* A random sample of rows, larger terms more likely, gets its exact ``v`` from all rows. Sums over
   rows are those of ``v' x`` plus those of ``(v - v') x / chance`` over the rows checked: unbiased for the
   exact sums whatever the first step did. The spread of these corrections is the error bar.
3. *Influence.* How the weights of all rows react to a row is a kernel sum too, taken over the rows checked.
   Two halves of them tell how noisy it is.

All steps look at ``n m`` pairs for samples of ``m`` rows instead of ``n^2``. The error in units of the
standard error goes as ``sqrt(n) / m``. With all rows as neighbours only rounding is left, and few rows are
checked, to say how much it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kwis.estimators.ratio import Parts
from kwis.kernel.points import Points
from kwis.kernel.sampling import neighbour_chance, priority, systematic
from kwis.sample import balanced, safe_ratio
from kwis.typing import Floats, Ints

CHECKED_SHARE = (
    0.5  # of the number of neighbours; a row checked costs more than a neighbour, as influence needs it again
)
_CHECKED_OF_ALL = 500  # where all rows are neighbours
_ROUNDING_TOGETHER = 2.0  # factor on the error where only rounding is left, which rows near each other share
_NEIGHBOURS, _CHECKED = 11, 12  # streams of random numbers
# share of an average term that every row counts when rows to check are chosen, even one of no weight
_FLOOR = 0.25
_SINGLE_SPAN = 1e30  # of the weights, which single precision holds
_DEPENDENT = 1e-10  # columns of terms that others make up
_TINY = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True, slots=True, eq=False)
class Sampling:
    """Contexts whose neighbours are to be sampled, and the seed they are drawn with."""

    points: Points
    seed: int

    def weights(self, weights: Floats, mass: Floats, importance: Floats, size: int) -> SampledWeights:
        """The weights applied, from about ``size`` neighbours."""
        return SampledWeights.of(self.points, weights, mass, importance, size=size, seed=self.seed)


@dataclass(frozen=True, slots=True, eq=False)
class SampledWeights:
    """Weights applied to every row, approximately, and to the rows checked, exactly; (n, F) for F weightings
    of the same rows.

    Attributes
    ----------
    weight, around
        In safe units; and their kernel sums, ``G`` first.
    applied
        Approximate weights ``v'``.
    rows, chance, exact_around, exact
        Rows checked, their chances, kernel sums and weights.
    neighbours
        Their number; all rows: only rounding is left.
    """

    points: Points
    mass: Floats
    weight: Floats
    around: Floats
    applied: Floats
    rows: Ints
    chance: Floats
    exact_around: Floats
    exact: Floats
    neighbours: int
    dtype: Any
    signs: Floats

    @classmethod
    def of(
        cls,
        points: Points,
        weights: Floats,
        mass: Floats,
        importance: Floats,
        *,
        size: int,
        seed: int,
        dtype: Any = None,
    ) -> SampledWeights:
        """Weights from about ``size`` neighbours; ``importance`` says how much the weight of a row matters, 1
        on average.
        """
        n, total = mass.size, float(mass.sum())
        w = np.stack([balanced(weight, total) for weight in weights.T], axis=1)
        vectors = np.column_stack([mass, mass[:, None] * w])
        precision = dtype or _precision(points, w)
        whole = size >= n
        if whole:
            around, neighbours = points.all_pairs(vectors, precision), n
        else:
            share = w[:, 0] if w.shape[1] == 1 else (w / w.max(axis=0)).mean(axis=1)
            taken, chance = _draw_neighbours(mass, share, size, np.random.default_rng([seed, _NEIGHBOURS]))
            counted = vectors[taken] / chance[:, None]
            around, neighbours = points.from_rows(taken, counted, precision), taken.size
            around[taken] -= counted
            around = np.maximum(around, 0.0) + vectors
        applied = _applied(w, around, total)
        rng = np.random.default_rng([seed, _CHECKED])
        terms = mass * (applied.mean(axis=1) + _FLOOR) * importance
        rows, chance = priority(terms, _CHECKED_OF_ALL if whole else max(2, round(CHECKED_SHARE * size)), rng)
        exact_around = points.at_rows(rows, vectors, np.float64 if whole else precision)
        exact = _applied(w[rows], exact_around, total)
        signs = rng.choice([-1.0, 1.0], rows.size)
        return cls(
            points, mass, w, around, applied, rows, chance, exact_around, exact, neighbours, precision, signs
        )

    @property
    def whole(self) -> bool:
        return self.neighbours == self.mass.size

    @property
    def gap(self) -> Floats:
        """By how much the approximate weights of the rows checked are too small."""
        return self.exact - self.applied[self.rows]

    def sums(self, columns: Floats) -> Floats:
        """``sum c v x`` (q, F) of columns (n, q), corrected."""
        counted, checked = (
            self.mass[:, None] * self.applied,
            (self.mass[self.rows] / self.chance)[:, None] * self.gap,
        )
        return np.einsum("ij,ib->jb", columns, counted) + np.einsum("ij,ib->jb", columns[self.rows], checked)

    def parts(self, columns: Floats) -> Parts:
        """What estimates are made of, for one weighting."""
        v, mass = self.applied[:, 0], self.mass
        reaction, noise = self._reaction(columns)
        # A row checked stands for others: what its correction might have been is an error of its own,
        # independent of all rows.
        drawn = np.zeros(columns.shape)
        spread = (
            self.signs * np.sqrt(1 - self.chance) / self.chance * (_ROUNDING_TOGETHER if self.whole else 1.0)
        )
        drawn[self.rows] = (spread * self.gap[:, 0])[:, None] * columns[self.rows]
        counted = mass[self.rows] / self.chance
        squares = np.sum((mass * v) ** 2) + np.sum(
            counted * mass[self.rows] * (self.exact[:, 0] ** 2 - v[self.rows] ** 2)
        )
        load = float(self.sums(np.ones((v.size, 1)))[0, 0])
        return Parts(
            weight=v,
            sums=self.sums(columns)[:, 0],
            direct=v[:, None] * columns + reaction,
            effective_n=load**2 / float(squares) if squares > 0 else 0.0,
            isolation=self._isolation(),
            noise=noise,
            drawn=drawn,
            neighbours=self.neighbours,
            checked=self.rows.size,
        )

    def _isolation(self) -> float:
        own = self.mass * self.weight[:, 0] / np.maximum(self.around[:, 1], _TINY)
        exact = (self.mass * self.weight[:, 0])[self.rows] / np.maximum(self.exact_around[:, 1], _TINY)
        total = np.sum(self.mass * own) + np.sum(
            self.mass[self.rows] / self.chance * (exact - own[self.rows])
        )
        return float(np.clip(total / self.mass[own > 0].sum(), 0.0, 1.0))

    def _reaction(self, columns: Floats) -> tuple[Floats, Floats | None]:
        """How ``sum c v x`` reacts to the count of each row through the weights of the others, and half of
        what two halves differ by.
        """
        q, w = columns.shape[1], self.weight[:, :1]
        own = _pulls(self.mass[:, None] * self.applied * columns, self.around)
        if self.whole:
            return _met(self.points.all_pairs(own, self.dtype), w), None
        terms = self.mass[self.rows, None] * self.exact * columns[self.rows]
        own[self.rows] = pulling = _pulls(terms, self.exact_around)
        totals, even = self.sums(columns)[:, 0], np.arange(self.rows.size) % 2 == 0
        halves = [
            pulling * _calibrated(half * 2 / self.chance, terms, totals)[:, None] for half in (even, ~even)
        ]
        both = self.points.from_rows(self.rows, np.hstack(halves), self.dtype)
        both[self.rows] -= np.hstack(halves)  # a row's pull on itself is known, and the largest of all
        first, second = (_met(part + own, w) for part in (both[:, : 2 * q], both[:, 2 * q :]))
        return (first + second) / 2, (first - second) / 2


def _precision(points: Points, weight: Floats) -> Any:
    """Single precision unless distances or weights would drown in its rounding."""
    positive = weight[weight > 0]
    narrow = positive.size > 0 and positive.max() < _SINGLE_SPAN * positive.min()
    return np.float32 if points.space.roomy and narrow else np.float64


def _draw_neighbours(
    mass: Floats, weight: Floats, size: int, rng: np.random.Generator
) -> tuple[Ints, Floats]:
    total = float(mass.sum())
    chance = neighbour_chance(mass, weight, size, total, float(np.sum(mass * weight)) / total)
    taken = systematic(chance, weight, rng)
    return taken, chance[taken]


def _applied(weight: Floats, around: Floats, most: float) -> Floats:
    """``w G / M``, at most the mass around."""
    return np.minimum(weight * around[:, :1] / np.maximum(around[:, 1:], _TINY), most)


def _calibrated(weight: Floats, terms: Floats, totals: Floats) -> Floats:
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
