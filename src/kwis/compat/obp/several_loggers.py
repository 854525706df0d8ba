"""Logs of several logging policies, told apart by ``stratum_idx``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kwis import _validation as check
from kwis import estimators as core
from kwis.compat.obp.inputs import Given
from kwis.compat.obp.shared import Clipped
from kwis.errors import InputError
from kwis.models.reward.predicted import PredictedSample
from kwis.policy.discrete import importance_weights
from kwis.sample import WeightedSample
from kwis.typing import Floats, Ints


@dataclass(frozen=True)
class BaseMultiLoggersOffPolicyEstimator(Clipped):
    """The mean over all rows of the terms of plain importance sampling, or of the doubly robust estimate."""

    estimator_name: str = "multi"

    def _core(self) -> Any:
        return core.DoublyRobust() if self._uses_predictions else core.VIS()


@dataclass(frozen=True)
class MultiLoggersNaiveInverseProbabilityWeighting(BaseMultiLoggersOffPolicyEstimator):
    """Rows weighted by the propensity of their own logger (Agarwal et al. 2018)."""

    estimator_name: str = "multi_ipw"


@dataclass(frozen=True)
class MultiLoggersBalancedInverseProbabilityWeighting(BaseMultiLoggersOffPolicyEstimator):
    """Rows weighted by the propensity of all loggers together, ``pscore_avg``: the mean over the loggers of
    their probability of the action, each by its share of the rows.
    """

    _pscore = "pscore_avg"
    estimator_name: str = "multi_bal_ipw"

    def _ratio(self, given: Given, shares: Floats) -> Floats:
        name = f"estimated_{self._pscore}" if self.use_estimated_pscore else self._pscore
        n = shares.shape[0]
        together = check.propensities(given.other(name), name, n, like="action_dist")
        return importance_weights(shares[np.arange(n), given.actions(shares)], together)


@dataclass(frozen=True)
class MultiLoggersWeightedInverseProbabilityWeighting(BaseMultiLoggersOffPolicyEstimator):
    """The estimates of the loggers, each by the inverse of its estimated variance (Agarwal et al. 2018).

    Resamples keep these shares.
    """

    _order = ("reward", "action")  # theirs differs between value and interval after these
    estimator_name: str = "multi_weighted_ipw"

    def _sample(self, given: Given) -> WeightedSample:
        sample = super()._sample(given)
        logger = _strata(given.other("stratum_idx"), sample.n)
        terms = sample.weight * sample.reward
        if isinstance(sample, PredictedSample):
            terms = sample.predicted_value + sample.weight * (sample.reward - sample.predicted)
        mass = _row_shares(terms, logger)
        counted = WeightedSample(
            context=sample.context, weight=sample.weight, reward=sample.reward, mass=mass
        )
        if not isinstance(sample, PredictedSample):
            return counted
        return PredictedSample(counted, predicted=sample.predicted, predicted_value=sample.predicted_value)


@dataclass(frozen=True)
class MultiLoggersNaiveDoublyRobust(MultiLoggersNaiveInverseProbabilityWeighting):
    """Doubly robust, rows weighted by the propensity of their own logger."""

    _uses_predictions = True
    estimator_name: str = "multi_dr"


@dataclass(frozen=True)
class MultiLoggersBalancedDoublyRobust(MultiLoggersBalancedInverseProbabilityWeighting):
    """Doubly robust, rows weighted by the propensity of all loggers together."""

    _uses_predictions = True
    estimator_name: str = "multi_bal_dr"


@dataclass(frozen=True)
class MultiLoggersWeightedDoublyRobust(MultiLoggersWeightedInverseProbabilityWeighting):
    """The doubly robust estimates of the loggers, each by the inverse of its estimated variance."""

    _uses_predictions = True
    estimator_name: str = "multi_weighted_dr"


def _strata(value: Any, n: int) -> Ints:
    array = np.asarray(value)
    if array.shape != (n,) or array.dtype.kind not in "iu":
        raise InputError(f"`stratum_idx` must be {n} whole numbers, got {array.dtype} of shape {array.shape}")
    return np.unique(array, return_inverse=True)[1]


def _row_shares(terms: Floats, logger: Ints) -> Floats:
    """How much a row counts, 1 on average: the share of its logger, divided by that logger's share of the
    rows. Loggers whose terms do not vary at all share everything.
    """
    rows = np.bincount(logger)
    variance = np.array([terms[logger == k].var() / rows[k] for k in range(rows.size)])
    certain = variance <= 0
    trust = certain.astype(np.float64) if certain.any() else variance.min() / variance
    share = np.maximum(trust / trust.sum(), np.finfo(np.float64).tiny)
    return np.asarray((share * terms.size / rows)[logger])
