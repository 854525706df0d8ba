"""The log-sum-exponential estimator."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from kwis import _validation as check
from kwis._validation import read_only
from kwis.errors import InputError
from kwis.estimators import tuning
from kwis.estimators.protocol import Resamples
from kwis.estimators.ratio import leverage
from kwis.estimators.traits import Circumstances, careful
from kwis.estimators.vis import VIS
from kwis.results import Estimate, Verdict
from kwis.sample import WeightedSample, effective_size
from kwis.stats.influence import standard_error
from kwis.typing import Floats

STRENGTHS = 12


@dataclass(frozen=True, slots=True)
class LogSumExp:
    """``-log(mean(exp(-l w_i r_i))) / l``: a mean of the terms that large ones hardly move (Behnamnia et al.
    2025).

    Gains and losses are averaged apart, so that it shrinks both towards 0: with ``x = w r`` it is the form
    above of ``max(x, 0)`` less that of ``max(-x, 0)``.

    Parameters
    ----------
    parameter
        l, a number; or how to choose it from the sample, on every resample anew: ``"slope"`` or ``"mse"``,
        see :mod:`kwis.estimators.tuning`. Influence values take a chosen parameter as given.

    See Also
    --------
    kwis.ShrunkenIS : shrinks weights instead of terms.
    kwis.VIS : the limit of ``parameter`` 0.

    Examples
    --------
    >>> sample = kwis.WeightedSample(
    ...     context=[[0.0], [0.0], [1.0]], weight=[2.0, 1.0, 0.5], reward=[1.0, 0.0, 1.0]
    ... )
    >>> round(kwis.LogSumExp(0.5).estimate(sample).value, 3)
    0.669
    """

    sentence: ClassVar[str] = (
        "soft minimum of the terms reward times weight, near their mean, which large terms hardly move"
    )
    shrinks: ClassVar[bool] = True
    doubly_robust_aliases: ClassVar[tuple[str, ...]] = ()

    parameter: float | str = "slope"

    def __post_init__(self) -> None:
        if isinstance(self.parameter, str):
            check.one_of(self.parameter, "parameter", tuning.RULES)
        else:
            object.__setattr__(self, "parameter", check.positive(self.parameter, "parameter"))

    @property
    def name(self) -> str:
        """Its name in results and messages."""
        return "log-sum-exponential-mse" if self.parameter == "mse" else "log-sum-exponential"

    @property
    def aliases(self) -> tuple[str, ...]:
        """Other names of it in the field."""
        return ("lse",) if self.parameter == "slope" else ()

    @property
    def settings(self) -> Mapping[str, Any]:
        """The parameter."""
        return {"parameter": self.parameter}

    def caveats(self, circumstances: Circumstances) -> Iterable[Verdict]:
        """It is biased on purpose."""
        yield careful(
            f"{circumstances.estimate.name} shrinks large terms, which biases it; its interval allows "
            f"for as much bias as the log would not show"
        )

    def bias_reference(self) -> VIS:
        """The mean of the terms."""
        return VIS()

    def estimate(self, sample: WeightedSample) -> Estimate:
        """Value of the policy, 0 if every weight is 0."""
        found = self.resampled(sample, np.ones((sample.n, 1)), influence=True)
        value = float(found.values[0])
        if not np.isfinite(value):
            raise InputError(f"`weight` times `reward` must have a finite sum for {self.name}, got {value}")
        assert found.influence is not None
        influence = read_only(found.influence[:, 0])
        weight = sample.weight
        total = float(weight.sum() if sample.mass is None else weight @ sample.mass)
        return Estimate(
            name=self.name,
            value=value,
            n=sample.n,
            std_error=standard_error(influence, sample.group),
            effective_n=effective_size(weight, sample.mass),
            mean_weight=total / (sample.n if sample.mass is None else float(sample.mass.sum())),
            influence=influence,
            leverage=leverage(np.ones(sample.n), sample.mass),
        )

    def resampled(self, sample: WeightedSample, counts: Floats, *, influence: bool = False) -> Resamples:
        """The same on resamples with the given counts (n, B)."""
        counted = counts if sample.mass is None else counts * sample.mass[:, None]
        with np.errstate(all="ignore"):
            terms = (sample.weight * sample.reward)[:, None]
            found = _soft_mean(terms, counted, self._parameter(terms, counted))
            if not influence:
                return Resamples(found[0])
            effect = found[1] * (counts.sum(axis=0) / counted.sum(axis=0))
            if sample.mass is not None:
                effect *= sample.mass[:, None]
            return Resamples(found[0], np.where(counts > 0, effect, 0.0))

    def _parameter(self, terms: Floats, counted: Floats) -> Floats:
        if not isinstance(self.parameter, str):
            return np.full(counted.shape[1], self.parameter)
        largest = np.where(counted > 0, np.abs(terms), 0.0).max(axis=0)
        largest = np.where((largest > 0) & np.isfinite(largest), largest, 1.0)
        typical = np.einsum("ib,i->b", counted, np.abs(terms[:, 0])) / counted.sum(axis=0)
        typical = np.where((typical > 0) & np.isfinite(typical), typical, largest)
        # From hardly any shrinkage of the largest term to some of ordinary ones.
        ends = np.log(1e-3 / largest), np.log(1 / typical)
        parameters = [np.exp(ends[0] + share * (ends[1] - ends[0])) for share in np.linspace(0, 1, STRENGTHS)]
        found = [_soft_mean(terms, counted, parameter) for parameter in parameters]
        total = counted.sum(axis=0)

        def error(effect: Floats) -> Floats:
            return largest * np.sqrt(np.einsum("ib,ib->b", counted, np.square(effect / largest))) / total

        best = tuning.choose(
            self.parameter,
            np.asarray([value for value, _ in found]) / largest,
            np.asarray([error(effect) for _, effect in found]) / largest,
            np.asarray([error(effect - found[0][1]) for _, effect in found]) / largest,
        )
        return np.take_along_axis(np.asarray(parameters), best[None], axis=0)[0]


def _soft_mean(terms: Floats, counted: Floats, parameter: Floats) -> tuple[Floats, Floats]:
    """Values (B,) and the derivative of each with respect to the count of each row, times the total count."""
    value, effect = np.zeros(counted.shape[1]), np.zeros(counted.shape)
    total = counted.sum(axis=0)
    for sign in (1.0, -1.0):
        part = np.maximum(sign * terms, 0.0)
        # Measured from the smallest term drawn, the logarithm is never that of 0.
        least = np.where(counted > 0, part, np.inf).min(axis=0)
        short = -np.expm1(-parameter * np.maximum(part - least, 0.0))
        mean = np.einsum("ib,ib->b", counted, short) / total
        value += sign * (least - np.log1p(-mean) / parameter)
        effect += sign * (short - mean) / ((1 - mean) * parameter)
    return value, effect
