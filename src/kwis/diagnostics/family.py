"""Many tests of means, by subject and region, as one: a chance of 5 % that any of them fails when all means are right.

Each test sums a score that right propensities give mean 0 over the rows of a region. Rows of a group are one draw. The sum is
divided by its standard error, corrected for skewness by Hall's cubic (1992), and judged against the largest of as many normal
variables with the same correlations, drawn with a fixed seed. Scores of overlapping regions are alike, so this is far less
strict than dividing the level by the number of tests.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from scipy.special import ndtr, ndtri

from kwis.columns import Label
from kwis.diagnostics.records import MeanTest
from kwis.diagnostics.regions import Mask, Region
from kwis.estimators.influence import draw_sums
from kwis.smoothing.threads import each_block, engine
from kwis.typing import Floats, Ints

_DRAWS = 10_000
_CELLS = 1 << 20  # entries of the largest matrix in flight
_LEAST_DRAWS = 30
_LEAST_EXPECTED = 10.0
_FARTHEST = 35.0  # standard errors beyond which a p-value is 0 in double precision


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Subject:
    """Something that right propensities fix.

    Attributes
    ----------
    score
        ``(n,)`` with mean 0 given the context, if the propensities are right.
    scale
        ``(n,)`` what a score is a part of: the mean reported is ``1 + sum(score) / sum(scale)``.
    expected
        How many of n rows take part on average; a region where fewer than ten would do is left out.
    upper_only
        Whether only too large a sum speaks against the propensities.
    """

    kind: Literal["weight", "action", "confidence"]
    name: Label
    score: Floats
    scale: Floats
    expected: float
    upper_only: bool = False


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Sums:
    """Sums over the draws of m tests: scores, their squares and cubes, scales, and how many draws take part.

    Scores are in units of the subject's largest, as cubes of huge ones would overflow.
    """

    unit: Floats
    score: Floats
    squares: Floats
    cubes: Floats
    scale: Floats
    draws: Floats

    def z(self) -> Floats:
        """Sums in standard errors, corrected for skewness."""
        n = np.maximum(self.draws, 2)
        part = self.score / np.sqrt(np.where(self.squares > 0, self.squares, 1.0))
        # From the sum over the root of the squares to Student's ratio, whose spread is around the mean.
        t = part * np.sqrt((n - 1) / np.maximum(n - part**2, 1e-9))
        mean, second = self.score / n, self.squares / n
        variance = second - mean**2
        third = self.cubes / n - 3 * mean * second + 2 * mean**3
        spread = variance > 1e-9 * second
        a = np.where(spread, third / np.where(spread, variance, 1.0) ** 1.5, 0.0) / np.sqrt(n)
        return np.clip(t + a * t**2 / 3 + a**2 * t**3 / 27 + a / 6, -_FARTHEST, _FARTHEST)

    def intervals(self, level: float = 0.95) -> tuple[Floats, Floats, Floats]:
        """Means and the two ends of their intervals, each by itself."""
        n, scale = np.maximum(self.draws, 2), np.where(self.scale > 0, self.scale, 1.0)
        mean = 1 + self.unit * self.score / scale
        squares = np.maximum(self.squares - self.score**2 / n, 0.0)
        reach = ndtri((1 + level) / 2) * self.unit * np.sqrt(squares * n / (n - 1)) / scale
        return mean, mean - reach, mean + reach


def pairs_of(subjects: Sequence[Subject], regions: Sequence[Region], group: Ints | None) -> list[tuple[int, int]]:
    """Subjects and regions that can be tested, every subject on the whole log first."""
    n = len(regions[0].rows)
    draws = [_draws_in(region.rows, group) for region in regions]
    pairs = []
    for r, region in enumerate(regions):
        for s, subject in enumerate(subjects):
            enough = draws[r] >= _LEAST_DRAWS and subject.expected * region.n / n >= _LEAST_EXPECTED
            if enough and subject.score[region.rows].any() and (r == 0 or subject.kind != "confidence"):
                pairs.append((s, r))
    return pairs


def _draws_in(rows: Mask, group: Ints | None) -> int:
    return int(rows.sum()) if group is None else np.unique(group[rows]).size


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Family:
    """Pairs of a subject and a region, on the rows of one log.

    Attributes
    ----------
    size
        How many tests p-values are to allow for: as many as there are pairs, or more in a part of a family.
    """

    subjects: tuple[Subject, ...]
    regions: tuple[Region, ...]
    pairs: tuple[tuple[int, int], ...]
    size: int
    mass: Floats | None = None
    group: Ints | None = None

    @property
    def n(self) -> int:
        return len(self.regions[0].rows)

    @property
    def upper_only(self) -> Mask:
        return np.array([self.subjects[s].upper_only for s, _ in self.pairs])

    def without(self, rows: Mask) -> Family:
        """The same tests on the other rows."""
        return replace(self, regions=tuple(replace(region, rows=region.rows & ~rows) for region in self.regions))

    def part(self, tests: Sequence[int]) -> Family:
        """Some of the tests."""
        return replace(self, pairs=tuple(self.pairs[i] for i in tests))

    def sums(self) -> Sums:
        """Sums over the draws."""
        of_subject, of_region = np.array(self.pairs).T

        def block(rows: Ints) -> Floats:
            inside, sums = self._inside(rows), self._draws(rows)
            squares = sums * sums
            scale = (self._values(rows, "scale").T @ inside)[of_subject, of_region]
            draws = (draw_sums(inside, self._labels(rows)) > 0).sum(axis=0)[of_region]
            return np.stack([sums.sum(axis=0), squares.sum(axis=0), np.einsum("ij,ij->j", squares, sums), scale, draws])

        score, squares, cubes, scale, draws = np.sum(each_block(block, self._blocks()), axis=0)
        return Sums(unit=self._units()[of_subject], score=score, squares=squares, cubes=cubes, scale=scale, draws=draws)

    def correlations(self) -> Floats:
        """``(m, m)`` correlations of the sums of scores."""

        def block(rows: Ints) -> Floats:
            sums = self._draws(rows)
            return sums.T @ sums

        products = np.sum(each_block(block, self._blocks()), axis=0)
        root = np.sqrt(np.diag(products))
        root = np.where(root > 0, root, 1.0)
        return products / np.outer(root, root)

    def _blocks(self) -> list[Ints]:
        """Rows in blocks that bound the memory in use, no group in two of them."""
        size = max(1, _CELLS // len(self.pairs))
        if self.group is None:
            return np.split(np.arange(self.n), np.arange(size, self.n, size))
        order = np.argsort(self.group, kind="stable")
        starts = np.flatnonzero(np.diff(self.group[order])) + 1
        cuts = np.append(starts, self.n)[np.searchsorted(starts, np.arange(size, self.n, size))]
        return [block for block in np.split(order, np.unique(cuts)) if len(block)]

    def _draws(self, rows: Ints) -> Floats:
        """``(draws, m)`` scores of the draws in these rows, in units of the subject's largest."""
        of_subject, of_region = np.array(self.pairs).T
        scores = (self._values(rows, "score") / self._units())[:, of_subject]
        scores *= self._inside(rows)[:, of_region]
        return draw_sums(scores, self._labels(rows))

    def _inside(self, rows: Ints) -> Floats:
        return np.stack([region.rows[rows] for region in self.regions], axis=1).astype(np.float64)

    def _labels(self, rows: Ints) -> Ints | None:
        return None if self.group is None else self.group[rows]

    def _values(self, rows: Ints, what: Literal["score", "scale"]) -> Floats:
        mass = np.ones(len(rows)) if self.mass is None else self.mass[rows] / self.mass.mean()
        return np.stack([getattr(subject, what)[rows] * mass for subject in self.subjects], axis=1)

    def _units(self) -> Floats:
        return np.array([max(float(np.abs(subject.score).max()), 1e-300) for subject in self.subjects])

    def judged(self, smallest: Floats) -> tuple[MeanTest, ...]:
        """Records of the tests, each with a p-value that allows for all of them."""
        sums = self.sums()
        z, (means, lows, highs) = sums.z(), sums.intervals()
        p = adjusted(p_values(z, self.upper_only), smallest, self.size)
        p[sums.draws < _LEAST_DRAWS] = 1.0  # where too little is left of the region
        return tuple(
            MeanTest(
                kind=self.subjects[s].kind,
                subject=self.subjects[s].name,
                region=self.regions[r].label,
                column=self.regions[r].column,
                n=self.regions[r].n,
                mean=float(means[i]),
                low=float(lows[i]),
                high=float(highs[i]),
                z=float(z[i]),
                p_value=float(p[i]),
            )
            for i, (s, r) in enumerate(self.pairs)
        )


