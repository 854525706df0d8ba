"""The logger's probabilities, from whatever columns hold them: of one logging policy, or of several.

Where several policies logged (``logger=``), the probabilities of each of them make better weights than those
of the policy that happened to act (:mod:`kwis.policy.loggers`). They are named by a mapping from loggers to
what ``propensity`` may be for one, such as ``{"old": "p_old", "new": "p_new"}``, or by their common prefix
``"p"``: every column holds the probability with which that logger would have taken the action that was taken.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kwis.data.candidates import Candidates, aligned, of_pairs, refuse_lone, refuse_outside, score_lists
from kwis.data.columns import Label
from kwis.data.distributions import (
    columns_by_action,
    distribution_in,
    family,
    named,
    numbers_in,
    probabilities_in,
    proper_family,
)
from kwis.data.lists import lists_in
from kwis.data.read.source import PropensityColumns
from kwis.data.table import Table
from kwis.errors import InputError
from kwis.runtime.arrays import kept
from kwis.typing import Floats, Ints


@dataclass(frozen=True, slots=True)
class Loggers:
    """``(n,)`` codes of the logging policies, and their labels."""

    codes: Ints
    names: tuple[Label, ...]


@dataclass(frozen=True, slots=True)
class Behaviour:
    """Probability of the logged action, ``(n,)``, and of all actions where it is known, ``(n, K)``; where
    several logged, ``(n, L)`` that of the logged action by each of them.
    """

    logged: Floats | None
    whole: Floats | None
    columns: tuple[str, ...]
    by_logger: Floats | None = None


@dataclass(frozen=True, slots=True)
class Taken:
    """The actions taken, all actions there are, and where each was available."""

    action: Ints
    actions: tuple[Label, ...]
    offered: Candidates | None = None

    @property
    def available(self) -> Any:
        return None if self.offered is None else self.offered.available


def behaviour_in(
    table: Table, propensity: PropensityColumns | None, taken: Taken, loggers: Loggers | None = None
) -> Behaviour:
    """The probabilities that ``propensity`` names."""
    if propensity is None or propensity is False:
        return Behaviour(None, None, ())
    each = None if loggers is None else _columns_of_loggers(table, propensity, loggers.names, taken.actions)
    if each is not None and loggers is not None:
        return _of_several(table, each, taken, loggers)
    found = _aligned(table, propensity, taken) or _by_column(table, propensity, taken)
    return _checked(found, taken)


def _checked(found: Behaviour, taken: Taken) -> Behaviour:
    """Both of the logged action and of all actions, as far as they are known."""
    logged, whole = found.logged, found.whole
    if whole is not None:
        refuse_outside(whole, taken.available, taken.actions, "propensity")
        if logged is None:
            logged = whole[np.arange(len(whole)), taken.action]
            _refuse_impossible(logged, found.columns, taken)
    else:
        assert logged is not None
        refuse_lone(logged, taken.available, "propensity")
        whole = of_pairs(logged, taken.action, taken.available, len(taken.actions))
    return Behaviour(kept(logged), None if whole is None else kept(whole), found.columns)


def _aligned(table: Table, propensity: PropensityColumns, taken: Taken) -> Behaviour | None:
    """The whole distribution from scores aligned with the candidates, where these are lists."""
    offered = taken.offered
    if offered is None or offered.lists is None or not isinstance(propensity, str):
        return None
    sets, scores = lists_in(table, offered.lists), score_lists(table, propensity)
    if sets is None or scores is None:
        return None
    whole = aligned(sets, scores, propensity, taken.actions, "propensity")
    columns = table.blocks.get(propensity, (propensity,) if propensity in table else ())
    return Behaviour(None, whole, tuple(columns))


def _by_column(table: Table, propensity: PropensityColumns, taken: Taken) -> Behaviour:
    """One column for the logged action, or one per action."""
    if isinstance(propensity, str) and propensity in table:
        logged = numbers_in(table.column(propensity), propensity, "propensity")
        _refuse_no_chance(logged, propensity)
        members = proper_family(table, propensity, taken.actions)
        whole = distribution_in(table, members, "propensity") if members else None
        if whole is not None and np.abs(whole[np.arange(table.n), taken.action] - logged).max() > 1e-6:
            whole = None  # columns that are called alike but are something else
        return Behaviour(logged, whole, (propensity, *members))
    assert propensity is not False
    names = columns_by_action(table, propensity, taken.actions, "propensity")
    return Behaviour(None, distribution_in(table, names, "propensity"), names)


def _columns_of_loggers(
    table: Table, propensity: Any, loggers: Sequence[Label], actions: Sequence[Label]
) -> dict[Label, Any] | None:
    """What each logger's probabilities are read from; None if ``propensity`` does not go by logger."""
    if len(loggers) < 2:
        return None
    if isinstance(propensity, Mapping):
        spelled = {str(key): value for key, value in propensity.items()}
        if set(spelled) == {str(action) for action in actions}:
            return None
        if not set(spelled) & {str(logger) for logger in loggers}:
            return None
        for logger in loggers:
            if str(logger) not in spelled:
                raise InputError(f"`propensity` must have a column for every logger, got none for {logger!r}")
        return {logger: spelled[str(logger)] for logger in loggers}
    if not isinstance(propensity, str) or propensity in table or family(table, propensity, actions):
        return None
    names = {logger: f"{propensity}_{logger}" for logger in loggers}
    if all(name in table or family(table, name, actions) for name in names.values()):
        return dict(names)
    return None


