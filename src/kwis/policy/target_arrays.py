"""Targets that are arrays, or functions of the log that return them: one entry, or one per action, for every
row.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from kwis.data.distributions import (
    probabilities_in,
    sums_to_one,
)
from kwis.data.log import LoggedBandit
from kwis.data.position import of_positions
from kwis.data.table import Table, is_single, table_of
from kwis.errors import InputError, KwisError
from kwis.policy.discrete import (
    ChosenColumn,
    ProbabilityColumn,
    TargetPolicy,
    from_choice,
    from_distribution,
    from_probability,
)
from kwis.policy.target_columns import by_candidate, meaning_of
from kwis.runtime.arrays import kept


def from_stated(
    log: LoggedBandit, target: ProbabilityColumn | ChosenColumn, name: str | None
) -> TargetPolicy:
    """A target of which somebody said what its values mean."""
    make = from_choice if isinstance(target, ChosenColumn) else from_probability
    given = target.column
    if isinstance(given, str):
        return make(log, log.table.column(given, "target"), name or given, (given,))
    label = name or name_of(given)
    table = _table_of_rows(log, called_with(given, log, label) if callable(given) else given)
    if "target" not in table:
        raise InputError(
            f"`target` must be one value per row, got {len(table.columns)}; kwis.distribution takes "
            "probabilities of every action"
        )
    policy = make(log, table.column("target"), label)
    return replace(
        policy, source=f"{_kind_of(given)} {label}: {policy.source}" if callable(given) else policy.source
    )


def from_whole_array(log: LoggedBandit, given: Any, name: str | None) -> TargetPolicy:
    """A target that somebody said is an ``(n, K)`` distribution, or a function that returns one."""
    label = name or name_of(given)
    table = _table_of_rows(log, called_with(given, log, label) if callable(given) else given)
    return _from_shares(log, table, label, _kind_of(given))


def name_of(given: Any) -> str:
    """What to call a function or an array that nobody gave a name."""
    return str(getattr(given, "__name__", "function")) if callable(given) else "target"


def _kind_of(given: Any) -> str:
    return "function" if callable(given) else "array"


def called_with(target: Any, log: LoggedBandit, name: str) -> Any:
    """What a function makes of the log; it is given all rows at once, which those written for one row do not
    expect.
    """
    try:
        return target(log)
    except KwisError:
        raise
    except Exception as trouble:
        said = (
            f"`target` must be a function of the whole log, log[name] being a column, which returns an "
            f"action for every row or a column of probabilities per action: {name} ended in "
            f"{type(trouble).__name__}"
        )
        raise InputError(f"{said} ({trouble})") from trouble


def from_array(log: LoggedBandit, values: Any, name: str, source: str) -> TargetPolicy:
    table = _table_of_rows(log, values)
    matrix = len(table.blocks.get("target", ())) == log.n_actions
    beside = None if matrix or not (table.lists or table.blocks) else by_candidate(log, table, "target")
    if beside is not None:
        return from_distribution(log, beside, name, f"{source}: probability of each candidate")
    if "target" not in table:
        return _from_shares(log, table, name, source)
    column = table.column("target")
    meaning = meaning_of(column, name, log.action_names, source.partition(" ")[0])
    policy = (from_choice if meaning == "choice" else from_probability)(log, column, name)
    return replace(policy, source=f"{source}: {policy.source}")


def _table_of_rows(log: LoggedBandit, values: Any) -> Table:
    """Values given as an array, one entry or several for each row of the log; for each row of the source if
    rows were left out of it.
    """
    if isinstance(values, np.ndarray) and values.ndim == 3 and values.shape[2] > 1:
        if len(values) != len(log) and len(values) == log.source_rows:
            values = values[log.rows]
        values = of_positions(values, log, "target")
    table = None if is_single(values) else table_of([("target", values)])
    if table is None or not (table.columns or (table.lists and log.candidates is not None)):
        raise InputError(
            f"`target` must be a column, a classifier, a function or an array, got {type(values).__name__}"
        )
    if table.n != len(log) and table.n == log.source_rows:
        return table.take(log.rows)
    if table.n != len(log):
        raise InputError(
            f"`target` must have one entry per row of the log, got {table.n} for {len(log)} rows"
        )
    return table


def _from_shares(log: LoggedBandit, table: Table, name: str, source: str) -> TargetPolicy:
    names = table.blocks.get("target", ())
    if len(names) != log.n_actions:
        raise InputError(
            f"`target` must have one column per action, got {len(names) or 1} for {log.n_actions} actions"
        )
    shares = [probabilities_in(table.column(key), key, "target") for key in names]
    return from_distribution(log, kept(sums_to_one(np.column_stack(shares), "target")), name, source)
