"""The rows a repair is learnt from, as clean arrays: given distribution, actions taken, features."""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from kwis import _validation as check
from kwis.data.distributions import sums_to_one
from kwis.errors import InputError
from kwis.models.propensity.multinomial import Scores
from kwis.models.propensity.penalised import Mask
from kwis.models.propensity.terms import Terms
from kwis.typing import ArrayLike, Floats, Ints


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Given:
    """How a given distribution is read.

    Attributes
    ----------
    floor
        Smallest probability whose logarithm is taken.
    closes
        Whether a given probability of 0 means that the action is impossible. It does, unless such an action
        was taken.
    """

    floor: float
    closes: bool

    @classmethod
    def of(cls, given: Floats, action: Ints) -> Given:
        n = len(action)
        return cls(floor=0.1 / n, closes=bool((given[np.arange(n), action] > 0).all()))

    def logs(self, given: Floats) -> Floats:
        """Logarithms, less the mean of the row, 0 for impossible actions."""
        raw = np.log(np.maximum(given, self.floor))
        closed = self.closed(given)
        if closed is None:
            return raw - raw.mean(axis=1, keepdims=True)
        centre = np.where(closed, 0.0, raw).sum(axis=1, keepdims=True) / (~closed).sum(axis=1, keepdims=True)
        return np.where(closed, 0.0, raw - centre)

    def closed(self, given: Floats) -> Mask | None:
        """``(n, K)`` actions that are impossible, or None."""
        closed = given <= 0
        return closed if self.closes and closed.any() else None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Material:
    """Rows to learn a repair from.

    Attributes
    ----------
    mass
        How many interactions each row stands for; None: one.
    group
        Rows of a group are held out together.
    """

    features: Floats
    action: Ints
    given: Floats
    mass: Floats | None = None
    group: Ints | None = None

    @property
    def n(self) -> int:
        return len(self.action)

    @property
    def weight(self) -> Floats:
        """``mass``, on average 1: what was thinned has not become more certain by standing for more."""
        if self.mass is None:
            return np.ones(self.n)
        scaled = self.mass / self.mass.max()  # sums of huge masses would overflow
        return np.asarray(scaled / scaled.mean())

    @property
    def draws(self) -> int:
        return self.n if self.group is None else len(np.unique(self.group))

    def take(self, rows: Any) -> Material:
        return Material(
            features=self.features[rows],
            action=self.action[rows],
            given=self.given[rows],
            mass=None if self.mass is None else self.mass[rows],
            group=None if self.group is None else self.group[rows],
        )

    def sampled(self, most: int, rng: np.random.Generator) -> Material:
        """At most that many rows, drawn at random."""
        return self if self.n <= most else self.take(np.sort(rng.permutation(self.n)[:most]))


def scores(
    terms: Terms,
    names: tuple[str, ...],
    read: Given,
    features: Floats,
    given: Floats,
    used: Container[str] | None = None,
) -> tuple[Scores, dict[str, int]]:
    """Everything the regression needs of some rows, and the number of columns of each block; of the named
    blocks only those ``used``.
    """
    made = terms.blocks(features, read.logs(given), names)
    return beside({name: block for name, block in made.items() if used is None or name in used}, read, given)


def beside(blocks: Mapping[str, Floats], read: Given, given: Floats) -> tuple[Scores, dict[str, int]]:
    """The same of blocks that are there already."""
    design = np.hstack([np.zeros((len(given), 0)), *blocks.values()])
    sizes = {name: block.shape[1] for name, block in blocks.items()}
    return Scores(read.logs(given), design, read.closed(given)), sizes


def material(
    features: ArrayLike, action: ArrayLike, given: ArrayLike, mass: ArrayLike | None, group: Any
) -> Material:
    """The same from whatever a caller has, checked."""
    clean = check.contexts(features, "features")
    n = len(clean)
    chances = distribution(given, n)
    return Material(
        features=clean,
        action=codes(action, n, chances.shape[1]),
        given=chances,
        mass=None if mass is None else check.masses(mass, n),
        group=None if group is None else check.labels(group, "group", n, like="features"),
    )


def codes(action: ArrayLike, n: int, k: int) -> Ints:
    """Codes of actions from 0 to ``k - 1``."""
    array = check.as_array(action, "action")
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise InputError(
            f"`action` must be integer codes of shape (n,), got {array.dtype} of shape {array.shape}"
        )
    check.same_length(len(array), "action", n, "features")
    bad = (array < 0) | (array >= k)
    if bad.any():
        raise InputError(
            f"`action` must be from 0 to {k - 1}, got {array[bad][0]} at row {int(np.argmax(bad))}"
        )
    return array.astype(np.int64)


def distribution(given: ArrayLike, n: int) -> Floats:
    """``(n, K)`` probabilities, at least two actions."""
    array = check.real_array(given, "given", 2, columns="K")
    check.same_length(len(array), "given", n, "features")
    if array.shape[1] < 2:
        raise InputError(f"`given` must have a column for each of at least 2 actions, got {array.shape[1]}")
    if (array < 0).any():
        row, column = (int(place) for place in np.argwhere(array < 0)[0])
        raise InputError(
            f"`given` must not be negative, got {array[row, column]} at row {row}, column {column}"
        )
    return sums_to_one(array, "given")
