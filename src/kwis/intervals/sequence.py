"""Confidence sequences: intervals that hold together at every look at a log that grows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from kwis import _validation as check
from kwis.errors import InputError
from kwis.estimators.protocol import Estimator, S
from kwis.intervals.independent import refuse_dependent_terms
from kwis.intervals.wealth import Wealth, falling_scales, log_capital, refuted_below
from kwis.results import Interval
from kwis.typing import ArrayLike, Floats, Seed

METHOD = "betting-sequence"


@dataclass(frozen=True, slots=True)
class BettingSequence:
    """Interval for the value that may be looked at after every row, and acted upon, without losing its level.

    Bets against every value that is too low are placed on the gains ``w (r - low)``, and against those too
    high on the losses ``w (high - r)``; values whose bets have won ``2 / (1 - level)`` times their stake are
    left out (Waudby-Smith et al. 2022; the bets are a fixed mixture, so that rows may come in any order and
    in parts). An ordinary interval that is looked at again and again leaves out the truth sooner or later.

    It takes the propensities to be right and needs no bound on the weights. On one look it is the interval of
    :class:`kwis.LogarithmicSmoothing`.

    Parameters
    ----------
    bounds
        Range of the rewards, known beforehand.
    largest_weight
        What no weight can exceed, known beforehand: the inverse of the smallest propensity. With it the
        interval also bets on gains and losses that are smaller than claimed, which makes it much narrower
        where rewards are rare, or nearly always the same.
    """

    bounds: Any = (0.0, 1.0)
    largest_weight: float | None = None

    def __post_init__(self) -> None:
        check.reward_range(self.bounds)
        if self.largest_weight is not None:
            object.__setattr__(self, "largest_weight", check.positive(self.largest_weight, "largest_weight"))

    def start(self) -> SequenceState:
        """The sequence before the first row."""
        low, high = (float(end) for end in self.bounds)
        return SequenceState.of(np.empty(0), np.empty(0), low, high, self.largest_weight)

    def interval(self, estimator: Estimator[S], sample: S, level: float = 0.95, rng: Seed = 0) -> Interval:
        """Interval after the rows of the sample, around the value of VIS; ``rng`` is not used."""
        check.generator(rng)
        refuse_dependent_terms(estimator, sample, "a betting sequence")
        rows: Any = sample
        return self.start().add(rows.weight, rows.reward).interval(level)

    @property
    def description(self) -> str:
        """The method in words."""
        return "confidence sequence (betting), which holds at every look"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SequenceState:
    """A confidence sequence after some rows: small, can be stored, continued and added to another.

    ``gains`` and ``losses`` are bets on more than claimed, ``few_gains`` and ``few_losses`` on less.
    """

    low: float
    high: float
    largest_weight: float | None
    total: float
    gains: Wealth
    losses: Wealth
    few_gains: Wealth | None
    few_losses: Wealth | None

    @classmethod
    def of(
        cls, weight: Floats, reward: Floats, low: float, high: float, largest: float | None
    ) -> SequenceState:
        """The state after some rows alone."""
        gains, losses = (weight * (part / (high - low)) for part in (reward - low, high - reward))
        scales = None if largest is None else falling_scales(largest)
        return cls(
            low=low,
            high=high,
            largest_weight=largest,
            total=float(weight @ reward),
            gains=Wealth.of(gains),
            losses=Wealth.of(losses),
            few_gains=None if scales is None else Wealth.of(gains, scales),
            few_losses=None if scales is None else Wealth.of(losses, scales),
        )

    @property
    def n(self) -> int:
        """Rows so far."""
        return self.gains.n

    def add(self, weight: ArrayLike, reward: ArrayLike) -> SequenceState:
        """The sequence after further rows."""
        w = check.weights(weight, "weight", np.size(weight))
        r = check.column(reward, "reward", w.size, like="weight")
        check.rewards_within(r, self.low, self.high)
        if self.largest_weight is not None and (w > self.largest_weight).any():
            row = int(np.argmax(w > self.largest_weight))
            raise InputError(
                f"`largest_weight` must hold for every `weight`, got {w[row]} above {self.largest_weight:g} "
                f"at row {row}"
            )
        return self + SequenceState.of(w, r, self.low, self.high, self.largest_weight)

    def __add__(self, other: SequenceState) -> SequenceState:
        """The sequence after the rows of both, which are different ones."""
        mine, theirs = ((one.low, one.high, one.largest_weight) for one in (self, other))
        if mine != theirs:
            raise InputError(
                f"`bounds` and `largest_weight` must be the same in both, got {mine} and {theirs}"
            )
        return SequenceState(
            low=self.low,
            high=self.high,
            largest_weight=self.largest_weight,
            total=self.total + other.total,
            gains=self.gains + other.gains,
            losses=self.losses + other.losses,
            few_gains=_both(self.few_gains, other.few_gains),
            few_losses=_both(self.few_losses, other.few_losses),
        )

    def refutes(self, value: float, level: float = 0.95) -> bool:
        """Whether the interval at this look leaves a value out."""
        log_chance, share = math.log(2 / (1 - level)), (value - self.low) / (self.high - self.low)
        return self._against_low(share) > log_chance or self._against_high(1 - share) > log_chance

    def interval(self, level: float = 0.95) -> Interval:
        """Interval at this look; with all others it holds with probability ``level`` at least."""
        log_chance = math.log(2 / (1 - check.level(level)))
        span = self.high - self.low
        ends = (
            self.low + span * refuted_below(self._against_low, log_chance),
            self.high - span * refuted_below(self._against_high, log_chance),
        )
        value = self.total / self.n if self.n else math.nan
        return Interval(low=min(ends), high=max(ends), level=level, value=value, method=METHOD)

    def _against_low(self, share: float) -> float:
        """Capital against a value of ``share`` of the range or less: more gains, or fewer losses."""
        return _capital(self.gains, self.few_losses, share)

    def _against_high(self, rest: float) -> float:
        """Capital against a value that is ``rest`` of the range below its high end, or less."""
        return _capital(self.losses, self.few_gains, rest)


def _capital(more: Wealth, fewer: Wealth | None, share: float) -> float:
    capital = more.log_capital(share)
    return capital if fewer is None else log_capital(capital, fewer.log_capital(1 - share))


def _both(first: Wealth | None, second: Wealth | None) -> Wealth | None:
    return None if first is None or second is None else first + second
