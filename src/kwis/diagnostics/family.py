"""Many tests of means, by subject and region, as one: a chance of 5 % that any of them fails when all means are right.

Each test sums a score that right propensities give mean 0 over the rows of a region. Rows of a group are one draw. The sum is
divided by its standard error, corrected for skewness by Hall's cubic (1992), and judged against the largest of as many normal
variables with the same correlations, drawn with a fixed seed. Scores of overlapping regions are alike, so this is far less
strict than dividing the level by the number of tests.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import ndtr, ndtri

from kwis.columns import Label
from kwis.diagnostics.records import Mask, MeanTest, Region
from kwis.estimators.influence import draw_sums
from kwis.typing import Floats, Ints

_DRAWS = 20_000
_CELLS = 1 << 22  # entries of the largest matrix in flight
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
    """Sums over the draws of m tests: scores, scales, cubes, how many draws take part, and the products ``(m, m)``."""

    score: Floats
    scale: Floats
    cubes: Floats
    draws: Floats
    products: Floats

    def z(self) -> Floats:
        """Sums in standard errors, corrected for skewness."""
        squares, n = np.diag(self.products), np.maximum(self.draws, 2)
        part = self.score / np.sqrt(np.where(squares > 0, squares, 1.0))
        # From the sum over the root of the squares to Student's ratio, whose spread is around the mean.
        t = part * np.sqrt((n - 1) / np.maximum(n - part**2, 1e-9))
        mean = self.score / n
        variance = squares / n - mean**2
        third = self.cubes / n - 3 * mean * squares / n + 2 * mean**3
        spread = variance > 1e-9 * squares / n
        a = np.where(spread, third / np.where(spread, variance, 1.0) ** 1.5, 0.0) / np.sqrt(n)
        return np.clip(t + a * t**2 / 3 + a**2 * t**3 / 27 + a / 6, -_FARTHEST, _FARTHEST)

    def correlations(self) -> Floats:
        root = np.sqrt(np.diag(self.products))
        root = np.where(root > 0, root, 1.0)
        return self.products / np.outer(root, root)

    def intervals(self, level: float = 0.95) -> tuple[Floats, Floats, Floats]:
        """Means and the two ends of their intervals, each by itself."""
        n, scale = np.maximum(self.draws, 2), np.where(self.scale > 0, self.scale, 1.0)
        mean = 1 + self.score / scale
        squares = np.maximum(np.diag(self.products) - self.score**2 / n, 0.0)
        reach = ndtri((1 + level) / 2) * np.sqrt(squares * n / (n - 1)) / scale
        return mean, mean - reach, mean + reach


def pairs_of(subjects: Sequence[Subject], regions: Sequence[Region], group: Ints | None, most: int) -> list[tuple[int, int]]:
    """Subjects and regions that can be tested, every subject on the whole log first, at most ``most`` of them."""
    n = len(regions[0].rows)
    draws = [_draws_in(region.rows, group) for region in regions]
    pairs = []
    for r, region in enumerate(regions):
        for s, subject in enumerate(subjects):
            enough = draws[r] >= _LEAST_DRAWS and subject.expected * region.n / n >= _LEAST_EXPECTED
            if enough and subject.score[region.rows].any() and (r == 0 or subject.kind != "confidence"):
                pairs.append((s, r))
    return pairs[:most]


def _draws_in(rows: Mask, group: Ints | None) -> int:
    return int(rows.sum()) if group is None else np.unique(group[rows]).size


def sums_of(
    subjects: Sequence[Subject], regions: Sequence[Region], pairs: Sequence[tuple[int, int]], mass: Floats | None, group: Ints | None
) -> Sums:
    """Sums over the draws, block by block: memory is bounded whatever the number of rows."""
    n, m = len(regions[0].rows), len(pairs)
    weight = np.ones(n) if mass is None else mass / mass.mean()
    top = [max(float(np.abs(subject.score).max()), 1e-300) for subject in subjects]  # cubes of huge scores would overflow
    order = np.arange(n) if group is None else np.argsort(group, kind="stable")
    of_subject, of_region = np.array([s for s, _ in pairs]), np.array([r for _, r in pairs])
    score, scale, cubes, draws, products = np.zeros(m), np.zeros(m), np.zeros(m), np.zeros(m), np.zeros((m, m))
    for rows in _blocks(order, group, max(1, _CELLS // max(m, 1))):
        labels = None if group is None else group[rows]
        scores = np.stack([subject.score[rows] * (weight[rows] / largest) for subject, largest in zip(subjects, top, strict=True)], axis=1)
        scales = np.stack([subject.scale[rows] * weight[rows] for subject in subjects], axis=1)
        inside = np.stack([region.rows[rows] for region in regions], axis=1).astype(np.float64)
        sums = draw_sums(scores[:, of_subject] * inside[:, of_region], labels)
        score += sums.sum(axis=0)
        scale += np.einsum("ij,ij->j", scales[:, of_subject], inside[:, of_region])
        cubes += (sums**3).sum(axis=0)
        draws += (draw_sums(inside, labels) > 0).sum(axis=0)[of_region]
        products += sums.T @ sums
    size = np.array(top)[of_subject]
    return Sums(score=score * size, scale=scale, cubes=cubes * size**3, draws=draws, products=products * np.outer(size, size))


def _blocks(order: Ints, group: Ints | None, size: int) -> list[Ints]:
    """Rows in blocks of about ``size``, no group in two of them."""
    cuts = np.arange(size, len(order), size)
    if group is not None:
        labels = group[order]
        starts = np.flatnonzero(np.diff(labels)) + 1
        cuts = np.unique(np.append(starts, len(order))[np.searchsorted(starts, cuts)])
    return [block for block in np.split(order, cuts) if len(block)]


def p_values(z: Floats, upper_only: Mask) -> Floats:
    """Of each test by itself."""
    return np.where(upper_only, ndtr(-z), 2 * ndtr(-np.abs(z)))


def smallest_by_chance(correlations: Floats, upper_only: Mask, seed: int = 0) -> Floats:
    """Sorted smallest p-values of so many tests, over draws in which everything is right."""
    m = len(correlations)
    values, vectors = np.linalg.eigh(correlations)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    rng = np.random.default_rng(seed)
    step = max(1, _CELLS // m)
    smallest = []
    for start in range(0, _DRAWS, step):
        z = rng.standard_normal((min(step, _DRAWS - start), m)) @ root.T
        farthest = np.maximum(z, -z, out=z, where=~upper_only)  # the p-value of the farthest of each kind is the smallest
        smallest.append(_smallest(farthest, upper_only))
    return np.sort(np.concatenate(smallest))


def _smallest(z: Floats, upper_only: Mask) -> Floats:
    one, two = z[:, upper_only], z[:, ~upper_only]
    above = ndtr(-one.max(axis=1)) if one.shape[1] else np.ones(len(z))
    apart = 2 * ndtr(-two.max(axis=1)) if two.shape[1] else np.ones(len(z))
    return np.minimum(above, apart)


def adjusted(p: Floats, smallest: Floats, tests: int) -> Floats:
    """P-values that allow for all the tests; beyond what the draws can tell, Bonferroni's, which is then the smaller."""
    by_draws = (1 + np.searchsorted(smallest, p, side="right")) / (1 + len(smallest))
    return np.minimum(1.0, np.minimum(by_draws, tests * p))


def as_tests(
    subjects: Sequence[Subject], regions: Sequence[Region], pairs: Sequence[tuple[int, int]], sums: Sums, p: Floats
) -> tuple[MeanTest, ...]:
    """Records of the tests, with the p-values given."""
    means, lows, highs = sums.intervals()
    z = sums.z()
    return tuple(
        MeanTest(
            kind=subjects[s].kind,
            subject=subjects[s].name,
            region=regions[r].label,
            column=regions[r].column,
            n=regions[r].n,
            mean=float(means[i]),
            low=float(lows[i]),
            high=float(highs[i]),
            z=float(z[i]),
            p_value=float(p[i]),
        )
        for i, (s, r) in enumerate(pairs)
    )
