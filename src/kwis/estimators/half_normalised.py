"""Shrunken weights, halfway between a mean and a weighted mean."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from kwis.estimators.protocol import Resamples
from kwis.estimators.ratio import no_weight
from kwis.estimators.shrunken import ShrunkenIS
from kwis.estimators.traits import Circumstances
from kwis.estimators.wis import WIS
from kwis.results import Estimate, Verdict
from kwis.runtime.arrays import kept
from kwis.sample import WeightedSample
from kwis.stats.influence import standard_error
from kwis.typing import Floats


@dataclass(frozen=True, slots=True)
class HalfNormalised:
    """Mean of the two forms of :class:`kwis.ShrunkenIS`: over the rows, and over the weights that are left.

    Meant as the weighting of :class:`kwis.DoublyRobust`. What shrinkage takes away the plain form leaves to
    the reward model, which is best if the model is good. The normalised form corrects the model by what the
    other rows show, which is best if it is not. Where weights are heavy, the log does not tell which is so.

    Parameters
    ----------
    shrinkage, parameter
        As in :class:`kwis.ShrunkenIS`; a parameter is chosen for each form by itself.

    See Also
    --------
    kwis.ShrunkenIS : either form alone.
    kwis.DoublyRobust : takes it as a weighting.

    Examples
    --------
    >>> sample = kwis.WeightedSample(
    ...     context=[[0.0], [0.0], [1.0]], weight=[2.0, 1.0, 0.5], reward=[1.0, 0.0, 1.0]
    ... )
    >>> plain, normalised = (kwis.ShrunkenIS("clipping", 0.8, normalised=form) for form in (False, True))
    >>> half = kwis.HalfNormalised("clipping", 0.8)
    >>> [round(one.estimate(sample).value, 3) for one in (plain, normalised, half)]
    [0.433, 0.619, 0.526]
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
    def forms(self) -> tuple[ShrunkenIS, ShrunkenIS]:
        """The plain and the normalised one."""
        return self._plain, replace(self._plain, normalised=True)

    @property
    def name(self) -> str:
        """Its name in results and messages."""
        return f"half-normalised-{self._plain.name}"

    @property
    def sentence(self) -> str:
        """What it is."""
        plain, normalised = (form.name for form in self.forms)
        return f"the mean of {plain} and {normalised}"

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
        plain, normalised = (form.estimate(sample) for form in self.forms)
        influence = _mean(plain.influence, normalised.influence)
        return replace(
            normalised,
            name=self.name,
            value=(plain.value + normalised.value) / 2,
            std_error=standard_error(influence, sample.group),
            influence=influence,
            leverage=_mean(plain.leverage, normalised.leverage),
        )

    def resampled(self, sample: WeightedSample, counts: Floats, *, influence: bool = False) -> Resamples:
        """The same on resamples with the given counts (n, B), parameters chosen anew on each."""
        plain, normalised = (form.resampled(sample, counts, influence=influence) for form in self.forms)
        values = (plain.values + normalised.values) / 2
        if plain.influence is None or normalised.influence is None:
            return Resamples(values)
        return Resamples(values, (plain.influence + normalised.influence) / 2)


def _mean(first: Floats | None, second: Floats | None) -> Floats:
    assert first is not None
    assert second is not None
    return kept((first + second) / 2)
