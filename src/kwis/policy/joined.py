"""Policies in another table, matched with the rows of a log by a key."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kwis.data.columns import Column, Label
from kwis.data.log import LoggedBandit
from kwis.data.read.files import format_of
from kwis.data.read.predictions import Predictions, are_predictions, read_predictions
from kwis.data.read.read_log import read_source
from kwis.data.table import Table
from kwis.errors import InputError
from kwis.typing import Floats, Ints, LogSource

_SHOWN = 8

if TYPE_CHECKING:
    from kwis.policy.target import Target


@dataclass(frozen=True, slots=True, eq=False)
class Joined:
    """A policy in another table; see :func:`joined`."""

    source: LogSource
    target: Target | None
    key: str | None


def joined(source: LogSource, target: Target | None = None, *, key: str | None = None) -> Joined:
    """A policy in another file or frame, one row for every value of a key.

    Parameters
    ----------
    source
        Whatever :func:`kwis.read_log` reads, or a prediction file of Vowpal Wabbit
        (:mod:`kwis.data.read.predictions`), whose tags are the keys. Without tags and without a key it must
        have one prediction for every row of the log, in their order.
    target
        What the policy is in that table: a column, a prefix, :func:`kwis.chosen`, ...; nothing for a
        prediction file.
    key
        Column that both tables have; None: the ``key`` of the log.

    Returns
    -------
    Joined
        A target for :func:`kwis.evaluate`. The other file is read when it is evaluated.

    See Also
    --------
    kwis.distribution : probabilities in the log itself.
    kwis.chosen : actions in the log itself.

    Examples
    --------
    >>> frame = {"id": range(40), "age": [20, 40] * 20, "action": ["a", "b", "b", "a"] * 10}
    >>> log = kwis.read_log({**frame, "reward": [1, 0] * 20}, key="id", propensity=0.5, context=["age"])
    >>> table = {"id": range(39, -1, -1), "policy": ["a"] * 40}
    >>> evaluation = kwis.evaluate(log, {"new": kwis.joined(table, "policy", key="id")}, estimators=["wis"])
    >>> round(evaluation.recommendation().row.estimate.value, 2)
    0.5
    """
    return Joined(source, target, key)


class Predicted(NamedTuple):
    """Probabilities of the log's actions from a prediction file, and how its lines and numbers were read."""

    shares: Floats
    note: str


def matched(policy: Joined, log: LoggedBandit) -> Table | Predicted:
    """The rows of the other table that belong to those of the log; probabilities of a prediction file."""
    path = os.fspath(policy.source) if isinstance(policy.source, str | os.PathLike) else None
    if path is not None and format_of(path) is None and os.path.isfile(path) and are_predictions(path):
        return _predicted(path, policy, log)
    if policy.target is None:
        raise InputError(
            f"`target` must name a column of {_called(policy.source)}, got none{_columns_of(policy)}"
        )
    key = policy.key or log.key
    if key is None:
        raise InputError("`key` must name the column by which a policy in another file is joined")
    table = read_source(policy.source).table
    rows = _places(log.table.column(key, "key"), table.column(key, "key"), key, _called(policy.source))
    return table.take(rows)


def _columns_of(policy: Joined) -> str:
    """Which columns could have been named, where the other table can be read."""
    try:
        names = list(read_source(policy.source).table.columns)
    except InputError:
        return ""
    return f"; it has {', '.join(names[:_SHOWN])}" + (", ..." if len(names) > _SHOWN else "")


def _called(source: LogSource) -> str:
    return repr(os.fspath(source)) if isinstance(source, str | os.PathLike) else "the other table"


def _places(wanted: Column, known: Column, key: str, source: str) -> Ints:
    """The row of the other table for each row of the log."""
    codes, labels = known.coded()
    if (codes < 0).any():
        raise InputError(f"`{key}` (key) must have a value in every row of {source}")
    rows = np.bincount(codes, minlength=len(labels))
    if (rows > 1).any():
        label = labels[int(np.argmax(rows > 1))]
        raise InputError(f"`{key}` (key) must identify the rows of {source}, got {label!r} more than once")
    place = np.empty(len(labels), dtype=np.int64)
    place[codes] = np.arange(len(codes))
    own, own_labels = wanted.coded()
    by_label = {_spelled(label): int(place[code]) for code, label in enumerate(labels)}
    lookup = np.array([*(by_label.get(_spelled(label), -1) for label in own_labels), -1], dtype=np.int64)
    found = lookup[own]
    if (found < 0).any():
        row, count = int(np.argmax(found < 0)), int((found < 0).sum())
        raise InputError(
            f"`{key}` (key) must be found in {source} for every row of the log, got {wanted.at(row)!r} at "
            f"row {row}, which is not there" + (f", nor are {count - 1:,} more" if count > 1 else "")
        )
    return found


def _spelled(label: Label) -> str:
    return str(label)


def _predicted(path: str, policy: Joined, log: LoggedBandit) -> Predicted:
    predictions = read_predictions(path)
    key = policy.key or log.key
    if key is not None and not predictions.tags:
        raise InputError(
            f"{path!r} must have a tag on every line to be joined by `{key}` (key); without a key, its lines "
            "are matched with the rows of the log in their order"
        )
    if key is not None:
        tags = Column("text", *_coded(predictions.tags))
        rows = _places(log.table.column(key, "key"), tags, key, repr(path))
    elif len(predictions.shares) == (log.source_rows or log.n):
        rows = log.rows
    else:
        raise InputError(
            f"{path!r} must have one prediction per row of the log, got {len(predictions.shares):,} for "
            f"{log.source_rows or log.n:,} rows; tags and a key would match them"
        )
    by = "in their order" if key is None else f"by {key}"
    shares = _by_action(predictions, rows, log.action_names, path)
    note = f"lines of {os.path.basename(path)} were matched with rows of the log {by}; its first action is "
    return Predicted(shares, note + repr(log.action_names[0]))


def _coded(tags: Sequence[str]) -> tuple[Ints, tuple[str, ...]]:
    levels, codes = np.unique(np.array(tags, dtype=object), return_inverse=True)
    return codes.astype(np.int64), tuple(levels.tolist())


def _by_action(predictions: Predictions, rows: Ints, actions: Sequence[Label], path: str) -> Floats:
    """Probabilities in the order of the log's actions: by position, or by number where actions are numbers.

    Vowpal Wabbit counts actions from 0 in predictions; logs of numbered actions start at 0 or 1.
    """
    shares = predictions.shares[rows]
    whole = np.zeros((len(rows), len(actions)))
    numbered = all(isinstance(action, int) and not isinstance(action, bool) for action in actions)
    first = 0 if 0 in actions else 1
    for place in range(shares.shape[1]):
        label = place + first
        code = (actions.index(label) if label in actions else -1) if numbered else place
        if 0 <= code < len(actions):
            whole[:, code] = shares[:, place]
        elif shares[:, place].any():
            raise InputError(
                f"{path!r} must predict actions of the log, got a probability for number {place + 1}; if it "
                "exists, say so with read_log(actions=[...])"
            )
    return whole
