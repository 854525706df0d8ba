"""Covariate balance: weighting by right propensities makes every action's contexts look like all contexts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from kwis._validation import read_only
from kwis.checks.features import features_of
from kwis.checks.findings import Balance
from kwis.data.log import LoggedBandit
from kwis.errors import InputError
from kwis.sample import effective_size
from kwis.typing import Floats, Ints

_LEAST_ROWS = 30


def balance(log: LoggedBandit, weight: Floats | None = None) -> Balance:
    """Standardised mean differences of the context before and after weighting.

    Parameters
    ----------
    weight
        ``(n,)`` importance weights of a target, to be judged as well.
    """
    found = balances(log, [] if weight is None else [weight])
    return found[0] if found else _balances(log, [])[0]


def balances(log: LoggedBandit, weights: Sequence[Floats]) -> list[Balance]:
    """:func:`balance` for the weights of each of several targets."""
    return _balances(log, weights)[1:]


def _balances(log: LoggedBandit, weights: Sequence[Floats]) -> list[Balance]:
    """That without weights, and that for each of the weights."""
    if log.propensity is None:
        raise InputError(
            "`log` must have propensities for a balance after weighting; kwis.estimate_propensities supplies "
            "them"
        )
    mass = np.ones(len(log)) if log.row_weight is None else log.row_weight
    inverse = mass / log.propensity
    taken = np.bincount(log.action, minlength=log.n_actions)
    actions = np.flatnonzero(taken >= _LEAST_ROWS)
    offered = None
    if log.available is not None:  # each action's rows as parts of 1
        offered = log.available[:, actions] * mass[:, None]
        offered = offered / offered.sum(axis=0)
    loads = [weight * mass for weight in weights]
    names, before, after, weighted = [], [], [], []
    for feature in features_of(log):
        mean = np.average(feature.values, weights=mass)
        spread = np.sqrt(np.average((feature.values - mean) ** 2, weights=mass))
        if spread == 0:
            continue
        standard = (feature.values - mean) / spread
        names.append(feature.name)
        before.append(_largest(standard, log, mass, actions, offered))
        after.append(_largest(standard, log, inverse, actions, offered))
        weighted.append([abs(_mean(standard, load)) for load in loads])
    plain = Balance(
        features=tuple(names),
        before=read_only(np.array(before)),
        after=read_only(np.array(after)),
        weighted=None,
        effective_n=min((effective_size(inverse[log.action == code]) for code in actions), default=0.0),
    )
    columns = np.array(weighted, dtype=np.float64).reshape(len(names), len(loads)).T
    return [plain, *(replace(plain, weighted=read_only(column.copy())) for column in columns)]


def _largest(
    standard: Floats, log: LoggedBandit, weight: Floats, actions: Ints, offered: Floats | None
) -> float:
    """Largest distance, over the actions, of the mean among those who took it from the mean of all, or of
    those where it was available; 0 where no action has enough rows.
    """
    total = np.bincount(log.action, weight, minlength=log.n_actions)[actions]
    sums = np.bincount(log.action, weight * standard, minlength=log.n_actions)[actions]
    usual = 0.0 if offered is None else offered.T @ standard
    return float(np.abs(sums / total - usual).max()) if len(actions) else 0.0


def _mean(standard: Floats, weight: Floats) -> float:
    total = weight.sum()
    return float(weight @ standard / total) if total > 0 else 0.0
