"""What describes the actions, recognised from whatever the user has.

=============================================  =============================================================
``action_features``                            meaning
=============================================  =============================================================
``{"Solaris": "film", "Emma": "book"}``        from actions to a label, or to several in a tuple
``"genre"``, ``"genre,price"``                 columns of the log, which describe the action taken
``"items.csv"``, a data frame                  a table with a row per action: one column holds the actions,
                                               all others describe them
``"items.csv:genre,price"``                    the same, by the columns that are named
an array                                       a row per action, in the order of ``log.action_names``
=============================================  =============================================================

Actions are alike if all that describes them is equal, so numbers have to be classes, such as price ranges. A
cluster of actions is a feature like any other.
"""

from __future__ import annotations

import os
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from kwis.data.columns import Column, Label
from kwis.data.log import LoggedBandit
from kwis.data.position import items_of
from kwis.data.read.read_log import read_source
from kwis.data.table import Table
from kwis.errors import InputError
from kwis.typing import Ints

ActionFeatures: TypeAlias = Mapping[Any, Any] | str | os.PathLike[str] | Any
"""What describes the actions, in any form of the table above."""

_SHOWN = 6
"""Names listed in an error."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FeatureGroups:
    """Which actions are alike.

    Attributes
    ----------
    of_action
        ``(K,)`` the group of each action, numbered from 0.
    columns
        Columns of the log that were read; they tell the action, so they hold no context.
    """

    of_action: Ints
    columns: tuple[str, ...] = ()

    @property
    def count(self) -> int:
        """How many groups there are."""
        return int(self.of_action.max()) + 1


def feature_groups(log: LoggedBandit, features: ActionFeatures) -> FeatureGroups:
    """Which actions of the log have the same features."""
    if log.items is not None:
        return _at_positions(log, feature_groups(items_of(log), features))
    columns = _columns_named(log.table, features)
    if columns:
        return FeatureGroups(of_action=_numbered(_of_columns(log, columns), log), columns=columns)
    return FeatureGroups(of_action=_numbered(_described(log.action_names, features), log))


def _at_positions(log: LoggedBandit, items: FeatureGroups) -> FeatureGroups:
    """Pairs of an item and a position are alike if the items are and the position is the same."""
    slots = len(log.position_names)
    pairs = items.of_action[:, None] * slots + np.arange(slots)
    return FeatureGroups(of_action=pairs.ravel(), columns=items.columns)


def _columns_named(table: Table, features: ActionFeatures) -> tuple[str, ...]:
    """Columns of the log that ``features`` names; none if it is something else."""
    if not isinstance(features, str):
        return ()
    names = [features] if features in table else [name.strip() for name in features.split(",")]
    return tuple(names) if all(name in table for name in names) else ()


def _of_columns(log: LoggedBandit, names: Sequence[str]) -> list[tuple[Label | None, ...]]:
    """For every action what columns of the log say in its rows, which must be one thing."""
    first = np.full(log.n_actions, -1)
    first[log.action[::-1]] = np.arange(log.n)[::-1]
    if (first < 0).any():
        action = log.action_names[int(np.argmax(first < 0))]
        raise InputError(
            f"`action_features` must describe every action, and no row of the log has {action!r}; name a "
            "file or a mapping that describes them all"
        )
    columns = []
    for name in names:
        codes, labels = log.table.column(name, "action_features").coded()
        other = codes != codes[first[log.action]]
        if other.any():
            row = int(np.argmax(other))
            shown = [_label(codes, labels, one) for one in (int(first[log.action[row]]), row)]
            raise InputError(
                f"`{name}` (action_features) must say the same in all rows of an action, got {shown[0]!r} "
                f"and {shown[1]!r} for {log.action_names[log.action[row]]!r}"
            )
        columns.append([_label(codes, labels, row) for row in first.tolist()])
    return [*zip(*columns, strict=True)]


def _label(codes: Ints, labels: Sequence[Label], row: int) -> Label | None:
    return labels[codes[row]] if codes[row] >= 0 else None


def _described(actions: Sequence[Label], features: Any) -> list[Any]:
    """For every action what a mapping, a table or an array says of it."""
    if isinstance(features, str | os.PathLike):
        return _of_table(actions, *_read(os.fspath(features)))
    if _is_series(features):
        by_index: dict[Any, Any] = dict(features.items())
        features = by_index if all(action in by_index for action in actions) else features.to_numpy()
    if isinstance(features, Mapping):
        spelled = {str(action): description for action, description in features.items()}
        missing = [action for action in actions if str(action) not in spelled]
        if missing:
            raise InputError(
                f"`action_features` must name every action of the log, got none for {missing[0]!r}"
            )
        return [spelled[str(action)] for action in actions]
    if not isinstance(features, list | tuple | np.ndarray):
        return _of_table(actions, read_source(features).table, ())
    rows = [*np.asarray(features, dtype=object)] if isinstance(features, np.ndarray) else [*features]
    if len(rows) != len(actions):
        raise InputError(
            f"`action_features` must have one row per action, {len(actions)} of them, got {len(rows)}"
        )
    return rows


def _is_series(features: Any) -> bool:
    """Whether something is a column with an index, as pandas has them."""
    return hasattr(features, "items") and hasattr(features, "to_numpy") and not hasattr(features, "columns")


def _read(text: str) -> tuple[Table, tuple[str, ...]]:
    """The table that a path names, and the columns after its colon."""
    path, colon, names = (text, "", "") if os.path.exists(text) else text.rpartition(":")
    if not os.path.exists(path):
        raise InputError(
            f"`action_features` must be a column of the log or a file with a row per action, got {text!r}, "
            "which is neither"
        )
    table = read_source(path).table
    wanted = [name.strip() for name in names.split(",")] if colon else []
    try:
        return table, tuple(table.expand(wanted, "action_features"))
    except InputError as trouble:
        raise InputError(str(trouble).replace("a column of the log", f"a column of {path!r}")) from None


def _of_table(actions: Sequence[Label], table: Table, wanted: Sequence[str]) -> list[Any]:
    """For every action the values of its row in a table; of the columns ``wanted``, or of all."""
    key = _key(actions, table, wanted)
    codes, labels = table.columns[key].coded()
    present = [str(labels[code]) for code in codes.tolist() if code >= 0]
    twice = next((label for label in present if present.count(label) > 1), None) if _repeats(codes) else None
    if twice is not None:
        raise InputError(f"`action_features` must have one row per action, got {twice!r} twice in `{key}`")
    place = {str(labels[code]): row for row, code in enumerate(codes.tolist()) if code >= 0}
    missing = [action for action in actions if str(action) not in place]
    if missing:
        raise InputError(
            f"`action_features` must have a row for every action of the log, got none for {missing[0]!r} in "
            f"`{key}`"
        )
    names = [name for name in wanted or table.columns if name != key]
    if not names:
        raise InputError(f"`action_features` must have columns that describe the actions, got `{key}` alone")
    rows = [place[str(action)] for action in actions]
    columns = [_values(table.columns[name], rows) for name in names]
    return [*zip(*columns, strict=True)]


def _repeats(codes: Ints) -> bool:
    return bool((np.bincount(codes[codes >= 0]) > 1).any())


def _values(column: Column, rows: Sequence[int]) -> list[Label | None]:
    codes, labels = column.coded()
    return [_label(codes, labels, row) for row in rows]


def _key(actions: Sequence[Label], table: Table, wanted: Sequence[str]) -> str:
    """The column of a table that holds the actions: the one with most of them."""
    spelled = {str(action) for action in actions}
    known = {
        name: len(spelled & {str(label) for label in column.coded()[1]})
        for name, column in table.columns.items()
        if name not in wanted
    }
    best = [name for name, count in known.items() if count and count == max(known.values())]
    shown = ", ".join(f"`{name}`" for name in [*known][:_SHOWN]) or "none"
    if not best:
        raise InputError(
            f"`action_features` must have a column with the actions of the log, such as {actions[0]!r}; none "
            f"of {shown} has them"
        )
    if len(best) > 1:
        raise InputError(
            f"`action_features` must have one column with the actions, got {best[0]!r} and {best[1]!r}; "
            "leave one out"
        )
    return best[0]


def _numbered(descriptions: Sequence[Any], log: LoggedBandit) -> Ints:
    """Numbers from 0, the same for equal descriptions, in the order of the actions."""
    numbers: dict[tuple[Hashable, ...], int] = {}
    found = []
    for action, said in zip(log.action_names, descriptions, strict=True):
        label = tuple(said) if isinstance(said, list | tuple | np.ndarray) else (said,)
        if any(entry is None or entry != entry for entry in label):  # NaN is not itself
            raise InputError(f"`action_features` must describe every action, got a gap for {action!r}")
        try:
            found.append(numbers.setdefault(label, len(numbers)))
        except TypeError:
            raise InputError("`action_features` must be labels or numbers that can be compared") from None
    return np.array(found)
