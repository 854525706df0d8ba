"""Intervals for small samples and heavy weights, from the influence function alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from kwis import _validation as check
from kwis.errors import InputError, UnsupportedError
from kwis.estimators import traits
from kwis.estimators.joint import Contrast
from kwis.estimators.protocol import Estimator, S
from kwis.intervals.tail_ends import tail_ends
from kwis.results import Interval
from kwis.sample import WeightedSample
from kwis.stats import long
from kwis.stats.influence import draw_sums, effective_draws
from kwis.typing import Floats, Ints, Seed

if TYPE_CHECKING:
    from kwis.intervals.pairwise import Differences

_SMALLEST_CHANCE = 1e-12  # levels closer to 1 lose their digits
_EPSILON = float(np.finfo(np.float64).eps)
_ROUNDING = 1e-14  # of the rewards, below which an error is none
_MOST_CARRIED = 0.99
LONGEST_ARM = 2.5  # of an interval around a value that may lie anywhere, in arms of a symmetric one


@dataclass(frozen=True, slots=True)
class StudentInterval:
    """Estimate plus and minus a Student quantile times a leave-one-out standard error, on the scale of the
    rewards' range.

    As quick as the estimate, and it keeps its promise where a normal interval is too short:

    - a heavy row draws the estimate to itself and so hides its own influence ``IF_i``; left out, with the
      share ``l_i`` it has in the normaliser, it moves the estimate by ``IF_i / (n (1 - l_i))``, which is what
      the standard error is made of;
    - the quantile is Student's. Its degrees of freedom are one less than the ``1 / sum l_i^2`` effective rows
      that the weights leave, or those of the standard error itself where it rests on few rows, as with rare
      or skewed rewards; see :func:`degrees_of_freedom`;
    - a value lies within the range of the rewards and its estimate is skewed near the ends, so the interval
      is made on the scale of ``log((value - low) / (high - value))`` and never leaves the range. A doubly
      robust estimate may come closer to an end than its error warrants: there no arm is longer than 2.5 times
      that of a symmetric interval;
    - the mean of a tail is skewed away from where the tail begins, and so is its interval: see
      :mod:`kwis.intervals.tail_ends`.

    Parameters
    ----------
    bounds
        Range of the rewards: a pair (low, high), or ``"sample"`` for that of the sample's. None: the interval
        is symmetric. It applies to self-normalised and doubly robust estimates inside the range; others, and
        differences, get a symmetric interval, but for the mean of a tail, which no range bounds.
    bias_aware
        For normalised kernel estimators, doubly robust ones and differences included, widen by the bias that
        the bandwidth may have brought: what the estimate differs from the same with WIS by, beyond chance.
    model_error
        Standard error that a model fitted elsewhere (of the propensities) adds to the estimate, see
        :func:`kwis.estimators.joint.model_error`.

    See Also
    --------
    kwis.Bootstrap : resamples.
    kwis.InfluenceInterval : a plain normal interval.
    kwis.LogarithmicSmoothing : holds at every sample size, and is wider.

    Examples
    --------
    >>> sample = kwis.WeightedSample(
    ...     context=[[0.0]] * 120, weight=[2.0, 1.0, 0.5] * 40, reward=[1.0, 0.0, 1.0] * 40
    ... )
    >>> kwis.StudentInterval().interval(kwis.WIS(), sample, level=0.95)
    Interval([0.624096, 0.790113], level=0.95, student)
    """

    adds_model_error: ClassVar[bool] = True
    bounds: Any = "sample"
    _: KW_ONLY
    bias_aware: bool = True
    model_error: float = 0.0

    def __post_init__(self) -> None:
        if isinstance(self.bounds, str):
            check.one_of(self.bounds, "bounds", ("sample",))
        elif self.bounds is not None:
            check.reward_range(self.bounds, otherwise=', "sample" or None')
        if not (isinstance(self.model_error, int | float) and 0 <= self.model_error < math.inf):
            raise InputError(f"`model_error` must be a number of at least 0, got {self.model_error!r}")

    def interval(self, estimator: Estimator[S], sample: S, level: float = 0.95, rng: Seed = 0) -> Interval:
        """Interval at the given level; ``rng`` is not used."""
        level = check.level(level)
        check.generator(rng)
        check.two_draws(sample.n, sample.group)
        return self.of(Contrast.of(estimator, sample), level)

    def of(self, contrast: Contrast, level: float, _rng: Seed = 0) -> Interval:
        """The same for an estimate or a difference that was made before, with the error of its model."""
        error, free = self._error(contrast)
        low, high = self._ends(contrast, error, free, level)
        return Interval(
            low=float(low),
            high=float(high),
            level=level,
            value=contrast.value,
            method="student",
            bandwidth="fixed" if contrast.has_bandwidth else None,
        )

    def _ends(self, contrast: Contrast, error: Floats, free: Floats, level: float) -> tuple[float, float]:
        edge = None if self.bounds is None else traits.tail_edge(contrast.estimator, contrast.sample)
        if edge is not None:
            return tail_ends(contrast.value, edge, float(_reach(error, free, level, self._bias(contrast))[0]))
        low, high = student_ends(
            np.array([contrast.value]),
            error,
            free,
            level,
            bounds=self._bounds(contrast),
            bias=self._bias(contrast),
            longest_arm=LONGEST_ARM if traits.mostly_within_rewards(contrast.estimator) else math.inf,
        )
        return float(low[0]), float(high[0])

    @property
    def description(self) -> str:
        """The method in words."""
        return "Student's, from the influence function"

    def p_value_of(self, contrast: Contrast) -> float:
        """Two-sided p-value of 0: below ``1 - level`` where the interval without bounds, as of differences,
        leaves 0 out.
        """
        return student_p_value(np.array([contrast.value]), *self._error(contrast), self._bias(contrast))

    def differences(self, sides: Sequence[Contrast], pairs: Sequence[tuple[int, int]]) -> Differences:
        """All of these differences of estimates at once, each the first of its pair minus the second."""
        from kwis.intervals.pairwise import Differences

        return Differences.of(self, sides, pairs)

    def _error(self, contrast: Contrast) -> tuple[Floats, Floats]:
        """Standard error and degrees of freedom."""
        estimate, sample = contrast.estimate, contrast.sample
        if estimate.influence is None:
            raise UnsupportedError(
                f"`estimator` must give influence for a Student interval, got none from "
                f"{contrast.estimator.name}"
            )
        quick = self._long_error(contrast)
        if quick is not None:
            return quick
        influence = estimate.influence[:, None]
        leverage = (
            np.full(influence.shape, 1 / sample.n)
            if estimate.leverage is None
            else estimate.leverage[:, None]
        )
        free = degrees_of_freedom(influence, leverage, sample.group)
        if math.isfinite(estimate.effective_n):
            free = np.minimum(free, max(estimate.effective_n - 1, 1.0))
        largest = float(np.abs(sample.reward).max()) if isinstance(sample, WeightedSample) else 0.0
        error = leave_one_out_error(
            influence, leverage, sample.group, rounding=_ROUNDING * sample.n * largest
        )
        return np.hypot(error, math.hypot(self.model_error, contrast.model_error)), free

    def _long_error(self, contrast: Contrast) -> tuple[Floats, Floats] | None:
        """The same for many rows in one pass; None for few, and where rows belong together."""
        estimate, sample = contrast.estimate, contrast.sample
        if sample.group is not None or estimate.influence is None or estimate.leverage is None:
            return None
        found = left_out(estimate.influence, estimate.leverage)
        if found is None:
            return None
        error, free = found
        if math.isfinite(estimate.effective_n):
            free = min(free, max(estimate.effective_n - 1, 1.0))
        added = math.hypot(self.model_error, contrast.model_error)
        return np.array([math.hypot(error, added)]), np.array([free])

    def _bounds(self, contrast: Contrast) -> tuple[float, float] | None:
        estimator, sample = contrast.estimator, contrast.sample
        within = traits.normalised(estimator) or traits.mostly_within_rewards(estimator)
        if self.bounds is None or not within or not isinstance(sample, WeightedSample):
            return None
        if isinstance(self.bounds, str):
            return float(sample.reward.min()), float(sample.reward.max())
        low, high = (float(end) for end in self.bounds)
        check.rewards_within(sample.reward, low, high)
        return low, high

    def _bias(self, contrast: Contrast) -> Floats | float:
        if not self.bias_aware or contrast.influence is None:
            return 0.0
        whole = contrast.unbiased
        if whole is None or whole.influence is None:
            return 0.0
        apart = (contrast.influence - whole.influence)[:, None]
        difference = np.array([contrast.value - whole.value])
        if traits.shrinks(contrast.estimator):  # by as much as chance can hide: chance is no excuse for it
            error = leave_one_out_error(apart, np.full(apart.shape, 1 / apart.shape[0]), contrast.group)
            return np.hypot(difference, error)
        return bias_beyond_chance(difference, apart, contrast.group)


def left_out(influence: Floats, leverage: Floats) -> tuple[float, float] | None:
    """:func:`leave_one_out_error` and :func:`degrees_of_freedom` of one estimate of very many rows; None
    where there are few, or one that carries nearly everything.
    """
    if not long.is_long(influence, leverage):
        return None
    return of_left_out(long.LeftOut.of(influence, leverage), influence.size)


def of_left_out(found: long.LeftOut, n: int) -> tuple[float, float] | None:
    """The same from sums over the rows."""
    if not long.in_range(found.largest) or found.most > _MOST_CARRIED:
        return None
    spare = max(found.fourth / found.squares**2 - 1 / n, _EPSILON)
    free = max(min(1 / found.leverage - 1, 2 / spare), 1.0)
    return math.sqrt(found.moves * (n - 1) / n) / n, free


def leave_one_out_error(
    influence: Floats, leverage: Floats, group: Ints | None = None, *, rounding: float = 0.0
) -> Floats:
    """Standard errors (T,) of T estimates from influence and leverage (n, T), each row (or group) left out in
    turn.

    A draw that carries everything and has no influence beyond ``rounding`` has none.
    """
    draws, shares = draw_sums(influence, group), draw_sums(leverage, group)
    rest = np.maximum(1 - shares, _EPSILON)
    draws = np.where((rest <= 4 * _EPSILON) & (np.abs(draws) <= rounding), 0.0, draws)
    largest = np.abs(draws).max(axis=0)
    scale = np.where(largest > 0, largest, 1.0)  # squares of huge moves would overflow
    moves = draws / scale / rest / influence.shape[0]
    count = draws.shape[0]
    with np.errstate(over="ignore"):  # an error beyond all numbers is infinite
        return scale * np.sqrt(np.square(moves).sum(axis=0) * (count - 1) / count)


def degrees_of_freedom(influence: Floats, leverage: Floats, group: Ints | None = None) -> Floats:
    """Degrees of freedom (T,) of the standard errors of T estimates, from influence and leverage (n, T);
    never less than 1.

    The smaller of two counts. Leverage: one less than the effective number of rows (or groups) in the
    normaliser. Influence: the mean of its squares varies as a chi-square of ``2 / (1/m - 1/n)`` degrees of
    freedom does, ``m`` of :func:`effective_draws` rows out of n (Satterthwaite). For normal influence that is
    n; for a rare success it is twice the number of successes.
    """
    shares = draw_sums(leverage, group)
    by_leverage = 1 / np.square(shares).sum(axis=0) - 1
    spare = np.maximum(1 / effective_draws(influence, group) - 1 / len(shares), _EPSILON)
    return np.maximum(np.minimum(by_leverage, 2 / spare), 1.0)


def bias_beyond_chance(difference: Floats, influence: Floats, group: Ints | None = None) -> Floats:
    """Size (T,) of differences beyond what chance explains: ``sqrt(max(d^2 - variance of d, 0))`` with
    influence (n, T) of d.
    """
    error = leave_one_out_error(influence, np.full(influence.shape, 1 / influence.shape[0]), group)
    return np.sqrt(np.maximum(np.abs(difference) - error, 0.0) * (np.abs(difference) + error))


def student_ends(
    value: Floats,
    std_error: Floats,
    freedom: Floats,
    level: float,
    *,
    bounds: tuple[float, float] | None = None,
    bias: Floats | float = 0.0,
    longest_arm: float = math.inf,
) -> tuple[Floats, Floats]:
    """Ends (T,) of T intervals from values, standard errors and degrees of freedom (T,).

    Parameters
    ----------
    bounds
        Range of the values, which the intervals then respect. Where all rows drawn agree, so that there is no
        error, they reach as far towards both ends as the chance of having seen nothing else allows.
    bias
        Largest bias to allow for: the reach covers a normal error with any bias up to it.
    longest_arm
        How many times as long as in a symmetric interval an arm may be, for values that are not bound to the
        range: one that lies outside of it has a symmetric interval.
    """
    tail = (1 + level) / 2
    reach = _reach(std_error, freedom, level, bias)
    if bounds is None:
        return value - reach, value + reach
    low, high = bounds
    if low == high:
        return np.full_like(value, low), np.full_like(value, high)
    share = np.clip((value - low) / (high - low), 0.0, 1.0)
    slack = share * (1 - share) * (high - low)
    inside = (slack > 0) & (reach > _ROUNDING * (high - low))
    shift = np.divide(reach, slack, out=np.zeros_like(slack), where=inside)
    unseen = 1 - (1 - tail) ** (1 / (freedom + 1))  # Clopper and Pearson's, of what no row drawn has shown
    lows = low + np.where(inside, _moved(share, -shift), share * (1 - unseen)) * (high - low)
    highs = low + np.where(inside, _moved(share, shift), share + (1 - share) * unseen) * (high - low)
    if math.isfinite(longest_arm):
        free = (value <= low) | (value >= high)
        lows = np.where(free, value - reach, np.maximum(lows, value - longest_arm * reach))
        highs = np.where(free, value + reach, np.minimum(highs, value + longest_arm * reach))
    return lows, highs


def _reach(std_error: Floats, freedom: Floats, level: Floats | float, bias: Floats | float) -> Floats:
    from scipy.special import stdtrit

    with np.errstate(over="ignore"):  # a reach beyond all numbers is infinite
        return stdtrit(freedom, (1 + level) / 2) * _with_bias(std_error, bias, level)


def student_p_value(value: Floats, std_error: Floats, freedom: Floats, bias: Floats | float = 0.0) -> float:
    """The first of :func:`student_p_values`."""
    return float(student_p_values(value, std_error, freedom, bias)[0])


def student_p_values(value: Floats, std_error: Floats, freedom: Floats, bias: Floats | float = 0.0) -> Floats:
    """Chances (T,) outside the longest intervals without bounds that leave 0 out; with a bias never below
    ``1e-12``.
    """
    from scipy.special import stdtr

    distance, biased = np.abs(value), np.broadcast_to(np.asarray(bias, dtype=float), value.shape) > 0
    sure = np.divide(distance, std_error, out=np.full(value.shape, math.inf), where=std_error > 0)
    found = np.where(std_error > 0, 2 * stdtr(freedom, -sure), distance == 0)
    if biased.any():
        of = (std_error[biased], freedom[biased])
        found[biased] = _biased_p_values(distance[biased], *of, np.broadcast_to(bias, value.shape)[biased])
    return found


def _biased_p_values(distance: Floats, std_error: Floats, freedom: Floats, bias: Floats) -> Floats:
    """By bisection over their logarithm."""
    low, high = np.full(distance.size, math.log(_SMALLEST_CHANCE)), np.zeros(distance.size)
    while (high - low).max() > 1e-12:
        middle = (low + high) / 2
        excluded = _reach(std_error, freedom, -np.expm1(middle), bias) < distance
        low, high = np.where(excluded, low, middle), np.where(excluded, middle, high)
    return np.exp(high)


def _moved(share: Floats, shift: Floats) -> Floats:
    """The share whose log odds are higher by ``shift``."""
    grow = np.exp(-np.abs(shift))
    return np.where(
        shift >= 0, share / (share + (1 - share) * grow), share * grow / (share * grow + 1 - share)
    )


def _with_bias(std_error: Floats, bias: Floats | float, level: Floats | float) -> Floats:
    """The standard error that a normal interval would need to hold an error of any bias up to ``bias``; bias
    alone where there is no error.
    """
    from scipy.special import chndtrix

    bias = np.broadcast_to(np.asarray(bias, dtype=float), std_error.shape)
    if not bias.any():
        return std_error
    ratio = np.divide(bias, std_error, out=np.zeros_like(std_error), where=std_error > 0)
    plain = np.sqrt(chndtrix(level, 1.0, 0.0))
    far = 20.0  # beyond, one tail alone counts
    near = std_error * (np.sqrt(chndtrix(level, 1.0, np.square(np.minimum(ratio, far)))) / plain)
    beyond = (ratio > far) | (std_error == 0)
    if not beyond.any():
        return near
    one_sided = np.sqrt(chndtrix(np.maximum(2 * np.asarray(level) - 1, 0.0), 1.0, 0.0))
    return np.where(beyond, (bias + one_sided * np.where(beyond, std_error, 0.0)) / plain, near)
