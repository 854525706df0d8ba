"""Normalised Kernel-WIS of many policies along the bandwidth, from two passes over the pairs of rows.

The first pass brings the weights around every row, for all policies and bandwidths; the second how estimates
react to the count of each row, for all rewards as well. The arithmetic is that of
:mod:`kwis.estimators.neighbourhood` and :mod:`kwis.estimators.ratio`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from kwis.estimators.ratio import mass_of, scale_of
from kwis.kernel.ladder import kernel_products_along
from kwis.kernel.profiles import Kernel
from kwis.sample import WeightedSample, balanced
from kwis.stats.influence import standard_error
from kwis.typing import Floats

_TINY = float(np.finfo(np.float64).tiny)

Curve = tuple[Floats, Floats]
"""Values and standard errors at some bandwidths."""


def curves_along(
    policies: Sequence[Sequence[WeightedSample]], bandwidths: Sequence[Floats], kernel: Kernel
) -> list[list[Curve]]:
    """One curve for every sample of every policy, at the positive and finite bandwidths of the policy.

    All samples have the same rows, and those of one policy differ in nothing but rewards.
    """
    first, ladder = policies[0][0], np.unique(np.concatenate(bandwidths))

    def products(own: Sequence[Sequence[Floats]]) -> list[Floats]:
        vectors = [np.stack(columns, axis=1) for columns in own]
        return kernel_products_along(first.context, ladder, kernel, first.categorical, vectors)

    with np.errstate(all="ignore"):
        mass = mass_of(first)
        weights = [balanced(samples[0].weight, float(mass.sum())) for samples in policies]
        asking = [
            [number for number, own in enumerate(bandwidths) if bandwidth in own] for bandwidth in ladder
        ]
        loads = [mass * weight for weight in weights]
        around = products([[mass, *(loads[number] for number in some)] for some in asking])
        places = [
            [
                _Place.of(policies[number], weights[number], mass, sums[:, 0], sums[:, column])
                for column, number in enumerate(some, start=1)
            ]
            for some, sums in zip(asking, around, strict=True)
        ]
        pulls = products([[pull for place in some for pull in place.pulls] for some in places])
        found: list[list[list[tuple[float, float]]]] = [[[] for _ in samples] for samples in policies]
        for some, here, sums in zip(asking, places, pulls, strict=True):
            parts = np.split(sums, np.cumsum([len(place.pulls) for place in here])[:-1], axis=1)
            for number, place, part in zip(some, here, parts, strict=True):
                for curve, point in zip(found[number], place.points(part), strict=True):
                    curve.append(point)
        return [[_curve(points) for points in own] for own in found]


def _curve(points: Sequence[tuple[float, float]]) -> Curve:
    values, errors = np.reshape(points, (-1, 2)).T
    return values, errors


@dataclass(frozen=True, slots=True, eq=False)
class _Place:
    """One policy at one bandwidth.

    Attributes
    ----------
    applied
        ``c v``, the weights applied times the mass of their rows.
    terms
        For every sample ``c v`` times its rewards less their estimate, rewards divided by a power of two.
    pulls
        Vectors whose kernel sums say how the terms react to the count of each row: two for every sample.
    """

    samples: Sequence[WeightedSample]
    weight: Floats
    mass: Floats
    applied: Floats
    values: Sequence[float]
    scales: Sequence[int]
    terms: Sequence[Floats]
    pulls: Sequence[Floats]

    @classmethod
    def of(
        cls, samples: Sequence[WeightedSample], weight: Floats, mass: Floats, near: Floats, load: Floats
    ) -> _Place:
        """From the kernel sums ``near`` of the mass and ``load`` of mass times weight around every row."""
        near, load = np.maximum(near, _TINY), np.maximum(load, _TINY)
        applied = mass * np.minimum(weight * near / load, float(mass.sum()))
        scales = [scale_of(sample.reward) for sample in samples]
        rewards = [np.ldexp(sample.reward, -scale) for sample, scale in zip(samples, scales, strict=True)]
        values = [float((applied * reward).sum() / applied.sum()) for reward in rewards]
        terms = [applied * (reward - value) for reward, value in zip(rewards, values, strict=True)]
        pulls = [pull for term in terms for pull in (term / near, term / load)]
        return cls(samples, weight, mass, applied, values, scales, terms, pulls)

    def points(self, sums: Floats) -> Iterator[tuple[float, float]]:
        """Value and standard error of every sample, from the kernel sums of the pulls."""
        n, load = self.mass.size, float(self.applied.sum())
        of_sample = zip(self.samples, self.values, self.scales, self.terms, strict=True)
        for number, (sample, value, scale, term) in enumerate(of_sample):
            reaction = sums[:, 2 * number] - self.weight * sums[:, 2 * number + 1]
            influence = np.ldexp((term + self.mass * reaction) * (n / load), scale)
            yield float(np.ldexp(value, scale)), standard_error(influence, sample.group)
