"""Doubly robust estimators: the direct method, corrected by a weighted mean of what it got wrong."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from kwis.errors import InputError
from kwis.estimators import traits
from kwis.estimators.direct import DirectMethod
from kwis.estimators.protocol import KernelEstimator, ResampledEstimator, Resamples, selects_bandwidth
from kwis.estimators.vis import VIS
from kwis.estimators.wis import WIS
from kwis.models.reward.predicted import with_predictions
from kwis.results import Estimate, Verdict
from kwis.runtime.arrays import kept
from kwis.sample import WeightedSample
from kwis.stats.influence import standard_error
from kwis.typing import Floats

_PLAIN = VIS()


@dataclass(frozen=True, slots=True)
class DoublyRobust:
    """``mean(v_i)`` plus an estimate by importance weighting of the residual reward ``r_i - q(s_i, a_i)``.

    Right on average if either the propensities or the reward model are. Needs a
    :class:`kwis.PredictedSample`; resamples keep the predictions of their rows and fit no model anew.

    Parameters
    ----------
    weighting
        How residuals are weighted. ``VIS()``: the plain form, ``mean(v_i + w_i (r_i - q_i))``. ``WIS()``:
        self-normalised, ``mean(v_i) + sum w_i (r_i - q_i) / sum w_i``. ``KernelWIS(...)``: weights divided by
        the local mean weight. Any other importance weighting of kwis will do.

    See Also
    --------
    kwis.predict_rewards : the predictions.
    kwis.PredictedSample : the sample that it needs.
    kwis.DirectMethod : the predictions alone.
    kwis.WIS : weights alone.

    Examples
    --------
    >>> sample = kwis.WeightedSample(
    ...     context=[[0.0], [0.0], [1.0]], weight=[2.0, 1.0, 0.5], reward=[1.0, 0.0, 1.0]
    ... )
    >>> predicted = kwis.PredictedSample(sample, predicted=[0.5] * 3, predicted_value=[0.6] * 3)
    >>> round(kwis.DoublyRobust().estimate(predicted).value, 3)
    0.85
    """

    needs_predictions: ClassVar[bool] = True
    mostly_within_rewards: ClassVar[bool] = True
    model_part: ClassVar[DirectMethod] = DirectMethod()

    weighting: Any = _PLAIN

    def __post_init__(self) -> None:
        if not isinstance(self.weighting, ResampledEstimator) or traits.needs_predictions(self.weighting):
            raise InputError(
                f"`weighting` must be an importance weighting such as VIS(), WIS() or KernelWIS(), got "
                f"{self.weighting!r}"
            )

    @property
    def name(self) -> str:
        """Its name in results and messages."""
        return "doubly-robust" if self.weighting == _PLAIN else f"doubly-robust-{self.weighting.name}"

    @property
    def aliases(self) -> tuple[str, ...]:
        """Other names of it in the field."""
        if self.weighting == _PLAIN:
            return ("dr",)
        return ("sndr",) if self.weighting == WIS() else traits.doubly_robust_aliases(self.weighting)

    @property
    def sentence(self) -> str:
        """What it is."""
        if self.weighting == _PLAIN:
            return (
                "predicted rewards, corrected by the weighted errors of the prediction; right if model or "
                "propensities are"
            )
        return f"doubly robust, its errors weighted as in {self.weighting.name}"

    @property
    def settings(self) -> Mapping[str, Any]:
        """Those of its weighting."""
        return traits.settings(self.weighting)

    @property
    def normalised_over(self) -> str | None:
        """Which rows share a normaliser."""
        return traits.normalised_over(self.weighting)

    @property
    def family(self) -> Any:
        """That of its weighting: residuals are rewards like others."""
        return traits.family(self.weighting)

    def caveats(self, circumstances: traits.Circumstances) -> Iterable[Verdict]:
        """Those of its weighting."""
        return traits.caveats(self.weighting, circumstances)

    def bias_reference(self) -> Self | None:
        """The same with the weighting that its own is compared with, if there is one."""
        weighting = traits.bias_reference(self.weighting)
        return None if weighting is None else replace(self, weighting=weighting)

    @property
    def shrinks(self) -> bool:
        """Whether its weighting is biased on purpose."""
        return traits.shrinks(self.weighting)

    def with_exact(self, exact: bool | None) -> Self:
        """The same with the kernel sums of its weighting from all pairs, or not."""
        return replace(self, weighting=traits.with_exact(self.weighting, exact))

    @property
    def selects_bandwidth(self) -> bool | None:
        """Whether a bandwidth depends on the sample; None if there is no bandwidth at all."""
        return selects_bandwidth(self.weighting)

    def held(self, sample: WeightedSample) -> Self:
        """The same estimator with the bandwidth it selects on ``sample``."""
        return (
            replace(self, weighting=self.weighting.held(self.residuals(sample)))
            if isinstance(self.weighting, KernelEstimator)
            else self
        )

    def estimate(self, sample: WeightedSample) -> Estimate:
        """Value of the policy."""
        return self.corrected(self._checked(sample), self.weighting.estimate(self.residuals(sample)))

    def corrected(self, sample: WeightedSample, rest: Estimate) -> Estimate:
        """The direct method plus ``rest``, what its weighting makes of the residuals."""
        direct = self.model_part.estimate(sample)
        assert direct.influence is not None
        assert rest.influence is not None
        influence = kept(direct.influence + rest.influence)
        error = standard_error(influence, sample.group)
        return replace(
            rest, name=self.name, value=direct.value + rest.value, std_error=error, influence=influence
        )

    def resampled(self, sample: WeightedSample, counts: Floats, *, influence: bool = False) -> Resamples:
        """The same on resamples with the given counts (n, B): weights and normalisers anew,
        predictions held.
        """
        direct = self.model_part.resampled(self._checked(sample), counts, influence=influence)
        rest = self.weighting.resampled(self.residuals(sample), counts, influence=influence)
        both = direct.influence is not None and rest.influence is not None
        return Resamples(direct.values + rest.values, direct.influence + rest.influence if both else None)

    def _checked(self, sample: WeightedSample) -> WeightedSample:
        return with_predictions(sample, self.name)

    def residuals(self, sample: WeightedSample) -> WeightedSample:
        """The sample with what the model leaves of the rewards."""
        predicted = with_predictions(sample, self.name)
        return predicted.with_reward(predicted.reward - predicted.predicted)
