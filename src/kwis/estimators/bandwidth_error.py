"""What a bandwidth that is near its best place, and not exactly there, adds to the error of an estimate.

Above some size a bandwidth is found to a few hundredths in ``log h``. How fast the estimate moves along the
bandwidth is seen on a random part of the rows, at a bandwidth on either side.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from kwis.estimators.together import Job, estimates_together
from kwis.results import BandwidthChoice, Estimate, Precision
from kwis.stats.influence import standard_error
from kwis.stats.subsets import drawn_rows

_ROWS = 2_000
_STEP = 0.1  # in log h, to either side


def with_bandwidth_error(
    jobs: Sequence[Job], estimates: Sequence[Estimate], choice: BandwidthChoice | None
) -> list[Estimate]:
    """Estimates of jobs done together, whose stated errors include that of the bandwidth chosen."""
    if choice is None or choice.uncertainty == 0:
        return list(estimates)
    slopes = _slopes(jobs, choice)
    return [_with(one, choice.uncertainty * slope) for one, slope in zip(estimates, slopes, strict=True)]


def _slopes(jobs: Sequence[Job], choice: BandwidthChoice) -> list[float]:
    """By how much each estimate moves per unit of ``log h``; where the part of the rows leaves that open, by
    as much as it may.
    """
    n = jobs[0].sample.n
    rows = drawn_rows(n, min(n, _ROWS))
    parts = {id(job.sample): job.sample.take(rows) for job in jobs}
    if not parts[id(jobs[0].sample)].weight.any():
        return [0.0] * len(jobs)
    wider, narrower = (
        estimates_together(
            [Job(_at(job, choice.value * math.exp(step)), parts[id(job.sample)]) for job in jobs]
        )
        for step in (_STEP, -_STEP)
    )
    group = parts[id(jobs[0].sample)].group
    return [_slope(one, other, group) for one, other in zip(wider, narrower, strict=True)]


def _slope(wider: Estimate, narrower: Estimate, group: Any) -> float:
    assert wider.influence is not None
    assert narrower.influence is not None
    noise = standard_error(wider.influence - narrower.influence, group)
    return math.hypot(wider.value - narrower.value, 0.0 if math.isnan(noise) else noise) / (2 * _STEP)


def _at(job: Job, bandwidth: Any) -> Any:
    """The estimator of a job at another bandwidth."""
    rule: Any = job.rule
    moved = rule.at(bandwidth)
    return moved if rule is job.estimator else replace(job.estimator, weighting=moved)


def _with(estimate: Estimate, error: float) -> Estimate:
    stated = estimate.precision or Precision(neighbours=estimate.n, checked=estimate.n, error=0.0)
    return replace(
        estimate, precision=replace(stated, error=float(np.hypot(stated.error, error)), bandwidth=error)
    )
