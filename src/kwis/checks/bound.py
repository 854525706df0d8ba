"""What the two distributions say about weights beyond those that were drawn: whether they have a bound, and
how far they spread.

Weights with a known upper bound have no tail. Either of two things shows it:

- the smallest propensity belongs to several decisions, as with an epsilon-greedy or uniform logger, with
  clipped or rounded propensities and with few contexts: a floor, and no weight is above its inverse;
- the largest ratio of the two distributions over all rows and actions is known and the largest weight is near
  it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kwis.data.log import LoggedBandit
from kwis.models.propensity.check import known_distribution
from kwis.policy.discrete import TargetPolicy, weigh
from kwis.sample import safe_ratio
from kwis.typing import Floats, Ints

_SHARED_BY = 3
_NEAR = 3.0
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Floor:
    """The smallest propensity, and the first few of the decisions that have it."""

    smallest: float = np.inf
    draws: tuple[int, ...] = ()

    @classmethod
    def of(cls, propensity: Floats, draw: Ints) -> Floor:
        """Of some rows; those of one ``draw`` are one decision."""
        smallest = float(propensity.min())
        return cls(smallest, _few(np.unique(draw[propensity <= smallest * (1 + _ROUNDING)]).tolist()))

    @property
    def shared(self) -> bool:
        """Whether it is a floor rather than one small number among others."""
        return len(self.draws) >= _SHARED_BY


def _few(draws: list[int]) -> tuple[int, ...]:
    return tuple(draws[:_SHARED_BY])


def least_positive(chances: Floats) -> Floats:
    """``(n,)`` smallest probability above 0 of each row of ``(n, K)``."""
    return np.where(chances > 0, chances, np.inf).min(axis=1)


def is_bounded(floor: Floor, ceiling: float, largest: float) -> bool:
    """Whether weights are bounded, by the floor of the propensities or by the largest possible weight being
    near the largest one seen.
    """
    return floor.shared or ceiling <= _NEAR * largest


def has_bounded_weights(log: LoggedBandit, target: TargetPolicy) -> bool:
    """Whether the weights of a target on a log have a bound that is known."""
    if log.propensity is None:
        return False
    whole, evaluated = _both(log, target)
    floor = Floor.of(
        log.propensity if whole is None else least_positive(whole),
        np.arange(len(log)) if log.group is None else log.group,
    )
    ceiling = np.inf
    if whole is not None and evaluated is not None:
        ceiling = float(safe_ratio(np.where(whole > 0, evaluated, 0.0), whole).max())
    return is_bounded(floor, ceiling, float(weigh(log, target).weight.max()))


def _both(log: LoggedBandit, target: TargetPolicy) -> tuple[Floats | None, Floats | None]:
    """Distributions of the logger and the target over what weights are over: actions, or their features."""
    logging, evaluated = known_distribution(log), target.distribution
    return (
        None if logging is None else target.over(logging),
        None if evaluated is None else target.over(evaluated),
    )


def expected_effective_n(log: LoggedBandit, target: TargetPolicy) -> float:
    """Effective number of rows that logs of these contexts have on average: ``(sum m)^2 / sum m^2 E[w^2]``,
    ``m`` the mass of a row.

    ``E[w^2 | s] = sum_a pi(a|s)^2 / p(a|s)`` is known with both distributions. A log that happens not to hold
    the rare large weights looks better than it is. Infinite where either distribution is not known, and with
    groups, whose rows are no draws of their own.
    """
    whole, evaluated = _both(log, target)
    if whole is None or evaluated is None or log.group is not None:
        return np.inf
    squares = safe_ratio(np.where(whole > 0, evaluated, 0.0) ** 2, whole).sum(axis=1)
    mass = np.ones(len(log)) if log.row_weight is None else log.row_weight / log.row_weight.max()
    return float(mass.sum() ** 2 / max(float(mass**2 @ squares), 1e-300))
