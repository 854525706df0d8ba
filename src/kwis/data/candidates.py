"""Candidate sets: which actions were available in each row.

Named by a column of lists (:mod:`kwis.data.lists`), or by one yes/no column per action: a prefix, a mapping
from actions, a list in the order of the actions, or a matrix. An action that is a candidate somewhere is an
action of the log, whether any row took it or not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kwis.data.columns import Column, Kind, Label
from kwis.data.distributions import TOLERANCE, columns_by_action, named, probabilities_in, refuse_other_sums
from kwis.data.lists import ListColumn, lists_in
from kwis.data.table import Table, is_single, table_of
from kwis.errors import InputError
from kwis.runtime.arrays import kept
from kwis.typing import Floats, Ints

Mask = NDArray[np.bool_]
CandidateColumns = str | Sequence[str] | Mapping[Label, str]

GIVEN = "candidates"
"""Name under which candidates that came as an array are kept in the table."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Candidates:
    """The actions of a log and where each was available.

    Attributes
    ----------
    available
        ``(n, K)``, read-only.
    lists
        Name of the column of lists that they were read from, None if there is none: scores may be aligned
        with it.
    columns
        Raw columns that they were read from.
    """

    actions: tuple[Label, ...]
    available: Mask
    lists: str | None
    columns: tuple[str, ...]


def with_candidates(table: Table, asked: Any) -> tuple[Table, CandidateColumns]:
    """The table and the name of the candidates in it; those that came as an array or as lists are added."""
    if (
        isinstance(asked, str | Mapping)
        or is_single(asked)
        or (isinstance(asked, list | tuple) and all(isinstance(name, str) for name in asked))
    ):
        return table, asked
    given = table_of([(GIVEN, asked)])
    if not given.columns and not given.lists:
        raise InputError(
            "`candidates` must name a column, or hold a list of actions per row, got something else"
        )
    if given.n != table.n:
        raise InputError(f"`candidates` must have one entry per row, got {given.n} for {table.n} rows")
    return replace(
        table,
        columns={**table.columns, **given.columns},
        blocks={**table.blocks, **given.blocks},
        lists={**table.lists, **given.lists},
    ), GIVEN


def candidates_in(
    table: Table, asked: CandidateColumns, logged: Sequence[Label], kind: Kind, *, closed: bool
) -> Candidates:
    """Candidates of every row.

    Parameters
    ----------
    logged, kind
        Actions known so far, in order, and the kind of the column that holds them.
    closed
        Whether there are no others.
    """
    if isinstance(asked, str):
        lists = lists_in(table, asked)
        if lists is not None:
            return _from_lists(table, asked, lists, logged, kind, closed)
        if asked in table.blocks:
            asked = table.blocks[asked]
    columns = _by_action(table, asked, logged, kind, closed)
    actions = _sorted(columns) if not closed and set(columns) != set(logged) else tuple(logged)
    flags = [_flags(table.column(columns[action], "candidates"), columns[action]) for action in actions]
    return Candidates(
        actions=actions,
        available=kept(np.column_stack(flags)),
        lists=None,
        columns=tuple(columns.values()),
    )


def codes_in(lists: ListColumn, actions: Sequence[Label]) -> Ints:
    """Code of every entry among the actions, -1 for others; labels are the same if they are written alike."""
    codes, labels = lists.entries.coded()
    places = {_written(action): code for code, action in enumerate(actions)}
    lookup = np.array([*(places.get(_written(label), -1) for label in labels), -1], dtype=np.int64)
    return lookup[codes]


def score_lists(table: Table, name: str) -> ListColumn | None:
    """Lists of probabilities; a column of single numbers is none."""
    if name in table and table.column(name).kind != "text":
        return None
    return lists_in(table, name)


