"""What must hold if propensities are right: mean weights, frequencies of actions, the logger's confidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from kwis.checks.completed import foretold_by_others, normalised, shared_out
from kwis.checks.findings import FLATTER, UNIFORM
from kwis.checks.null import Null
from kwis.data.candidates import uniform as uniform_over
from kwis.data.columns import Label
from kwis.data.log import LoggedBandit
from kwis.policy.discrete import TargetPolicy
from kwis.typing import Floats

_MOST_ACTIONS = 20
_ROUNDING = 1e-8  # a spread of less than this part of the size is rounding
_LARGEST = 1e50  # cubes of larger amounts would overflow
_LEAST_BEYOND = 5.0  # weights so large that fewer draws than these are expected to reach them are cut
_HARDLY = 0.1  # the same where the mean of what is left is only known from a completed distribution
_DOUBT = (
    0.5  # part of what is cut that may be there or not, where it is only known from a completed distribution
)
_FLATTENED = 0.7  # between 0.5 and 0.8, which found alike on 120 logs
_TRIFLE = 0.02  # of how much a weight may be off 1 without any fault where others only were completed
_STEPS = 8  # steps in which the largest weight is sought, per doubling


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Moments:
    """Mean of an amount in each row and, around it, variance, third moment and third absolute moment; each
    ``(n,)``.
    """

    mean: Floats
    variance: Floats
    third: Floats
    absolute: Floats

    @classmethod
    def of(cls, chance: Floats, amount: Floats) -> Moments:
        """Of ``(n, K)`` amounts taken with ``(n, K)`` chances; a spread that is rounding counts as none."""
        expected = chance * amount
        mean = np.einsum("ij->i", expected)
        distance = amount - mean[:, None]
        part = chance * distance**2
        variance = np.einsum("ij->i", part)
        real = variance > _ROUNDING**2 * np.einsum("ij,ij->i", expected, amount)
        third = np.einsum("ij,ij->i", part, distance)
        absolute = np.einsum("ij,ij->i", part, np.abs(distance))
        return cls(mean=mean, variance=variance * real, third=third * real, absolute=absolute * real)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Subject:
    """Something that right propensities fix: the mean of an amount that depends on the action drawn.

    Attributes
    ----------
    code, amount
        The amount of each row: ``(n, K)`` by action, or for an action's own subject its code and ``(n,)``,
        being 0 for all others.
    score
        ``(n,)`` the amount of the action taken less its mean by the propensities.
    shown, scale
        ``(n,)`` the mean reported is ``1 + sum(shown) / sum(scale)``: the score, or for weights these before
        any were cut.
    mean, null
        ``(n,)`` mean of the amount in redrawn logs, and its other moments; for an action whose amounts are
        one over its propensity those of being taken.
    slack
        ``(n,)`` by how much the mean by the propensities may be off.
    exact
        Whether they are known, and not only completed.
    upper_only
        Whether only too large a sum speaks against the propensities.
    """

    kind: Literal["weight", "action", "confidence"]
    name: Label
    amount: Floats
    score: Floats
    shown: Floats
    scale: Floats
    slack: Floats
    mean: Floats
    null: Moments
    exact: bool
    code: int | None = None
    upper_only: bool = False


def subjects_of(
    log: LoggedBandit, targets: Sequence[TargetPolicy], null: Null, *, uniform: bool = True
) -> tuple[Subject, ...]:
    """Weights of the targets, actions, and the confidence where the whole distribution is known.

    Without targets a policy that takes every available action with the same probability stands in for one,
    if ``uniform``.
    """
    policies = [
        (target.name, _distribution(log, target, null), target.distribution is not None) for target in targets
    ]
    if not targets and uniform:
        policies = [(UNIFORM, uniform_over(log.available, log.n, log.n_actions), True)]
    found = [_weight(log, null, name, policy, null.whole and known) for name, policy, known in policies]
    if log.available is not None and not null.whole:
        found += [_weight(log, null, FLATTER, policy, False, upper_only=True) for policy in _flatter(log)]
    found += [
        _action(log, null, int(code))
        for code in np.argsort(-_expected(log, null), kind="stable")[:_MOST_ACTIONS]
    ]
    return (*found, *([_confidence(log, null)] if null.whole else []))


def _flatter(log: LoggedBandit) -> list[Floats]:
    """A policy like the logger's but less sure, foretold from other rows; none with too few.

    Its mean weight is 1 however badly it is foretold, and above 1 where the logger was less sure than its
    propensities say. So is that of a uniform policy, whose weights are far less even: with many actions a log
    shows little by it. Below 1 counts for nothing, as a log may lack its largest weights by chance.
    """
    found = foretold_by_others(log)
    return [] if found is None else [normalised(found**_FLATTENED)]


def _distribution(log: LoggedBandit, target: TargetPolicy, null: Null) -> Floats:
    """The target's probabilities; where only that of the logged action is known, completed like the
    logger's.
    """
    if target.distribution is not None:
        return target.distribution
    chosen = ((target.logged == 0) | (target.logged == 1)).all()
    share = _one_of(null.chance, log) if chosen else null.chance
    return shared_out(1 - target.logged, share, log.action, target.logged)


def _one_of(chance: Floats, log: LoggedBandit) -> Floats:
    """One action other than the logged one in each row, drawn by its chance, as 0 and 1."""
    others = np.array(chance)
    others[np.arange(len(log)), log.action] = 0.0
    ends = others.cumsum(axis=1)
    drawn = (np.random.default_rng(0).random(len(log)) * ends[:, -1])[:, None]
    return np.asarray((ends > drawn) & (ends - others <= drawn), dtype=np.float64)


def _expected(log: LoggedBandit, null: Null) -> Floats:
    """How often each action should be taken, by a rule that does not favour those taken too often."""
    if null.whole:
        return np.asarray(null.chance.sum(axis=0))
    assert log.propensity is not None
    taken = np.bincount(log.action, minlength=log.n_actions)
    inverse = np.bincount(log.action, 1 / np.maximum(log.propensity, 1 / _LARGEST), minlength=log.n_actions)
    return np.asarray(
        taken / np.where(taken > 0, inverse, 1.0)
    )  # E[1 / p] given the action is one over its mean propensity


def _weight(
    log: LoggedBandit, null: Null, name: str, policy: Floats, exact: bool, *, upper_only: bool = False
) -> Subject:
    possible = null.propensity > 0
    weight = np.minimum(np.where(possible, policy, 0.0) / np.where(possible, null.propensity, 1.0), _LARGEST)
    cut = np.minimum(weight, _cut(weight, null.chance, _LEAST_BEYOND if exact else _HARDLY))
    slack = np.zeros(len(log)) if exact else _DOUBT * (null.propensity * (weight - cut)).sum(axis=1)
    taken = weight[np.arange(len(log)), log.action]
    if not exact:
        # Where the logger chose uniformly every weight of a uniform policy is 1, but for the digits that
        # 1/3 was written with; the sample then has no spread that such a trifle could be measured by.
        off = np.abs(taken - 1)
        slack = slack + np.where(off <= _TRIFLE, off + _ROUNDING, 0.0)
    if not exact and log.available is not None and not upper_only:
        # Many actions of few rows each: their distribution is too little known to say how many large weights
        # a log may lack by chance, so it may lack as much as its largest ones bring.
        slack = slack + np.sort(taken)[-int(_LEAST_BEYOND) :].sum() / len(log)
    shown = taken - 1
    return _subject(
        log,
        null,
        cut,
        kind="weight",
        name=name,
        shown=shown,
        scale=np.ones(len(log)),
        slack=slack,
        exact=exact,
        upper_only=upper_only,
    )


def _cut(weight: Floats, chance: Floats, draws: float) -> float:
    """The weight that about so many draws are expected to exceed.

    Larger ones would make the null's variance a matter of events that hardly ever happen. But weights that
    are not cut have mean 1 whatever the propensities of the actions not taken, and what is cut has not.
    """
    place = np.ceil(_STEPS * np.log2(np.maximum(weight, 1e-9))).astype(np.int64)
    lowest = int(place.min())
    expected = np.bincount((place - lowest).ravel(), chance.ravel())
    beyond = expected.sum() - expected.cumsum()
    return float(2.0 ** ((lowest + int(np.argmax(beyond < draws))) / _STEPS))


def _action(log: LoggedBandit, null: Null, code: int) -> Subject:
    """Whether an action was taken as often as it should; if only logged propensities are known by the mean of
    one over them.
    """
    chance, propensity = null.chance[:, code], null.propensity[:, code]
    taken = Moments.of(np.stack([chance, 1 - chance], axis=1), np.tile([1.0, 0.0], (len(log), 1)))
    amount = np.ones(len(log))
    if not null.whole:
        amount = np.where(propensity > 0, 1 / np.maximum(propensity, 1 / _LARGEST), 0.0)
    score = (np.where(log.action == code, amount, 0.0) - propensity * amount) * (taken.variance > 0)
    return Subject(
        kind="action",
        name=log.action_names[code],
        code=code,
        amount=amount,
        score=score,
        shown=score,
        scale=propensity * amount,
        slack=np.zeros(len(log)),
        mean=chance * amount,
        null=taken,
        exact=null.whole,
        upper_only=not null.whole,
    )


def _confidence(log: LoggedBandit, null: Null) -> Subject:
    """Score of the exponent t in probabilities proportional to ``p^t``, at t = 1."""
    amount = np.log(np.where(null.chance > 0, null.chance, 1.0))
    information = Moments.of(null.chance, amount).variance
    return _subject(
        log,
        null,
        amount,
        kind="confidence",
        name="",
        shown=None,
        scale=information,
        slack=np.zeros(len(log)),
        exact=True,
    )


def _subject(
    log: LoggedBandit,
    null: Null,
    amount: Floats,
    *,
    kind: Literal["weight", "confidence"],
    shown: Floats | None,
    **rest: Any,
) -> Subject:
    moments = Moments.of(null.chance, amount)
    score = (amount[np.arange(len(log)), log.action] - (null.propensity * amount).sum(axis=1)) * (
        moments.variance > 0
    )
    shown = score if shown is None else shown
    return Subject(
        kind=kind, amount=amount, score=score, shown=shown, mean=moments.mean, null=moments, **rest
    )
