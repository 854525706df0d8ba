"""Many tests of means, by subject and region, as one: a chance of 5 % that any of them fails when all means
are right.

Each test sums a score that right propensities give mean 0 over the rows of a region, and divides it by the
standard deviation that right propensities give this sum: the sample's own collapses where rare events happen
not to occur. Where that is not fully known (rows stand for others, or only the logged action has a
propensity) the sample's is taken where it cannot collapse, and else the larger of the two. A correction for
skewness makes tests alike, so that the largest of them means something; what is large is told by logs with
redrawn actions (:mod:`kwis.checks.redraw`).

Tests do not count alike: the whole log and each column that divides it into regions have the same part of the
5 %, so that a fault of the whole log need not be larger because there are many regions. Where only logged
propensities are known, and actions can only be seen to be taken too often, weights have as large a part as
all actions together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from operator import attrgetter

import numpy as np
from scipy.special import ndtr, ndtri

from kwis.checks.findings import MeanTest
from kwis.checks.null import draws_in
from kwis.checks.regions import Mask, Region
from kwis.checks.spread import Spread
from kwis.checks.subjects import Subject
from kwis.runtime.threads import each_block
from kwis.stats.influence import draw_sums
from kwis.typing import Floats, Ints

_CELLS = 1 << 20  # entries of the largest matrix in flight
_LEAST_DRAWS = 30
_LEAST_EVENTS = 5.0
_LEAST_INFORMATION = 4.0  # with less the exponent of the confidence cannot be told from 0 or 2


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Sums:
    """Sums over the rows of m tests.

    Attributes
    ----------
    score, squares, cubes
        Of scores, and of their squares and cubes by row.
    slack
        By how much a sum of scores may be off without any fault.
    shown, shown_squares, scale
        What the means reported are made of: sums, squares by draw, and what they are a part of.
    spread
        How the sums vary if the propensities are right.
    """

    score: Floats
    slack: Floats
    squares: Floats
    cubes: Floats
    shown: Floats
    shown_squares: Floats
    scale: Floats
    spread: Spread

    def take(self, tests: Ints) -> Sums:
        """Those of some of the tests."""
        own = {entry.name: getattr(self, entry.name) for entry in fields(self)}
        spread = {entry.name: getattr(self.spread, entry.name)[tests] for entry in fields(self.spread)}
        rest = {name: values[tests] for name, values in own.items() if name != "spread"}
        return Sums(**rest, spread=Spread(**spread))

    def z(self) -> Floats:
        """Sums in standard deviations, corrected for skewness."""
        return self.spread.z(
            self.score - np.clip(self.score, -self.slack, self.slack), self.squares, self.cubes
        )

    @property
    def enough(self) -> Mask:
        """Whether there are draws enough to test anything."""
        return (
            (self.spread.draws >= _LEAST_DRAWS)
            & (self.spread.variance > 0)
            & (self.spread.events >= _LEAST_EVENTS)
        )

    def intervals(self) -> tuple[Floats, Floats, Floats]:
        """Means and the two ends of their 95 % intervals, each by itself."""
        n, scale = np.maximum(self.spread.draws, 2), np.where(self.scale > 0, self.scale, 1.0)
        mean = 1 + self.shown / scale
        squares = np.maximum(self.shown_squares - self.shown**2 / n, 0.0)
        reach = ndtri(0.975) * np.sqrt(squares * n / (n - 1)) / scale
        return mean, mean - reach, mean + reach


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Family:
    """Pairs of a subject and a region, on the rows of one log.

    Attributes
    ----------
    size
        How many times as large p-values must be, being multiplied by :attr:`rivals` already, to allow for all
        tests by Bonferroni; for those of the whole family, also in a part of one.
    shared
        Share of the pairs of rows of one group that were decided by one draw.
    summed
        The sums, where they were made already.
    """

    subjects: tuple[Subject, ...]
    regions: tuple[Region, ...]
    pairs: tuple[tuple[int, int], ...]
    size: float
    mass: Floats | None = None
    group: Ints | None = None
    shared: float = 0.0
    summed: Sums | None = None

    @classmethod
    def of(
        cls,
        subjects: Sequence[Subject],
        regions: Sequence[Region],
        *,
        mass: Floats | None,
        group: Ints | None,
        shared: float,
    ) -> Family:
        """Every subject in every region that has draws enough, on the whole log first; the confidence there
        only.
        """
        asked = [
            (s, r)
            for r in range(len(regions))
            for s, subject in enumerate(subjects)
            if r == 0 or subject.kind != "confidence"
        ]
        scaled = None if mass is None else mass / mass.mean()
        every = cls(
            subjects=tuple(subjects),
            regions=tuple(regions),
            pairs=tuple(asked),
            size=float(len(asked)),
            mass=scaled,
            group=group,
            shared=shared,
        )
        sums = every.sums()
        vague = np.array([subjects[s].kind == "confidence" for s, _ in asked]) & (
            sums.spread.variance < _LEAST_INFORMATION
        )
        some = np.flatnonzero(sums.enough & ~vague).tolist()
        return replace(every, summed=sums).part(some).limited(len(asked))

    @property
    def n(self) -> int:
        return len(self.regions[0].rows)

    @property
    def upper_only(self) -> Mask:
        return np.array([self.subjects[s].upper_only for s, _ in self.pairs], dtype=bool)

    @property
    def rivals(self) -> Floats:
        """With how many tests each shares its part of the 5 %: those in regions of its column, and where
        parts go by kind of its kind.
        """
        kinds, columns = (
            [subject.kind for subject in self.subjects],
            [region.column for region in self.regions],
        )
        beside = Counter(columns)
        alike = (
            Counter(kinds) if any(subject.upper_only for subject in self.subjects) else Counter(set(kinds))
        )
        return np.array([alike[kinds[s]] * beside[columns[r]] for s, r in self.pairs], dtype=np.float64)

    @property
    def known(self) -> Mask:
        """Whether the spread of each test under right propensities is known, and not only completed."""
        return np.array([self.subjects[s].exact and self.mass is None for s, _ in self.pairs], dtype=bool)

    def limited(self, most: int) -> Family:
        """The first tests as a family of its own."""
        first = self.part(range(min(most, len(self.pairs))))
        return replace(first, size=float((1 / first.rivals).sum()))

    def without(self, rows: Mask) -> Family:
        """The same tests on the other rows."""
        return replace(
            self,
            summed=None,
            regions=tuple(replace(region, rows=region.rows & ~rows) for region in self.regions),
        )

    def part(self, tests: Sequence[int]) -> Family:
        """Some of the tests."""
        summed = None if self.summed is None else self.summed.take(np.array(tests, dtype=np.int64))
        return replace(self, pairs=tuple(self.pairs[i] for i in tests), summed=summed)

    def sums(self) -> Sums:
        """Sums over the rows, what was seen and what is to be expected."""
        if self.summed is not None:
            return self.summed
        parts = np.sum(each_block(self._block_sums, self._blocks()), axis=0)
        (
            score,
            squares,
            cubes,
            slack,
            shown,
            shown_squares,
            scale,
            draws,
            by_row,
            variance,
            third,
            absolute,
        ) = parts
        spread = Spread(
            variance=variance,
            third=third,
            absolute=absolute,
            inflation=np.maximum(variance / np.where(by_row > 0, by_row, 1.0), 1.0),
            draws=draws,
            known=self.known,
        )
        means = {"shown": shown, "shown_squares": shown_squares, "scale": scale}
        return Sums(score=score, squares=squares, cubes=cubes, slack=slack, spread=spread, **means)

    def _block_sums(self, rows: Ints) -> Floats:
        """``(12, m)``: the parts of :meth:`sums` over some rows."""
        of_subject, of_region = np.array(self.pairs).T
        used, place = np.unique(of_subject, return_inverse=True)
        inside = np.stack([region.rows[rows] for region in self.regions], axis=1).astype(np.float64)
        labels = None if self.group is None else self.group[rows]

        def values(attribute: str, power: int = 1) -> Floats:
            """``(subjects, n)``, with mass to a power."""
            found = np.stack([attrgetter(attribute)(self.subjects[s])[rows] for s in used])
            return found if self.mass is None else self.mass[rows] ** power * found

        def total(of_rows: Floats) -> Floats:
            return np.asarray((of_rows @ inside)[place, of_region])

        def of_draws(of_rows: Floats, power: int) -> Floats:
            """Sums by draw to a power, added up."""
            return np.asarray(
                (draw_sums(of_rows.T[:, place] * inside[:, of_region], labels) ** power).sum(axis=0)
            )

        score, shown = values("score"), values("shown")
        variance, third, absolute = (
            values("null.variance", 2),
            values("null.third", 3),
            values("null.absolute", 3),
        )
        moments = [total(variance), total(third), total(absolute)]
        by_row = moments[0]
        if labels is not None and self.shared > 0:
            # As if shared draws moved all rows of a group alike, which is the most they can.
            alike = [
                of_draws(np.sqrt(variance), 2),
                of_draws(np.cbrt(third), 3),
                of_draws(np.cbrt(absolute), 3),
            ]
            shares = (
                self.shared,
                self.shared**1.5,
                self.shared**1.5,
            )  # of pairs and triples of rows decided by one draw
            moments = [
                (1 - share) * own + share * both
                for share, own, both in zip(shares, moments, alike, strict=True)
            ]
        squares = np.square(score)
        scores = [total(score), total(squares), total(squares * score)]
        means = [
            total(shown),
            total(shown**2) if labels is None else of_draws(shown, 2),
            total(values("scale")),
        ]
        return np.stack(
            [*scores, total(values("slack")), *means, draws_in(inside, labels)[of_region], by_row, *moments]
        )

    def _blocks(self) -> list[Ints]:
        """Rows in blocks that bound the memory in use, no group in two of them."""
        size = max(1, _CELLS // max(len(self.pairs), len(self.regions)))
        if self.group is None:
            return np.split(np.arange(self.n), np.arange(size, self.n, size))
        order = np.argsort(self.group, kind="stable")
        starts = np.flatnonzero(np.diff(self.group[order])) + 1
        cuts = np.append(starts, self.n)[np.searchsorted(starts, np.arange(size, self.n, size))]
        return [block for block in np.split(order, np.unique(cuts)) if len(block)]

    def p_values(self, z: Floats) -> Floats:
        """Of each test by itself, times its rivals; tests are the last axis."""
        return np.where(self.upper_only, ndtr(-z), 2 * ndtr(-np.abs(z))) * self.rivals

    def judged(self, smallest: Floats) -> tuple[MeanTest, ...]:
        """Records of the tests, each with a p-value that allows for all of them."""
        sums = self.sums()
        z, (means, lows, highs) = sums.z(), sums.intervals()
        p = adjusted(self.p_values(z), smallest, self.size)
        p[~sums.enough] = 1.0  # where too little is left of the region
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


def adjusted(p: Floats, smallest: Floats, tests: float) -> Floats:
    """P-values that allow for all the tests; beyond what the redrawn logs can tell, Bonferroni's if that is
    the smaller.
    """
    beaten = np.searchsorted(
        smallest, p * (1 + 1e-9), side="right"
    )  # counts are discrete: ties must not be broken by rounding
    by_draws = (1 + beaten) / (1 + len(smallest))
    return np.where(beaten > 0, by_draws, np.minimum(by_draws, tests * p))