def aligned(sets: ListColumn, scores: ListColumn, name: str, actions: Sequence[Label], role: str) -> Floats:
    """``(n, K)`` distribution from the probability of each candidate."""
    differ = scores.lengths != sets.lengths
    if differ.any():
        row = int(np.argmax(differ))
        raise InputError(
            f"{named(name, role)} must have one probability per candidate, got {scores.lengths[row]} for "
            f"{sets.lengths[row]} candidates at row {row}"
        )
    values = _numbers(scores, name, role)
    whole = np.zeros((len(sets), len(actions)))
    np.add.at(whole, (sets.rows, codes_in(sets, actions)), values)
    refuse_other_sums(whole, f"{named(name, role)} must be probabilities that sum to 1 over the candidates")
    return whole


def refuse_outside(whole: Floats, available: Mask | None, actions: Sequence[Label], role: str) -> None:
    """Refuse a probability of an action that is not among the candidates of its row."""
    if available is None:
        return
    outside = (whole > TOLERANCE) & ~available
    if outside.any():
        row, code = (int(place[0]) for place in np.nonzero(outside))
        raise InputError(
            f"`{role}` must be 0 for actions that are not available, got {whole[row, code]:.6g} for "
            f"{actions[code]!r} at row {row}, which is not among its candidates"
        )


def refuse_lone(logged: Floats, available: Mask | None, role: str) -> None:
    """Refuse a probability below 1 where the logged action is the only candidate."""
    if available is None:
        return
    wrong = (available.sum(axis=1) == 1) & (logged < 1 - TOLERANCE)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise InputError(
            f"`{role}` must be 1 where there is one candidate, got {logged[row]:.6g} at row {row}"
        )


def refuse_unavailable(action: Ints, available: Mask, actions: Sequence[Label]) -> None:
    """Refuse a logged action that is not among the candidates of its row."""
    taken = available[np.arange(len(action)), action]
    if not taken.all():
        row = int(np.argmin(taken))
        wrong = len(taken) - int(taken.sum())
        rows = f"row {row}" if wrong == 1 else f"row {row}, the first of {wrong:,} such rows"
        few = [str(actions[code]) for code in np.flatnonzero(available[row])[:5]]
        more = ", ..." if available[row].sum() > len(few) else ""
        raise InputError(
            f"`candidates` must contain the action taken, got {actions[action[row]]!r} beside "
            f"{', '.join(few) + more if few else 'none'} at {rows}; correct the candidates, or leave such "
            f"rows out if they are few"
        )


def uniform(available: Mask | None, n: int, k: int) -> Floats:
    """``(n, K)`` the distribution that gives every available action the same probability."""
    if available is None:
        return np.full((n, k), 1 / k)
    return np.asarray(available / available.sum(axis=1, keepdims=True))


def among(distribution: Floats, available: Mask | None) -> Floats:
    """The distribution given that the action is available; of equal chances where all of these are 0."""
    if available is None:
        return distribution
    kept = np.where(available, distribution, 0.0)
    none = kept.sum(axis=1) <= 0
    kept[none] = available[none]
    return np.asarray(kept / kept.sum(axis=1, keepdims=True))


def set_sizes(available: Mask | None, n: int, k: int) -> Floats:
    """``(n,)`` number of actions available in each row."""
    return np.full(n, float(k)) if available is None else available.sum(axis=1).astype(np.float64)


def of_pairs(logged: Floats, action: Ints, available: Mask | None, k: int) -> Floats | None:
    """``(n, K)`` distribution from the probability of the logged action, where no row has more than one other
    action; None elsewhere.
    """
    if (k if available is None else int(available.sum(axis=1).max(initial=0))) > 2:
        return None
    rows = np.arange(len(action))
    others = np.ones((len(action), k), dtype=bool) if available is None else np.array(available)
    others[rows, action] = False
    whole = others * (1 - logged)[:, None]
    whole[rows, action] = logged
    return whole


def sizes_in_words(available: Mask) -> str:
    """How many candidates rows have, for a note."""
    sizes = available.sum(axis=1)
    low, high = int(sizes.min()), int(sizes.max())
    many = f"{low}" if low == high else f"{low} to {high}"
    return f"{many} of the {available.shape[1]} actions are available in each row"


