"""Confidence sequences: intervals that hold together at every look at a log that grows."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kwis import _validation as check
from kwis.errors import InputError
from kwis.estimators.protocol import Estimator, S
from kwis.intervals.centred import EDGES, Centred, log_part, mirrored, nearest
from kwis.intervals.independent import refuse_dependent_terms
from kwis.intervals.wealth import Wealth, refuted_below
from kwis.results import Interval
from kwis.typing import ArrayLike, Floats, Seed

METHOD = "betting-sequence"
Capital = Callable[[float], float]
"""From a mean to the logarithm of what bets against it, or against less, have made of all stakes."""
_FOR_REWARDS = 0.05
"""Part of the error of a difference that the mean reward of the logging policy may have."""


@dataclass(frozen=True, slots=True)
class BettingSequence:
    """Interval for the value that may be looked at after every row, and acted upon, without losing its level.

    Bets against every value that is too low are placed on the gains ``w (r - low)``, and against those too
    high on the losses ``w (high - r)``; values are left out once the bets on either side have won ``1 / (1 -
    level)`` times the stake of both (Waudby-Smith et al. 2022; the bets are a fixed mixture, so that rows may
    come in any order and in parts). An ordinary interval that is looked at again and again leaves out the
    truth sooner or later.

    It takes the propensities to be right and needs no bound on the weights. On one look it is the interval of
    :class:`kwis.LogarithmicSmoothing`.

    Parameters
    ----------
    bounds
        Range of the rewards, known beforehand.
    largest_weight
        What no weight can exceed, known beforehand: the inverse of the smallest propensity. With it bets are
        on rewards less a guess of them (:mod:`kwis.intervals.centred`), which vary as little as WIS does: the
        interval is a good deal narrower.

    See Also
    --------
    kwis.watch : follows a growing log with it.
    kwis.LogarithmicSmoothing : for a single look.

    Examples
    --------
    >>> sample = kwis.WeightedSample(
    ...     context=[[0.0]] * 120, weight=[2.0, 1.0, 0.5] * 40, reward=[1.0, 0.0, 1.0] * 40
    ... )
    >>> kwis.BettingSequence().interval(kwis.VIS(), sample, level=0.95)
    Interval([0.582914, 0.802519], level=0.95, betting-sequence)
    """

    bounds: Any = (0.0, 1.0)
    largest_weight: float | None = None

    def __post_init__(self) -> None:
        check.reward_range(self.bounds)
        if self.largest_weight is not None:
            largest = check.positive(self.largest_weight, "largest_weight")
            if largest < 1:
                raise InputError(
                    f"`largest_weight` must be at least 1, which is what weights average, got {largest:g}"
                )
            object.__setattr__(self, "largest_weight", largest)

    def start(self, *, difference: bool = False) -> SequenceState:
        """The sequence before the first row: of the value, or of its difference to the logging policy's."""
        low, high = (float(end) for end in self.bounds)
        nothing = np.empty(0)
        return SequenceState.of(nothing, nothing, low, high, self.largest_weight, difference=difference)

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

    ``gains`` are bets on more than claimed, ``losses`` on less. With ``difference`` they are about the
    difference d of the target to the logging policy: with s the share of the range that a reward makes up,
    gains ``w s + (1 - s)`` have mean ``1 + d`` and losses ``w (1 - s) + s`` have mean ``1 - d``, in units of
    the range. Which guess of the rewards is best for a difference depends on their mean under the logging
    policy, of which ``rewards`` is the sequence: a difference is refuted if it is for every guess that the
    mean allows.
    """

    low: float
    high: float
    largest_weight: float | None
    difference: bool
    total: float
    gains: Wealth | Centred
    losses: Wealth | Centred
    rewards: SequenceState | None

    @classmethod
    def of(
        cls,
        weight: Floats,
        reward: Floats,
        low: float,
        high: float,
        largest: float | None,
        *,
        difference: bool,
    ) -> SequenceState:
        """The state after some rows alone."""
        share, rest = ((part / (high - low)) for part in (reward - low, high - reward))
        rewards = None
        gains: Wealth | Centred
        losses: Wealth | Centred
        if largest is None:
            gains, losses = (
                Wealth.of(weight * part + other if difference else weight * part)
                for part, other in ((share, rest), (rest, share))
            )
        else:
            gains, losses = (
                Centred.of(weight, part, largest, difference=difference) for part in (share, rest)
            )
            if difference:
                rewards = cls.of(np.ones(len(reward)), reward, low, high, 1.0, difference=False)
        return cls(
            low=low,
            high=high,
            largest_weight=largest,
            difference=difference,
            total=float((weight - 1.0 if difference else weight) @ reward),
            gains=gains,
            losses=losses,
            rewards=rewards,
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
        return self + SequenceState.of(
            w, r, self.low, self.high, self.largest_weight, difference=self.difference
        )

    def __add__(self, other: SequenceState) -> SequenceState:
        """The sequence after the rows of both, which are different ones."""
        mine, theirs = ((one.low, one.high, one.largest_weight, one.difference) for one in (self, other))
        if mine != theirs:
            raise InputError(
                f"`bounds`, `largest_weight` and `difference` must be the same in both, got {mine} and "
                f"{theirs}"
            )
        return replace(
            self,
            total=self.total + other.total,
            gains=self.gains + other.gains,  # type: ignore[operator]
            losses=self.losses + other.losses,  # type: ignore[operator]
            rewards=self.rewards and other.rewards and self.rewards + other.rewards,
        )

    def refutes(self, value: float, level: float = 0.95) -> bool:
        """Whether the interval at this look leaves a value out."""
        log_chance = math.log(1 / (1 - level))
        first, last = self._range
        span = self.high - self.low
        return any(
            capital(distance / span) > log_chance
            for capital, distance in zip(self._capitals(level), (value - first, last - value), strict=True)
        )

    def interval(self, level: float = 0.95) -> Interval:
        """Interval at this look; with all others it holds with probability ``level`` at least."""
        log_chance = math.log(1 / (1 - check.level(level)))
        (first, last), span = self._range, self.high - self.low
        below, above = (
            span * refuted_below(capital, log_chance, 2.0 if self.difference else 1.0, self._edges)
            for capital in self._capitals(level)
        )
        ends = first + below, last - above
        value = self.total / self.n if self.n else math.nan
        return Interval(low=min(ends), high=max(ends), level=level, value=value, method=METHOD)

    @property
    def _edges(self) -> Sequence[float]:
        """Shares of the range at which stakes are split in another way."""
        return () if self.difference or isinstance(self.gains, Wealth) else EDGES.tolist()

    @property
    def _range(self) -> tuple[float, float]:
        """Between which numbers the value, or the difference, is."""
        span = self.high - self.low
        return (-span, span) if self.difference else (self.low, self.high)

    def _capitals(self, level: float) -> tuple[Capital, Capital]:
        """Capital against means of gains, and of losses, from stakes of 1 on both together."""
        gains, losses = self.gains, self.losses
        if isinstance(gains, Wealth) or isinstance(losses, Wealth):
            return _half(gains), _half(losses)
        if self.rewards is None:
            return _nearest(gains), _nearest(losses)
        guesses = self._guesses(self.rewards, level)
        return _all_of(gains, guesses), _all_of(losses, [mirrored(guess) for guess in guesses])

    def _guesses(self, rewards: SequenceState, level: float) -> list[int]:
        """Numbers of the guesses that are nearest to a mean reward of the logging policy that its sequence
        allows: a claim at the far end of those nearest to a guess is refuted last.
        """
        log_chance = -math.log(_FOR_REWARDS * (1 - level))
        against_low, against_high = rewards._capitals(level)
        ends = [*EDGES.tolist(), 1.0]
        allowed = [
            guess
            for guess, end in enumerate(ends)
            if against_low(end) <= log_chance and against_high(ends[mirrored(guess)]) <= log_chance
        ]
        return allowed or list(range(len(ends)))


def _half(bets: Any) -> Capital:
    return lambda mean: bets.log_capital(mean) - math.log(2)


def _nearest(bets: Centred) -> Capital:
    """Bets around the guess nearest to the claim."""

    def capital(mean: float) -> float:
        guess = nearest(mean)
        return bets.log_capital(mean, guess) + log_part(guess)

    return capital


def _all_of(bets: Centred, guesses: Sequence[int]) -> Capital:
    """The least that bets around one of the guesses have made, of what is left for the difference."""
    left = math.log(1 - _FOR_REWARDS)
    return lambda mean: left + min(bets.log_capital(mean, guess) + log_part(guess) for guess in guesses)
