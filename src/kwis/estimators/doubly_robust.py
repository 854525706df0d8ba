"""Doubly robust estimators: the direct method, corrected by a weighted mean of what it got wrong."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

from kwis._validation import read_only
from kwis.errors import InputError
from kwis.estimators.direct import DirectMethod
from kwis.estimators.influence import standard_error
from kwis.estimators.protocol import KernelEstimator, ResampledEstimator, Resamples
from kwis.estimators.vis import VIS
from kwis.outcome.sample import with_predictions
from kwis.results import Estimate
from kwis.typing import Floats
from kwis.weights import WeightedSample

_PLAIN = VIS()


@dataclass(frozen=True, slots=True)
class DoublyRobust:
    """``mean(v_i)`` plus an estimate by importance weighting of the residual reward ``r_i - q(s_i, a_i)``.

    Right on average if either the propensities or the reward model are. Needs a :class:`kwis.PredictedSample`; resamples keep the
    predictions of their rows and fit no model anew.

    Parameters
    ----------
    weighting
        How residuals are weighted. ``VIS()``: the plain form, ``mean(v_i + w_i (r_i - q_i))``. ``WIS()``: self-normalised,
        ``mean(v_i) + sum w_i (r_i - q_i) / sum w_i``. ``KernelWIS(...)``: weights divided by the local mean weight. Any other
        importance weighting of kwis will do.
    """

    weighting: Any = _PLAIN

    def __post_init__(self) -> None:
        if not isinstance(self.weighting, ResampledEstimator) or isinstance(self.weighting, DirectMethod | DoublyRobust):
            raise InputError(f"`weighting` must be an importance weighting such as VIS(), WIS() or KernelWIS(), got {self.weighting!r}")

    @property
    def name(self) -> str:
        """How results and messages call it."""
        return "doubly-robust" if isinstance(self.weighting, VIS) else f"doubly-robust-{self.weighting.name}"

    @property
    def selects_bandwidth(self) -> bool | None:
        """Whether a bandwidth depends on the sample; None if there is no bandwidth at all."""
        return self.weighting.selects_bandwidth if isinstance(self.weighting, KernelEstimator) else None

    def held(self, sample: WeightedSample) -> Self:
        """The same estimator with the bandwidth it selects on ``sample``."""
        return replace(self, weighting=self.weighting.held(self.residuals(sample))) if isinstance(self.weighting, KernelEstimator) else self

    def estimate(self, sample: WeightedSample) -> Estimate:
        """Value of the policy."""
        return self.corrected(self._checked(sample), self.weighting.estimate(self.residuals(sample)))

    def corrected(self, sample: WeightedSample, rest: Estimate) -> Estimate:
        """The direct method plus ``rest``, what its weighting makes of the residuals."""
        direct = DirectMethod().estimate(sample)
        assert direct.influence is not None
        assert rest.influence is not None
        influence = read_only(direct.influence + rest.influence)
        error = standard_error(influence, sample.group)
        return replace(rest, name=self.name, value=direct.value + rest.value, std_error=error, influence=influence)

    def resampled(self, sample: WeightedSample, counts: Floats, *, influence: bool = False) -> Resamples:
        """The same on resamples with the given counts (n, B): weights and normalisers anew, predictions held."""
        direct = DirectMethod().resampled(self._checked(sample), counts, influence=influence)
        rest = self.weighting.resampled(self.residuals(sample), counts, influence=influence)
        both = direct.influence is not None and rest.influence is not None
        return Resamples(direct.values + rest.values, direct.influence + rest.influence if both else None)

    def _checked(self, sample: WeightedSample) -> WeightedSample:
        return with_predictions(sample, self.name)

    def residuals(self, sample: WeightedSample) -> WeightedSample:
        """The sample with what the model leaves of the rewards."""
        predicted = with_predictions(sample, self.name)
        return predicted.with_reward(predicted.reward - predicted.predicted)
