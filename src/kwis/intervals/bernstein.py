"""An interval that holds at every sample size, for bounded terms."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from kwis import _validation as check
from kwis.errors import InputError
from kwis.estimators.protocol import Estimator, S
from kwis.intervals.independent import refuse_dependent_terms
from kwis.results import Interval
from kwis.typing import Seed


@dataclass(frozen=True, slots=True)
class EmpiricalBernstein:
    """Empirical Bernstein interval of Maurer and Pontil (2009) for VIS, two-sided by giving each side half
    the error.

    With range R of ``w r``, sample variance V and ``L = log(4 / (1 - level))`` its reach is
    ``sqrt(2 V L / n) + 7 R L / (3 (n - 1))``. It covers at least as often as it says for any n, and is wide.

    Parameters
    ----------
    bound
        What is known beforehand of ``w r``: a number b says ``-b <= w r <= b``, a pair (low, high) says
        ``low <= w r <= high``. With rewards in [0, 1] and propensities of at least p, ``(0, 1 / p)`` holds.

    See Also
    --------
    kwis.LogarithmicSmoothing : needs no bound on the weights.
    kwis.ClopperPearson : for rewards of 0 and 1.

    Examples
    --------
    >>> sample = kwis.WeightedSample(
    ...     context=[[0.0]] * 120, weight=[2.0, 1.0, 0.5] * 40, reward=[1.0, 0.0, 1.0] * 40
    ... )
    >>> kwis.EmpiricalBernstein(bound=(0, 2)).interval(kwis.VIS(), sample, level=0.95)
    Interval([0.43086, 1.23581], level=0.95, empirical-bernstein)
    """

    bound: Any = None

    def __post_init__(self) -> None:
        if self.bound is None:
            raise InputError(
                "`bound` must be given, a number known beforehand that `weight` times `reward` cannot "
                "exceed, got None: the largest "
                "value in the sample will not do, because rare larger ones that the sample missed are what "
                "the interval guards against"
            )
        limits = np.asarray(self.bound)
        if limits.dtype.kind not in "iuf" or limits.shape not in ((), (2,)) or not np.isfinite(limits).all():
            raise InputError(f"`bound` must be a number or a pair (low, high), got {self.bound!r}")
        if limits.ndim and not limits[0] < limits[1]:
            raise InputError(f"`bound` must have its low end below its high end, got {self.bound!r}")
        if limits.ndim == 0 and not limits > 0:
            raise InputError(f"`bound` must be a positive number, got {self.bound!r}")

    def interval(self, estimator: Estimator[S], sample: S, level: float = 0.95, rng: Seed = 0) -> Interval:
        """Interval at the given level or above; ``rng`` is not used."""
        level = check.level(level)
        check.generator(rng)
        low, high = (float(end) for end in (self.bound if np.ndim(self.bound) else (-self.bound, self.bound)))
        terms = _bounded_terms(estimator, sample, low, high)
        n = terms.size
        log_term = math.log(4 / (1 - level))
        unit = max(abs(low), abs(high))  # squares of huge terms would overflow
        mean, spread = float(terms.mean()), float((terms / unit).std(ddof=1) * unit)
        reach = spread * math.sqrt(2 * log_term / n) + 7 * (high - low) * log_term / (3 * (n - 1))
        # The value lies within the bounds, whatever the sample says.
        return Interval(
            low=max(mean - reach, low),
            high=min(mean + reach, high),
            level=level,
            value=mean,
            method="empirical-bernstein",
        )


def _bounded_terms(estimator: Estimator[Any], sample: Any, low: float, high: float) -> Any:
    """``w r`` of every row, once it is clear that the theorem applies to them."""
    refuse_dependent_terms(estimator, sample, "an empirical Bernstein interval")
    with np.errstate(over="ignore"):
        terms = sample.weight * sample.reward
    outside = (terms < low) | (terms > high)
    if outside.any():
        row = int(np.argmax(outside))
        raise InputError(
            f"`bound` must hold for every `weight` times `reward`, got {terms[row]} outside [{low}, {high}] "
            f"at row {row}"
        )
    return terms
