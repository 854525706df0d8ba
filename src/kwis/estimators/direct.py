"""The direct method."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kwis.estimators.protocol import Resamples
from kwis.estimators.ratio import Applied, ratio_estimate, ratio_resamples
from kwis.estimators.traits import Circumstances, careful
from kwis.models.reward.predicted import with_predictions
from kwis.results import Estimate, Verdict
from kwis.sample import WeightedSample
from kwis.typing import Floats


@dataclass(frozen=True, slots=True)
class DirectMethod:
    """Mean of ``v_i = sum_a pi(a|s_i) q(s_i, a)``: what a reward model predicts for the policy's actions.

    As good as the model. Its standard error and intervals take the model as given: they tell nothing of its
    bias.

    See Also
    --------
    kwis.DoublyRobust : corrects it by importance weighting.
    kwis.predict_rewards : the predictions.
    kwis.PredictedSample : the sample that it needs.

    Examples
    --------
    >>> sample = kwis.WeightedSample(
    ...     context=[[0.0], [0.0], [1.0]], weight=[2.0, 1.0, 0.5], reward=[1.0, 0.0, 1.0]
    ... )
    >>> predicted = kwis.PredictedSample(sample, predicted=[0.5] * 3, predicted_value=[0.6] * 3)
    >>> round(kwis.DirectMethod().estimate(predicted).value, 3)
    0.6
    """

    name: ClassVar[str] = "direct-method"
    aliases: ClassVar[tuple[str, ...]] = ("dm",)
    sentence: ClassVar[str] = "mean of rewards predicted by a model; no weights, and as right as the model"
    normalised: ClassVar[bool] = False
    needs_predictions: ClassVar[bool] = True

    def caveats(self, circumstances: Circumstances) -> Iterable[Verdict]:
        """It is as right as the model."""
        yield careful(
            f"{circumstances.estimate.name} takes the reward model for the truth, and so does its interval"
        )

    def estimate(self, sample: WeightedSample) -> Estimate:
        """Value of the policy; the sample must be a :class:`kwis.PredictedSample`."""
        return ratio_estimate(self, self._predictions(sample))

    def resampled(self, sample: WeightedSample, counts: Floats, *, influence: bool = False) -> Resamples:
        """The same on resamples with the given counts (n, B), predictions held."""
        return ratio_resamples(self, self._predictions(sample), counts, influence)

    def applied(self, sample: WeightedSample, counts: Floats) -> Applied:  # noqa: ARG002 - the same whatever is drawn
        """Every row counts alike."""
        return Applied(np.ones((sample.n, 1)))

    def _predictions(self, sample: WeightedSample) -> WeightedSample:
        predicted = with_predictions(sample, self.name)
        return predicted.with_reward(predicted.predicted_value)
