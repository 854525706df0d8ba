"""Which columns are context when the user names none.

Every column that has no other role, except

- columns that hold a policy: ``<name>_<action>`` for every action, summing to 1 in every row, and ``<name>``
  itself; and columns that seem to, called ``p_...``, ``pi_...`` or ``prob_...`` with fractions in them: a
  probability of the logged action gives the action away;
- identifiers: text that is different in every row, and counters of rows;
- columns of probabilities that nobody asked for: one called ``propensity``, say, while propensities are to be
  estimated.

A column with a target policy or an outcome must not be context, and no rule can tell for sure: the log lists
its context in a note, :func:`kwis.evaluate` takes its targets out, and ``context=[...]`` settles it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from kwis.data.columns import Column, Label
from kwis.data.distributions import proper_family
from kwis.data.log import EVERY_OTHER_COLUMN
from kwis.data.read.source import Roles
from kwis.data.table import Table
from kwis.errors import InputError
from kwis.runtime.process import warn

_POLICY_PREFIXES = ("p_", "pi_", "prob_")
_PROPENSITY_NAMES = ("propensity", "pscore", "propensities", "action_prob", "p_log")


@dataclass(frozen=True, slots=True)
class ContextColumns:
    """The raw columns that make up the context, and notes on how they were found."""

    names: tuple[str, ...]
    notes: tuple[str, ...] = ()


def context_columns(
    table: Table,
    roles: Roles,
    used: Iterable[str],
    actions: tuple[Label, ...],
    candidates: Iterable[str] = (),
) -> ContextColumns:
    """The columns named, or else all that have no other role; ``used`` are those of rewards and
    propensities. Columns of ``candidates`` are context only if they are named.
    """
    taken = {*used, *roles.single, *candidates, *(("reward",) if roles.reward is False else ())}
    if roles.context is not None:
        names = table.expand(roles.context, "context")
        for name in names:
            if name in used or name == (roles.action or "action"):
                raise InputError(f"`context` must leave out actions, rewards and propensities, got `{name}`")
        return ContextColumns(names)
    policies = _policy_columns(table, actions) | {
        name for name, column in table.columns.items() if _seems_policy(name, column)
    }
    identifiers = {
        name for name, column in table.columns.items() if name not in taken and _is_identifier(column)
    }
    spare = {name for name in _unused_propensities(table, roles) if name not in taken}
    names = tuple(name for name in table.columns if name not in taken | policies | identifiers | spare)
    left_out = [name for name in table.columns if name in (policies | identifiers | spare) - taken]
    notes = [f"{EVERY_OTHER_COLUMN}{', '.join(names)}"] if names else []
    if left_out:
        notes.append(f"left out of the context as policies or identifiers: {', '.join(left_out)}")
    return ContextColumns(names, tuple(notes))


def _policy_columns(table: Table, actions: tuple[Label, ...]) -> set[str]:
    found: set[str] = set()
    for name in table.columns:
        prefix = name.removesuffix(str(actions[0])).removesuffix("_")
        if prefix and name.endswith(str(actions[0])):
            members = proper_family(table, prefix, actions)
            found |= {prefix, *members} if members else set()
    return found


def _seems_policy(name: str, column: Column) -> bool:
    if column.kind != "number" or not name.lower().startswith(_POLICY_PREFIXES):
        return False
    known = column.values[np.isfinite(column.values)]
    return known.size > 0 and bool(((known >= 0) & (known <= 1)).all()) and bool((known % 1 != 0).any())


def _is_identifier(column: Column) -> bool:
    if column.kind == "text":
        return len(column) > 1 and len(column.levels) == len(column)
    return (
        column.kind == "number"
        and column.values.dtype.kind == "i"
        and len(column) > 2
        and bool((np.diff(column.values) == 1).all())
    )


def _unused_propensities(table: Table, roles: Roles) -> list[str]:
    if roles.propensity is not None and roles.propensity is not False:
        return []
    found = [name for name in _PROPENSITY_NAMES if name in table]
    if found and roles.propensity is None:
        warn(
            f"`propensity` was not named although the log has a column `{found[0]}`; pass "
            f"propensity={found[0]!r} to use it",
            5,
        )
    return found
