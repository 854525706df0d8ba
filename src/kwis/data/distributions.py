"""Probabilities of actions found in a table: of the logged action alone, or one column per action.

Used for the logging policy and for targets alike. A distribution must lie in [0, 1] and each row must sum to
1 within ``TOLERANCE``, which forgives single precision and five printed digits, and nothing more; it is used
as given, not rescaled.
"""

from __future__ import annotations

import difflib
import numbers
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from kwis.data.columns import Array, Column, Label
from kwis.data.remedy import refuse_text_for_numbers
from kwis.data.table import Table
from kwis.errors import InputError
from kwis.typing import Floats, Ints

ColumnsByAction = str | Sequence[str] | Mapping[Label, str]

TOLERANCE = 1e-4
_SHOWN = 6
"""Actions listed in an error."""


def numbers_in(column: Column, name: str, role: str) -> Floats:
    """Finite float64 values of a column of numbers or yes/no, or an error with the first row that is
    something else.
    """
    said = named(name, role)
    if column.kind == "text":
        words = np.array([not _is_number(level) for level in column.levels] + [False])[column.values]
        row = int(np.argmax(words if words.any() else column.values >= 0))
        refuse_text_for_numbers(
            column,
            f"{said} must hold numbers, got {column.at(row)!r} at row {row}",
            name,
            two_words=role == "reward",
        )
    if column.kind == "date":
        raise InputError(f"{said} must hold numbers, got dates")
    values = column.values.astype(np.float64)
    if not np.isfinite(values).all():
        if np.isnan(values).all():
            raise InputError(f"{said} must hold numbers, got no value in any row")
        bad = np.flatnonzero(~np.isfinite(values))
        more = "" if bad.size == 1 else f" and no number in {bad.size - 1:,} more"
        raise InputError(f"{said} must be finite, got {values[bad[0]]} at row {bad[0]}{more}")
    return values


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def named(name: str, role: str) -> str:
    """How messages call a column: by its name, with the argument it was given for where that is
    another word.
    """
    return f"`{name}`" if name == role else f"`{name}` ({role})"


def probabilities_in(column: Column, name: str, role: str) -> Floats:
    """Values in [0, 1]; a rounding error past either end is taken off."""
    values = numbers_in(column, name, role)
    shares, bad = rounded_off(values)
    if bad.any():
        row = int(np.argmax(bad))
        raise InputError(f"{named(name, role)} must be in [0, 1], got {values[row]} at row {row}")
    return shares


def rounded_off(values: Floats) -> tuple[Floats, Array]:
    """Values with a rounding error past either end of [0, 1] taken off, and where they are further out or no
    number.
    """
    return np.clip(values, 0.0, 1.0), ~((values >= -1e-9) & (values <= 1 + 1e-6))


def family(table: Table, prefix: str, actions: Sequence[Label]) -> tuple[str, ...] | None:
    """Columns ``<prefix>_<action>`` or ``<prefix><action>``, one per action in order, if the table has them
    all; an action such as "Sea view" may be written as sea_view there.
    """
    plain = [str(action) for action in actions]
    for written in (plain, [re.sub(r"\W+", "_", action).lower() for action in plain]):
        for joint in ("_", ""):
            names = tuple(f"{prefix}{joint}{action}" for action in written)
            if len(set(names)) == len(names) and all(name in table for name in names):
                return names
    return None


def proper_family(table: Table, prefix: str, actions: Sequence[Label]) -> tuple[str, ...]:
    """The same columns if their values are a distribution too, otherwise none: names alone can be a
    coincidence.
    """
    names = family(table, prefix, actions)
    if names is None or any(table.columns[name].kind != "number" for name in names):
        return ()
    values = np.column_stack([table.columns[name].values for name in names]).astype(np.float64)
    proper = (
        (values >= 0).all() and (values <= 1).all() and (np.abs(values.sum(axis=1) - 1) <= TOLERANCE).all()
    )
    return names if proper else ()


def columns_by_action(
    table: Table, columns: ColumnsByAction, actions: Sequence[Label], role: str
) -> tuple[str, ...]:
    """One column name per action, in the order of ``actions``, from a mapping, a prefix, or a list: of names
    that end in the actions in any order, or else in that order.
    """
    listed = isinstance(columns, str) and columns in table.blocks
    if isinstance(columns, str):
        found = table.blocks.get(columns) or family(table, columns, actions)
        if found is None:
            table.expand(columns, role)  # says that there is no such name, and which is nearest
            wanted = (
                f"`{columns}_{actions[0]}`, `{columns}_{actions[1]}`"
                if len(actions) > 1
                else f"`{columns}_{actions[0]}`"
            )
            raise InputError(
                f"`{role}` must have one column per action ({wanted}, ...), got the single column `{columns}`"
            )
        columns = found
    if isinstance(columns, Mapping):
        return _from_mapping(columns, actions, role)
    if len(columns) != len(actions):
        hint = (
            "; if these are of the actions at hand in a row, name those with candidates=..." if listed else ""
        )
        raise InputError(
            f"`{role}` must have one column per action ({_some(actions)}), got {len(columns)} for "
            f"{len(actions)} actions{hint}"
        )
    return _named_after(columns, actions) or tuple(columns)


