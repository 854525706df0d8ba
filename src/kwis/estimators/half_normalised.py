"""Shrunken weights, divided half by the weights that there were and half by those that are left."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from kwis.estimators.protocol import Resamples
from kwis.estimators.ratio import no_weight
from kwis.estimators.shrunken import ShrunkenIS
from kwis.estimators.traits import Circumstances
from kwis.estimators.vis import VIS
from kwis.estimators.wis import WIS
from kwis.results import Estimate, Verdict
from kwis.runtime.arrays import kept
from kwis.sample import WeightedSample
from kwis.stats.influence import standard_error
from kwis.typing import Floats

_MEAN_WEIGHT = VIS()  # of rewards of 1


@dataclass(frozen=True, slots=True)
class HalfNormalised:
    """Mean of ``sum v_i r_i / sum w_i`` and ``sum v_i r_i / sum v_i`` with ``v`` the shrunken weights.

    Meant as the weighting of :class:`kwis.DoublyRobust`. What shrinkage takes away, the first form leaves to
    the reward model, which is best if the model is good. The second corrects the model there by what the
    other rows show, which is best if it is not. Where weights are heavy, the log does not tell which is so.
    Neither minds the scale of the weights.

    Parameters
    ----------
    shrinkage, parameter
        As in :class:`kwis.ShrunkenIS`; a parameter is chosen for each form by itself.

    See Also
    --------
    kwis.ShrunkenIS : the second form alone, if normalised.
    kwis.DoublyRobust : takes it as a weighting.

    Examples
    --------
    Weights of 2, 1 and 0.5 are cut to 0.8, 0.8 and 0.5; the rewards of 1 have 1.3 of them.

    >>> sample = kwis.WeightedSample(
    ...     context=[[0.0], [0.0], [1.0]], weight=[2.0, 1.0, 0.5], reward=[1.0, 0.0, 1.0]
    ... )
    >>> round(kwis.HalfNormalised("clipping", 0.8).estimate(sample).value, 4)
    0.4952
    >>> round((1.3 / 3.5 + 1.3 / 2.1) / 2, 4)
    0.4952
    """

    shrinks: ClassVar[bool] = True

    shrinkage: str
    parameter: float | str = "slope"

    def __post_init__(self) -> None:
        object.__setattr__(self, "parameter", self._plain.parameter)

    @property
    def _plain(self) -> ShrunkenIS:
        return ShrunkenIS(self.shrinkage, self.parameter)

    @property
    def _normalised(self) -> ShrunkenIS:
        return replace(self._plain, normalised=True)

    @property
    def name(self) -> str:
        """How results and messages call it."""
        return f"half-normalised-{self._plain.name}"

    @property
    def sentence(self) -> str:
        """What it is."""
        return f"the mean of {self._normalised.name} and {self._plain.name} over the mean weight"

    @property
    def settings(self) -> Mapping[str, Any]:
        """The parameter."""
        return self._plain.settings

    def caveats(self, circumstances: Circumstances) -> Iterable[Verdict]:
        """It is biased on purpose."""
        return self._plain.caveats(circumstances)

    def bias_reference(self) -> WIS:
        """The weights as they are."""
        return WIS()

    def estimate(self, sample: WeightedSample) -> Estimate:
        """Value of the policy."""
        if not sample.weight.any():
            raise no_weight(self.name, sample)
        plain, mean, normalised = self._parts(sample)
        first = plain.value / mean.value
        of_first = (_of(plain.influence) - first * _of(mean.influence)) / mean.value
        influence = kept((of_first + _of(normalised.influence)) / 2)
        share = sample.weight if sample.mass is None else sample.weight * sample.mass
        return replace(
            normalised,
            name=self.name,
            value=(first + normalised.value) / 2,
            std_error=standard_error(influence, sample.group),
            influence=influence,
            leverage=kept((share / share.sum() + _of(normalised.leverage)) / 2),
        )

    def _parts(self, sample: WeightedSample) -> tuple[Estimate, Estimate, Estimate]:
        """The plain form, the mean weight and the normalised form."""
        mean = _MEAN_WEIGHT.estimate(_with_ones(sample))
        return self._plain.estimate(sample), mean, self._normalised.estimate(sample)

    def resampled(self, sample: WeightedSample, counts: Floats, *, influence: bool = False) -> Resamples:
        """The same on resamples with the given counts (n, B), parameters chosen anew on each."""
        plain = self._plain.resampled(sample, counts, influence=influence)
        mean = _MEAN_WEIGHT.resampled(_with_ones(sample), counts, influence=influence)
        normalised = self._normalised.resampled(sample, counts, influence=influence)
        with np.errstate(divide="ignore", invalid="ignore"):  # nan where no row drawn has a weight
            first = plain.values / mean.values
            values = (first + normalised.values) / 2
            if not influence:
                return Resamples(values)
            of_first = (_of(plain.influence) - first * _of(mean.influence)) / mean.values
            return Resamples(values, (of_first + _of(normalised.influence)) / 2)


def _with_ones(sample: WeightedSample) -> WeightedSample:
    return sample.with_reward(np.ones(sample.n))


def _of(values: Floats | None) -> Floats:
    assert values is not None
    return values
