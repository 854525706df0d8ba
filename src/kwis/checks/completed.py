"""Propensities of all actions where a log has only those of the actions taken, as far as these tell.

They serve to redraw actions and, foretold from other rows, as a policy near the logger's. A logged
propensity is a value of the function sought, free of noise, so a softmax of linear scores fitted to them
comes closer than any model of the actions alone. Rare actions matter most, as they have the large weights:
rows count by how many rows they stand for in which the same action was not taken.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from kwis.data.candidates import Mask
from kwis.data.log import LoggedBandit
from kwis.stats.folds import make_folds
from kwis.typing import Floats, Ints

_RIDGE = 0.01
_PULL = 5.0  # rows' worth of a constant in each action's regression
_PULL_IN_SETS = 1.0  # the same with candidate sets, whose many actions have few rows each
_LEAST = 1e-4  # probabilities below count as this in logarithms
_ROUNDS = 8
_MOST_ROWS = 20_000  # enough to fit scores
_FOLDS = 4
_FEWEST, _MOST = 1e-3, 30.0  # rows that one row can stand for
_SAME = 1.01  # propensities are equal up to this factor
_TIES = 4  # propensities equal to the smallest that show it to be a bound, and not merely the smallest so far


@dataclass(frozen=True, slots=True, eq=False)
class _Rows:
    """What propensities are foretold from and for; ``mass`` are the rows that each stands for."""

    design: Floats
    action: Ints
    propensity: Floats
    mass: Floats
    available: Mask | None
    n_actions: int

    @classmethod
    def of(cls, log: LoggedBandit) -> _Rows:
        assert log.propensity is not None
        mass = np.ones(len(log)) if log.row_weight is None else log.row_weight / log.row_weight.mean()
        return cls(log.features(), log.action, log.propensity, mass, log.available, log.n_actions)

    def take(self, rows: Ints) -> _Rows:
        return replace(
            self,
            design=self.design[rows],
            action=self.action[rows],
            propensity=self.propensity[rows],
            mass=self.mass[rows],
            available=None if self.available is None else self.available[rows],
        )

    @property
    def wanted(self) -> Floats:
        return np.asarray(np.log(np.maximum(self.propensity, _LEAST)))

    @property
    def stands_for(self) -> Floats:
        return np.asarray(
            self.mass * np.clip((1 - self.propensity) / self.propensity, _FEWEST, _MOST), dtype=np.float64
        )


def completed(log: LoggedBandit) -> Floats:
    """``(n, K)`` propensities with the logged ones; rows sum to 1 but where bounds are too large for that, as
    right ones never are.
    """
    assert log.propensity is not None
    bounds = _lower_bounds(log, log.propensity) * (
        np.ones((len(log), 1)) if log.available is None else log.available
    )
    left = 1 - log.propensity - (bounds.sum(axis=1) - bounds[np.arange(len(log)), log.action])
    rows = _Rows.of(log)
    others = shared_out(np.maximum(left, 0.0), _foretold(rows, rows), log.action, np.zeros(len(log)))
    return with_logged(others + bounds, log.action, log.propensity)


def foretold_by_others(log: LoggedBandit) -> Floats | None:
    """``(n, K)`` propensities foretold from other rows than the row's own, so that they are no function of
    the action it took; None with too few rows or groups for that.
    """
    if (len(log) if log.group is None else np.unique(log.group).size) < _FOLDS:
        return None
    rows, fold = _Rows.of(log), make_folds(len(log), _FOLDS, 0, log.group)
    found = np.empty((len(log), log.n_actions))
    for k in range(_FOLDS):
        found[fold == k] = _foretold(
            rows.take(np.flatnonzero(fold != k)), rows.take(np.flatnonzero(fold == k))
        )
    return found


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


def _foretold(known: _Rows, at: _Rows) -> Floats:
    """``(n, K)`` how likely each action is in each row of ``at``: the product of powers of two guesses that
    is nearest to the propensities ``known``.
    """
    lines = [_by_actions(known), _by_propensities(known)]
    guesses = [line.logarithms(known) for line in lines]
    logged = np.stack([guess[np.arange(len(guess)), known.action] for guess in guesses], axis=1)
    mass = known.stands_for
    root = np.sqrt(mass)
    logged, centred = (values - np.average(values, axis=0, weights=mass) for values in (logged, known.wanted))
    powers = _powers(logged * root[:, None], centred * root)
    if at is not known:
        guesses = [line.logarithms(at) for line in lines]
    return _softmax(powers[0] * guesses[0] + powers[1] * guesses[1], at.available)


def _powers(guesses: Floats, wanted: Floats) -> Floats:
    """``(2,)`` least squares with no coefficient below 0."""
    products, along = guesses.T @ guesses, guesses.T @ wanted
    own = np.diag(products)
    alone = np.maximum(along, 0) / np.where(own > 0, own, 1.0)
    ways = [np.array([alone[0], 0.0]), np.array([0.0, alone[1]])]
    both = np.linalg.lstsq(guesses, wanted, rcond=None)[0]
    if (both >= 0).all():
        return both
    return min(ways, key=lambda powers: float(powers @ products @ powers - 2 * powers @ along))


@dataclass(frozen=True, slots=True, eq=False)
class _Lines:
    """Scores of actions that are linear in the design, less its centre; the constants are the first row."""

    centre: Floats
    lines: Floats

    def logarithms(self, rows: _Rows) -> Floats:
        """``(n, K)`` logarithms of the probabilities that a softmax of the scores gives."""
        scores = (rows.design - self.centre) @ self.lines[1:] + self.lines[0]
        probability = _softmax(scores, rows.available)
        return np.asarray(np.log(np.maximum(probability, _LEAST)), dtype=np.float64)


def _by_actions(rows: _Rows) -> _Lines:
    """A linear discriminant analysis of the actions taken.

    Means of actions with few rows are pulled to that of all, so that chance is not taken for context.
    """
    mass, n = rows.mass, len(rows.mass)
    centre = mass @ rows.design / mass.sum()
    design = rows.design - centre
    happened = with_logged(np.zeros((n, rows.n_actions)), rows.action, mass)
    taken = happened.sum(axis=0)
    offered = 0.5 if rows.available is None else mass @ rows.available
    means = happened.T @ design / (taken + design.shape[1] + 1.0)[:, None]
    within = (design * mass[:, None]).T @ design - (means * taken[:, None]).T @ means
    slopes = np.linalg.solve(within / n + _RIDGE * np.eye(design.shape[1]), means.T)
    constants = np.log((taken + 0.5) / (offered + 0.5)) - 0.5 * np.einsum("kd,dk->k", means, slopes)
    return _Lines(centre, np.vstack([constants, slopes]))


def _by_propensities(rows: _Rows) -> _Lines:
    """A softmax of linear scores, fitted to the logarithms of the logged propensities.

    A score is the logarithm of the propensity plus that of the sum of all powers, which the scores of the
    round before tell; with it a regression for each action on the rows that took it gives its scores.
    """
    centre, n = rows.design.mean(axis=0), len(rows.mass)
    some = rows.take(np.linspace(0, n - 1, min(n, _MOST_ROWS)).astype(np.intp))
    part, action, wanted, mass = some.design - centre, some.action, some.wanted, some.stands_for
    closed = None if some.available is None else ~some.available
    pull = _PULL if some.available is None else _PULL_IN_SETS
    taken = np.unique(action)
    fits = [_Regression(part, np.flatnonzero(action == code), mass, pull) for code in taken]
    lines = np.zeros((1 + part.shape[1], rows.n_actions))
    lines[0] = rows.wanted.min()  # of actions that no row took
    total = np.zeros(len(mass))
    for _ in range(_ROUNDS):
        for code, fit in zip(taken, fits, strict=True):
            lines[:, code] = fit.line(wanted + total)
        scores = part @ lines[1:] + lines[0]
        if closed is not None:
            scores[closed] = -np.inf
        top = scores.max(axis=1)
        total = top + np.log(np.exp(scores - top[:, None]).sum(axis=1))
    return _Lines(centre, lines)


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
