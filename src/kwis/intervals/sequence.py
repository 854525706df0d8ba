"""Confidence sequences: intervals that hold together at every look at a log that grows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from kwis import _validation as check
from kwis.errors import InputError
from kwis.estimators.protocol import Estimator, S
from kwis.intervals.centred import EDGES, Centred
from kwis.intervals.independent import refuse_dependent_terms
from kwis.intervals.wealth import Wealth, falling_scales, log_capital, refuted_below
from kwis.results import Interval
from kwis.typing import ArrayLike, Floats, Seed

METHOD = "betting-sequence"
Sums = TypeVar("Sums", Wealth, Centred)


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
        What no weight can exceed, known beforehand: the inverse of the smallest propensity. With it half of
        the stakes are bets on rewards less a guess of them (:mod:`kwis.intervals.centred`), which vary as
        little as WIS does: the interval is a good deal narrower.

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

    ``gains`` and ``losses`` are bets on more than claimed. Where the largest weight is known ``centred`` are
    further bets, and for a difference also ``few_gains`` and ``few_losses``, on less than claimed. With
    ``difference`` they are about the difference d of the target to the logging policy: with
    s the share of the range that a reward makes up, gains ``w s + (1 - s)`` have mean ``1 + d`` and losses
    ``w (1 - s) + s`` have mean ``1 - d``, in units of the range.
    """

    low: float
    high: float
    largest_weight: float | None
    difference: bool
    total: float
    gains: Wealth
    losses: Wealth
    few_gains: Wealth | None
    few_losses: Wealth | None
    centred: Centred | None

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
        gains, losses = (weight * share, weight * rest)
        if difference:
            gains, losses = gains + rest, losses + share
        # Claims go up to a difference of the whole range, a mean of 2, which bets have to survive.
        bound = None if largest is None else max(largest, 2.0) if difference else largest
        scales = None if bound is None or not difference else falling_scales(bound)
        return cls(
            low=low,
            high=high,
            largest_weight=largest,
            difference=difference,
            total=float((weight - 1.0 if difference else weight) @ reward),
            gains=Wealth.of(gains),
            losses=Wealth.of(losses),
            few_gains=None if scales is None else Wealth.of(gains, scales),
            few_losses=None if scales is None else Wealth.of(losses, scales),
            centred=_centred(weight, share, largest, difference=difference),
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
        return SequenceState(
            low=self.low,
            high=self.high,
            largest_weight=self.largest_weight,
            difference=self.difference,
            total=self.total + other.total,
            gains=self.gains + other.gains,
            losses=self.losses + other.losses,
            few_gains=_both(self.few_gains, other.few_gains),
            few_losses=_both(self.few_losses, other.few_losses),
            centred=_both(self.centred, other.centred),
        )

    def refutes(self, value: float, level: float = 0.95) -> bool:
        """Whether the interval at this look leaves a value out."""
        log_chance = math.log(2 / (1 - level))
        first, last = self._range
        share, rest = ((part / (self.high - self.low)) for part in (value - first, last - value))
        return self._against_low(share) > log_chance or self._against_high(rest) > log_chance

    def interval(self, level: float = 0.95) -> Interval:
        """Interval at this look; with all others it holds with probability ``level`` at least."""
        log_chance = math.log(2 / (1 - check.level(level)))
        (first, last), span = self._range, self.high - self.low
        ends = (
            first + span * refuted_below(self._against_low, log_chance, self._whole, self._edges),
            last - span * refuted_below(self._against_high, log_chance, self._whole, self._edges),
        )
        value = self.total / self.n if self.n else math.nan
        return Interval(low=min(ends), high=max(ends), level=level, value=value, method=METHOD)

    @property
    def _whole(self) -> float:
        """What the means of gains and losses add up to."""
        return 2.0 if self.difference else 1.0

    @property
    def _edges(self) -> Sequence[float]:
        """Shares of the range at which other bets take over."""
        return () if self.centred is None or self.difference else EDGES.tolist()

    @property
    def _range(self) -> tuple[float, float]:
        """Between which numbers the value, or the difference, is."""
        span = self.high - self.low
        return (-span, span) if self.difference else (self.low, self.high)

    def _against_low(self, share: float) -> float:
        """Capital against a value of ``share`` of the range or less: more gains, or fewer losses."""
        plain = _capital(self.gains, self.few_losses, share, self._whole)
        return plain if self.centred is None else log_capital(plain, self.centred.against_low(share))

    def _against_high(self, rest: float) -> float:
        """Capital against a value that is ``rest`` of the range below its high end, or less."""
        plain = _capital(self.losses, self.few_gains, rest, self._whole)
        return plain if self.centred is None else log_capital(plain, self.centred.against_high(rest))


def _centred(weight: Floats, share: Floats, largest: float | None, *, difference: bool) -> Centred | None:
    if largest is None:
        return None
    make = Centred.of_difference if difference else Centred.of_value
    return make(weight, share, largest)


def _capital(more: Wealth, fewer: Wealth | None, share: float, whole: float) -> float:
    capital = more.log_capital(share)
    return capital if fewer is None else log_capital(capital, fewer.log_capital(whole - share))


def _both(first: Sums | None, second: Sums | None) -> Sums | None:
    return None if first is None or second is None else first + second
