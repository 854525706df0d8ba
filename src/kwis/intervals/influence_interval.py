"""The interval of the central limit theorem."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Any, Self

from kwis import _validation as check
from kwis.errors import UnsupportedError
from kwis.estimators.protocol import Estimator, KernelEstimator, S
from kwis.results import Estimate, Interval
from kwis.stats.influence import standard_error
from kwis.typing import Seed


@dataclass(frozen=True, slots=True)
class InfluenceInterval:
    """Estimate plus and minus a normal quantile times its standard error from the influence function.

    As quick as the estimate. Trust it where no handful of rows carries the estimate (see ``effective_n``).

    Parameters
    ----------
    model_error
        Standard error that a model fitted elsewhere (of the propensities) adds to the estimate.
    """

    model_error: float = 0.0

    def interval(self, estimator: Estimator[S], sample: S, level: float = 0.95, rng: Seed = 0) -> Interval:
        """Interval at the given level; ``rng`` is not used."""
        level = check.level(level)
        check.generator(rng)
        check.two_draws(sample.n, sample.group)
        estimate = estimator.estimate(sample)
        if math.isnan(estimate.std_error):
            raise UnsupportedError(
                f"`estimator` must give a standard error for an influence interval, got none from "
                f"{estimator.name}"
            )
        return self._interval(estimate, estimate.std_error, estimator, level)

    def interval_of(self, estimate: Estimate, estimator: Any, sample: Any, level: float) -> Interval:
        """The same for an estimate that was made before, by the influence of its rows."""
        if estimate.influence is None:
            raise UnsupportedError(
                f"`estimator` must give influence for an influence interval, got none from {estimator.name}"
            )
        return self._interval(estimate, standard_error(estimate.influence, sample.group), estimator, level)

    @property
    def description(self) -> str:
        """The method in words."""
        return "influence function"

    def with_model_error(self, added: float) -> Self:
        """The same for an estimate with further error from a model."""
        return replace(self, model_error=math.hypot(self.model_error, added))

    def _interval(self, estimate: Estimate, std_error: float, estimator: Any, level: float) -> Interval:
        reach = NormalDist().inv_cdf((1 + level) / 2) * math.hypot(std_error, self.model_error)
        has_bandwidth = isinstance(estimator, KernelEstimator) and estimator.selects_bandwidth is not None
        return Interval(
            low=estimate.value - reach,
            high=estimate.value + reach,
            level=level,
            value=estimate.value,
            method="influence",
            bandwidth="fixed" if has_bandwidth else None,
        )
