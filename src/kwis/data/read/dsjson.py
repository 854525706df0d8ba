"""Vowpal Wabbit's dsjson: one decision per line, with its cost, the actions offered and their probabilities.

======================  ====================================================================================
field                   becomes
======================  ====================================================================================
``_label_cost``         the reward, with its sign changed
``_label_Action``       the action: its position among those offered, from 1
``_label_probability``  the propensity; ``a`` and ``p`` give the whole distribution
``c``                   the context, nested names joined by a dot (``User.age``); lists of objects are taken
                        apart, ``"FromUrl": [{"weather": ...}]`` into ``FromUrl.weather``, or into
                        ``FromUrl.0.weather``, ... where there are several; names that start with ``_`` are
                        no features for Vowpal Wabbit and none here, nor are the features of the actions
                        (``_multi``)
``pdrop``               the row weight ``1 / (1 - pdrop)``
``Timestamp``           the time
======================  ====================================================================================

Lines without a decision (observations that arrived alone) and those marked ``_skipLearn`` are left out, with
a note; another note names whatever else of ``c`` is not used.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kwis.data.columns import Array, Column
from kwis.data.read.duck import clear_errors, connect, query_table
from kwis.data.read.json_lines import create_from_json, good_lines
from kwis.data.read.limits import refuse_cells, refuse_columns
from kwis.data.read.source import Roles, Source
from kwis.data.table import Table
from kwis.errors import InputError
from kwis.typing import Floats, Ints

_NEEDED = ("_label_cost", "_label_probability", "_label_Action")


def read_dsjson(paths: Sequence[str], *, skip_bad_lines: bool = False) -> Source:
    """Log of dsjson files, in the order of their names."""
    doing = f"cannot read {paths[0]!r} as dsjson"
    with good_lines(paths, wanted=skip_bad_lines) as good, connect() as connection:
        with clear_errors(doing):
            create_from_json(connection, good.paths, "lines")
            names = [name for name, *_ in connection.execute("DESCRIBE lines").fetchall()]
            total = int(connection.execute("SELECT count(*) FROM lines").fetchall()[0][0])
        _refuse_other_formats(names, paths[0])
        kept = "_label_cost IS NOT NULL AND _label_Action IS NOT NULL" + (
            " AND coalesce(CAST(_skipLearn AS VARCHAR), 'false') NOT IN ('true', '1')"
            if "_skipLearn" in names
            else ""
        )
        lists = " EXCLUDE (a, p)" if {"a", "p"} <= set(names) else ""
        table = query_table(connection, f"SELECT *{lists} FROM lines WHERE {kept}", doing, lists=_is_context)
        offered: list[Any] = []
        if lists:
            with clear_errors(doing):
                offered = connection.execute(f"SELECT a, p FROM lines WHERE {kept}").fetchall()
    notes = [*good.notes, "costs were turned into rewards by changing their sign"]
    if table.n < total:
        notes.append(
            f"{total - table.n} of {total} lines were left out: they hold no decision, or are marked to be "
            f"skipped"
        )
    return _source(table, offered, [*notes, *_unused(table)], paths)


def _is_context(name: str) -> bool:
    """Whether a field is part of the shared context: names that start with ``_`` are no features."""
    first, *parts = name.split(".")
    return first == "c" and not any(part.startswith("_") for part in parts)


def _unused(table: Table) -> Iterator[str]:
    """What of the context is no feature here, though it is one for Vowpal Wabbit."""
    other = (*table.opaque, *table.lists)
    lists = [name.removeprefix("c.") for name in other if _is_context(name)]
    if lists:
        yield (
            f"left out of the context, as they hold neither numbers, text, dates nor objects of these: "
            f"{', '.join(lists)}"
        )
    if any(name == "c._multi" or name.startswith("c._multi.") for name in (*other, *table.columns)):
        yield "features of the actions (`_multi`) are not used: actions are known by their position"


def _refuse_other_formats(names: Sequence[str], path: str) -> None:
    if "_outcomes" in names:
        raise InputError(f"`source` must hold one decision per line, and {path!r} has several (`_outcomes`)")
    for name in _NEEDED:
        if name not in names:
            raise InputError(f"`source` must be dsjson, and {path!r} has no field `{name}`")


def _source(table: Table, offered: list[Any], notes: list[str], paths: Sequence[str]) -> Source:
    columns: dict[str, Column] = {
        name: column for name, column in table.columns.items() if not name.startswith("c.")
    }
    columns["reward"] = Column("number", 0.0 - _numbers(table, "_label_cost"))
    if "pdrop" in columns:
        columns["row_weight"] = Column("number", 1 / (1 - np.nan_to_num(_numbers(table, "pdrop"))))
    shared = _Shared.of(table, taken=set(columns))
    columns.update(shared.columns)
    actions: Sequence[int] | None = None
    propensity: str | tuple[str, ...] = "_label_probability"
    if offered:
        whole = _distribution(offered, paths)
        actions = range(1, whole.shape[1] + 1)
        logged = (
            whole[np.arange(len(whole)), columns["_label_Action"].values.astype(np.int64) - 1]
            if _known(columns, whole)
            else None
        )
        if logged is not None and np.abs(logged - columns["_label_probability"].values).max() < 1e-6:
            propensity = tuple(f"behaviour_{action}" for action in actions)
            columns |= {f"behaviour_{action}": Column("number", whole[:, action - 1]) for action in actions}
        else:
            notes.append("the distributions in `p` do not agree with `_label_probability` and were not used")
    roles = Roles(
        action="_label_Action",
        reward="reward",
        propensity=propensity,
        context=shared.features,
        row_weight="row_weight" if "row_weight" in columns else None,
        time="Timestamp" if "Timestamp" in columns and columns["Timestamp"].kind == "date" else None,
        actions=actions,
    )
    return Source(
        table=Table(columns=columns, blocks=shared.blocks, opaque=(*table.opaque, *table.lists)),
        roles=roles,
        notes=tuple(notes),
    )


def _known(columns: dict[str, Column], whole: Floats) -> bool:
    chosen: Array = columns["_label_Action"].values
    return bool(((chosen >= 1) & (chosen <= whole.shape[1])).all())


def _numbers(table: Table, name: str) -> Floats:
    column = table.column(name)
    if column.kind != "number":
        raise InputError(f"`{name}` must hold numbers, got {column.at(0)!r} at row 0")
    return column.values.astype(np.float64)


@dataclass(frozen=True, slots=True)
class _Shared:
    """Columns of the shared context ``c`` under their short names, and which of them are features."""

    columns: dict[str, Column]
    blocks: dict[str, tuple[str, ...]]
    features: tuple[str, ...]

    @classmethod
    def of(cls, table: Table, taken: set[str]) -> _Shared:
        short = {
            name: name if (bare := name.removeprefix("c.")) in taken else bare
            for name in table.columns
            if name.startswith("c.")
        }
        hidden = {name for name in short if any(part.startswith("_") for part in name.split(".")[1:])}
        blocks = {
            name.removeprefix("c."): tuple(short.get(key, key) for key in keys)
            for name, keys in table.blocks.items()
        }
        columns = {new: table.columns[old] for old, new in short.items()}
        return cls(columns, blocks, tuple(new for old, new in short.items() if old not in hidden))


def _distribution(offered: list[Any], paths: Sequence[str]) -> Floats:
    """``(n, K)`` probabilities by position; an action that was not offered has 0."""
    for row, (actions, chances) in enumerate(offered):
        if (
            actions is None
            or chances is None
            or len(actions) != len(chances)
            or not actions
            or min(actions) < 1
        ):
            raise InputError(
                f"`a` and `p` must list the same actions, numbered from 1, got {actions} and {chances} at "
                f"row {row}"
            )
    counts = [len(actions) for actions, _ in offered]
    rows: Ints = np.repeat(np.arange(len(offered)), counts)
    places = np.concatenate([np.asarray(actions, dtype=np.int64) for actions, _ in offered]) - 1
    refuse_columns(int(places.max()) + 1, paths[0])
    refuse_cells(len(offered), int(places.max()) + 1, paths)
    whole = np.zeros((len(offered), int(places.max()) + 1))
    whole[rows, places] = np.concatenate([np.asarray(chances, dtype=np.float64) for _, chances in offered])
    return whole
