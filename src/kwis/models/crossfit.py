"""Policies learnt from the very log that is to evaluate them: each row by a policy that has not seen it.

A policy is flattered by the rows it has learnt from: it takes the action that happened to go well there, and
an estimate on the same rows counts that luck as skill. :func:`cross_fit` learns once per fold from the other
folds and lets each policy choose on the rows it was not shown.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from kwis import _validation as check
from kwis.data.candidates import Mask, uniform
from kwis.data.copies import together_of
from kwis.data.log import LoggedBandit
from kwis.errors import InputError
from kwis.models.fitting import fitting, weight_argument
from kwis.models.reward.models import Candidate, Lesson
from kwis.policy.cross_fitted import CrossFitted
from kwis.runtime.arrays import kept
from kwis.stats.folds import make_folds
from kwis.typing import Classifier, Floats, Ints, Regressor, Seed

if TYPE_CHECKING:
    from kwis.policy.target import Target


def cross_fit(
    estimator: Classifier | Regressor | Callable[[LoggedBandit], Target],
    log: LoggedBandit,
    *,
    reward: int | str = 0,
    folds: int = 5,
    epsilon: float = 0.0,
    name: str | None = None,
    rng: Seed = 0,
) -> CrossFitted:
    """A policy learnt from a log by folds, to be evaluated on the rows it has not seen.

    ``kwis.evaluate(log, kwis.cross_fit(model, log))`` gives the mean value of the policies of all folds. Each
    has learnt from a little less than the whole log, so that a policy learnt from all of it is, if anything,
    worth a little more.

    Parameters
    ----------
    estimator
        One of

        - a function ``fit(log) -> target`` that learns from the log it is given and returns anything that
          :func:`kwis.evaluate` takes for a target, such as a fitted classifier or a function of a log;
        - a scikit-learn regressor, which learns the reward from ``log.features()`` and one 0/1 column per
          action; the policy takes the action with the highest prediction;
        - a scikit-learn classifier, which learns the logged action from ``log.features()`` with rows weighted
          by ``(reward - lowest reward) / propensity``; the policy takes the action it predicts. It must take
          ``sample_weight``.
    log
        What :func:`kwis.read_log` returns.
    reward
        Name or number of the reward to learn from.
    folds
        How many policies are learnt; rows of a group, and copies of a row, share a fold.
    epsilon
        With this probability a regressor's or classifier's policy takes any action at random.
    name
        Of the policy; None: that of the estimator.
    rng
        A seed or a generator.

    Returns
    -------
    CrossFitted
        A target for :func:`kwis.evaluate`. It can be evaluated on ``log`` only.

    See Also
    --------
    kwis.trained_elsewhere : for a policy that has not seen the log.
    kwis.evaluate : evaluates it.

    Examples
    --------
    >>> log = kwis.sample_log(200, rng=1).read()
    >>> from sklearn.linear_model import Ridge
    >>> kwis.cross_fit(Ridge(), log, name="ridge").name
    'ridge'
    """
    if not isinstance(log, LoggedBandit):
        raise InputError(f"`log` must be what kwis.read_log returns, got {type(log).__name__}")
    share = _share(epsilon)
    label = name or str(getattr(estimator, "__name__", type(estimator).__name__))
    learn = _learner(estimator, log, log.reward_number(reward), share)
    k = check.whole(folds, "folds", 2)
    together = together_of(log)
    k = min(k, int(together.max()) + 1)
    if k < 2:
        raise InputError("`log` must have at least 2 different rows or groups to learn by folds")
    labels = make_folds(log.n, k, rng, together)
    whole = np.empty((log.n, log.n_actions))
    for fold in range(k):
        held = labels == fold
        whole[held] = learn(np.flatnonzero(~held), np.flatnonzero(held))
    return CrossFitted(name=label, distribution=kept(whole), folds=kept(labels), rows=log.rows)


_Learn = Callable[[Ints, Ints], Floats]
"""From the rows to learn from and the rows to choose on to the probabilities of every action on the latter.
"""


def _learner(estimator: Any, log: LoggedBandit, reward: int, share: float) -> _Learn:
    from sklearn.base import is_classifier

    if isinstance(estimator, type):
        raise InputError(f"`estimator` must be an estimator, not a class: {estimator.__name__}()")
    if hasattr(estimator, "fit") and hasattr(estimator, "predict"):
        return (
            _classified(estimator, log, reward, share)
            if is_classifier(estimator)
            else _regressed(estimator, log, reward, share)
        )
    if callable(estimator):
        if share:
            raise InputError("`epsilon` must be 0 with a function, whose target is taken as it is")
        return _called(estimator, log)
    kind = type(estimator).__name__
    raise InputError(
        f"`estimator` must be a function of a log, a regressor or a classifier of scikit-learn, got {kind}"
    )


def _called(fit: Callable[[LoggedBandit], Any], log: LoggedBandit) -> _Learn:
    from kwis.policy.target import resolve_target

    def learn(rows: Ints, held: Ints) -> Floats:
        policy = resolve_target(log.take(held), fit(log.take(rows)))
        if policy.distribution is None:
            raise InputError(
                "`estimator` must return a target with a probability for every action, got that of the "
                "logged one"
            )
        return policy.distribution

    return learn


def _regressed(model: Any, log: LoggedBandit, reward: int, share: float) -> _Learn:
    lesson = Lesson.of(log.features(), log.action, log.reward[:, reward], log.n_actions, log.row_weight)

    def learn(rows: Ints, held: Ints) -> Floats:
        expected = lesson.learnt(Candidate(model), rows, lesson.features[held], _open_to(log, held))
        return _greedy(_best(expected, log, held), log, held, share)

    return learn


def _classified(model: Any, log: LoggedBandit, reward: int, share: float) -> _Learn:
    from sklearn.base import clone

    if log.propensity is None:
        raise InputError(
            "`log` must have propensities to learn with a classifier; kwis.estimate_propensities supplies "
            "them"
        )
    features, outcome = log.features(), log.reward[:, reward]
    mass = (1.0 if log.row_weight is None else log.row_weight) / log.propensity

    def learn(rows: Ints, held: Ints) -> Floats:
        gain = mass[rows] * (outcome[rows] - outcome[rows].min())
        kept = gain > 0
        if (
            np.unique(log.action[rows][kept]).size < 2
        ):  # nothing to tell apart: the most rewarded action, whatever the context
            best = np.bincount(log.action[rows], weights=gain, minlength=log.n_actions).argmax()
            return _greedy(_best(np.eye(log.n_actions)[best], log, held), log, held, share)
        with fitting(model, log.n):
            fitted = clone(model)
            fitted.fit(features[rows][kept], log.action[rows][kept], **weight_argument(fitted, gain[kept]))
            if log.available is None:
                chosen: Ints = np.asarray(fitted.predict(features[held]), dtype=np.int64)
            else:
                chances = np.zeros((held.size, log.n_actions))
                chances[:, np.asarray(fitted.classes_, dtype=np.int64)] = fitted.predict_proba(features[held])
                chosen = _best(chances, log, held)
            return _greedy(chosen, log, held, share)

    return learn


def _open_to(log: LoggedBandit, rows: Ints) -> Mask | None:
    return None if log.available is None else log.available[rows]


def _best(scores: Floats, log: LoggedBandit, rows: Ints) -> Ints:
    """The available action with the highest score in each row."""
    open_to = _open_to(log, rows)
    every = np.broadcast_to(scores, (rows.size, log.n_actions))
    return np.asarray((every if open_to is None else np.where(open_to, every, -np.inf)).argmax(axis=1))


def _greedy(chosen: Ints, log: LoggedBandit, rows: Ints, share: float) -> Floats:
    whole = share * uniform(_open_to(log, rows), rows.size, log.n_actions)
    whole[np.arange(chosen.size), chosen] += 1 - share
    return whole


def _share(epsilon: Any) -> float:
    value = float(epsilon) if isinstance(epsilon, int | float) and not isinstance(epsilon, bool) else -1.0
    if not 0 <= value <= 1:
        raise InputError(f"`epsilon` must be in [0, 1], got {epsilon!r}")
    return value
