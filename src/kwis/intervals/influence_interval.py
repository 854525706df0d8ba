"""The interval of the central limit theorem."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import ClassVar

from kwis import _validation as check
from kwis.errors import UnsupportedError
from kwis.estimators.joint import Contrast
from kwis.estimators.protocol import Estimator, S
from kwis.results import Interval
from kwis.typing import Seed


@dataclass(frozen=True, slots=True)
class InfluenceInterval:
    """Estimate plus and minus a normal quantile times its standard error from the influence function.

    As quick as the estimate. Trust it where no handful of rows carries the estimate (see ``effective_n``).

    Parameters
    ----------
    model_error
        Standard error that a model fitted elsewhere (of the propensities) adds to the estimate.

    See Also
    --------
    kwis.StudentInterval : allows for heavy rows and for the range of the rewards.
    kwis.Bootstrap : resamples.

    Examples
    --------
    >>> sample = kwis.WeightedSample(
    ...     context=[[0.0]] * 120, weight=[2.0, 1.0, 0.5] * 40, reward=[1.0, 0.0, 1.0] * 40
    ... )
    >>> kwis.InfluenceInterval().interval(kwis.WIS(), sample, level=0.95)
    Interval([0.631968, 0.796604], level=0.95, influence)
    """

    adds_model_error: ClassVar[bool] = True
    model_error: float = 0.0

    def interval(self, estimator: Estimator[S], sample: S, level: float = 0.95, rng: Seed = 0) -> Interval:
        """Interval at the given level; ``rng`` is not used."""
        level = check.level(level)
        check.generator(rng)
        check.two_draws(sample.n, sample.group)
        contrast = Contrast.of(estimator, sample)
        std_error = contrast.estimate.std_error
        if math.isnan(std_error):
            raise UnsupportedError(
                f"`estimator` must give a standard error for an influence interval, got none from "
                f"{estimator.name}"
            )
        return self._interval(contrast, std_error, level)

    def of(self, contrast: Contrast, level: float, _rng: Seed = 0) -> Interval:
        """The same for an estimate or a difference that was made before, with the error of its model."""
        if contrast.influence is None:
            raise UnsupportedError(
                f"`estimator` must give influence for an influence interval, got none from "
                f"{contrast.estimator.name}"
            )
        return self._interval(contrast, contrast.std_error, level)

    @property
    def description(self) -> str:
        """The method in words."""
        return "influence function"

    def _interval(self, contrast: Contrast, std_error: float, level: float) -> Interval:
        reach = NormalDist().inv_cdf((1 + level) / 2) * math.hypot(std_error, self.model_error)
        return Interval(
            low=contrast.value - reach,
            high=contrast.value + reach,
            level=level,
            value=contrast.value,
            method="influence",
            bandwidth="fixed" if contrast.has_bandwidth else None,
        )
