"""Estimators that choose ``lambda_`` from a list."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from kwis import _validation as check
from kwis import estimators as core
from kwis.compat.obp.inputs import WrongTypeError, number, yes_or_no
from kwis.compat.obp.shared import ValueEstimator
from kwis.errors import InputError
from kwis.estimators import tuning
from kwis.estimators.ratio import Applied, RuleEstimator
from kwis.estimators.shrinkage import SHRINKAGES
from kwis.estimators.shrunken import ParameterTrials
from kwis.sample import WeightedSample
from kwis.typing import Floats, Ints

Shrink = Callable[[Floats, Floats], Floats]


@dataclass(frozen=True, slots=True, eq=False)
class _TunedWeighting(RuleEstimator):
    """Importance sampling whose weights are shrunk by the best of some parameters, from the least shrinkage
    to the most.
    """

    name: ClassVar[str] = "tuned"
    normalised: ClassVar[bool] = False

    shrink: Shrink
    parameters: tuple[float, ...]
    rule: str

    def applied(self, sample: WeightedSample, counts: Floats) -> Applied:
        best = np.asarray(self.parameters)[self.best(sample, counts)]
        return Applied(self.shrink(sample.weight[:, None], best))

    def best(self, sample: WeightedSample, counts: Floats) -> Ints:
        """Which parameter is best on each resample."""
        found = ParameterTrials(sample, counts, normalised=False)
        for parameter in self.parameters:
            found.add(self.shrink(sample.weight[:, None], np.array([parameter])))
        return tuning.choose(self.rule, *found.summary)


@dataclass
class BaseOffPolicyEstimatorTuning(ValueEstimator):
    """An estimator that chooses ``lambda_`` from ``lambdas``, on every resample anew.

    Parameters
    ----------
    lambdas
        Candidates.
    tuning_method
        ``"slope"`` or ``"mse"``, see :mod:`kwis.estimators.tuning`; biases are judged against the candidate
        that shrinks least.
    use_bias_upper_bound, delta
        Checked and not used: standard errors take the place of bounds.

    Attributes
    ----------
    best_hyperparam
        The candidate chosen at the last call of ``estimate_policy_value``.
    """

    _shrinkage: ClassVar[str] = "clipping"
    _falling: ClassVar[bool] = True  # a smaller parameter shrinks more
    _most: ClassVar[float] = np.inf

    lambdas: Any = None
    tuning_method: str = "slope"
    use_bias_upper_bound: bool = True
    delta: float = 0.1
    use_estimated_pscore: bool = False
    estimator_name: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.lambdas, list):
            raise WrongTypeError(f"`lambdas` must be a list, got {self.lambdas!r}")
        if not self.lambdas:
            raise InputError("`lambdas` must have at least one candidate, got none")
        for entry in self.lambdas:
            number(entry, "lambdas", 0.0, self._most)
        check.one_of(self.tuning_method, "tuning_method", tuning.RULES)
        yes_or_no(self.use_bias_upper_bound, "use_bias_upper_bound")
        yes_or_no(self.use_estimated_pscore, "use_estimated_pscore")
        number(self.delta, "delta", 0.0, 1.0)
        self.best_hyperparam: float | None = None

    def estimate_policy_value(self, *args: Any, **kwargs: Any) -> float:
        """Estimated value at the candidate chosen, which ``best_hyperparam`` keeps."""
        value = super().estimate_policy_value(*args, **kwargs)
        self.best_hyperparam = self._chosen
        return value

    @property
    def _weighting(self) -> _TunedWeighting:
        order = tuple(sorted((float(entry) for entry in self.lambdas), reverse=self._falling))
        return _TunedWeighting(_SHRINK[self._shrinkage], order, self.tuning_method)

    def _core(self) -> Any:
        weighting = self._weighting
        return core.DoublyRobust(weighting) if self._uses_predictions else weighting

    def _sample(self, given: Any) -> WeightedSample:
        sample = super()._sample(given)
        residuals = core.DoublyRobust().residuals(sample) if self._uses_predictions else sample
        weighting = self._weighting
        with np.errstate(all="ignore"):
            best = weighting.best(residuals, np.ones((sample.n, 1)))
        self._chosen = weighting.parameters[int(best[0])]
        return sample


def _optimistic(weight: Floats, parameter: Floats) -> Floats:
    """No weight at a parameter of 0, the weight itself at an infinite one."""
    usual = np.where((parameter > 0) & np.isfinite(parameter), parameter, 1.0)
    shrunk = SHRINKAGES["shrinkage"].shrunken(weight, usual)
    return np.where(np.isinf(parameter), weight, np.where(parameter > 0, shrunk, 0.0))


_SHRINK: dict[str, Shrink] = {
    "clipping": SHRINKAGES["clipping"].shrunken,
    "switch": SHRINKAGES["switch"].shrunken,
    "shrinkage": _optimistic,
    "sub-gaussian": SHRINKAGES["sub-gaussian"].shrunken,
}


@dataclass
class InverseProbabilityWeightingTuning(BaseOffPolicyEstimatorTuning):
    """Plain importance sampling, weights cut at the best of ``lambdas``."""

    estimator_name: str = "ipw"


@dataclass
class DoublyRobustTuning(BaseOffPolicyEstimatorTuning):
    """Doubly robust, weights cut at the best of ``lambdas``."""

    _uses_predictions = True
    estimator_name: str = "dr"


@dataclass
class SwitchDoublyRobustTuning(BaseOffPolicyEstimatorTuning):
    """Doubly robust where the weight is at most the best of ``lambdas``."""

    _uses_predictions = True
    _shrinkage = "switch"
    estimator_name: str = "switch-dr"


@dataclass
class DoublyRobustWithShrinkageTuning(BaseOffPolicyEstimatorTuning):
    """Doubly robust with optimistic shrinkage by the best of ``lambdas``."""

    _uses_predictions = True
    _shrinkage = "shrinkage"
    estimator_name: str = "dr-os"


@dataclass
class SubGaussianInverseProbabilityWeightingTuning(BaseOffPolicyEstimatorTuning):
    """Plain importance sampling with the harmonic mean of weights and 1, by the best of ``lambdas``."""

    _shrinkage = "sub-gaussian"
    _falling = False
    _most = 1.0
    estimator_name: str = "sg-ipw"


@dataclass
class SubGaussianDoublyRobustTuning(SubGaussianInverseProbabilityWeightingTuning):
    """Doubly robust with the harmonic mean of weights and 1, by the best of ``lambdas``."""

    _uses_predictions = True
    estimator_name: str = "sg-dr"
