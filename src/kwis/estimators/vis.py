"""Vanilla importance sampling."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from kwis.estimators.ratio import Applied, RuleEstimator
from kwis.estimators.traits import Circumstances
from kwis.results import Verdict
from kwis.sample import WeightedSample
from kwis.typing import Floats


@dataclass(frozen=True, slots=True)
class VIS(RuleEstimator):
    """Mean of ``w_i r_i``: unbiased under right propensities, and the noisiest.

    See Also
    --------
    kwis.WIS : divides by the sum of the weights.
    kwis.TruncatedVIS : limits large weights.
    kwis.DoublyRobust : weights only what a reward model leaves unexplained.

    Examples
    --------
    >>> sample = kwis.WeightedSample(
    ...     context=[[0.0], [0.0], [1.0]], weight=[2.0, 1.0, 0.5], reward=[1.0, 0.0, 1.0]
    ... )
    >>> round(kwis.VIS().estimate(sample).value, 3)
    0.833
    """

    name: ClassVar[str] = "vis"
    aliases: ClassVar[tuple[str, ...]] = ("ips", "ipw")
    sentence: ClassVar[str] = (
        "mean of reward times weight; unbiased with right propensities, and the most variable"
    )
    normalised: ClassVar[bool] = False
    mean_of_terms: ClassVar[bool] = True

    def caveats(self, circumstances: Circumstances) -> Iterable[Verdict]:
        """It does not divide by the mean weight."""
        return circumstances.undivided()

    def applied(self, sample: WeightedSample, counts: Floats) -> Applied:  # noqa: ARG002 - the same whatever is drawn
        """The weights themselves."""
        return Applied(sample.weight[:, None])
