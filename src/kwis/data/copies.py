"""Rows that are copies of other rows: one decision that a log holds several times.

A join that went wrong, a table loaded twice, events that were sent again: copies agree in every column. So do
decisions of their own where all columns are discrete, and those are no copies. Rows are taken for copies
where chance alone hardly explains them (below one in a million), in either of two ways:

- Rows of the same circumstances (context and dates) hardly ever differ in anything, although the action of a
  second row would be that of the first with its propensity only, and have the reward of the first as often as
  that reward occurs. Columns outside the context count as circumstances too, but may depend on the action,
  which is then no evidence.
- Every distinct row occurs a multiple of two, three, ... times: the whole log was repeated.

Copies are made a group: what is resampled, held out and counted together.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from kwis.data.columns import Array, Column
from kwis.data.log import COPIES, LoggedBandit
from kwis.runtime.arrays import kept
from kwis.typing import Floats, Ints

_CHANCE = 1e-6
_GLIMPSE = 1_000  # rows among which numbers that repeat mostly do so already
# of the circumstances that occur again: rows that look alike by chance differ elsewhere far more often
_MOST_DIFFERENT = 0.1


def with_copies_grouped(log: LoggedBandit) -> LoggedBandit:
    """The log with copies as groups and a note on them; as it is where there are none, or where groups were
    declared.
    """
    labels = None if log.group is not None else copies(log)
    if labels is None:
        return log
    grouped = replace(log, group=kept(labels), group_origin=COPIES)
    return replace(grouped, notes=(*log.notes, copies_in_words(grouped)))


def copies_in_words(log: LoggedBandit) -> str:
    """What is said of a log whose groups are copies."""
    assert log.group is not None
    times = np.bincount(log.group)
    often = f"{times[0]} times each" if np.ptp(times) == 0 else f"up to {times.max()} times"
    told = (
        f"{len(log) - times.size:,} of the {len(log):,} rows are copies of others (rows occur {often}): each "
        f"counts as one decision"
    )
    return f"{told}; if copies are decisions of their own, name a column that tells them apart with group="


def copies(log: LoggedBandit) -> Ints | None:
    """``(n,)`` labels, the same for copies of one decision; None where no row is a copy."""
    columns = log.table.columns
    if any(all_different(column.values) for column in columns.values()):
        return None
    whole = codes_of_rows(column.values for column in columns.values())
    counts = np.bincount(whole)
    if counts.max() < 2:
        return None
    dates = [name for name, column in columns.items() if column.kind == "date"]
    if _unlikely(log, _codes(log, {*log.context_columns, *dates}), whole, by_action=True):
        return whole
    if _unlikely(
        log,
        _codes(log, {name for name, column in columns.items() if not _is_outcome(log, name, column)}),
        whole,
    ):
        return whole
    return _repeated(whole, counts)


def all_different(values: Array) -> bool:
    """Whether no two numbers are equal, gaps counting as equal; False for other values."""
    first = values[:_GLIMPSE]
    if values.dtype.kind not in "iuf" or np.unique(first).size < first.size:
        return False
    ranked = np.sort(values)
    return not (np.diff(ranked) == 0).any() and not bool(np.isnan(ranked[-2:]).all())


def codes_of_rows(columns: Iterable[Array]) -> Ints:
    """``(n,)`` codes of the rows, from 0, equal where all columns are."""
    codes: Ints | None = None
    for values in columns:
        own = np.unique(values, return_inverse=True)[1]
        codes = (
            own if codes is None else np.unique(codes * (int(own.max()) + 1) + own, return_inverse=True)[1]
        )
        if int(codes.max()) + 1 == codes.size:
            break  # all different already
    assert codes is not None
    return codes


def _codes(log: LoggedBandit, names: set[str]) -> Ints:
    return (
        codes_of_rows(log.table.column(name).values for name in log.table.columns if name in names)
        if names
        else np.zeros(len(log), int)
    )


def _is_outcome(log: LoggedBandit, name: str, column: Column) -> bool:
    """Whether a column is a reward, holds actions, or may be a probability."""
    if name in log.reward_names:
        return True
    if column.kind != "number":
        return column.kind == "text" and set(column.levels) <= {str(action) for action in log.action_names}
    known = column.values[np.isfinite(column.values)]
    return (
        known.size == 0
        or bool(((known >= 0) & (known <= 1)).all())
        or set(np.unique(known).tolist()) <= set(log.action_names)
    )


def _unlikely(log: LoggedBandit, circumstances: Ints, whole: Ints, by_action: bool = False) -> bool:
    """Whether rows of the same circumstances are the same throughout more often than chance explains."""
    order = np.argsort(circumstances, kind="stable")
    starts = np.flatnonzero(np.diff(circumstances[order], prepend=-1))
    again = starts[np.diff(starts, append=order.size) > 1]
    if not again.size:
        return False
    different = np.unique(np.column_stack([circumstances, whole]), axis=0)[:, 0]
    alone = np.bincount(different, minlength=starts.size)[circumstances[order[again]]] == 1
    if alone.mean() < 1 - _MOST_DIFFERENT:
        return False
    first, second = order[again], order[again + 1]
    chance = _action_chance(log)[first] if by_action else np.ones(first.size)
    if log.reward_names:
        chance = chance * _shares(codes_of_rows(log.reward.T))[first]
    return _log_chance(int((whole[first] == whole[second]).sum()), chance) < math.log(_CHANCE)


def _shares(codes: Ints) -> Floats:
    """Share of the rows that have the code of each row."""
    return np.asarray(np.bincount(codes)[codes] / codes.size)


def _action_chance(log: LoggedBandit) -> Floats:
    return _shares(log.action) if log.propensity is None else log.propensity


def _log_chance(hits: int, chance: Floats) -> float:
    """Logarithm of a bound on the chance of so many hits or more (Chernoff; Hoeffding 1956 for unequal
    chances).
    """
    share, mean = hits / chance.size, float(chance.mean())
    if share <= mean:
        return 0.0
    missed = (1 - share) * math.log((1 - share) / (1 - mean)) if share < 1 else 0.0
    return -chance.size * (share * math.log(share / mean) + missed)


def _repeated(whole: Ints, counts: Ints) -> Ints | None:
    """Labels where every distinct row occurs a multiple of the same number of times, by more than chance."""
    times = int(np.gcd.reduce(counts))
    if times < 2:
        return None
    smallest = next(factor for factor in range(2, times + 1) if times % factor == 0)
    if counts.size * math.log(smallest) < -math.log(_CHANCE):
        return None
    order = np.argsort(whole, kind="stable")
    labels = np.empty(whole.size, dtype=np.int64)
    labels[order] = (
        np.arange(whole.size) // times
    )  # counts are multiples, so no label spans two distinct rows
    return labels


def together_of(log: LoggedBandit) -> Ints:
    """``(n,)`` label from 0 on of the rows that belong together: those of a group, or else those alike in
    action, rewards and context.
    """
    if log.group is not None:
        return np.unique(log.group, return_inverse=True)[1].astype(np.int64)
    return codes_of_rows((log.action, *log.reward.T, *log.features().T))
