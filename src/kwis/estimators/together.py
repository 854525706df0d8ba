"""Estimators that apply the same weights, and all rewards, from one pass over the pairs of rows.

The local means of Kernel-WIS depend neither on the reward, nor on whether the result is normalised, nor on
whether the rewards are residuals of a model (doubly robust). With ``c`` the counts, ``v`` the weights applied
and ``D`` the reaction of :class:`kwis.estimators.ratio.Applied`, linear in its terms, everything follows from
``v``, ``D(c v r)`` for every reward ``r``, and ``D(c v)``: see :func:`kwis.estimators.ratio.estimate_from`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from kwis.estimators import traits
from kwis.estimators.neighbourhood import LocalSums, locally_normalised
from kwis.estimators.precision import precise_enough, usual_size
from kwis.estimators.ratio import Parts, Rule, columns_of, estimate_from, mass_of, parts_of
from kwis.estimators.sampled import Sampling
from kwis.results import Estimate
from kwis.sample import WeightedSample
from kwis.typing import Floats

_CELLS = 1 << 22  # of weights in flight
_FEWER = 4  # times fewer neighbours where only a difference is to be seen


class LocalRule(Rule, Protocol):
    """A rule that divides weights by their mean over other rows: what estimators with a ``family`` have."""

    def sums(self, sample: WeightedSample) -> LocalSums: ...

    def sampling(self, sample: WeightedSample) -> Sampling | None: ...


@dataclass(frozen=True, slots=True, eq=False)
class Job:
    """An estimator and the sample it works on; jobs done together have one family and differ in nothing but
    rewards.
    """

    estimator: Any
    sample: WeightedSample

    @property
    def rule(self) -> LocalRule:
        rule: LocalRule = traits.weighting(self.estimator)
        return rule

    @property
    def adds_to_model(self) -> bool:
        """Whether residuals are weighted, and their estimate is added to that of the model."""
        return self.rule is not self.estimator

    @property
    def reward(self) -> Floats:
        return self.estimator.residuals(self.sample).reward if self.adds_to_model else self.sample.reward


def estimates_together(jobs: Sequence[Job]) -> list[Estimate]:
    """Estimates of all jobs, the same as one by one; those of large logs from as many neighbours as their
    precision needs.
    """
    rule, sample = jobs[0].rule, jobs[0].sample
    columns = _Columns.of(jobs)
    with np.errstate(all="ignore"):
        sampling = rule.sampling(sample)
        if sampling is None:
            applied = rule.applied(sample, mass_of(sample)[:, None])
            return _estimates(jobs, columns, parts_of(applied, sample, columns.values))

        def attempt(size: int) -> list[Estimate]:
            weights = sampling.weights([sample.weight], mass_of(sample), columns.importance, size)
            return _estimates(jobs, columns, weights.parts(columns.values))

        return precise_enough(attempt, sample.n)


def _estimates(jobs: Sequence[Job], columns: _Columns, parts: Parts) -> list[Estimate]:
    found = []
    for job, j in zip(jobs, columns.place, strict=True):
        rest = estimate_from(parts, job.rule, job.sample, j, columns.scales[j])
        found.append(job.estimator.corrected(job.sample, rest) if job.adds_to_model else rest)
    return found


@dataclass(frozen=True, slots=True, eq=False)
class _Columns:
    """Different rewards as columns, as :func:`columns_of` makes them, and the column of each job."""

    values: Floats
    scales: list[int]
    place: list[int]

    @classmethod
    def of(cls, jobs: Sequence[Job]) -> _Columns:
        seen: dict[tuple[int, bool], int] = {}
        rewards: list[Floats] = []
        place = []
        for job in jobs:
            key = (id(job.sample), job.adds_to_model)
            if key not in seen:
                seen[key] = len(rewards)
                rewards.append(job.reward)
            place.append(seen[key])
        values, scales = columns_of(rewards)
        return cls(values, scales, place)

    @property
    def importance(self) -> Floats:
        """How much the weight of each row matters to the rewards, 1 on average."""
        total = np.zeros(self.values.shape[0])
        for column in self.values.T:
            size = np.abs(column) + np.abs(column - column.mean())
            total += size / max(float(size.mean()), float(np.finfo(np.float64).tiny))
        return total / self.values.shape[1]


def resamples_together(jobs: Sequence[Job], counts: Floats) -> list[Floats]:
    """Values of all jobs on the resamples with the given counts (n, B); ``nan`` where there is none."""
    sample = jobs[0].sample
    counted = counts if sample.mass is None else counts * sample.mass[:, None]
    columns = _Columns.of(jobs)
    with np.errstate(all="ignore"):
        terms = jobs[0].rule.applied(sample, counted).weight * counted
        loads, total = np.einsum("ij,ib->jb", columns.values, terms), counted.sum(axis=0)
        found = []
        for job, j in zip(jobs, columns.place, strict=True):
            values = np.ldexp(loads[j] / (loads[-1] if job.rule.normalised else total), columns.scales[j])
            values[loads[-1] == 0] = np.nan
            if job.adds_to_model:
                values += job.estimator.model_part.resampled(job.sample, counts).values
            found.append(values)
        return found


def reweighted_together(
    jobs: Sequence[Job], weights: Sequence[Floats], known: Sequence[float] | None = None
) -> list[Floats]:
    """Values (F,) of all jobs had the rows each of the F weights instead; from sampled neighbours in one pass
    for all.

    Where the values of the jobs themselves are ``known``, sampled neighbours only have to say by how much
    other weights move them. The weights are much alike, and so are the errors that neighbours make: far fewer
    are needed.
    """
    rule, sample = jobs[0].rule, jobs[0].sample
    mass = mass_of(sample)
    columns = _Columns.of(jobs)
    with np.errstate(all="ignore"):
        total = float(mass.sum())
        sampling = rule.sampling(sample)
        if sampling is None:
            around, at_once = rule.sums(sample), max(1, _CELLS // sample.n)
            some = [weights[first : first + at_once] for first in range(0, len(weights), at_once)]
            loads = np.hstack([_loads(columns.values, part, mass, around) for part in some])
        else:
            size = usual_size(sample.n)
            if known is not None:
                size, weights = math.ceil(size / _FEWER), [sample.weight, *weights]
            loads = sampling.weights(weights, mass, columns.importance, size).sums(columns.values)
        found = []
        for number, (job, j) in enumerate(zip(jobs, columns.place, strict=True)):
            values = np.ldexp(loads[j] / (loads[-1] if job.rule.normalised else total), columns.scales[j])
            if known is not None and sampling is not None:
                found.append(known[number] + (values[1:] - values[0]))
            elif job.adds_to_model:
                found.append(values + job.estimator.model_part.estimate(job.sample).value)
            else:
                found.append(values)
        return found


def _loads(columns: Floats, weights: Sequence[Floats], mass: Floats, sums: LocalSums) -> Floats:
    """``sum c v x`` (q, F) of the columns, ``v`` each of the weights divided by their mean around every
    row.
    """
    applied = locally_normalised(np.stack(weights, axis=1), mass[:, None], sums).weight
    return np.einsum("ij,ib->jb", columns, mass[:, None] * applied)
