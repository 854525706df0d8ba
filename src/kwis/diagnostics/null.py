"""What the log would look like if its propensities were right: the distribution that actions are redrawn from.

Where the whole distribution is known it is that one. Where only the propensity of the logged action is, the rest of the probability is
shared among the other actions by how likely the context makes them; that serves to redraw actions, and for nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kwis.estimators.influence import draw_sums
from kwis.logged import LoggedBandit
from kwis.propensity.check import uniform_actions
from kwis.typing import Floats, Ints

_LAGS = 4  # rows of a group are compared with so many after them
_MOST_PAIRS = 20_000
_RIDGE = 0.01


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Null:
    """Right propensities, taken at their word.

    Attributes
    ----------
    chance
        ``(n, K)`` probability of every action; rows sum to 1.
    whole
        Whether the log says so much, and not only the probability of the action taken.
    shared
        Share of the pairs of rows of one group that seem to have been decided by one draw; 0 without groups.
    """

    chance: Floats
    whole: bool
    shared: float


def null_of(log: LoggedBandit) -> Null:
    """The null hypothesis of a log with propensities."""
    stated = _stated(log)
    chance = _completed(log) if stated is None else normalised(stated)
    return Null(chance=chance, whole=stated is not None, shared=0.0 if log.group is None else _shared(log.action, chance, log.group))


def _stated(log: LoggedBandit) -> Floats | None:
    """The whole distribution if it is known: logged, uniform over the actions seen, or of two, where one has what the other leaves."""
    if log.behaviour is not None:
        return log.behaviour
    assert log.propensity is not None
    if uniform_actions(log) is not None:
        return np.full((len(log), log.n_actions), 1 / log.n_actions)
    if log.n_actions != 2:
        return None
    return with_logged(np.repeat(1 - log.propensity[:, None], 2, axis=1), log.action, log.propensity)


def _completed(log: LoggedBandit) -> Floats:
    assert log.propensity is not None
    least = np.ones(log.n_actions)
    np.minimum.at(least, log.action, log.propensity)
    # A model of the context knows no bounds; a logger that explores does, and they show in what it took.
    least[least == 1] = 0.0
    rest = 1 - log.propensity
    bound = least.sum() - least[log.action]
    kept = np.minimum(1.0, rest / np.where(bound > 0, bound, 1.0))[:, None] * least
    left = rest - with_logged(kept, log.action, np.zeros(len(log))).sum(axis=1)
    whole = kept + shared_out(np.maximum(left, 0.0), _foretold(log), log.action, np.zeros(len(log)))
    return normalised(with_logged(whole, log.action, log.propensity))


def _foretold(log: LoggedBandit) -> Floats:
    """``(n, K)`` how likely each action is in each row, by linear discriminant analysis of the actions taken.

    Means of actions with few rows are pulled to that of all, so that chance is not taken for context.
    """
    design = log.features()
    mass = np.ones(len(log)) if log.row_weight is None else log.row_weight / log.row_weight.mean()
    design = design - mass @ design / mass.sum()
    happened = with_logged(np.zeros((len(log), log.n_actions)), log.action, mass)
    taken = happened.sum(axis=0)
    means = happened.T @ design / (taken + design.shape[1] + 1.0)[:, None]
    within = (design * mass[:, None]).T @ design - (means * taken[:, None]).T @ means
    slopes = np.linalg.solve(within / len(log) + _RIDGE * np.eye(design.shape[1]), means.T)
    scores = design @ slopes - 0.5 * np.einsum("kd,dk->k", means, slopes) + np.log(taken + 0.5)
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True), dtype=np.float64)


def shared_out(rest: Floats, share: Floats, action: Ints, logged: Floats) -> Floats:
    """``(n, K)``: ``logged`` for the action taken, and ``rest`` given to the others in proportion to ``share``."""
    others = with_logged(share, action, np.zeros(len(action)))
    total = others.sum(axis=1)
    return with_logged(others * (rest / np.where(total > 0, total, 1.0))[:, None], action, logged)


def normalised(distribution: Floats) -> Floats:
    """Rows that sum to 1."""
    return np.asarray(distribution / distribution.sum(axis=1, keepdims=True), dtype=np.float64)


def with_logged(distribution: Floats, action: Ints, logged: Floats) -> Floats:
    """The same with other values for the actions taken."""
    changed = np.array(distribution, dtype=np.float64)
    changed[np.arange(len(action)), action] = logged
    return changed


def _shared(action: Ints, chance: Floats, group: Ints) -> float:
    """Where between independent draws and one draw per group the agreement of rows within groups lies, from 0 to 1.

    A draw that rows share is one uniform number that each of them looks up in its own distribution.
    """
    order = np.argsort(group, kind="stable")
    lags = [(order[:-lag], order[lag:]) for lag in range(1, min(_LAGS, len(order) - 1) + 1)]
    first, second = (np.concatenate(side) for side in zip(*lags, strict=True)) if lags else (order[:0], order[:0])
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
