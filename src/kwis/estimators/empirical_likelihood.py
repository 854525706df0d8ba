"""Empirical likelihood: the weights of the rows are those that make the importance weights average to 1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from kwis.errors import InputError
from kwis.estimators.ratio import Applied, RuleEstimator
from kwis.estimators.traits import ALL_ROWS
from kwis.sample import WeightedSample
from kwis.typing import Floats

_STEPS = 200
_CLOSE = 4 * np.finfo(np.float64).eps


@dataclass(frozen=True, slots=True)
class EmpiricalLikelihood(RuleEstimator):
    """``sum q_i w_i r_i / sum q_i w_i`` with the likeliest probabilities q of the rows under which the mean
    weight is 1.

    Importance weights have mean 1 by construction, so a sample whose mean is not 1 holds too many large
    weights, or too few. Of all distributions over the support of the weights with mean 1 the likeliest is
    ``q_i = 1 / (n (1 + t (w_i - 1)))`` with one number t (Kallus and Uehara 2019; Karampatziakis et al.
    2020). Where t is at its limit, the rest of the probability sits at an end of the support that no row
    has; the estimate then divides by what the rows have, as WIS does.

    Parameters
    ----------
    support
        Range of the importance weights. ``(0, inf)`` needs to know nothing: too many large weights are
        discounted, and a sample with too few of them has the estimate of WIS. A known range such as
        ``(0, 1 / p)``, p the smallest propensity, or ``"sample"``, the range of the sample, makes up for
        missing large weights with those there are, which is right with few rows only if the range is.

    See Also
    --------
    kwis.ControlVariate : the same idea in closed form.
    kwis.WIS : does without the mean weight.

    Examples
    --------
    >>> sample = kwis.WeightedSample(
    ...     context=[[0.0], [0.0], [1.0]], weight=[2.0, 1.0, 0.5], reward=[1.0, 0.0, 1.0]
    ... )
    >>> round(kwis.EmpiricalLikelihood().estimate(sample).value, 3)
    0.667
    """

    name: ClassVar[str] = "empirical-likelihood"
    aliases: ClassVar[tuple[str, ...]] = ("el",)
    sentence: ClassVar[str] = (
        "weighted mean of the rewards: large weights are discounted until the weights average to 1"
    )
    normalised: ClassVar[bool] = True
    normalised_over: ClassVar[str] = ALL_ROWS

    support: Any = (0.0, np.inf)

    def __post_init__(self) -> None:
        if isinstance(self.support, str):
            if self.support != "sample":
                raise InputError(f'`support` must be a pair (low, high) or "sample", got {self.support!r}')
            return
        ends = np.asarray(self.support)
        if ends.shape != (2,) or ends.dtype.kind not in "iuf" or not 0 <= ends[0] < 1 < ends[1]:
            raise InputError(
                f"`support` must be a pair (low, high) with 0 <= low < 1 < high, got {self.support!r}"
            )
        object.__setattr__(self, "support", (float(ends[0]), float(ends[1])))

    def applied(self, sample: WeightedSample, counts: Floats) -> Applied:
        """``w / (1 + t (w - 1))``; t depends on all rows, so the weight of each reacts to every other."""
        weight = sample.weight[:, None]
        low, high = self._limits(weight, counts)
        tilt, free = _tilt(weight, counts, low, high)
        excess = _excess(weight, tilt)
        spread = np.einsum("ib,ib->b", counts, np.square(excess))
        pull = np.divide(free, spread, out=np.zeros_like(spread), where=spread > 0)

        def reaction(terms: Floats) -> Floats:
            return -excess * (pull * np.einsum("ib,ib->b", terms, np.broadcast_to(excess, terms.shape)))

        drawn = (weight > 0) & (counts > 0)
        applied = np.divide(weight, 1 + tilt * (weight - 1), out=np.zeros(drawn.shape), where=drawn)
        return Applied(applied, reaction)

    def _limits(self, weight: Floats, counts: Floats) -> tuple[Floats, Floats]:
        """Range (B,) of t in which every weight of the support has a probability."""
        if isinstance(self.support, str):
            drawn = np.where(counts > 0, weight, np.nan)
            least = np.fmin.reduce(drawn, axis=0)
            most = np.fmax.reduce(drawn, axis=0)
        else:
            least, most = (np.full(counts.shape[1], end) for end in self.support)
            outside = (weight < least[0]) | (weight > most[0])
            if outside.any():
                row = int(np.argmax(outside[:, 0]))
                raise InputError(
                    f"`support` must hold for every `weight`, got {weight[row, 0]} outside "
                    f"[{least[0]}, {most[0]}] at row {row}"
                )
        return (
            np.where(most > 1, -1 / (most - 1), 0.0),
            np.where(least < 1, 1 / (1 - least), 0.0),
        )


def _excess(weight: Floats, tilt: Floats) -> Floats:
    """``(w - 1) / (1 + t (w - 1))``, whose mean is 0 at the likeliest t; 0 where the denominator is not
    positive, which is the case of rows that were not drawn only.
    """
    shifted = weight - 1
    below = 1 + tilt * shifted
    return np.divide(shifted, below, out=np.zeros(below.shape), where=below > 0)


def _tilt(weight: Floats, counts: Floats, low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """The likeliest t (B,) between its limits, and 1.0 where it lies between them, 0.0 where at one of them.

    The mean excess falls with t: Newton's steps, and halves of the range that is left where they leave it.
    """
    low, high = low.copy(), high.copy()
    ends = low.copy(), high.copy()
    tilt = np.clip(0.0, low, high)
    for _ in range(_STEPS):
        excess = _excess(weight, tilt)
        mean = np.einsum("ib,ib->b", counts, excess)
        slope = np.einsum("ib,ib->b", counts, np.square(excess))
        low, high = np.where(mean > 0, tilt, low), np.where(mean < 0, tilt, high)
        step = tilt + np.divide(mean, slope, out=np.zeros_like(mean), where=slope > 0)
        inside = (step > low) & (step < high)
        following = np.where(mean == 0, tilt, np.where(inside, step, (low + high) / 2))
        done = np.abs(following - tilt) <= _CLOSE * np.abs(tilt)
        tilt = following
        if done.all():
            break
    at_end = (np.abs(tilt - ends[0]) <= _CLOSE * np.abs(ends[0])) | (
        np.abs(tilt - ends[1]) <= _CLOSE * np.abs(ends[1])
    )
    return tilt, np.where(at_end, 0.0, 1.0)
