"""Estimators with Open Bandit Pipeline's names: each is a rule for the weights and an estimator of kwis."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kwis import _validation as check
from kwis import estimators as core
from kwis.compat.obp.inputs import Given, number
from kwis.compat.obp.shared import Clipped, ValueEstimator
from kwis.data.scaling import standardise
from kwis.errors import UnsupportedError
from kwis.sample import WeightedSample, safe_ratio
from kwis.typing import Bandwidth, Floats


@dataclass(frozen=True)
class InverseProbabilityWeighting(Clipped):
    """``mean(w r)``: plain importance sampling, :class:`kwis.VIS`."""

    estimator_name: str = "ipw"

    def _core(self) -> Any:
        return core.VIS()


@dataclass(frozen=True)
class SelfNormalizedInverseProbabilityWeighting(Clipped):
    """``sum(w r) / sum(w)``: :class:`kwis.WIS`."""

    estimator_name: str = "snipw"

    def _core(self) -> Any:
        return core.WIS()


@dataclass(frozen=True)
class ReplayMethod(ValueEstimator):
    """Mean reward of the rows whose action the policy would have taken; right if the logger drew actions
    uniformly.

    Of a stochastic policy rows count by the probability with which it would have taken their action.
    """

    _order = ("reward", "action", "action_dist", "position")
    estimator_name: str = "rm"

    def _core(self) -> Any:
        return core.WIS()

    def _ratio(self, given: Given, shares: Floats) -> Floats:
        evaluated = shares[np.arange(shares.shape[0]), given.actions(shares)]
        if not evaluated.any():
            raise UnsupportedError(
                f"`action_dist` must have a chance to choose the logged action in some row for "
                f"{self.estimator_name}, got none"
            )
        return evaluated


@dataclass(frozen=True)
class DirectMethod(ValueEstimator):
    """Mean of what a reward model predicts for the policy's actions: :class:`kwis.DirectMethod`."""

    _uses_weights = False
    _uses_predictions = True
    _order = ("action_dist", "estimated_rewards_by_reg_model", "position")
    estimator_name: str = "dm"

    def _core(self) -> Any:
        return core.DirectMethod()


@dataclass(frozen=True)
class DoublyRobust(Clipped):
    """``mean(v + w (r - q))``: :class:`kwis.DoublyRobust`."""

    _uses_predictions = True
    estimator_name: str = "dr"

    def _core(self) -> Any:
        return core.DoublyRobust()


@dataclass(frozen=True)
class SelfNormalizedDoublyRobust(Clipped):
    """``mean(v) + sum(w (r - q)) / sum(w)``: :class:`kwis.DoublyRobust` weighted by :class:`kwis.WIS`."""

    _uses_predictions = True
    estimator_name: str = "sndr"

    def _core(self) -> Any:
        return core.DoublyRobust(core.WIS())


@dataclass(frozen=True)
class SwitchDoublyRobust(Clipped):
    """Doubly robust where the weight is at most ``lambda_``, the direct method elsewhere."""

    _uses_predictions = True
    estimator_name: str = "switch-dr"

    def _core(self) -> Any:
        return core.DoublyRobust()

    def _weight(self, ratio: Floats) -> Floats:
        return np.where(ratio <= self.lambda_, ratio, 0.0)


@dataclass(frozen=True)
class DoublyRobustWithShrinkage(Clipped):
    """Doubly robust with weights shrunk to ``lambda_ w / (w**2 + lambda_)``; infinite ``lambda_`` shrinks
    nothing.
    """

    _uses_predictions = True
    lambda_: float = 0.0
    estimator_name: str = "dr-os"

    def _core(self) -> Any:
        return core.DoublyRobust()

    def _weight(self, ratio: Floats) -> Floats:
        if np.isinf(self.lambda_):
            return ratio
        with np.errstate(invalid="ignore"):
            return np.where(ratio > 0, self.lambda_ * ratio / (ratio**2 + self.lambda_), 0.0)


def _harmonic(ratio: Floats, lambda_: float) -> Floats:
    """``w / (1 - lambda + lambda w)`` (Metelli et al. 2021)."""
    return safe_ratio(ratio, 1 - lambda_ + lambda_ * ratio)


@dataclass(frozen=True)
class SubGaussianInverseProbabilityWeighting(Clipped):
    """Plain importance sampling with the harmonic mean of weights and 1, ``lambda_`` from 0 to 1."""

    lambda_: float = 0.0
    estimator_name: str = "sg-ipw"

    def __post_init__(self) -> None:
        super().__post_init__()
        number(self.lambda_, "lambda_", 0.0, 1.0)

    def _core(self) -> Any:
        return core.VIS()

    def _weight(self, ratio: Floats) -> Floats:
        return _harmonic(ratio, self.lambda_)


@dataclass(frozen=True)
class SubGaussianDoublyRobust(SubGaussianInverseProbabilityWeighting):
    """Doubly robust with the harmonic mean of weights and 1."""

    _uses_predictions = True
    estimator_name: str = "sg-dr"

    def _core(self) -> Any:
        return core.DoublyRobust()


@dataclass(frozen=True)
class BalancedInverseProbabilityWeighting(Clipped):
    """Plain importance sampling with ``estimated_importance_weights``, as from
    :class:`ImportanceWeightEstimator`.
    """

    _order = ("reward", "action")  # theirs differs between value and interval after these
    estimator_name: str = "b-ipw"

    def _core(self) -> Any:
        return core.VIS()

    def _ratio(self, given: Given, shares: Floats) -> Floats:
        name = "estimated_importance_weights"
        return check.weights(given.other(name), name, shares.shape[0], like="action_dist")


@dataclass(frozen=True)
class KernelWIS(Clipped):
    """Kernel-WIS, normalised, with a bandwidth chosen by cross-validation unless one is given; needs
    ``context``.
    """

    bandwidth: Bandwidth | str = "cv"
    estimator_name: str = "kernel-wis"

    def _core(self) -> Any:
        return core.KernelWIS(self.bandwidth, normalised=True)

    def _sample(self, given: Given) -> WeightedSample:
        plain = super()._sample(given)
        context = check.contexts(given.needed("context"))
        check.same_length(context.shape[0], "context", plain.n, "action_dist")
        return WeightedSample(context=standardise(context)[0], weight=plain.weight, reward=plain.reward)
