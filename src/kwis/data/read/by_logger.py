"""The probabilities of several logging policies, where the log says which of them acted (``logger=``).

They make better weights than those of the policy that happened to act (:mod:`kwis.policy.loggers`). They are
named by a mapping from loggers to what ``propensity`` may be for one, such as
``{"old": "p_old", "new": "p_new"}``, or by their common prefix ``"p"``: a single column holds the probability
with which that logger would have taken the action that was taken.
"""

from __future__ import annotations

import numbers
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kwis.data.candidates import of_pairs
from kwis.data.columns import Label
from kwis.data.distributions import constant_distribution, family, is_constant, probabilities_in
from kwis.data.read.behaviour import Behaviour, Decisions, behaviour_of, of_logged, whole_in_columns
from kwis.data.read.source import PropensityColumns
from kwis.errors import InputError
from kwis.runtime.arrays import kept
from kwis.typing import Floats, Ints


@dataclass(frozen=True, slots=True)
class Loggers:
    """``(n,)`` codes of the logging policies, and their labels."""

    codes: Ints
    names: tuple[Label, ...]


@dataclass(frozen=True, slots=True)
class _Logger:
    """Probability of the logged action by one of several loggers, who may never take what another took."""

    logged: Floats
    whole: Floats | None
    columns: tuple[str, ...] = ()


def behaviour_by_logger(
    propensity: PropensityColumns | None, decisions: Decisions, loggers: Loggers | None
) -> Behaviour:
    """The logging policy's probabilities, and those of all loggers where ``propensity`` goes by logger."""
    each = None if loggers is None else _of_each(propensity, decisions, loggers)
    if each is None or loggers is None:
        return behaviour_of(propensity, decisions)
    parts = [_of_one(given, decisions) for given in each]
    by_logger = np.column_stack([part.logged for part in parts])
    rows = np.arange(len(decisions.action))
    own = by_logger[rows, loggers.codes]
    if (own <= 0).any():
        row = int(np.argmax(own <= 0))
        raise InputError(
            f"`propensity` must be positive for the logger that acted, got {own[row]} for "
            f"{loggers.names[loggers.codes[row]]!r} at row {decisions.rows[row]}"
        )
    wholes = [part.whole for part in parts if part.whole is not None]
    whole = np.stack(wholes)[loggers.codes, rows] if len(wholes) == len(parts) else None
    columns = tuple(name for part in parts for name in part.columns)
    return replace(of_logged(own, whole, decisions, "propensity", columns), by_logger=kept(by_logger))


def _of_each(propensity: Any, decisions: Decisions, loggers: Loggers) -> list[Any] | None:
    """What the probabilities of each logger are read from; None if ``propensity`` does not go by logger."""
    table, actions = decisions.table, decisions.actions
    if len(loggers.names) < 2:
        return None
    if isinstance(propensity, Mapping):
        spelled = {str(key): given for key, given in propensity.items()}
        if set(spelled) == {str(action) for action in actions}:
            return None
        if not set(spelled) & {str(logger) for logger in loggers.names}:
            return None
        for logger in loggers.names:
            if str(logger) not in spelled:
                raise InputError(f"`propensity` must have a column for every logger, got none for {logger!r}")
        return [spelled[str(logger)] for logger in loggers.names]
    if not isinstance(propensity, str) or propensity in table or family(table, propensity, actions):
        return None
    names = [f"{propensity.removesuffix('_')}_{logger}" for logger in loggers.names]
    return names if all(name in table or family(table, name, actions) for name in names) else None


def _of_one(given: Any, decisions: Decisions) -> _Logger:
    table, action, k = decisions.table, decisions.action, len(decisions.actions)
    if isinstance(given, numbers.Real) and not isinstance(given, bool):
        if not 0 <= float(given) <= 1:
            raise InputError(f"`propensity` must be in [0, 1], got {float(given):g}")
        return _Logger(np.full(len(action), float(given)), None)
    if isinstance(given, Mapping) and is_constant(given):
        whole = constant_distribution(given, decisions.actions, len(action), "propensity")
        return _Logger(decisions.logged_in(whole), whole)
    if isinstance(given, str) and given in table and table.column(given).kind != "text":
        logged = probabilities_in(table.column(given), given, "propensity")
        return _Logger(logged, of_pairs(logged, action, decisions.available, k), (given,))
    whole, columns = whole_in_columns(given, decisions)
    return _Logger(decisions.logged_in(whole), whole, columns)
