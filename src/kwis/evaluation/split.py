"""Rows of a log by the values of its columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from kwis.data.log import LoggedBandit
from kwis.errors import InputError
from kwis.typing import Ints

By: TypeAlias = str | Sequence[str | tuple[str, ...]]
"""Columns that make segments; a tuple stands for the combinations of its columns."""
LEAST_ROWS = 30
_BINS = 4
_MANY_NUMBERS = 25


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Split:
    """Rows by segment.

    Attributes
    ----------
    labels, rows
        The values of the columns that make each segment, and the numbers of its rows.
    notes
        Which rows have no segment.
    """

    columns: tuple[str, ...]
    labels: tuple[tuple[str, ...], ...]
    rows: tuple[Ints, ...]
    notes: tuple[str, ...]


def splits_by(log: LoggedBandit, by: By) -> tuple[Split, ...]:
    """One split for each entry of ``by``: a column, or a tuple of columns for their combinations; either may
    also stand alone.
    """
    return tuple(split(log, columns) for columns in combinations_in(log, by))


def combinations_in(log: LoggedBandit, by: By) -> tuple[tuple[str, ...], ...]:
    """The columns of each entry of ``by``, all of which the log has."""
    alone = isinstance(by, str) or (
        isinstance(by, tuple) and by and all(isinstance(name, str) for name in by)
    )
    wanted = [by] if alone or not isinstance(by, Iterable) else list(by)
    found = tuple(_combination(columns) for columns in wanted)
    for columns in found:
        for name in columns:
            log.table.column(name, "by")
    return found


def _combination(columns: Any) -> tuple[str, ...]:
    names = (columns,) if isinstance(columns, str) else columns
    if not isinstance(names, Iterable) or not all(isinstance(name, str) for name in names):
        raise InputError(f"`by` must be names of columns, or tuples of them, got {columns!r}")
    return tuple(names)


def split(log: LoggedBandit, columns: tuple[str, ...]) -> Split:
    """Rows by the combinations of values of the columns; segments of under 30 rows or a single group are left
    out.
    """
    if not columns:
        raise InputError("`by` must name at least one column, got an empty combination")
    parts = [_levels(log, name) for name in columns]
    keys, codes = np.unique(np.stack([codes for codes, _ in parts], axis=1), axis=0, return_inverse=True)
    order, starts = np.argsort(codes.ravel(), kind="stable"), np.cumsum(np.bincount(codes.ravel()))[:-1]
    members = np.split(order, starts)
    sizes = np.array([rows.size if _draws(log, rows) > 1 else 0 for rows in members])
    kept = np.flatnonzero(sizes >= LEAST_ROWS)
    names = " and ".join(f"`{name}`" for name in columns)
    if not kept.size and not sizes.any():
        raise InputError(
            f"`by` must make segments of several groups, and every one by {names} has a single group"
        )
    if not kept.size:
        raise InputError(
            f"`by` must make segments of at least {LEAST_ROWS} rows, and the largest by {names} has "
            f"{sizes.max()}"
        )
    gone, rows = len(members) - kept.size, sum(part.size for part in members) - int(sizes[kept].sum())
    what = (
        f"1 segment by {names} with {rows:,} rows has"
        if gone == 1
        else f"{gone:,} segments by {names} with {rows:,} rows have"
    )
    note = f"{what} no estimate: too few rows (under {LEAST_ROWS}) or a single group"
    return Split(
        columns=columns,
        labels=tuple(
            tuple(levels[key] for key, (_, levels) in zip(keys[code], parts, strict=True)) for code in kept
        ),
        rows=tuple(members[code] for code in kept),
        notes=(note,) if gone else (),
    )


def _draws(log: LoggedBandit, rows: Ints) -> int:
    return int(rows.size if log.group is None else np.unique(log.group[rows]).size)


def _levels(log: LoggedBandit, name: str) -> tuple[Ints, Sequence[str]]:
    """Codes and labels of a column: its values, or quarters of its rows where it holds many numbers."""
    column = log.table.column(name, "by")
    codes, labels = column.coded()
    names = [str(label) for label in labels]
    if column.kind in ("number", "date") and len(names) > _MANY_NUMBERS:
        codes, names = _quarters(column.values, column.missing)
    if (codes < 0).any():
        return np.where(codes < 0, len(names), codes), [*names, "(missing)"]
    return codes, names


def _quarters(values: Any, missing: Any) -> tuple[Ints, list[str]]:
    present = np.sort(values[~missing])
    edges = np.unique(present[(np.arange(1, _BINS) * present.size) // _BINS])
    codes = np.full(values.size, -1)
    codes[~missing] = np.unique(np.searchsorted(edges, values[~missing], side="right"), return_inverse=True)[
        1
    ]
    parts = [values[codes == code] for code in range(int(codes.max()) + 1)]
    return codes, [f"{_short(part.min())} to {_short(part.max())}" for part in parts]


def _short(value: Any) -> str:
    return str(value)[:10] if isinstance(value, np.datetime64) else f"{value:.4g}"
