"""Estimates on the same rows, and what chance does to all of them at once.

A :class:`Contrast` is one estimate, or one minus another: its value, the influence of every row on it, and
its values on common resamples and by refits of a propensity model where there are some. Standard errors,
intervals and p-values of values and differences see nothing else.

A :class:`Joint` is the Gram matrix of the influence of several contrasts, summed by group where there are
groups: their standard errors, their correlations, and how far intervals must reach to hold together.

The influence of a difference is taken row by row rather than out of the Gram matrix. Two estimates often
differ by far less than either varies, and ``G_aa - 2 G_ab + G_bb`` would then be rounding; and a Student
interval asks for the kurtosis of the influence, which no matrix of second moments has.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist
from typing import Any

import numpy as np

from kwis._validation import read_only
from kwis.estimators import traits
from kwis.estimators.difference import Difference, PairedSample, difference_of
from kwis.estimators.protocol import Estimator, selects_bandwidth
from kwis.results import Estimate
from kwis.runtime.threads import each_block, row_blocks
from kwis.sample import WeightedSample
from kwis.stats.influence import draw_sums, standard_error
from kwis.typing import Floats, Ints

_DRAWS = 40_000
_DRAWS_AT_ONCE = 5_000  # that a thread takes
_ROWS_AT_ONCE = 1_000  # that stay in fast memory
_MANY = 100  # pairs from which compiled code is worth loading
_SAME = 1e-13  # of what two influences measure: less is rounding


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Contrast:
    """One estimate, or one minus another on the same rows, with all that an interval or a test needs of it.

    Attributes
    ----------
    estimator
        With its bandwidth held, so that it gives the same estimate again; ``asked`` is the same before its
        bandwidth was selected.
    resampled
        ``(B,)`` values on resamples that all contrasts have in common, ``nan`` where there is none; None if
        not drawn.
    refitted
        ``(F,)`` values with each refit of the model that made the propensities; None where they are those of
        the log.
    sides
        The two that a difference was made from.
    reference
        What :attr:`unbiased` is, where that was made before.
    """

    estimator: Estimator[Any]
    asked: Estimator[Any]
    sample: WeightedSample | PairedSample
    estimate: Estimate
    resampled: Floats | None = None
    refitted: Floats | None = None
    sides: tuple[Contrast, Contrast] | None = None
    reference: Estimate | None = None

    @classmethod
    def of(cls, estimator: Estimator[Any], sample: Any) -> Contrast:
        """What an estimator makes of a sample."""
        return cls(estimator=estimator, asked=estimator, sample=sample, estimate=estimator.estimate(sample))

    def minus(self, other: Contrast) -> Contrast:
        """The difference to another estimate of the same rows."""
        assert isinstance(self.sample, WeightedSample)
        assert isinstance(other.sample, WeightedSample)
        estimator = Difference(self.estimator, other.estimator)
        refits = [side.refitted for side in (self, other) if side.refitted is not None]
        return Contrast(
            estimator=estimator,
            asked=Difference(self.asked, other.asked),
            sample=PairedSample(self.sample, other.sample),
            estimate=difference_of(self.estimate, other.estimate, estimator.name),
            resampled=None
            if self.resampled is None or other.resampled is None
            else self.resampled - other.resampled,
            refitted=refits[0] - refits[1] if len(refits) == 2 else refits[0] if refits else None,
            sides=(self, other),
            reference=_apart(self, other),
        )

    @property
    def unbiased(self) -> Estimate | None:
        """The estimate that its bias is measured by; None where there is none."""
        if self.reference is not None:
            return self.reference
        other = traits.bias_reference(self.estimator)
        return None if other is None else other.estimate(self.sample)

    @property
    def value(self) -> float:
        return self.estimate.value

    @property
    def influence(self) -> Floats | None:
        """Of each row; None where the estimator gives none."""
        return self.estimate.influence

    @property
    def group(self) -> Ints | None:
        return self.sample.group

    @property
    def model_error(self) -> float:
        """Standard error that a model of the propensities adds."""
        return 0.0 if self.refitted is None else float(model_error(self.refitted[:, None])[0])

    @property
    def std_error(self) -> float:
        """From the influence values and the model of the propensities; ``nan`` without the former."""
        if self.influence is None:
            return math.nan
        return math.hypot(standard_error(self.influence, self.group), self.model_error)

    @property
    def correlation(self) -> float:
        """Of the two sides, from their standard errors and that of their difference; 0 where one has none."""
        assert self.sides is not None
        first, second = (side.std_error for side in self.sides)
        apart = self.std_error
        if not (math.isfinite(apart) and first * second > 0):
            return 0.0
        return min(max((first / second + second / first - apart / first * (apart / second)) / 2, -1.0), 1.0)

    @property
    def has_bandwidth(self) -> bool:
        return selects_bandwidth(self.estimator) is not None

    @property
    def most(self) -> float:
        """Largest difference that two weighted means of the same rewards can have; infinite for others."""
        if self.sides is None or not all(traits.normalised(side.estimator) for side in self.sides):
            return math.inf
        return self.sides[0].spread

    @property
    def spread(self) -> float:
        """How far the rewards are apart; infinite where there are two samples."""
        return float(np.ptp(self.sample.reward)) if isinstance(self.sample, WeightedSample) else math.inf


def _apart(first: Contrast, second: Contrast) -> Estimate | None:
    """The references of two estimates, subtracted; one that needs none is its own. None where one was not
    made before, or neither needs one.
    """
    needed = [traits.bias_reference(side.estimator) is not None for side in (first, second)]
    known = [
        side.reference if own else side.estimate for side, own in zip((first, second), needed, strict=True)
    ]
    a, b = known
    return difference_of(a, b, a.name) if any(needed) and a is not None and b is not None else None


@dataclass(frozen=True, slots=True, eq=False)
class Joint:
    """Influence of several contrasts on the same rows, as the Gram matrix of its sums over draws.

    Attributes
    ----------
    gram
        ``(T, T)`` for influence divided by its largest value, so that no square overflows.
    scale
        ``(T,)`` that largest value; 0 for a contrast that no row moves.
    rows, draws
        Number of rows, and of independent draws: rows or groups.
    """

    gram: Floats
    scale: Floats
    rows: int
    draws: int

    @classmethod
    def of(cls, influences: Sequence[Floats], group: Ints | None = None) -> Joint:
        """From the influence ``(n,)`` of each contrast."""
        sums = np.stack([draw_sums(influence, group) for influence in influences], axis=1)
        scale = np.abs(sums).max(axis=0)
        sums = sums / np.where(scale > 0, scale, 1.0)
        return cls(gram=sums.T @ sums, scale=scale, rows=influences[0].size, draws=sums.shape[0])

    @property
    def std_errors(self) -> Floats:
        """``(T,)`` standard errors, without that of a model."""
        inflated = np.diag(self.gram) * self.draws / (self.draws - 1)
        return self.scale * np.sqrt(inflated) / self.rows

    def correlations(self) -> Floats:
        """Of the contrasts that have any error."""
        some = self.scale > 0
        gram = self.gram[np.ix_(some, some)]
        spread = np.sqrt(np.diag(gram))
        return gram / np.outer(spread, spread)

    def critical_value(self, level: float, seed: int) -> float:
        """How many standard errors keep all contrasts at once within reach: a quantile of the largest of
        correlated normal errors, simulated, so that nothing is lost to a bound such as Bonferroni's.
        """
        correlations = self.correlations()
        if correlations.shape[0] < 2:
            return _alone(level)
        values, vectors = np.linalg.eigh(correlations)
        root = vectors * np.sqrt(np.maximum(values, 0))
        errors = _normal_errors(seed, _DRAWS, root.shape[1])
        most = [np.abs(errors[rows] @ root.T).max(axis=1) for rows in row_blocks(_DRAWS, _ROWS_AT_ONCE)]
        return max(_alone(level), float(np.quantile(np.concatenate(most), level)))


def critical_value_of_pairs(
    influences: Sequence[Floats],
    pairs: Sequence[tuple[int, int]],
    group: Ints | None,
    level: float,
    seed: int,
) -> float:
    """:meth:`Joint.critical_value` of the differences of pairs of influences.

    Where there are more pairs than influences, errors of the latter are simulated and subtracted from each
    other. Their coordinates are those in an orthogonal basis: the Gram matrix would lose small differences.
    """
    if len(pairs) == 1:
        return _alone(level)
    if len(pairs) <= len(influences):
        apart = [influences[a] - influences[b] for a, b in pairs]
        return Joint.of(apart, group).critical_value(level, seed)
    sums = np.stack([draw_sums(influence, group) for influence in influences], axis=1)
    places = np.asarray(np.linalg.qr(sums / (np.abs(sums).max() or 1.0), mode="r")).T
    errors = places @ _normal_errors(seed, places.shape[1], _DRAWS)
    first, second = np.array(pairs).T
    lengths, sizes = np.linalg.norm(places, axis=1), np.linalg.norm(places[first] - places[second], axis=1)
    some = sizes > _SAME * (lengths[first] + lengths[second])
    most = _largest_apart(errors, first[some], second[some], 1 / sizes[some])
    return max(_alone(level), float(np.quantile(most, level)))


@lru_cache(maxsize=1)
def _normal_errors(seed: int, rows: int, columns: int) -> Floats:
    """Standard normal numbers; families of as many policies have the same, one after the other."""
    return read_only(np.random.default_rng(seed).standard_normal((rows, columns)))


def _largest_apart(errors: Floats, first: Ints, second: Ints, scale: Floats) -> Floats:
    """``(D,)`` the largest difference between pairs of the rows of ``errors``, each in units of its own."""
    most = np.zeros(errors.shape[1])
    if first.size >= _MANY:
        from kwis.stats.fused_apart import largest_apart

        def block(part: slice) -> None:
            largest_apart(errors[:, part], first, second, scale, most[part])

        each_block(block, row_blocks(most.size, _DRAWS_AT_ONCE))
        return most
    for a, b, times in zip(first, second, scale, strict=True):
        np.maximum(most, np.abs(errors[a] - errors[b]) * times, out=most)
    return most


def _alone(level: float) -> float:
    """How many standard errors a single contrast reaches."""
    return NormalDist().inv_cdf((1 + level) / 2)


def independent_critical_value(count: int, level: float) -> float:
    """The same for so many independent errors, and at least that for correlated ones (Šidák 1967): for more
    than can be simulated.
    """
    return NormalDist().inv_cdf((1 + level ** (1 / count)) / 2)


def model_error(values: Floats) -> Floats:
    """Standard error (T,) that a fitted model adds, from the estimates (K, T) with the model fitted without
    each of K parts of its data.
    """
    count = values.shape[0]
    return np.sqrt(np.square(values - values.mean(axis=0)).sum(axis=0) * (count - 1) / count)
