"""What the log would look like if its propensities were right: the distribution that actions are redrawn
from.

Where the whole distribution is known it is that one. Where only the propensity of the logged action is, the
rest of the probability is shared among the other actions (:mod:`kwis.checks.completed`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kwis.checks.completed import completed, normalised
from kwis.data.candidates import of_pairs, uniform
from kwis.data.log import LoggedBandit
from kwis.models.propensity.check import uniform_actions, uniform_in_sets
from kwis.stats.influence import draw_sums
from kwis.typing import Floats, Ints

_LAGS = 4  # rows of a group are compared with so many after them
_MOST_PAIRS = 20_000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Null:
    """Right propensities, taken at their word.

    Attributes
    ----------
    propensity
        ``(n, K)`` of every action, as the log says or would.
    chance
        ``(n, K)`` probability with which it is drawn: the same, but for completed rows that do not sum to 1.
    whole
        Whether the log says so much, and not only the probability of the action taken.
    shared
        Share of the pairs of rows of one group that seem to have been decided by one draw; 0 without groups.
    """

    propensity: Floats
    chance: Floats
    whole: bool
    shared: float


def null_of(log: LoggedBandit) -> Null:
    """The null hypothesis of a log with propensities."""
    stated = _stated(log)
    propensity = completed(log) if stated is None else normalised(stated)
    chance = propensity if stated is not None else normalised(propensity)
    shared = 0.0 if log.group is None else _shared(log.action, chance, log.group)
    return Null(propensity=propensity, chance=chance, whole=stated is not None, shared=shared)


def _stated(log: LoggedBandit) -> Floats | None:
    """The whole distribution if it is known: logged, uniform over the actions available, or of two, where one
    has what the other leaves.
    """
    if log.behaviour is not None:
        return log.behaviour
    assert log.propensity is not None
    if uniform_actions(log) is not None or uniform_in_sets(log):
        return uniform(log.available, log.n, log.n_actions)
    return of_pairs(log.propensity, log.action, log.available, log.n_actions)


def _shared(action: Ints, chance: Floats, group: Ints) -> float:
    """Where between independent draws and one draw per group the agreement of rows within groups lies, from 0
    to 1.

    A draw that rows share is one uniform number that each of them looks up in its own distribution.
    """
    order = np.argsort(group, kind="stable")
    lags = [(order[:-lag], order[lag:]) for lag in range(1, min(_LAGS, len(order) - 1) + 1)]
    first, second = (
        (np.concatenate(side) for side in zip(*lags, strict=True)) if lags else (order[:0], order[:0])
    )
    first, second = (side[group[first] == group[second]] for side in (first, second))
    picked = np.linspace(0, len(first) - 1, min(len(first), _MOST_PAIRS)).astype(np.intp)
    first, second = first[picked], second[picked]
    apart = np.einsum("ij,ij->i", chance[first], chance[second])
    ends, other_ends = chance[first].cumsum(axis=1), chance[second].cumsum(axis=1)
    starts, other_starts = ends - chance[first], other_ends - chance[second]
    together = np.maximum(np.minimum(ends, other_ends) - np.maximum(starts, other_starts), 0.0).sum(axis=1)
    possible = float((together - apart).sum())
    if possible <= 1e-9 * len(first):
        return 0.0
    return float(np.clip(((action[first] == action[second]) - apart).sum() / possible, 0.0, 1.0))


def draws_in(rows: Floats, group: Ints | None) -> Floats:
    """How many rows or groups touch each of the regions, the columns of ``rows``."""
    return np.asarray((draw_sums(rows, group) > 0).sum(axis=0), dtype=np.float64)
