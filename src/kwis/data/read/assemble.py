"""From a table and the meaning of its columns to a checked log."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from kwis._validation import one_of
from kwis.data.candidates import (
    CandidateColumns,
    Candidates,
    candidates_in,
    refuse_unavailable,
    sizes_in_words,
    with_candidates,
)
from kwis.data.columns import Label
from kwis.data.distributions import codes_of, named, numbers_in
from kwis.data.encode import encode, seconds
from kwis.data.log import PROPENSITY_SOURCES, LoggedBandit, PropensitySource
from kwis.data.position import POSITION_PARTS, with_positions_in_actions
from kwis.data.read.behaviour import Decisions, place_in_words
from kwis.data.read.by_logger import Loggers, behaviour_by_logger
from kwis.data.read.context import context_columns
from kwis.data.read.source import Roles, Source, with_usual_propensity
from kwis.data.read.sql import sql_that_fixes
from kwis.data.remedy import GapError, refuse_text_for_dates
from kwis.data.table import Table
from kwis.data.written import without
from kwis.errors import InputError
from kwis.runtime.arrays import kept
from kwis.runtime.process import warn
from kwis.typing import Floats, Ints

FEW_ROWS = 30
LARGEST_REWARD = 1e100  # squares and their sums stay far from overflow


def assemble(source: Source, roles: Roles) -> LoggedBandit:
    """The log of a source, with ``roles`` complete."""
    with sql_that_fixes(source):
        return _assembled(source, roles)


def _assembled(source: Source, roles: Roles) -> LoggedBandit:
    table = source.table
    if table.n == 0:
        raise InputError("`source` must have rows, got none")
    if table.n < FEW_ROWS:
        warn(f"the log has only {table.n} rows; below {FEW_ROWS} intervals mean little", 4)
    refuse_unknown(table, roles)
    asked_for = roles.propensity
    roles = with_usual_propensity(_with_position(roles, table), table)
    table, asked = with_candidates(table, roles.candidates)
    rewards = table.expand(roles.rewards, "reward")
    if not rewards and roles.reward is not False:
        raise InputError("`reward` must name at least one column, got none")
    used = _used(table, rewards, roles.drop_missing)
    source_rows, table = table.n, table if used.size == table.n else table.take(used)
    action, action_names = _actions(table, roles.action or "action", roles.actions, asked is None)
    offered = None if asked is None else _offered(table, asked, roles, action_names)
    if offered is not None:
        action, action_names = _recoded(action, action_names, offered.actions), offered.actions
        refuse_unavailable(action, offered.available, action_names)
    loggers = None if roles.logger is None else Loggers(*_labels(table, roles.logger, "logger"))
    decisions = Decisions(table, action, action_names, used, source_rows, offered)
    behaviour = behaviour_by_logger(roles.propensity, decisions, loggers)
    sets = () if offered is None else offered.columns
    table = _with_gaps(table, roles, {*rewards, *behaviour.columns, *roles.single, *sets})
    context = context_columns(table, roles, (*rewards, *behaviour.columns), action_names, sets)
    encoding = encode(table, context.names, table.expand(roles.categorical, "categorical"))
    source_of_propensity = checked_source(roles.propensity_source)
    slot, slots = (None, ()) if roles.position is None else _labels(table, roles.position, "position")
    dropped = _note_on_dropped(source_rows - used.size, source_rows)
    log = LoggedBandit(
        action=kept(action),
        action_names=action_names,
        reward=kept(_rewards(table, rewards)),
        reward_names=rewards,
        encoding=encoding,
        table=table,
        rows=kept(used),
        source_rows=source_rows,
        propensity=behaviour.logged,
        behaviour=behaviour.whole,
        propensity_place=place_in_words(roles.propensity, behaviour, named=asked_for is not None),
        propensity_source=source_of_propensity if behaviour.logged is not None else None,
        row_weight=None if roles.row_weight is None else _row_weights(table, roles.row_weight),
        group=None if roles.group is None else kept(_labels(table, roles.group, "group")[0]),
        time=None if roles.time is None else _times(table, roles.time),
        logger=None if loggers is None else kept(loggers.codes),
        logger_names=() if loggers is None else loggers.names,
        logger_propensity=behaviour.by_logger,
        available=None if offered is None else offered.available,
        candidates=None if offered is None else offered.lists,
        position=None if slot is None else kept(slot),
        position_names=slots,
        key=roles.key,
        notes=(*source.notes, *dropped, *_sizes(offered), *context.notes, *encoding.notes),
        context_columns=context.names,
        context_named=roles.context is not None or not context.names,
    )
    return with_positions_in_actions(log) if roles.position_in == "action" else log


def _with_position(roles: Roles, table: Table) -> Roles:
    """Roles in which the position is a label of the context, unless it is part of the action."""
    if roles.position_in is not None:
        one_of(roles.position_in, "position_in", POSITION_PARTS)
    if roles.position is None:
        if roles.position_in is not None:
            raise InputError(f"`position` must be named for position_in={roles.position_in!r}, got None")
        return roles
    if roles.position_in == "action":
        return roles
    context = roles.context
    if context is not None:
        context = tuple(dict.fromkeys((*table.expand(context, "context"), roles.position)))
    return replace(
        roles,
        context=context,
        categorical=(*table.expand(roles.categorical, "categorical"), roles.position),
        position_in="context",
    )


def _offered(table: Table, asked: CandidateColumns, roles: Roles, logged: tuple[Label, ...]) -> Candidates:
    kind = table.column(roles.action or "action").kind
    found = candidates_in(table, asked, logged, kind, closed=roles.actions is not None)
    if len(found.actions) < 2:
        raise InputError(f"`candidates` must have at least two different actions, got only {logged[0]!r}")
    return found


def _recoded(codes: Ints, before: Sequence[Label], after: Sequence[Label]) -> Ints:
    places = {label: code for code, label in enumerate(after)}
    return np.array([places[label] for label in before], dtype=np.int64)[codes]


def _sizes(offered: Candidates | None) -> tuple[str, ...]:
    return () if offered is None else (sizes_in_words(offered.available),)


def refuse_unknown(table: Table, roles: Roles) -> None:
    """Refuse names of columns that the table does not have, all of them before anything is computed."""
    columns = {"action": roles.action or "action", "row_weight": roles.row_weight, "group": roles.group}
    columns |= {"time": roles.time, "logger": roles.logger, "key": roles.key, "position": roles.position}
    for role, name in columns.items():
        if name is not None:
            table.column(name, role)
    table.expand(roles.rewards, "reward")
    if roles.context is not None:
        table.expand(roles.context, "context")


def _used(table: Table, rewards: Sequence[str], drop_missing: bool) -> Ints:
    """Numbers of the rows to be used: all, or those that have every reward."""
    rows = np.arange(table.n)
    if not drop_missing or not rewards:
        return rows
    gone = np.logical_or.reduce([table.column(name).missing for name in rewards])
    if gone.all():
        raise InputError(f"{named(rewards[0], 'reward')} must hold numbers, got no value in any row")
    return rows[~gone]


def _note_on_dropped(count: int, total: int) -> tuple[str, ...]:
    if not count:
        return ()
    note = (
        f"{count:,} of {total:,} rows have no reward and were left out, which is right if chance "
        "decided whether a reward is known"
    )
    return (note,)


def _with_gaps(table: Table, roles: Roles, taken: set[str]) -> Table:
    """The table with the values of ``missing`` taken for gaps, in the columns that have no other role."""
    words = [roles.missing] if isinstance(roles.missing, str) else [str(word) for word in roles.missing]
    if not words:
        return table
    return replace(
        table,
        columns={
            name: column if name in taken else without(column, words)
            for name, column in table.columns.items()
        },
    )


def checked_source(given: PropensitySource | None) -> PropensitySource | None:
    """Where propensities come from, as somebody said it."""
    if given is not None:
        one_of(given, "propensity_source", PROPENSITY_SOURCES)
    return given


def _rewards(table: Table, names: Sequence[str]) -> Floats:
    """``(n, R)`` rewards."""
    return np.column_stack([_reward(table, name) for name in names]) if names else np.empty((table.n, 0))


def _reward(table: Table, name: str) -> Floats:
    column = table.column(name)
    try:
        values = numbers_in(column, name, "reward")
    except InputError as trouble:
        if column.kind in ("number", "boolean") and column.missing.any() and not column.missing.all():
            raise InputError(f"{trouble}; drop_missing=True leaves out rows without a reward") from None
        raise
    large = np.abs(values) > LARGEST_REWARD
    if large.any():
        row = int(np.argmax(large))
        raise InputError(
            f"{named(name, 'reward')} must be at most {LARGEST_REWARD:g} in size, got {values[row]} at row "
            f"{row}"
        )
    return values


def _actions(
    table: Table, name: str, known: Sequence[Label] | None, complete: bool
) -> tuple[Ints, tuple[Label, ...]]:
    column = table.column(name, "action")
    rule = f"{named(name, 'action')} must have a label in every row"
    if column.missing.all():
        raise InputError(f"{rule}, got no value in any row")
    if column.missing.any():
        raise GapError(rule, name, column, column.missing)
    codes, names = column.coded()
    if known is not None:
        listed = tuple(known)
        if len(set(listed)) != len(listed):
            raise InputError("`actions` must list each action once")
        codes = codes_of(column, listed)[0]
        if (codes < 0).any():
            row = int(np.argmax(codes < 0))
            raise InputError(
                f"{named(name, 'action')} must hold only the actions listed, got {column.at(row)!r} at row "
                f"{row}"
            )
        names = listed
    if len(names) < 2 and complete:
        raise InputError(
            f"{named(name, 'action')} must have at least two different actions, got only {names[0]!r}"
        )
    return codes, names


def _row_weights(table: Table, name: str) -> Floats:
    values = numbers_in(table.column(name, "row_weight"), name, "row_weight")
    if (values <= 0).any():
        row = int(np.argmax(values <= 0))
        raise InputError(f"{named(name, 'row_weight')} must be positive, got {values[row]} at row {row}")
    return np.asarray(kept(values))


def _labels(table: Table, name: str, role: str) -> tuple[Ints, tuple[Label, ...]]:
    column = table.column(name, role)
    codes, labels = column.coded()
    if (codes < 0).any():
        raise GapError(f"{named(name, role)} must have a label in every row", name, column, codes < 0)
    return codes, labels


def _times(table: Table, name: str) -> Floats:
    column = table.column(name, "time")
    if column.kind == "date":
        if column.missing.any():
            raise InputError(
                f"{named(name, 'time')} must have a value in every row, got none at row "
                f"{int(np.argmax(column.missing))}"
            )
        return np.asarray(kept(seconds(column)))
    if column.kind == "text":
        row = int(np.argmin(column.missing))
        refuse_text_for_dates(
            column,
            f"{named(name, 'time')} must hold numbers, or dates such as 2024-12-31, got {column.at(row)!r} "
            f"at row {row}",
            name,
        )
    return np.asarray(kept(numbers_in(column, name, "time")))
