r"""Kernel-WIS of large logs from sampled neighbours, with an error bar, for weights and rewards in any
number.

1. *Neighbours.* A seeded sample of rows, half uniform and half in proportion to the weight, evenly over the
   sizes of weights. Every row gets ``G`` and ``M`` from it: its own term exact, the others divided by their
   chance. So every row has an approximate weight ``v' = w G / M``: noisy, and too large on average.
2. *Check.* A random sample of rows, larger terms more likely, gets its exact ``v`` from all rows. How ``v /
   v'`` runs along their contexts improves every ``v'`` (:mod:`kwis.estimators.trend`). Sums over rows are
   those of ``v' x`` plus those of ``(v - v') x / chance`` over the rows checked: as good as unbiased for the
   exact sums whatever the first step did. The spread of these corrections is the error bar, each as large as
   if its row had no part in the fit.
3. *Influence.* How the weights of all rows react to a row is a kernel sum too, taken over the rows checked,
   and for the heaviest rows over all: see :mod:`kwis.estimators.reaction`.

All steps look at ``n m`` pairs for samples of ``m`` rows instead of ``n^2``. The error in units of the
standard error goes as ``sqrt(n) / m``. With all rows as neighbours only rounding is left, and few rows are
checked, to say how much it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kwis.estimators.ratio import Parts
from kwis.estimators.reaction import reaction, within
from kwis.estimators.trend import improve
from kwis.kernel.points import Points
from kwis.kernel.sampling import neighbour_chance, priority, systematic
from kwis.runtime.arrays import room, stretches
from kwis.sample import balanced
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
_TINY = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True, slots=True, eq=False)
class Sampling:
    """Contexts whose neighbours are to be sampled, and the seed they are drawn with."""

    points: Points
    seed: int

    def weights(
        self, weights: Sequence[Floats], mass: Floats, importance: Floats, size: int
    ) -> SampledWeights:
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
    widening
        By how many times the gap of each row checked is larger where it has no part in the fit.
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
    widening: Floats
    neighbours: int
    dtype: Any
    signs: Floats

    @classmethod
    def of(
        cls,
        points: Points,
        weights: Sequence[Floats],
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
        w, vectors = _vectors(weights, mass, total)
        precision = dtype or _precision(points, w)
        whole = size >= n
        if whole:
            around, neighbours = points.all_pairs(vectors, precision), n
        else:
            share = w[:, 0] if w.shape[1] == 1 else sum(one / one.max() for one in w.T) / w.shape[1]
            taken, chance = _draw_neighbours(mass, share, size, np.random.default_rng([seed, _NEIGHBOURS]))
            counted = vectors[taken] / chance[:, None]
            around, neighbours = room(vectors.shape), taken.size
            for part in stretches(n):
                found = points.from_rows(taken, counted, precision, part)
                mine, inside = within(taken, part)
                found[mine] -= counted[inside]
                around[part] = np.maximum(found, 0.0) + vectors[part]
        applied, terms = room(w.shape), np.empty(n)
        for part in stretches(n):
            applied[part] = _applied(w[part], around[part], total)
            terms[part] = mass[part] * (applied[part].mean(axis=1) + _FLOOR) * importance[part]
        rng = np.random.default_rng([seed, _CHECKED])
        rows, chance = priority(terms, _CHECKED_OF_ALL if whole else max(2, round(CHECKED_SHARE * size)), rng)
        exact_around = points.at_rows(rows, vectors, np.float64 if whole else precision)
        exact = _applied(w[rows], exact_around, total)
        share = np.sqrt(1 - chance) / chance * mass[rows] * importance[rows]
        widening = np.ones(rows.size) if whole else improve(applied, points, rows, exact, share)
        signs = rng.choice([-1.0, 1.0], rows.size)
        return cls(
            points, mass, w, around, applied, rows, chance, exact_around, exact, widening, neighbours,
            precision, signs,
        )  # fmt: skip

    @property
    def whole(self) -> bool:
        return self.neighbours == self.mass.size

    @property
    def gap(self) -> Floats:
        """By how much the approximate weights of the rows checked are too small."""
        return self.exact - self.applied[self.rows]

    def sums(self, columns: Floats) -> Floats:
        """``sum c v x`` (q, F) of columns (n, q), corrected."""
        checked = (self.mass[self.rows] / self.chance)[:, None] * self.gap
        total = np.einsum("ij,ib->jb", columns[self.rows], checked)
        for part in stretches(self.mass.size):
            counted = self.mass[part, None] * self.applied[part]
            total = total + np.einsum("ij,ib->jb", columns[part], counted)
        return total

    def parts(self, columns: Floats) -> Parts:
        """What estimates are made of, for one weighting."""
        v, mass = self.applied[:, 0], self.mass
        direct, noise = reaction(self, columns)
        for part in stretches(v.size):
            direct[part] += v[part, None] * columns[part]
        # A row checked stands for others: what its correction might have been is an error of its own,
        # independent of all rows.
        drawn = room(columns.shape)
        widening = self.widening * (_ROUNDING_TOGETHER if self.whole else 1.0)
        spread = self.signs * np.sqrt(1 - self.chance) / self.chance * widening
        drawn[self.rows] = (spread * self.gap[:, 0])[:, None] * columns[self.rows]
        counted = mass[self.rows] / self.chance
        squares = np.sum((mass * v) ** 2) + np.sum(
            counted * mass[self.rows] * (self.exact[:, 0] ** 2 - v[self.rows] ** 2)
        )
        load = float(self.sums(np.ones((v.size, 1)))[0, 0])
        return Parts(
            weight=v,
            sums=self.sums(columns)[:, 0],
            direct=direct,
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


def _vectors(weights: Sequence[Floats], mass: Floats, total: float) -> tuple[Floats, Floats]:
    """Weights in safe units (n, F); and the vectors of kernel sums, ``c`` and every ``c w`` (n, 1 + F)."""
    w, vectors = room((mass.size, len(weights))), room((mass.size, 1 + len(weights)))
    vectors[:, 0] = mass
    for place, weight in enumerate(weights):
        w[:, place] = balanced(weight, total)
        vectors[:, 1 + place] = mass * w[:, place]
    return w, vectors


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
