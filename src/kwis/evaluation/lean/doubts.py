"""What of a log of many rows makes it worth reading whole: propensities that fail in some stretch of it, and
rows that repeat each other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.special import ndtri

from kwis.data.copies import with_copies_grouped
from kwis.data.log import LoggedBandit
from kwis.data.read.lean import UnusualError
from kwis.evaluation.lean.pass_sums import LoggingSums, TargetSums
from kwis.evaluation.sharing import many_labels, questions, shared_draws, with_shared_draws_grouped
from kwis.typing import Floats

_FALSE_ALARMS = 0.01  # over all stretches: right propensities cost the time of the whole log once in 100
_AGAINST_ALL_ODDS = 1e-3  # as in kwis.models.propensity.check
_SAME = 1e-9
_ROWS_EACH = 50  # of those drawn: a value that so many have is one that any rows show well enough
_MOST_COLUMNS = 4
_MANY_VALUES = 2_000
_FEWEST = 100.0  # expected, for the sums to be about normal

Alike = Callable[[Sequence[str]], LoggedBandit | None]
"""Of the rows that share values of some columns all or none; None where none share any."""


def refuse_doubtful_parts(
    logging: Sequence[LoggingSums], targets: Sequence[Sequence[TargetSums]], known: bool
) -> None:
    """Refuse a log in which mean weights, or how often actions were taken, are not what propensities say, by
    more than chance: on the whole or in any stretch.
    """
    distances: list[Floats] = []
    every = [*logging, LoggingSums.total(logging)]
    if known:
        for sums in every:
            spread = np.sqrt(np.maximum(sums.expected - np.diag(sums.products), 0.0))
            some = sums.expected >= _FEWEST
            distances.append((sums.taken - sums.expected)[some] / np.maximum(spread[some], 1e-9))
    for parts in zip(*targets, strict=True):
        for found in [*parts, TargetSums.total(parts)]:
            mean, error = found.mean_weight
            distances.append(np.array([(mean - 1) / max(error, 1e-9)]))
    far = np.abs(np.concatenate(distances))
    if (far > -ndtri(_FALSE_ALARMS / (2 * far.size))).any():
        raise UnusualError("propensities that fail in some stretch")


def refuse_unlikely(sums: LoggingSums, n: int, known: bool) -> None:
    """Refuse a log that may have actions taken against all odds, or propensities that are all the same and
    not ``known`` to be those of every action.
    """
    if not known and sums.ends[1] - sums.ends[0] <= _SAME:
        raise UnusualError("propensities that are all the same")
    below = np.cumsum(sums.exponents)
    some = np.flatnonzero(sums.exponents)
    smallest = np.ldexp(1.0, some - 1023)  # of its power of two, each
    chance = len(sums.taken) * n * smallest / below[some]
    if (chance < _AGAINST_ALL_ODDS).any():
        raise UnusualError("actions that were hardly possible")


def refuse_repeats(some: LoggedBandit, keys: Any, alike: Alike) -> tuple[str, ...]:
    """Refuse a log whose rows may be copies of each other or share draws; returns what has to be asked.

    A column that may be an identifier is looked at in rows that share its values. So are contexts, unless the
    probabilities of rows, of which ``keys`` has some, are all different.
    """
    columns: list[tuple[str, ...]] = [(name,) for name in many_labels(some, some.n // _ROWS_EACH)]
    if len(columns) > _MOST_COLUMNS:
        raise UnusualError("many columns that may be identifiers")
    if not keys.size or np.unique(keys).size < keys.size:
        columns.append(_circumstances(some))
    return tuple(note for names in columns for note in _questions(alike(names)))


def _questions(log: LoggedBandit | None) -> tuple[str, ...]:
    if log is None:
        return ()
    grouped = with_shared_draws_grouped(with_copies_grouped(log))
    doubts = (shared_draws(log, j) for j in range(len(log.reward_names)))
    if grouped.group is not None or any(next(found, None) is not None for found in doubts):
        raise UnusualError("rows that share a draw")
    return questions(log)


def _circumstances(some: LoggedBandit) -> tuple[str, ...]:
    """Columns that rows of one context share: the one with the most values, or all of them."""
    values = {name: np.unique(some.table.column(name).values).size for name in some.context_columns}
    if not values:
        raise UnusualError("no context")
    most = max(values, key=values.__getitem__)
    return (most,) if values[most] >= _MANY_VALUES else tuple(values)
