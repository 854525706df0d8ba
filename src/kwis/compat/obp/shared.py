"""What all estimators of this interface share: arguments in, a number or an interval out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from kwis import _validation as check
from kwis.compat.obp.inputs import Given, WrongTypeError, count, number, yes_or_no
from kwis.errors import InputError
from kwis.intervals import Bootstrap
from kwis.intervals.draws import count_chunks
from kwis.models.reward.predicted import PredictedSample
from kwis.policy.discrete import importance_weights
from kwis.sample import WeightedSample
from kwis.typing import Floats


class BaseOffPolicyEstimator(ABC):
    """What every estimator of a policy's value has; a script's own estimators derive from it."""

    estimator_name: str

    @abstractmethod
    def estimate_policy_value(self, *args: Any, **kwargs: Any) -> float:
        """Estimated value of the evaluation policy."""

    @abstractmethod
    def estimate_interval(self, *args: Any, **kwargs: Any) -> dict[str, float]:
        """Interval of that value."""


class ValueEstimator(BaseOffPolicyEstimator):
    """Every estimator takes the same arguments and leaves alone those it has no use for."""

    _uses_weights = True
    _uses_predictions = False
    _pscore = "pscore"

    def estimate_policy_value(self, *args: Any, **kwargs: Any) -> float:
        """Estimated value of the evaluation policy ``action_dist``.

        Arguments by position are in the order of Open Bandit Pipeline 0.5, which depends on the estimator:
        reward, action, action_dist, then predicted rewards if it uses them, pscore, position.

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
        kwargs
            What other estimators need: ``estimated_importance_weights``, ``stratum_idx``, ``pscore_avg``,
            ``action_embed``, ``pi_b``, ``p_e_a``. Left alone by those that have no use for it.
        """
        return float(self._core().estimate(self._sample(self._given(args, kwargs))).value)

    def estimate_interval(
        self,
        *args: Any,
        alpha: float = 0.05,
        n_bootstrap_samples: int = 10_000,
        random_state: int | None = None,
        **kwargs: Any,
    ) -> dict[str, float]:
        """Percentile bootstrap interval at level ``1 - alpha``, the whole statistic redone on every resample.

        Other arguments are those of :meth:`estimate_policy_value`.

        Returns
        -------
        dict
            ``"mean"`` of the resamples, ``"95.0% CI (lower)"`` and ``"95.0% CI (upper)"``, with the level
            that was asked for.
        """
        if not isinstance(alpha, float):
            raise WrongTypeError(f"`alpha` must be between 0 and 1, got {alpha!r}")
        if not 0 < alpha < 1:
            raise InputError(f"`alpha` must be between 0 and 1, got {alpha!r}")
        replicates = count(n_bootstrap_samples, "n_bootstrap_samples", 1)
        rng = (
            np.random.default_rng() if random_state is None else check.whole(random_state, "random_state", 0)
        )
        sample = self._sample(self._given(args, kwargs))
        low, mean, high = _percentiles(self._core(), sample, alpha, replicates, rng)
        level = f"{round(100 * (1 - alpha), 6)}%"
        return {"mean": mean, f"{level} CI (lower)": low, f"{level} CI (upper)": high}

    @property
    def _order(self) -> tuple[str, ...]:
        """Arguments by position, as in Open Bandit Pipeline 0.5."""
        predicted = ("estimated_rewards_by_reg_model",) if self._uses_predictions else ()
        return (
            "reward",
            "action",
            "action_dist",
            *predicted,
            self._pscore,
            "position",
            f"estimated_{self._pscore}",
        )

    def _given(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Given:
        if len(args) > len(self._order):
            raise WrongTypeError(
                f"{self.estimator_name} takes {len(self._order)} arguments by position "
                f"({', '.join(self._order)}), got {len(args)}"
            )
        placed = dict(zip(self._order, args, strict=False))
        for name in placed.keys() & kwargs.keys():
            raise WrongTypeError(f"`{name}` must be given once, got it by position and by name")
        named = {**placed, **kwargs}
        own = {entry.name: named.pop(entry.name) for entry in fields(Given) if entry.name in named}
        return Given(**{**own, "name": self.estimator_name, "others": named})

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
        estimated = bool(getattr(self, "use_estimated_pscore", False))
        return importance_weights(taken, given.propensities(len(taken), estimated=estimated))


def _percentiles(
    core: Any, sample: WeightedSample, alpha: float, replicates: int, rng: Any
) -> tuple[float, float, float]:
    """Low end, mean and high end of the estimates on the resamples; a single one is all three."""
    if replicates == 1:
        counts = next(iter(count_chunks(sample.n, None, 1, check.generator(rng))))
        only = float(core.resampled(sample, counts).values[0])
        return only, only, only
    found = Bootstrap(replicates=replicates, method="percentile").interval(core, sample, 1 - alpha, rng)
    assert found.distribution is not None  # a bootstrap always keeps it
    return found.low, float(found.distribution.mean()), found.high


@dataclass(frozen=True)
class Clipped(ValueEstimator):
    """Weights above ``lambda_`` count as ``lambda_``."""

    lambda_: float = np.inf
    use_estimated_pscore: bool = False
    estimator_name: str = ""

    def __post_init__(self) -> None:
        number(self.lambda_, "lambda_", 0.0)
        yes_or_no(self.use_estimated_pscore, "use_estimated_pscore")

    def _weight(self, ratio: Floats) -> Floats:
        return np.minimum(ratio, self.lambda_)
