"""Position or slot of a decision: part of the context, or of the action.

As part of the context, the default, actions are the items and the position says where one was shown: policies
choose an item given its position. As part of the action, an item at another position is another action
("item at 2"), of which only those at the row's own position are available; reward models and tests of
propensities then know every pair. Policies are still named by items, as their probabilities at the row's
position.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from kwis.data.columns import Label
from kwis.errors import InputError
from kwis.runtime.arrays import kept
from kwis.typing import Floats, Ints

if TYPE_CHECKING:
    from kwis.data.log import LoggedBandit

PositionPart = Literal["context", "action"]
POSITION_PARTS: tuple[PositionPart, ...] = ("context", "action")


def with_positions_in_actions(log: LoggedBandit) -> LoggedBandit:
    """The log with pairs of an item and a position as actions, the positions of an item side by side."""
    assert log.position is not None
    slots = len(log.position_names)
    names: tuple[Label, ...] = tuple(
        f"{item} at {slot}" for item in log.action_names for slot in log.position_names
    )
    open_to = np.ones((log.n, log.n_actions), dtype=bool) if log.available is None else log.available
    return replace(
        log,
        action=kept(log.action * slots + log.position),
        action_names=names,
        available=kept(widened(open_to, log.position, slots)),
        behaviour=None if log.behaviour is None else kept(widened(log.behaviour, log.position, slots)),
        candidates=None,
        items=log.action_names,
    )


def items_of(log: LoggedBandit) -> LoggedBandit:
    """The log with items as actions again, which policies choose among at the position of the row."""
    if log.items is None or log.position is None:
        return log
    slots, position = len(log.position_names), log.position

    def narrowed(table: Any) -> Any:
        return None if table is None else kept(at_position(table.reshape(log.n, -1, slots), position))

    available = narrowed(log.available)
    return replace(
        log,
        action=kept(log.action // slots),
        action_names=log.items,
        available=None if available is None or available.all() else available,
        behaviour=narrowed(log.behaviour),
        items=None,
    )


def widened(table: Any, position: Ints, slots: int) -> Any:
    """``(n, K L)`` from ``(n, K)``: the entries at the position of each row, 0 or False elsewhere."""
    n, k = table.shape
    wide = np.zeros((n, k, slots), dtype=table.dtype)
    wide[np.arange(n), :, position] = table
    return wide.reshape(n, k * slots)


def at_position(table: Any, position: Ints) -> Any:
    """``(n, K)`` of ``(n, K, L)`` at the position of each row."""
    return table[np.arange(len(table)), :, position]


def of_positions(values: Floats, log: LoggedBandit, role: str) -> Floats:
    """``(n, K)`` of an array ``(n, K, L)`` in Open Bandit Pipeline's shape, at the positions of a log."""
    n, _, length = values.shape
    if log.position is None or n != log.n:
        raise InputError(
            f"`{role}` must have shape (n, K) for a log without `position`, got {values.shape} for {log.n} "
            f"rows"
        )
    labels = log.position_names
    whole = all(isinstance(label, int) and 0 <= label < length for label in labels)
    if not whole and len(labels) != length:
        raise InputError(f"`{role}` must have one layer per position ({len(labels)}), got {length}")
    places = np.array([int(label) for label in labels] if whole else range(length))
    return np.asarray(at_position(values, places[log.position]), dtype=np.float64)
