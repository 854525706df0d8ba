"""Any estimator on many resamples: all at once if it knows how, one by one otherwise."""

from __future__ import annotations

import numpy as np

from kwis.errors import InputError
from kwis.estimators.protocol import Estimator, ResampledEstimator, Resamples, S
from kwis.typing import Floats, Ints


def resamples(estimator: Estimator[S], sample: S, counts: Floats, *, influence: bool = False) -> Resamples:
    """Estimates on the resamples that hold row i ``counts[i, b]`` times."""
    if isinstance(estimator, ResampledEstimator):
        return estimator.resampled(sample, counts, influence=influence)
    return resamples_by_taking(estimator, sample, counts, influence=influence)


def resamples_by_taking(
    estimator: Estimator[S], sample: S, counts: Floats, *, influence: bool = False
) -> Resamples:
    """The same by building each resample and estimating on it; the road for an estimator that has only
    ``estimate``.
    """
    values = np.full(counts.shape[1], np.nan)
    influences = np.zeros(counts.shape) if influence else None
    for b, column in enumerate(counts.T):
        rows, labels = copies(column.astype(np.intp), sample.group)
        try:
            estimate = estimator.estimate(sample.take(rows, group=labels))
        except (
            InputError
        ):  # it answered on the whole sample, so this resample is at fault: all its weights are 0
            continue
        values[b] = estimate.value
        if estimate.influence is None:
            influences = None
        elif influences is not None:
            influences[rows, b] = estimate.influence
    return Resamples(values, influences)


def copies(counts: Ints, group: Ints | None) -> tuple[Ints, Ints | None]:
    """Row numbers repeated by count, and labels that tell the copies of a group apart."""
    rows = np.repeat(np.arange(counts.size), counts)
    if group is None:
        return rows, None
    copy = np.arange(rows.size) - np.repeat(np.cumsum(counts) - counts, counts)
    return rows, group[rows] * int(counts.max()) + copy
