"""The waist of the package: weighted interactions, all that an estimator ever sees."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any, Self

import numpy as np

from kwis import _validation as check
from kwis.runtime.arrays import kept
from kwis.stats import long
from kwis.typing import ArrayLike, Floats, Ints

# Sums of balanced weights stay below 2 to this power, with room left for a few multiplications.
_LARGEST_EXPONENT = 1000
_BY_PLACE = -1  # stands for the numbers of all rows where these are their places: arrays of them take room
_ORDINARY_EXPONENT = 30  # sums of billions of such weights are in range as they are, in single precision too


@dataclass(frozen=True, slots=True, init=False, eq=False)
class WeightedSample:
    """Logged interactions with the importance weight of the policy to be evaluated.

    Parameters
    ----------
    context
        ``(n, d)`` numbers, used as given: see :func:`kwis.standardise`.
    weight
        ``w_i``: probability of the logged action under the policy evaluated, divided by its logged
        propensity.
    reward
        ``r_i``.
    categorical
        Columns of ``context`` that hold integer codes, compared for equality.
    group
        One label per row (a user, a session); resampling keeps the rows of a group together.
    mass
        How many interactions each row stands for (the inverse of its sampling rate), 1 unless the log was
        thinned. Every sum counts the row that many times; standard errors still treat it as one draw.

    Attributes
    ----------
    rows
        Source row numbers, kept by :meth:`take`.

    See Also
    --------
    kwis.standardise : scales contexts, so that distances mean something.
    kwis.PredictedSample : adds predicted rewards.
    kwis.KernelWIS : an estimator that takes it.

    Examples
    --------
    >>> sample = kwis.WeightedSample(
    ...     context=[[0.0], [0.0], [1.0]], weight=[2.0, 1.0, 0.5], reward=[1.0, 0.0, 1.0]
    ... )
    >>> sample.n, sample.take([0, 2]).weight
    (3, array([2. , 0.5]))
    """

    context: Floats
    weight: Floats
    reward: Floats
    categorical: tuple[int, ...]
    group: Ints | None
    mass: Floats | None
    rows: Ints

    def __init__(
        self,
        *,
        context: ArrayLike,
        weight: ArrayLike,
        reward: ArrayLike,
        categorical: Iterable[int] | int = (),
        group: Any = None,
        mass: ArrayLike | None = None,
    ) -> None:
        clean = check.contexts(context)
        n = clean.shape[0]
        self._store(
            context=clean,
            weight=check.weights(weight, "weight", n),
            reward=check.column(reward, "reward", n),
            categorical=check.categorical_columns(categorical, clean),
            group=None if group is None else check.labels(group, "group", n),
            mass=None if mass is None else check.masses(mass, n),
            rows=_numbers(n),
        )

    @classmethod
    def without_context(cls, weight: Floats, reward: Floats) -> WeightedSample:
        """Clean weights and rewards for estimators that look at nothing else: all contexts are alike, and
        rows have no numbers but their places.
        """
        new, n = object.__new__(WeightedSample), weight.shape[0]
        new._store(
            context=np.broadcast_to(0.0, (n, 1)),
            weight=check.read_only(weight),
            reward=check.read_only(reward),
            categorical=(),
            group=None,
            mass=None,
            rows=np.broadcast_to(np.int64(_BY_PLACE), n),
        )
        return new

    def _store(self, **fields: Any) -> None:
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.weight.shape[0])

    def number(self, place: int) -> int:
        """The number that the row at a place has in its source."""
        found = int(self.rows[place])
        return place if found == _BY_PLACE else found

    def with_weight(self, weight: Floats) -> Self:
        """The same rows with other weights, which are clean."""
        new = object.__new__(type(self))
        for entry in fields(self):
            object.__setattr__(new, entry.name, getattr(self, entry.name))
        object.__setattr__(new, "weight", weight)
        return new

    def with_reward(self, reward: Floats) -> WeightedSample:
        """The same rows with other rewards, which are clean, and without predictions of them."""
        new = object.__new__(WeightedSample)
        others = {entry.name: getattr(self, entry.name) for entry in fields(WeightedSample)}
        new._store(**{**others, "reward": check.read_only(reward)})
        return new

    def take(self, rows: ArrayLike, *, group: ArrayLike | None = None) -> WeightedSample:
        """Sample of the given rows, in that order, repeats allowed.

        ``group`` relabels the rows taken: a group drawn twice counts as two groups, which its own label
        cannot say.
        """
        picked = check.row_numbers(rows, self.n)
        labels = self.group[picked] if group is None and self.group is not None else group
        new = object.__new__(WeightedSample)
        new._store(
            context=check.read_only(self.context[picked]),
            weight=check.read_only(self.weight[picked]),
            reward=check.read_only(self.reward[picked]),
            categorical=self.categorical,
            group=None if labels is None else check.labels(labels, "group", picked.size, like="rows"),
            mass=None if self.mass is None else check.read_only(self.mass[picked]),
            rows=check.read_only(self.rows[picked]),
        )
        return new


@lru_cache(maxsize=1)
def _numbers(n: int) -> Ints:
    """Row numbers of a whole log, which its samples have in common."""
    return kept(np.arange(n))


def effective_size(applied: Floats, mass: Floats | None = None) -> float:
    """``(sum v)^2 / sum v^2``: how many equally weighted rows carry as much information as the
    weights ``v``.
    """
    if mass is None and long.is_long(applied):
        extent = long.Extent.of(applied)
        if long.in_range(extent.largest):
            return extent.total**2 / extent.squares
    largest = applied.max()
    if largest == 0:
        return 0.0
    v = applied / largest  # squares of huge weights would overflow
    if mass is not None:
        v = v * (mass / mass.max())
    return float(v.sum() ** 2 / (v * v).sum())


def balanced(weight: Floats, total: float) -> Floats:
    """Weights times a power of two that keeps sums over ``total`` of them in range, for statistics that
    ignore the scale; weights of ordinary size as they are.

    The power is exact, so ordinary numbers come out bit for bit the same. It centres the exponents: scaling
    to a largest weight of 1 would lose a weight of 1e-300 beside one of 1e300, and with it a resample that
    holds only the former.
    """
    least, largest = _ends(weight)
    if largest == 0:
        return weight
    _, exponents = np.frexp([least, largest])
    if np.abs(exponents).max() <= _ORDINARY_EXPONENT:
        return weight
    centre = -int(exponents.sum()) // 2
    room = _LARGEST_EXPONENT - int(np.ceil(np.log2(total))) - int(exponents[1])
    return np.ldexp(weight, min(centre, room))


def _ends(weight: Floats) -> tuple[float, float]:
    """The smallest and the largest positive weight; 0 where there is none."""
    if long.is_long(weight):
        extent = long.Extent.of(weight)
        return extent.least_positive, extent.largest
    positive = weight[weight > 0]
    return (float(positive.min()), float(positive.max())) if positive.size else (0.0, 0.0)


def safe_ratio(numerator: Floats, denominator: Floats) -> Floats:
    """Elementwise ratio, 0 wherever the numerator is 0, whatever the denominator."""
    shape = np.broadcast_shapes(numerator.shape, denominator.shape)
    return np.divide(numerator, denominator, out=np.zeros(shape), where=numerator != 0)