def p_values(z: Floats, upper_only: Mask) -> Floats:
    """Of each test by itself."""
    return np.where(upper_only, ndtr(-z), 2 * ndtr(-np.abs(z)))


def smallest_by_chance(correlations: Floats, upper_only: Mask, seed: int = 0) -> Floats:
    """Sorted smallest p-values of so many tests, over draws in which everything is right."""
    m = len(correlations)
    rng = np.random.default_rng(seed)
    step = max(1, _CELLS // m)
    smallest = []
    with engine():
        values, vectors = np.linalg.eigh(correlations)
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        for start in range(0, _DRAWS, step):
            z = rng.standard_normal((min(step, _DRAWS - start), m)) @ root.T
            np.abs(z, out=z, where=~upper_only)
            smallest.append(_smallest(z, upper_only))
    return np.sort(np.concatenate(smallest))


def _smallest(z: Floats, upper_only: Mask) -> Floats:
    """Smallest p-value of each row: that of the farthest of either kind."""
    one, two = z[:, upper_only], z[:, ~upper_only]
    above = ndtr(-one.max(axis=1)) if one.shape[1] else np.ones(len(z))
    apart = 2 * ndtr(-two.max(axis=1)) if two.shape[1] else np.ones(len(z))
    return np.minimum(above, apart)


def adjusted(p: Floats, smallest: Floats, tests: int) -> Floats:
    """P-values that allow for all the tests; beyond what the draws can tell, Bonferroni's, which is then the smaller."""
    by_draws = (1 + np.searchsorted(smallest, p, side="right")) / (1 + len(smallest))
    return np.minimum(1.0, np.minimum(by_draws, tests * p))
