"""Estimators that apply the same weights, and all rewards, from one pass over the pairs of rows.

The local means of Kernel-WIS depend neither on the reward, nor on whether the result is normalised, nor on whether the rewards are
residuals of a model (doubly robust). With ``c`` the counts, ``v`` the weights applied and ``D`` the reaction of
:class:`kwis.estimators.ratio.Applied`, linear in its terms, everything follows from ``v``, ``D(c v r)`` for every reward ``r``,
and ``D(c v)``:

- plain: ``J = sum c v r / sum c``, influence ``v r - J + D(c v r)``;
- normalised: ``N = sum c v r / sum c v``, influence ``(v (r - N) + D(c v r) - N D(c v)) sum c / sum c v``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kwis._validation import read_only
from kwis.estimators.direct import DirectMethod
from kwis.estimators.doubly_robust import DoublyRobust
from kwis.estimators.influence import standard_error
from kwis.estimators.kernel_wis import KernelWIS
from kwis.estimators.ratio import Rule, leverage
from kwis.estimators.state_wis import StateWIS
from kwis.results import Estimate
from kwis.typing import Floats
from kwis.weights import WeightedSample, balanced, effective_size, safe_ratio


def rule_of(estimator: Any) -> Any:
    """The weighting of an estimator: its own, or that of its residuals."""
    return estimator.weighting if isinstance(estimator, DoublyRobust) else estimator


def family_of(estimator: Any) -> Any:
    """Equal for estimators that apply the same weights; None for one whose weights are its own business."""
    rule = rule_of(estimator)
    return replace(rule, normalised=False) if isinstance(rule, KernelWIS | StateWIS) else None


@dataclass(frozen=True, slots=True, eq=False)
class Job:
    """An estimator and the sample it works on; jobs done together have one family and differ in nothing but rewards."""

    estimator: Any
    sample: WeightedSample

    @property
    def rule(self) -> Rule:
        return rule_of(self.estimator)

    @property
    def reward(self) -> Floats:
        return self.estimator.residuals(self.sample).reward if isinstance(self.estimator, DoublyRobust) else self.sample.reward


def estimates_together(jobs: Sequence[Job]) -> list[Estimate]:
    """Estimates of all jobs, the same as one by one."""
    sample = jobs[0].sample
    mass = np.ones(sample.n) if sample.mass is None else sample.mass
    columns, scales, place = _columns(jobs)
    with np.errstate(all="ignore"):
        applied = jobs[0].rule.applied(sample, np.ones_like(columns) * mass[:, None])
        v = applied.weight[:, :1]
        loads = np.einsum("i,ij->j", mass * v[:, 0], columns)
        direct = v * columns
        if applied.reaction is not None:
            direct += applied.reaction(mass[:, None] * v * columns)
        total, load = float(mass.sum()), loads[-1]
        effective, isolation = effective_size(v[:, 0], sample.mass), applied.isolation(mass[:, None])

        def one(job: Job, j: int) -> Estimate:
            rule = job.rule
            value = float(loads[j] / (load if rule.normalised else total))
            influence = (direct[:, j] - value * direct[:, -1]) * (total / load) if rule.normalised else direct[:, j] - value
            # Per row drawn, not per unit of mass: a row that stands for many is still one draw.
            influence = read_only(np.ldexp(influence * (mass * (sample.n / total)), scales[j]))
            return Estimate(
                name=rule.name,
                value=float(np.ldexp(value, scales[j])),
                n=sample.n,
                std_error=standard_error(influence, sample.group),
                effective_n=effective,
                mean_weight=float(load / total),
                isolation=isolation,
                influence=influence,
                leverage=leverage(v[:, 0] if rule.normalised else np.ones(sample.n), sample.mass),
            )

        found = [(job, one(job, j)) for job, j in zip(jobs, place, strict=True)]
        return [job.estimator.corrected(job.sample, rest) if isinstance(job.estimator, DoublyRobust) else rest for job, rest in found]


def _columns(jobs: Sequence[Job]) -> tuple[Floats, list[int], list[int]]:
    """Different rewards as columns, with a column of ones last for the normaliser; the scale of each; the column of each job.

    Rewards are scaled to at most 1 by a power of two, so that products with the largest weights stay in range.
    """
    seen: dict[tuple[int, bool], int] = {}
    rewards: list[Floats] = []
    place = []
    for job in jobs:
        key = (id(job.sample), isinstance(job.estimator, DoublyRobust))
        if key not in seen:
            seen[key] = len(rewards)
            rewards.append(job.reward)
        place.append(seen[key])
    scales = [int(np.frexp(np.abs(reward).max())[1]) for reward in rewards]
    scaled = [np.ldexp(reward, -scale) for reward, scale in zip(rewards, scales, strict=True)]
    return np.stack([*scaled, np.ones(jobs[0].sample.n)], axis=1), scales, place


def resamples_together(jobs: Sequence[Job], counts: Floats) -> list[Floats]:
    """Values of all jobs on the resamples with the given counts (n, B); ``nan`` where there is none."""
    sample = jobs[0].sample
    counted = counts if sample.mass is None else counts * sample.mass[:, None]
    columns, scales, place = _columns(jobs)
    with np.errstate(all="ignore"):
        terms = jobs[0].rule.applied(sample, counted).weight * counted
        loads, total = np.einsum("ij,ib->jb", columns, terms), counted.sum(axis=0)
        found = []
        for job, j in zip(jobs, place, strict=True):
            values = np.ldexp(loads[j] / (loads[-1] if job.rule.normalised else total), scales[j])
            values[loads[-1] == 0] = np.nan
            if isinstance(job.estimator, DoublyRobust):
                values += DirectMethod().resampled(job.sample, counts).values
            found.append(values)
        return found


def reweighted_together(jobs: Sequence[Job], weights: Floats) -> list[Floats]:
    """Values (F,) of all jobs had the rows the weights (n, F) instead: one pass, which is far quicker than one by one."""
    sample = jobs[0].sample
    mass = np.ones(sample.n) if sample.mass is None else sample.mass
    columns, scales, place = _columns(jobs)
    with np.errstate(all="ignore"):
        total = float(mass.sum())
        w = np.stack([balanced(weight, total) for weight in weights.T], axis=1)
        around = rule_of(jobs[0].estimator).sums(sample)(np.column_stack([mass, mass[:, None] * w]))
        loads = np.einsum("ij,ib->jb", columns, mass[:, None] * safe_ratio(w * around[:, :1], np.broadcast_to(around[:, 1:], w.shape)))
        found = []
        for job, j in zip(jobs, place, strict=True):
            values = np.ldexp(loads[j] / (loads[-1] if job.rule.normalised else total), scales[j])
            found.append(values + (DirectMethod().estimate(job.sample).value if isinstance(job.estimator, DoublyRobust) else 0.0))
        return found
