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
lists, beside lists of candidates  probability of each candidate, in their order: a column or an array
=================================  =======================================================================

Where rows have candidates, no other action may have a probability. :mod:`kwis.data.read.by_logger` has what
goes by logger.
"""

from __future__ import annotations

import numbers
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from kwis.data.candidates import (
    Candidates,
    Mask,
    aligned,
    of_pairs,
    refuse_lone,
    refuse_outside,
    score_lists,
    set_sizes,
    uniform,
)
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
from kwis.data.lists import lists_in
from kwis.data.read.source import PropensityColumns
from kwis.data.table import Table, is_single, table_of
from kwis.errors import InputError
from kwis.runtime.arrays import kept
from kwis.typing import Floats, Ints

_SHOWN = 4


@dataclass(frozen=True, slots=True)
class Behaviour:
    """Probability of the logged action and, where it is known, of every action; and the columns they are
    from. ``by_logger``: ``(n, L)`` that of the logged action by each of several loggers.
    """

    logged: Floats | None = None
    whole: Floats | None = None
    columns: tuple[str, ...] = ()
    by_logger: Floats | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Decisions:
    """The rows that propensities are wanted for.

    Attributes
    ----------
    rows, source_rows
        Their numbers in the source, and how many rows that has: arrays have one entry for each of them.
    offered
        Candidates of each row; None if all actions are available in every row.
    """

    table: Table
    action: Ints
    actions: tuple[Label, ...]
    rows: Ints
    source_rows: int
    offered: Candidates | None = None

    @property
    def available(self) -> Mask | None:
        return None if self.offered is None else self.offered.available

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
    if isinstance(propensity, str) and _is_single_column(propensity, decisions):
        return _from_column(propensity, decisions)
    whole, names = whole_in_columns(propensity, decisions)
    said = [named(name, "propensity") for name in names]
    return _of_all(whole, decisions, said if len(said) == len(decisions.actions) else None, names)


def place_in_words(propensity: PropensityColumns | None, found: Behaviour, *, named: bool) -> str:
    """Where propensities were read; ``named``: whether somebody said where they are."""
    if not found.columns:
        return f"{float(propensity):g}, as given" if isinstance(propensity, numbers.Real) else "as given"
    if isinstance(propensity, str) and propensity in found.columns:
        return f"column `{propensity}`" + ("" if named else " (none was named)")
    shown = ", ".join(f"`{name}`" for name in found.columns[:_SHOWN])
    return f"columns {shown}" + (f" and {more} more" if (more := len(found.columns) - _SHOWN) > 0 else "")


def _is_single_column(name: str, decisions: Decisions) -> bool:
    """Whether a column holds one probability per row, and no lists in the order of the candidates."""
    table, offered = decisions.table, decisions.offered
    beside = offered is not None and offered.lists is not None
    return name in table and not (beside and table.column(name).kind == "text")


def whole_in_columns(propensity: Any, decisions: Decisions) -> tuple[Floats, tuple[str, ...]]:
    """``(n, K)`` distribution from one column per action, or from lists in the order of the candidates; and
    the columns that hold it.
    """
    table = decisions.table
    if isinstance(propensity, str):
        whole = _by_candidate(table, propensity, decisions)
        if whole is not None:
            return whole, table.blocks.get(propensity, (propensity,) if propensity in table else ())
    names = columns_by_action(table, cast(ColumnsByAction, propensity), decisions.actions, "propensity")
    return distribution_in(table, names, "propensity"), names


def _by_candidate(table: Table, name: str, decisions: Decisions) -> Floats | None:
    """``(n, K)`` distribution from lists in the order of the candidates; None where either are no lists."""
    offered = decisions.offered
    if offered is None or offered.lists is None:
        return None
    sets, scores = lists_in(decisions.table, offered.lists), score_lists(table, name)
    if sets is None or scores is None:
        return None
    return aligned(sets, scores, name, decisions.actions, "propensity")


def _are_names(given: Any) -> bool:
    return isinstance(given, Sequence) and all(isinstance(name, str) for name in given)


def _constant(value: float, decisions: Decisions) -> Behaviour:
    """One number for every row: with two actions it must be one half, as they cannot both have another."""
    available = decisions.available
    k, n = len(decisions.actions), len(decisions.action)
    if not 0 < value <= 1:
        raise InputError(f"`propensity` must be in (0, 1], got {value:g}")
    alike = bool((np.abs(set_sizes(available, n, k) * value - 1) <= TOLERANCE).all())
    if k == 2 and available is None and not alike:
        first, second = decisions.actions
        raise InputError(
            f"`propensity` must be 0.5 if both actions have the same, got {value:g}; give each its own, such "
            f"as propensity={{{first!r}: {value:g}, {second!r}: {1 - value:g}}}"
        )
    if not alike:
        logged = np.full(n, value)
        refuse_lone(logged, available, "propensity")
        return Behaviour(kept(logged))
    whole = uniform(available, n, k)
    return Behaviour(kept(decisions.logged_in(whole)), kept(whole))


def _from_array(given: Any, decisions: Decisions) -> Behaviour:
    table = None if is_single(given) else table_of([("propensity", given)])
    lists = decisions.offered is not None and decisions.offered.lists is not None
    if table is None or not (table.columns or (table.lists and lists)):
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
    if "propensity" in table.lists or (names is not None and len(names) != len(decisions.actions)):
        beside = _by_candidate(table, "propensity", decisions)
        if beside is not None:
            return _of_all(beside, decisions)
    if names is None:
        logged = numbers_in(table.column("propensity"), "propensity", "propensity")
        return of_logged(logged, None, decisions, "propensity")
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
    return of_logged(logged, whole, decisions, name, (name, *members))


def of_logged(
    logged: Floats, whole: Floats | None, decisions: Decisions, name: str, columns: tuple[str, ...] = ()
) -> Behaviour:
    """From the probability of the logged action; that is the whole distribution where there is one other
    action.
    """
    bad = (logged <= 0) | (logged > 1)
    if bad.any():
        row = int(np.argmax(bad))
        raise InputError(
            f"{named(name, 'propensity')} must be in (0, 1], got {logged[row]} at row {decisions.rows[row]}"
        )
    if whole is None:
        refuse_lone(logged, decisions.available, "propensity")
        whole = of_pairs(logged, decisions.action, decisions.available, len(decisions.actions))
    else:
        refuse_outside(whole, decisions.available, decisions.actions, "propensity")
    return Behaviour(kept(logged), None if whole is None else kept(whole), columns)


def _of_all(
    whole: Floats,
    decisions: Decisions,
    named_by_action: Sequence[str] | None = None,
    columns: tuple[str, ...] = (),
) -> Behaviour:
    refuse_outside(whole, decisions.available, decisions.actions, "propensity")
    logged = decisions.logged_in(whole)
    if (logged <= 0).any():
        row = int(np.argmax(logged <= 0))
        code = int(decisions.action[row])
        said = "`propensity`" if named_by_action is None else named_by_action[code]
        raise InputError(
            f"{said} must be positive where its action was taken, got {logged[row]} "
            f"for {decisions.actions[code]!r} at row {decisions.rows[row]}"
        )
    return Behaviour(kept(logged), kept(whole), columns)
