"""Importance sampling with shrunken weights."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from kwis import _validation as check
from kwis.errors import InputError
from kwis.estimators import tuning
from kwis.estimators.ratio import Applied, RuleEstimator
from kwis.estimators.shrinkage import SHRINKAGES, Shrinkage
from kwis.estimators.traits import Circumstances, careful
from kwis.estimators.vis import VIS
from kwis.estimators.wis import WIS
from kwis.results import Verdict
from kwis.sample import WeightedSample
from kwis.typing import Floats

_EPSILON = float(np.finfo(np.float64).eps)
STRENGTHS = 12
"""How many parameters are tried where one is chosen, beside none at all."""


@dataclass(frozen=True, slots=True)
class ShrunkenIS(RuleEstimator):
    """Mean of ``v_i r_i`` with ``v`` the shrunken weights, or ``sum v_i r_i / sum v_i``.

    Best as the weighting of :class:`kwis.DoublyRobust`, where what shrinkage takes away is left to the reward
    model; alone, the plain form is pulled towards 0 and the normalised one towards the mean of the log.

    Parameters
    ----------
    shrinkage
        ``"clipping"``, ``"switch"``, ``"shrinkage"``, ``"sub-gaussian"``, ``"power-mean"``,
        ``"implicit-exploration"`` or ``"logarithmic-smoothing"``: see :mod:`kwis.estimators.shrinkage`.
    parameter
        A number, or how to choose it from the sample, on every resample anew: ``"slope"`` or ``"mse"``, see
        :mod:`kwis.estimators.tuning`. Influence values take a chosen parameter as given.
    normalised
        Divide by the sum of the shrunken weights.

    See Also
    --------
    kwis.DoublyRobust : takes it as a weighting.
    kwis.TruncatedVIS : a cap known beforehand.
    kwis.LogSumExp : shrinks terms instead of weights.

    Examples
    --------
    >>> sample = kwis.WeightedSample(
    ...     context=[[0.0], [0.0], [1.0]], weight=[2.0, 1.0, 0.5], reward=[1.0, 0.0, 1.0]
    ... )
    >>> round(kwis.ShrunkenIS("clipping", 1.5).estimate(sample).value, 3)
    0.667
    """

    shrinks: ClassVar[bool] = True

    shrinkage: str
    parameter: float | str = "slope"
    normalised: bool = False

    def __post_init__(self) -> None:
        check.one_of(self.shrinkage, "shrinkage", tuple(SHRINKAGES))
        if isinstance(self.parameter, str):
            check.one_of(self.parameter, "parameter", tuning.RULES)
            return
        number, most = check.positive(self.parameter, "parameter"), self.rule.most
        if number > most:
            raise InputError(f"`parameter` must be at most {most:g} for {self.shrinkage}, got {number:g}")
        object.__setattr__(self, "parameter", number)

    @property
    def rule(self) -> Shrinkage:
        """How weights are shrunk."""
        return SHRINKAGES[self.shrinkage]

    @property
    def name(self) -> str:
        """Its name in results and messages."""
        chosen = "-mse" if self.parameter == "mse" else ""
        return f"{'normalised-' if self.normalised else ''}{self.shrinkage}{chosen}"

    @property
    def sentence(self) -> str:
        """What it is."""
        kind = "wis" if self.normalised else "vis"
        how = {"slope": ", chosen by SLOPE", "mse": ", chosen by the estimated mean squared error"}
        return f"{kind} with shrunken weights: {self.rule.sentence}{how.get(str(self.parameter), '')}"

    @property
    def doubly_robust_aliases(self) -> tuple[str, ...]:
        """Names in the field of the doubly robust estimator that weights residuals so."""
        return self.rule.aliases if self.parameter == "slope" and not self.normalised else ()

    @property
    def settings(self) -> Mapping[str, Any]:
        """The parameter."""
        return {"parameter": self.parameter}

    def caveats(self, circumstances: Circumstances) -> Iterable[Verdict]:
        """It is biased on purpose."""
        yield careful(
            f"{circumstances.estimate.name} shrinks large weights, which biases it; its interval allows "
            f"for as much bias as the log would not show"
        )

    def bias_reference(self) -> VIS | WIS:
        """The same with the weights as they are."""
        return WIS() if self.normalised else VIS()

    def applied(self, sample: WeightedSample, counts: Floats) -> Applied:
        """The shrunken weights."""
        weight = sample.weight[:, None]
        if not isinstance(self.parameter, str):
            return Applied(self._shrunken(weight, np.array([self.parameter])))
        parameters = self._parameters(weight, counts)
        found = ParameterTrials(sample, counts, self.normalised)
        for parameter in parameters:
            found.add(self._shrunken(weight, parameter))
        best = tuning.choose(self.parameter, *found.summary)
        chosen = np.take_along_axis(np.asarray(parameters), best[None], axis=0)[0]
        return Applied(self._shrunken(weight, chosen))

    def _shrunken(self, weight: Floats, parameter: Floats) -> Floats:
        """Shrunken weights; a parameter of ``nan`` stands for no shrinkage."""
        none = np.isnan(parameter)
        return np.where(none, weight, self.rule.shrunken(weight, np.where(none, 1.0, parameter)))

    def _parameters(self, weight: Floats, counts: Floats) -> list[Floats]:
        """No shrinkage, then parameters from thresholds between the largest weight drawn and 1."""
        largest = np.where(counts > 0, weight, 0.0).max(axis=0)
        logs = np.log(np.clip(largest, math.e**1e-6, 1e300))
        powers = np.linspace(1, 0, STRENGTHS)
        nothing = np.full(counts.shape[1], np.nan)
        found = [self.rule.parameter_at(np.exp(power * logs), np.exp(logs)) for power in powers]
        return [nothing, *(np.where(largest > 1, parameter, np.nan) for parameter in found)]


class ParameterTrials:
    """Estimates and their errors as the shrinkage grows, on B resamples; infinite where no weight is left."""

    def __init__(self, sample: WeightedSample, counts: Floats, normalised: bool) -> None:
        # Rewards and weights of ordinary size, so that squares stay in range; the choice ignores both scales.
        self.reward = np.ldexp(sample.reward, -int(np.frexp(np.abs(sample.reward).max())[1]))[:, None]
        self.scale = -int(np.frexp(max(float(sample.weight.max()), 1e-300))[1])
        self.counts, self.total, self.normalised = counts, counts.sum(axis=0), normalised
        self.first: Floats | None = None
        self.values: list[Floats] = []
        self.errors: list[Floats] = []
        self.apart: list[Floats] = []

    def add(self, weight: Floats) -> None:
        weight = np.ldexp(weight, self.scale)
        load = np.einsum("ib,ib->b", self.counts, np.broadcast_to(weight, self.counts.shape))
        top = np.einsum("ib,ib->b", self.counts, weight * self.reward)
        divisor = np.where(load > 0, load, 1.0) if self.normalised else self.total
        value = np.where(load > 0, top / divisor, np.inf) if self.normalised else top / divisor
        terms = weight * (self.reward - value if self.normalised else self.reward) * (self.total / divisor)
        if (
            self.normalised
        ):  # a heavy row draws the estimate to itself: what counts is how far it moves left out
            rest = np.maximum(1 - weight / divisor, _EPSILON)
            terms = np.where(np.isfinite(value), terms / rest, 0.0)
        else:
            terms = terms - value
        self.first = terms if self.first is None else self.first
        self.values.append(value)
        self.errors.append(self._error(terms))
        self.apart.append(self._error(terms - self.first))

    def _error(self, terms: Floats) -> Floats:
        return np.sqrt(np.einsum("ib,ib->b", self.counts, np.square(terms))) / self.total

    @property
    def summary(self) -> tuple[Floats, Floats, Floats]:
        return np.asarray(self.values), np.asarray(self.errors), np.asarray(self.apart)
