"""The interval of the central limit theorem."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

from kwis import _validation as check
from kwis.errors import UnsupportedError
from kwis.estimators.protocol import Estimator, KernelEstimator, S
from kwis.results import Interval
from kwis.typing import Seed


@dataclass(frozen=True, slots=True)
class InfluenceInterval:
    """Estimate plus and minus a normal quantile times its standard error from the influence function.

    As quick as the estimate. Trust it where no handful of rows carries the estimate (see ``effective_n``).
    """

    def interval(self, estimator: Estimator[S], sample: S, level: float = 0.95, rng: Seed = 0) -> Interval:
        """Interval at the given level; ``rng`` is not used."""
        level = check.level(level)
        check.generator(rng)
        check.two_draws(sample.n, sample.group)
        estimate = estimator.estimate(sample)
        if math.isnan(estimate.std_error):
            raise UnsupportedError(f"`estimator` must give a standard error for an influence interval, got none from {estimator.name}")
        reach = NormalDist().inv_cdf((1 + level) / 2) * estimate.std_error
        has_bandwidth = isinstance(estimator, KernelEstimator) and estimator.selects_bandwidth is not None
        return Interval(
            low=estimate.value - reach,
            high=estimate.value + reach,
            level=level,
            value=estimate.value,
            method="influence",
            bandwidth="fixed" if has_bandwidth else None,
        )
