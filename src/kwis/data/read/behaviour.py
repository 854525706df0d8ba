"""The logging policy's probabilities: from columns, or given as numbers.

=================================  =======================================================================
``propensity``                     meaning
=================================  =======================================================================
a column                           probability of the logged action; columns ``<name>_<action>`` that agree
                                   with it supply the whole distribution
a prefix, a list or a mapping to   one column per action
columns
a number                           probability of the logged action, the same in every row; with as many
                                   actions as its inverse, that of every action
a mapping from actions to numbers  the same distribution in every row
an array (n,) or (n, K)            probability of the logged action, or of every action
=================================  =======================================================================
"""

from __future__ import annotations

import numbers
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from kwis.data.columns import Label
from kwis.data.distributions import (
    TOLERANCE,
    ColumnsByAction,
    columns_by_action,
    constant_distribution,
    distribution_in,
    is_constant,
    named,
    numbers_in,
    probabilities_in,
    proper_family,
    sums_to_one,
)
from kwis.data.read.source import PropensityColumns
from kwis.data.table import Table, is_single, table_of
from kwis.errors import InputError
from kwis.runtime.arrays import kept
from kwis.typing import Floats, Ints


@dataclass(frozen=True, slots=True)
class Behaviour:
    """Probability of the logged action and, where it is known, of every action; and the columns they are
    from.
    """

    logged: Floats | None = None
    whole: Floats | None = None
    columns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Decisions:
    """The rows that propensities are wanted for.

    Attributes
    ----------
    rows, source_rows
        Their numbers in the source, and how many rows that has: arrays have one entry for each of them.
    """

    table: Table
    action: Ints
    actions: tuple[Label, ...]
    rows: Ints
    source_rows: int

    def logged_in(self, whole: Floats) -> Floats:
        return np.asarray(whole[np.arange(len(self.action)), self.action])


def behaviour_of(propensity: PropensityColumns | None, decisions: Decisions) -> Behaviour:
    """The logging policy's probabilities; none if they are to be estimated."""
    if propensity is None or propensity is False:
        return Behaviour()
    if isinstance(propensity, bool):
        raise InputError("`propensity` must be a column, a number or False, got True")
    if isinstance(propensity, numbers.Real):
        return _constant(float(propensity), decisions)
    if isinstance(propensity, Mapping) and is_constant(propensity):
        whole = constant_distribution(propensity, decisions.actions, len(decisions.action), "propensity")
        return _of_all(whole, decisions, [f"propensity of {action!r}" for action in decisions.actions])
    if not isinstance(propensity, str | Mapping) and not _are_names(propensity):
        return _from_array(propensity, decisions)
    table = decisions.table
    if isinstance(propensity, str) and propensity in table:
        return _from_column(propensity, decisions)
    names = columns_by_action(table, cast(ColumnsByAction, propensity), decisions.actions, "propensity")
    return _of_all(
        distribution_in(table, names, "propensity"),
        decisions,
        [named(name, "propensity") for name in names],
        names,
    )


def _are_names(given: Any) -> bool:
    return isinstance(given, Sequence) and all(isinstance(name, str) for name in given)


def _constant(value: float, decisions: Decisions) -> Behaviour:
    """One number for every row: with two actions it must be one half, as they cannot both have another."""
    k, n = len(decisions.actions), len(decisions.action)
    if not 0 < value <= 1:
        raise InputError(f"`propensity` must be in (0, 1], got {value:g}")
    uniform = abs(k * value - 1) <= TOLERANCE
    if k == 2 and not uniform:
        first, second = decisions.actions
        raise InputError(
            f"`propensity` must be 0.5 if both actions have the same, got {value:g}; give each its own, such "
            f"as propensity={{{first!r}: {value:g}, {second!r}: {1 - value:g}}}"
        )
    whole = kept(np.full((n, k), 1 / k)) if uniform else None
    return Behaviour(kept(np.full(n, 1 / k if uniform else value)), whole)


def _from_array(given: Any, decisions: Decisions) -> Behaviour:
    table = None if is_single(given) else table_of([("propensity", given)])
    if table is None or not table.columns:
        raise InputError(
            f"`propensity` must be a column, a number, a mapping or an array, got {type(given).__name__}"
        )
    if table.n != decisions.source_rows:
        raise InputError(
            f"`propensity` must have one entry per row of the log, got {table.n} for {decisions.source_rows} "
            "rows"
        )
    table = table.take(decisions.rows)
    names = table.blocks.get("propensity")
    if names is None:
        logged = numbers_in(table.column("propensity"), "propensity", "propensity")
        return _of_logged(logged, None, decisions, "propensity")
    if len(names) != len(decisions.actions):
        raise InputError(
            f"`propensity` must have one column per action, got {len(names)} for "
            f"{len(decisions.actions)} actions"
        )
    shares = np.column_stack([probabilities_in(table.column(name), name, "propensity") for name in names])
    return _of_all(sums_to_one(shares, "propensity"), decisions, [f"`{name}`" for name in names])


def _from_column(name: str, decisions: Decisions) -> Behaviour:
    table = decisions.table
    logged = numbers_in(table.column(name), name, "propensity")
    members = proper_family(table, name, decisions.actions)
    whole = distribution_in(table, members, "propensity") if members else None
    if whole is not None and np.abs(decisions.logged_in(whole) - logged).max() > 1e-6:
        whole = None  # columns that are called alike but are something else
    return _of_logged(logged, whole, decisions, name, (name, *members))


def _of_logged(
    logged: Floats, whole: Floats | None, decisions: Decisions, name: str, columns: tuple[str, ...] = ()
) -> Behaviour:
    """From the probability of the logged action; with two actions that is the whole distribution."""
    bad = (logged <= 0) | (logged > 1)
    if bad.any():
        row = int(np.argmax(bad))
        raise InputError(
            f"{named(name, 'propensity')} must be in (0, 1], got {logged[row]} at row {decisions.rows[row]}"
        )
    if len(decisions.actions) == 2 and whole is None:
        rows, action = np.arange(len(logged)), decisions.action
        whole = np.empty((len(logged), 2))
        whole[rows, action], whole[rows, 1 - action] = logged, 1 - logged
    return Behaviour(kept(logged), None if whole is None else kept(whole), columns)


def _of_all(
    whole: Floats, decisions: Decisions, named_by_action: Sequence[str], columns: tuple[str, ...] = ()
) -> Behaviour:
    logged = decisions.logged_in(whole)
    if (logged <= 0).any():
        row = int(np.argmax(logged <= 0))
        code = int(decisions.action[row])
        raise InputError(
            f"{named_by_action[code]} must be positive where its action was taken, got {logged[row]} "
            f"for {decisions.actions[code]!r} at row {decisions.rows[row]}"
        )
    return Behaviour(kept(logged), kept(whole), columns)
