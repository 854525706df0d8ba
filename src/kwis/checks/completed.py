"""Propensities of all actions where a log has only those of the actions taken, as far as these tell.

They serve to redraw actions, and for nothing else. A logged propensity is a value of the function sought,
free of noise, so a softmax of linear scores fitted to them comes closer than any model of the actions alone.
Rare actions matter most, as they have the large weights: rows count by how many rows they stand for in which
the same action was not taken.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import nnls

from kwis.data.candidates import Mask
from kwis.data.log import LoggedBandit
from kwis.typing import Floats, Ints

_RIDGE = 0.01
_PULL = 5.0  # rows' worth of a constant in each action's regression
_PULL_IN_SETS = 1.0  # the same with candidate sets, whose many actions have few rows each
_LEAST = 1e-4  # probabilities below count as this in logarithms
_ROUNDS = 8
_MOST_ROWS = 20_000  # enough to fit scores
_FEWEST, _MOST = 1e-3, 30.0  # rows that one row can stand for
_SAME = 1.01  # propensities are equal up to this factor
_TIES = 4  # propensities equal to the smallest that show it to be a bound, and not merely the smallest so far


def completed(log: LoggedBandit) -> Floats:
    """``(n, K)`` propensities with the logged ones; rows sum to 1 but where bounds are too large for that, as
    right ones never are.
    """
    assert log.propensity is not None
    bounds = _lower_bounds(log, log.propensity) * (
        np.ones((len(log), 1)) if log.available is None else log.available
    )
    left = 1 - log.propensity - (bounds.sum(axis=1) - bounds[np.arange(len(log)), log.action])
    others = shared_out(np.maximum(left, 0.0), _foretold(log, log.propensity), log.action, np.zeros(len(log)))
    return with_logged(others + bounds, log.action, log.propensity)


def _lower_bounds(log: LoggedBandit, propensity: Floats) -> Floats:
    """``(K,)`` what no propensity of an action is below, as a logger that explores or one that was clipped
    shows; 0 for none.
    """
    least = np.ones(log.n_actions)
    np.minimum.at(least, log.action, propensity)
    ties = np.bincount(log.action, propensity <= _SAME * least[log.action], minlength=log.n_actions)
    own = np.where((ties >= _TIES) & (least < 1), least, 0.0)
    smallest = propensity.min()
    return np.maximum(
        own, smallest if smallest < 1 and (propensity <= _SAME * smallest).sum() >= _TIES else 0.0
    )


def _foretold(log: LoggedBandit, propensity: Floats) -> Floats:
    """``(n, K)`` how likely each action is in each row: the product of powers of two guesses that is nearest
    to the propensities.
    """
    mass = np.ones(len(log)) if log.row_weight is None else log.row_weight / log.row_weight.mean()
    stands_for = mass * np.clip((1 - propensity) / propensity, _FEWEST, _MOST)
    wanted = np.log(np.maximum(propensity, _LEAST))
    design = log.features()
    guesses = [_by_actions(log, design, mass), _by_propensities(log, design, wanted, stands_for)]
    logged = np.stack([guess[np.arange(len(log)), log.action] for guess in guesses], axis=1)
    root = np.sqrt(stands_for)
    logged, centred = (values - np.average(values, axis=0, weights=stands_for) for values in (logged, wanted))
    powers = nnls(logged * root[:, None], centred * root)[0]
    return _softmax(powers[0] * guesses[0] + powers[1] * guesses[1], log.available)


def _by_actions(log: LoggedBandit, design: Floats, mass: Floats) -> Floats:
    """Logarithms of a linear discriminant analysis of the actions taken.

    Means of actions with few rows are pulled to that of all, so that chance is not taken for context.
    """
    design = design - mass @ design / mass.sum()
    happened = with_logged(np.zeros((len(log), log.n_actions)), log.action, mass)
    taken = happened.sum(axis=0)
    offered = 0.5 if log.available is None else mass @ log.available
    means = happened.T @ design / (taken + design.shape[1] + 1.0)[:, None]
    within = (design * mass[:, None]).T @ design - (means * taken[:, None]).T @ means
    slopes = np.linalg.solve(within / len(log) + _RIDGE * np.eye(design.shape[1]), means.T)
    return _logarithm(
        _softmax(
            design @ slopes
            - 0.5 * np.einsum("kd,dk->k", means, slopes)
            + np.log((taken + 0.5) / (offered + 0.5)),
            log.available,
        )
    )


def _by_propensities(log: LoggedBandit, design: Floats, wanted: Floats, mass: Floats) -> Floats:
    """Logarithms of a softmax of linear scores, fitted to those of the logged propensities.

    A score is the logarithm of the propensity plus that of the sum of all powers, which the scores of the
    round before tell; with it a regression for each action on the rows that took it gives its scores.
    """
    design = design - design.mean(axis=0)
    some = np.linspace(0, len(log) - 1, min(len(log), _MOST_ROWS)).astype(np.intp)
    part, action = design[some], log.action[some]
    closed = None if log.available is None else ~log.available[some]
    pull = _PULL if log.available is None else _PULL_IN_SETS
    fits = [_Regression(part, np.flatnonzero(action == code), mass[some], pull) for code in np.unique(action)]
    lines = np.zeros((1 + design.shape[1], log.n_actions))
    lines[0] = wanted.min()  # of actions that no row took
    total = np.zeros(len(some))
    for _ in range(_ROUNDS):
        for code, fit in zip(np.unique(action), fits, strict=True):
            lines[:, code] = fit.line(wanted[some] + total)
        scores = part @ lines[1:] + lines[0]
        if closed is not None:
            scores[closed] = -np.inf
        top = scores.max(axis=1)
        total = top + np.log(np.exp(scores - top[:, None]).sum(axis=1))
    return _logarithm(_softmax(design @ lines[1:] + lines[0], log.available))


class _Regression:
    """Ridge regression on some rows, for one outcome after another."""

    def __init__(self, design: Floats, rows: Ints, mass: Floats, pull: float) -> None:
        self.rows, self.share = rows, mass[rows] / mass[rows].sum()
        self.centre = self.share @ design[rows]
        own = design[rows] - self.centre
        weighted = own.T * (len(rows) * self.share)
        self.solver = np.linalg.solve(weighted @ own + pull * np.eye(design.shape[1]), weighted)

    def line(self, outcome: Floats) -> Floats:
        """Constant and slopes."""
        own = outcome[self.rows]
        level = self.share @ own
        slopes = self.solver @ (own - level)
        return np.append(level - self.centre @ slopes, slopes)


def _softmax(scores: Floats, available: Mask | None) -> Floats:
    if available is not None:
        scores = np.where(available, scores, -np.inf)
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True), dtype=np.float64)


def _logarithm(probability: Floats) -> Floats:
    return np.asarray(np.log(np.maximum(probability, _LEAST)), dtype=np.float64)


def shared_out(rest: Floats, share: Floats, action: Ints, logged: Floats) -> Floats:
    """``(n, K)``: ``logged`` for the action taken, and ``rest`` given to the others in proportion to
    ``share``.
    """
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
