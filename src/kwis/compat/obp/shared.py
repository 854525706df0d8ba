"""What all estimators of this interface share: arguments in, a number or an interval out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from kwis import _validation as check
from kwis.compat.obp.inputs import Given
from kwis.errors import InputError
from kwis.intervals import Bootstrap
from kwis.models.reward.predicted import PredictedSample
from kwis.sample import WeightedSample
from kwis.typing import Floats


class ValueEstimator(ABC):
    """Every estimator takes the same arguments and leaves alone those it has no use for."""

    estimator_name: str
    _uses_weights = True
    _uses_predictions = False

    def estimate_policy_value(
        self,
        *,
        reward: Any = None,
        action: Any = None,
        pscore: Any = None,
        action_dist: Any = None,
        position: Any = None,
        estimated_rewards_by_reg_model: Any = None,
        estimated_pscore: Any = None,
        context: Any = None,
    ) -> float:
        """Estimated value of the evaluation policy ``action_dist``.

        Parameters
        ----------
        reward, action, pscore
            ``(n,)`` what was observed, the action taken (from 0) and the probability the logger gave it.
        action_dist
            ``(n, K)`` or ``(n, K, L)`` probabilities of the policy to be evaluated.
        position
            ``(n,)`` where L is above 1.
        estimated_rewards_by_reg_model
            ``(n, K)`` or ``(n, K, L)`` predicted rewards, for the direct method and doubly robust estimators.
        estimated_pscore
            Used instead of ``pscore`` by estimators made with ``use_estimated_pscore=True``.
        context
            ``(n, d)``, for :class:`KernelWIS` only.
        """
        given = Given(
            name=self.estimator_name,
            reward=reward,
            action=action,
            pscore=pscore,
            action_dist=action_dist,
            position=position,
            predictions=estimated_rewards_by_reg_model,
            estimated_pscore=estimated_pscore,
            context=context,
        )
        return self._core().estimate(self._sample(given)).value

    def estimate_interval(
        self,
        *,
        reward: Any = None,
        action: Any = None,
        pscore: Any = None,
        action_dist: Any = None,
        position: Any = None,
        estimated_rewards_by_reg_model: Any = None,
        estimated_pscore: Any = None,
        context: Any = None,
        alpha: float = 0.05,
        n_bootstrap_samples: int = 10_000,
        random_state: int | None = None,
    ) -> dict[str, float]:
        """Percentile bootstrap interval at level ``1 - alpha``, the whole statistic redone on every resample.

        Returns
        -------
        dict
            ``"mean"`` of the resamples, ``"95.0% CI (lower)"`` and ``"95.0% CI (upper)"``, with the level
            that was asked for.
        """
        if not isinstance(alpha, float) or not 0 < alpha < 1:
            raise InputError(f"`alpha` must be between 0 and 1, got {alpha!r}")
        given = Given(
            name=self.estimator_name,
            reward=reward,
            action=action,
            pscore=pscore,
            action_dist=action_dist,
            position=position,
            predictions=estimated_rewards_by_reg_model,
            estimated_pscore=estimated_pscore,
            context=context,
        )
        method = Bootstrap(
            replicates=check.whole(n_bootstrap_samples, "n_bootstrap_samples", 2), method="percentile"
        )
        rng = (
            np.random.default_rng() if random_state is None else check.whole(random_state, "random_state", 0)
        )
        found = method.interval(self._core(), self._sample(given), 1 - alpha, rng)
        assert found.distribution is not None  # a bootstrap always keeps it
        level = f"{round(100 * (1 - alpha), 6)}%"
        return {
            "mean": float(found.distribution.mean()),
            f"{level} CI (lower)": found.low,
            f"{level} CI (upper)": found.high,
        }

    @abstractmethod
    def _core(self) -> Any:
        """The estimator behind this one."""

    def _weight(self, ratio: Floats) -> Floats:
        """Weights from the ratios of probabilities."""
        return ratio

    def _sample(self, given: Given) -> WeightedSample:
        shares = given.distribution()
        n = shares.shape[0]
        if self._uses_weights:
            weight, reward = self._weight(self._ratio(given, shares)), given.rewards(n)
        else:
            weight, reward = np.ones(n), np.zeros(n)
        sample = WeightedSample(context=np.zeros((n, 1)), weight=weight, reward=reward)
        if not self._uses_predictions:
            return sample
        guesses = given.predicted(shares)
        logged = guesses[np.arange(n), given.actions(shares)] if self._uses_weights else np.zeros(n)
        return PredictedSample(sample, predicted=logged, predicted_value=(shares * guesses).sum(axis=1))

    def _ratio(self, given: Given, shares: Floats) -> Floats:
        """Probability of the logged action under the policy evaluated, divided by that under the logger."""
        taken = shares[np.arange(shares.shape[0]), given.actions(shares)]
        return taken / given.propensities(
            len(taken), estimated=bool(getattr(self, "use_estimated_pscore", False))
        )


@dataclass(frozen=True)
class Clipped(ValueEstimator):
    """Weights above ``lambda_`` count as ``lambda_``."""

    lambda_: float = np.inf
    use_estimated_pscore: bool = False
    estimator_name: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.lambda_, int | float) or not self.lambda_ >= 0:
            raise InputError(f"`lambda_` must be a number of at least 0, got {self.lambda_!r}")

    def _weight(self, ratio: Floats) -> Floats:
        return np.minimum(ratio, self.lambda_)