def _from_lists(
    table: Table, name: str, lists: ListColumn, logged: Sequence[Label], kind: Kind, closed: bool
) -> Candidates:
    if lists.entries.missing.any():
        row = int(lists.rows[np.argmax(lists.entries.missing)])
        raise InputError(
            f"{named(name, 'candidates')} must name an action in every entry, got none at row {row}"
        )
    codes = codes_in(lists, logged)
    actions: tuple[Label, ...] = tuple(logged)
    if (codes < 0).any():
        place = int(np.argmax(codes < 0))
        if closed:
            raise InputError(
                f"{named(name, 'candidates')} must hold only the actions listed, got "
                f"{lists.entries.at(place)!r} at row {lists.rows[place]}"
            )
        labels = lists.entries.take(np.flatnonzero(codes < 0)).coded()[1]
        actions = _sorted([*logged, *(_label(label, kind, name) for label in labels)])
        codes = codes_in(lists, actions)
    available = np.zeros((len(lists), len(actions)), dtype=bool)
    available[lists.rows, codes] = True
    members = table.blocks.get(name, (name,) if name in table else ())
    return Candidates(actions=actions, available=kept(available), lists=name, columns=tuple(members))


def _by_action(
    table: Table, asked: CandidateColumns, logged: Sequence[Label], kind: Kind, closed: bool
) -> dict[Label, str]:
    """One yes/no column per action; of a prefix or a mapping, also of actions that no row took."""
    if isinstance(asked, str):
        found: dict[Label, str] = {
            name.removeprefix(f"{asked}_"): name
            for name, column in table.columns.items()
            if name.startswith(f"{asked}_") and _is_yes_no(column)
        }
        if found:
            asked = found
    if not isinstance(asked, Mapping) or closed:
        return dict(zip(logged, columns_by_action(table, asked, logged, "candidates"), strict=True))
    known = {_written(action): action for action in logged}
    by_label = {
        known[_written(key)] if _written(key) in known else _label(key, kind, "candidates"): name
        for key, name in asked.items()
    }
    for action in logged:
        if action not in by_label:
            raise InputError(
                f"`candidates` must have a column for every action taken, got none for {action!r}"
            )
    return by_label


def _is_yes_no(column: Column) -> bool:
    return column.kind == "boolean" or (
        column.kind == "number" and bool(np.isin(column.values, (0, 1)).all())
    )


def _flags(column: Column, name: str) -> Mask:
    if not _is_yes_no(column) or column.missing.any():
        values = column.values if column.kind in ("number", "boolean") else np.full(len(column), np.nan)
        row = int(np.argmax(~np.isin(values, (0, 1))))
        raise InputError(
            f"{named(name, 'candidates')} must hold yes or no, got {column.at(row)!r} at row {row}"
        )
    return np.asarray(column.values == 1)


def _numbers(scores: ListColumn, name: str, role: str) -> Floats:
    entries = scores.entries
    if entries.kind == "text":
        try:
            values = np.array([float(level) for level in (*entries.levels, "nan")])[entries.values]
        except ValueError:
            raise InputError(f"{named(name, role)} must hold numbers, got {entries.levels[0]!r}") from None
        entries = Column("number", values)
    try:
        return probabilities_in(entries, name, role)
    except InputError as trouble:  # a place in all lists says nothing to the user, its row does
        sentence, at, place = str(trouble).rpartition(" at row ")
        raise InputError(
            f"{sentence}{at}{scores.rows[int(place)]}" if place.isdigit() else str(trouble)
        ) from None


def _label(label: Any, kind: Kind, name: str) -> Label:
    """A label as the column of actions would have it."""
    if kind != "number":
        return str(label)
    try:
        number = float(label)
    except ValueError:
        raise InputError(
            f"{named(name, 'candidates')} must hold actions, which are numbers in this log, got {label!r}"
        ) from None
    return int(number) if number.is_integer() else number


def _written(label: Any) -> str:
    if isinstance(label, float) and label.is_integer():
        return str(int(label))
    return str(label)


def _sorted(labels: Any) -> tuple[Label, ...]:
    return tuple(sorted(set(labels)))
