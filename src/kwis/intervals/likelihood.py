"""The interval of empirical likelihood: values that the rows make likely enough."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from kwis import _validation as check
from kwis.errors import UnsupportedError
from kwis.estimators.empirical_likelihood import EmpiricalLikelihood
from kwis.estimators.protocol import Estimator, S
from kwis.results import Interval
from kwis.sample import WeightedSample, effective_size
from kwis.stats.influence import draw_sums
from kwis.typing import Floats, Seed

_STEPS, _HALVINGS = 60, 50
_CLOSE = 1e-6


@dataclass(frozen=True, slots=True)
class LikelihoodInterval:
    """Values v for which some probabilities of the rows give importance weights the mean 1 and rewards the
    mean v, and are not much less likely than the likeliest that do the former.

    Twice the logarithm of that ratio of likelihoods has a chi-squared distribution with one degree of freedom
    in large samples (Qin and Lawless 1994; for weights Kallus and Uehara 2019, Karampatziakis et al. 2020).
    Its quantile is taken as the square of Student's, by the effective number of rows. No standard error is
    estimated: the interval is as skewed as the rows are, and lies within the range of the rewards.

    It is for :class:`kwis.EmpiricalLikelihood` and :class:`kwis.WIS`.

    See Also
    --------
    kwis.EmpiricalLikelihood : the estimate that belongs to it.
    kwis.StudentInterval : for every estimator.

    Examples
    --------
    >>> sample = kwis.WeightedSample(
    ...     context=[[0.0]] * 120, weight=[2.0, 1.0, 0.5] * 40, reward=[1.0, 0.0, 1.0] * 40
    ... )
    >>> kwis.LikelihoodInterval().interval(kwis.EmpiricalLikelihood(), sample, level=0.95)
    Interval([0.578246, 0.747856], level=0.95, empirical-likelihood)
    """

    @property
    def description(self) -> str:
        """The method in words."""
        return "empirical likelihood"

    def interval(self, estimator: Estimator[S], sample: S, level: float = 0.95, rng: Seed = 0) -> Interval:
        """Interval at the given level; ``rng`` is not used."""
        level = check.level(level)
        check.generator(rng)
        rows = _checked(estimator, sample)
        value = estimator.estimate(sample).value
        moments = _Moments.of(rows)
        least, likeliest = moments.likeliest()
        limit = _critical(level, effective_size(rows.weight, rows.mass)) / 2 + least
        taken = rows.reward[rows.weight > 0]
        low, high = (_end(moments.at, likeliest, float(end), limit) for end in (taken.min(), taken.max()))
        return Interval(
            low=min(low, value),
            high=max(high, value),
            level=level,
            value=value,
            method="empirical-likelihood",
        )


def _checked(estimator: Any, sample: Any) -> WeightedSample:
    name = getattr(estimator, "name", type(estimator).__name__)
    if name not in ("wis", EmpiricalLikelihood.name) or not isinstance(sample, WeightedSample):
        raise UnsupportedError(
            f"`estimator` must be empirical-likelihood or wis for an interval of empirical likelihood, got "
            f"{name}"
        )
    check.two_draws(sample.n, sample.group)
    return sample


def _critical(level: float, effective: float) -> float:
    """Square of Student's quantile by the effective number of rows."""
    from scipy.special import stdtrit

    return float(stdtrit(max(effective - 1, 1.0), (1 + level) / 2)) ** 2


@dataclass(frozen=True, slots=True, eq=False)
class _Moments:
    """What has mean 0 of every draw: the weights less 1, and the weighted rewards less a value, which is
    linear in it.
    """

    excess: Floats
    reward: Floats
    weight: Floats

    @classmethod
    def of(cls, sample: WeightedSample) -> _Moments:
        mass = np.ones(sample.n) if sample.mass is None else sample.mass / sample.mass.mean()
        weight = sample.weight * mass
        group = sample.group
        parts = (weight - mass, weight * sample.reward, weight)
        return cls(*(part if group is None else draw_sums(part, group) for part in parts))

    def likeliest(self) -> tuple[float, float]:
        """Minus the logarithm of the ratio for weights of mean 1 alone, and the value that is then
        likeliest.
        """
        found, shares = _ratio(self.excess[:, None])
        if not math.isfinite(found):
            raise UnsupportedError(
                "`weight` must be below 1 in some rows and above 1 in others for an interval of empirical "
                "likelihood"
            )
        return found, float(shares @ self.reward / (shares @ self.weight))

    def at(self, value: float) -> float:
        """The same logarithm for that and the value; infinite where no probabilities give both."""
        return _ratio(np.column_stack([self.excess, self.reward - value * self.weight]))[0]


def _ratio(terms: Floats) -> tuple[float, Floats]:
    """Largest ``sum log(1 + t x)`` over vectors t, which is minus the logarithm of the ratio of likelihoods,
    and the probabilities of the rows up to a factor.

    Newton's steps on a function that goes on beyond where the logarithm ends, so that every step is allowed
    (Owen 2001, section 3.14).
    """
    size = np.abs(terms).max(axis=0)
    terms = terms / np.where(size > 0, size, 1.0)
    n, tilt = len(terms), np.zeros(terms.shape[1])
    best = _objective(terms, tilt, n)
    for _ in range(_STEPS):
        inside = 1 + terms @ tilt
        slope, bend = _derivatives(inside, n)
        gradient = terms.T @ slope
        curvature = (terms * bend[:, None]).T @ terms
        step = np.linalg.lstsq(curvature, gradient, rcond=None)[0]
        share = 1.0
        while share > 1e-8 and _objective(terms, tilt + share * step, n) < best:
            share /= 2
        tilt = tilt + share * step
        after = _objective(terms, tilt, n)
        done, best = after - best <= 1e-13 * max(abs(after), 1.0), after
        if done:
            break
    inside = 1 + terms @ tilt
    shares = 1 / (n * np.maximum(inside, 1 / n))
    # Where no probabilities do, t grows without end and those of the rows no longer sum to 1.
    return best if (inside > 1 / n).all() and abs(shares.sum() - 1) < _CLOSE else math.inf, shares


def _objective(terms: Floats, tilt: Floats, n: int) -> float:
    inside = n * (1 + terms @ tilt)
    low = inside < 1
    safe = np.where(low, 1.0, inside)
    return float(np.where(low, 2 * inside - inside**2 / 2 - 1.5, np.log(safe)).sum() - n * math.log(n))


def _derivatives(inside: Floats, n: int) -> tuple[Floats, Floats]:
    """First derivative and minus the second by ``t x`` of every row."""
    scaled = n * inside
    low = scaled < 1
    safe = np.where(low, 1.0, scaled)
    return n * np.where(low, 2 - scaled, 1 / safe), n**2 * np.where(low, 1.0, 1 / safe**2)


def _end(ratio: Callable[[float], float], value: float, far: float, limit: float) -> float:
    """Where the ratio reaches the limit between the value and an end of the rewards."""
    inside, outside = value, far
    for _ in range(_HALVINGS):
        middle = (inside + outside) / 2
        inside, outside = (middle, outside) if ratio(middle) <= limit else (inside, middle)
    return inside