def _named_after(columns: Sequence[str], actions: Sequence[Label]) -> tuple[str, ...]:
    """Columns in the order of the actions, if their names are one prefix and an action each; else none."""
    by_spelling = {column.casefold(): column for column in columns}
    first = columns[0].casefold() if columns else ""
    for action in actions:
        prefix = first.removesuffix(str(action).casefold())
        wanted = [prefix + str(one).casefold() for one in actions]
        if prefix != first and set(wanted) == set(by_spelling) and len(by_spelling) == len(columns):
            return tuple(by_spelling[name] for name in wanted)
    return ()


def _from_mapping(columns: Mapping[Label, str], actions: Sequence[Label], role: str) -> tuple[str, ...]:
    spelled = {str(key): name for key, name in columns.items()}
    for action in actions:
        if action not in columns and str(action) not in spelled:
            raise InputError(
                f"`{role}` must have a column for every action of the log, got none for {action!r}"
            )
    known = {str(action) for action in actions}
    for key in columns:
        if str(key) not in known:
            raise InputError(unknown_action(role, key, actions))
    return tuple(columns[action] if action in columns else spelled[str(action)] for action in actions)


def is_constant(given: Mapping[Any, Any]) -> bool:
    """Whether a mapping is from actions to probabilities, rather than to columns."""
    return bool(given) and all(
        isinstance(share, numbers.Real) and not isinstance(share, bool) for share in given.values()
    )


def constant_distribution(given: Mapping[Any, Any], actions: Sequence[Label], n: int, role: str) -> Floats:
    """``(n, K)`` the same distribution in every row; actions that the mapping does not name have 0."""
    by_spelling = {str(action): code for code, action in enumerate(actions)}
    shares = np.zeros(len(actions))
    for action, share in given.items():
        if str(action) not in by_spelling:
            raise InputError(unknown_action(role, action, actions))
        if not 0 <= share <= 1:
            raise InputError(f"`{role}` must be in [0, 1], got {share:g} for {action!r}")
        shares[by_spelling[str(action)]] = share
    if abs(shares.sum() - 1) > TOLERANCE:
        raise InputError(f"`{role}` must sum to 1 over the actions, got {shares.sum():g}")
    return np.tile(shares, (n, 1))


def unknown_action(role: str, action: object, actions: Sequence[Label]) -> str:
    spelled = {str(one).casefold(): one for one in actions}
    close = difflib.get_close_matches(str(action).casefold(), spelled, n=1, cutoff=0.5)
    hint = f"did you mean {spelled[close[0]]!r}? If it" if close else f"the log has {_some(actions)}; if it"
    return (
        f"`{role}` must know only actions of the log, got {action!r}, which no row took; {hint} exists, say "
        f"so with read_log(actions=[...])"
    )


def _some(actions: Sequence[Label]) -> str:
    return ", ".join(repr(action) for action in actions[:_SHOWN]) + (", ..." if len(actions) > _SHOWN else "")


def distribution_in(table: Table, names: Sequence[str], role: str) -> Floats:
    """``(n, K)`` distribution from one column per action, each row summing to 1."""
    columns = [probabilities_in(table.column(name, role), name, role) for name in names]
    return sums_to_one(np.column_stack(columns), role)


def sums_to_one(distribution: Floats, role: str) -> Floats:
    refuse_other_sums(distribution, f"`{role}` must be a distribution that sums to 1 over the actions")
    return distribution


def refuse_other_sums(distribution: Floats, rule: str) -> None:
    """Refuse rows that do not sum to 1; ``rule`` says what they must do."""
    total = distribution.sum(axis=1)
    wrong = np.abs(total - 1) > TOLERANCE
    if wrong.any():
        row = int(np.argmax(wrong))
        raise InputError(f"{rule}, got {total[row]:.6g} at row {row}")


def codes_of(column: Column, actions: Sequence[Label]) -> tuple[Ints, Array]:
    """Code of each row's label among ``actions`` (-1 if it is none of them), and where there is no label at
    all.
    """
    codes, labels = column.coded()
    index = {action: code for code, action in enumerate(actions)}
    lookup = np.array([*(index.get(label, -1) for label in labels), -1], dtype=np.int64)
    return lookup[codes], codes < 0