def _of_several(table: Table, each: Mapping[Label, Any], taken: Taken, loggers: Loggers) -> Behaviour:
    found = [_of_one(table, columns, taken) for columns in each.values()]
    by_logger = np.column_stack([one.logged for one in found if one.logged is not None])
    rows = np.arange(table.n)
    own = by_logger[rows, loggers.codes]
    if (own <= 0).any():
        row = int(np.argmax(own <= 0))
        raise InputError(
            f"`propensity` must be positive for the logger that acted, got {own[row]} for "
            f"{loggers.names[loggers.codes[row]]!r} at row {row}"
        )
    wholes = [one.whole for one in found if one.whole is not None]
    whole = None
    if len(wholes) == len(found):
        whole = np.stack(wholes)[loggers.codes, rows]
    mine = _checked(Behaviour(own, whole, tuple(name for one in found for name in one.columns)), taken)
    return Behaviour(mine.logged, mine.whole, mine.columns, kept(by_logger))


def _of_one(table: Table, columns: Any, taken: Taken) -> Behaviour:
    """Of one of several loggers, who may never take the action that another took."""
    if isinstance(columns, str) and columns in table and table.column(columns).kind != "text":
        logged = probabilities_in(table.column(columns), columns, "propensity")
        return Behaviour(
            logged, of_pairs(logged, taken.action, taken.available, len(taken.actions)), (columns,)
        )
    found = _aligned(table, columns, taken) or _by_column(table, columns, taken)
    assert found.whole is not None
    return Behaviour(found.whole[np.arange(table.n), taken.action], found.whole, found.columns)


def _refuse_no_chance(logged: Floats, name: str) -> None:
    bad = (logged <= 0) | (logged > 1)
    if bad.any():
        row = int(np.argmax(bad))
        raise InputError(f"{named(name, 'propensity')} must be in (0, 1], got {logged[row]} at row {row}")


def _refuse_impossible(logged: Floats, names: Sequence[str], taken: Taken) -> None:
    if (logged <= 0).any():
        row = int(np.argmax(logged <= 0))
        name = names[taken.action[row]] if len(names) == len(taken.actions) else "propensity"
        raise InputError(
            f"{named(name, 'propensity')} must be positive where its action was taken, got "
            f"{logged[row]} for {taken.actions[taken.action[row]]!r} at row {row}"
        )
