"""Arguments in Open Bandit Pipeline's shapes, checked and brought to one position per row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kwis import _validation as check
from kwis.data.distributions import refuse_other_sums
from kwis.errors import InputError
from kwis.typing import Floats, Ints


class WrongTypeError(InputError, TypeError):
    """An argument of the wrong type, where Open Bandit Pipeline raises a TypeError."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Given:
    """The arguments of one call, as they came; what an estimator asks for is checked when it does."""

    name: str
    reward: Any = None
    action: Any = None
    pscore: Any = None
    action_dist: Any = None
    position: Any = None
    estimated_rewards_by_reg_model: Any = None
    estimated_pscore: Any = None
    context: Any = None
    others: Mapping[str, Any] = field(default_factory=dict)

    def other(self, name: str) -> Any:
        """An argument that only some estimators have, refused if it was left out."""
        if self.others.get(name) is None:
            raise InputError(f"`{name}` must be given for {self.name}, got None")
        return self.others[name]

    def needed(self, field: str) -> Any:
        """An argument, refused if it was left out."""
        value = getattr(self, field)
        if value is None:
            raise InputError(f"`{field}` must be given for {self.name}, got None")
        return value

    def distribution(self) -> Floats:
        """``(n, K)`` probabilities of every action at each row's position."""
        rows, logged = np.shape(self.needed("action_dist"))[:1], np.shape(self.action)
        if rows and len(logged) == 1 and logged == np.shape(self.reward) != rows:
            raise InputError(
                f"`action_dist` must have one row per logged action, got {rows[0]} for {logged[0]} actions"
            )
        shares = at_position(self.action_dist, "action_dist", self.position)
        if (shares < 0).any():
            row = int(np.argmax((shares < 0).any(axis=1)))
            raise InputError(f"`action_dist` must not be negative, got {shares[row].min()} at row {row}")
        refuse_other_sums(shares, "`action_dist` must sum to 1 over the actions")
        return shares

    def actions(self, shares: Floats) -> Ints:
        return codes(self.needed("action"), "action", *shares.shape)

    def rewards(self, n: int) -> Floats:
        return check.column(self.needed("reward"), "reward", n, like="action_dist")

    def propensities(self, n: int, *, estimated: bool) -> Floats:
        """Probabilities of the logged actions, none of them 0."""
        name = "estimated_pscore" if estimated else "pscore"
        return check.propensities(self.needed(name), name, n, like="action_dist")

    def predicted(self, shares: Floats) -> Floats:
        """``(n, K)`` predicted rewards at each row's position."""
        name = "estimated_rewards_by_reg_model"
        guesses = at_position(self.needed(name), name, self.position)
        if guesses.shape != shares.shape:
            raise InputError(
                f"`{name}` must have the shape of `action_dist`, got {guesses.shape} and {shares.shape}"
            )
        return guesses


def at_position(value: Any, name: str, position: Any) -> Floats:
    """``(n, K)`` entries of an array of shape ``(n, K)`` or ``(n, K, L)``, the latter at each row's
    position.
    """
    array = np.asarray(value)
    if array.dtype.kind not in "biuf":
        raise InputError(f"`{name}` must hold real numbers, got an array of type {array.dtype}")
    if array.ndim not in (2, 3) or array.size == 0:
        raise InputError(f"`{name}` must have shape (n, K) or (n, K, L), got {array.shape}")
    if array.ndim == 3:
        array = (
            array[:, :, 0]
            if array.shape[2] == 1
            else array[np.arange(len(array)), :, _positions(position, name, array)]
        )
    return check.real_array(array, name, 2)


def _positions(position: Any, name: str, array: Any) -> Ints:
    n, _, length = array.shape
    if position is None:
        raise InputError(
            f"`position` must be given where `{name}` has several positions, got None for {length}"
        )
    return codes(position, "position", n, length)


def codes(value: Any, name: str, n: int, count: int) -> Ints:
    """Whole numbers from 0 to ``count - 1``, one per row."""
    array = np.asarray(value)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise InputError(
            f"`{name}` must be whole numbers of shape (n,), got {array.dtype} of shape {array.shape}"
        )
    check.same_length(array.shape[0], name, n, "action_dist")
    wrong = (array < 0) | (array >= count)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise InputError(f"`{name}` must be from 0 to {count - 1}, got {array[row]} at row {row}")
    return array.astype(np.int64)


def number(value: Any, name: str, least: float, most: float = np.inf) -> float:
    """A real number between two ends; nan is refused."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise WrongTypeError(f"`{name}` must be a number, got {value!r}")
    if not least <= value <= most:
        limits = f"of at least {least:g}" if most == np.inf else f"from {least:g} to {most:g}"
        raise InputError(f"`{name}` must be a number {limits}, got {value!r}")
    return float(value)


def yes_or_no(value: Any, name: str) -> bool:
    """True or False and nothing else."""
    if not isinstance(value, bool):
        raise WrongTypeError(f"`{name}` must be True or False, got {value!r}")
    return value


def count(value: Any, name: str, least: int) -> int:
    """A whole number."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise WrongTypeError(f"`{name}` must be a whole number of at least {least}, got {value!r}")
    return check.whole(int(value), name, least)


def places_of(position: Any, n: int, len_list: int) -> Ints:
    """``(n,)`` position of each row; needed where there are several."""
    if len_list == 1:
        return np.zeros(n, dtype=np.int64)
    if position is None:
        raise InputError(f"`position` must be given where `len_list` is above 1, got None for {len_list}")
    return codes(position, "position", n, len_list)
