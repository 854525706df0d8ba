"""Propensities learnt from the log itself, for logs that did not keep them.

The probability of every action given the context, from classifiers that never saw the row they predict (nor,
with groups, any row of its group). They are mixed in the shares that make held-out actions most likely, and
the mixture is sharpened by one exponent: an average of cautious predictions is too cautious, and weights feel
that more than likelihoods do.

Estimated propensities repair nothing that the context does not show: if the logger looked at something that
is not in the log, the weights stay wrong, and the result says that they were estimated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kwis import _validation as check
from kwis.data.candidates import Mask, among
from kwis.data.copies import with_copies_grouped
from kwis.data.log import LoggedBandit
from kwis.errors import InputError
from kwis.models.fitting import one_thread
from kwis.models.propensity.calibrate import likeliest_exponent, to_power
from kwis.models.propensity.learners import (
    ClassifierLearner,
    CrossFittedPropensity,
    Learner,
    default_learners,
    floored,
)
from kwis.runtime.arrays import kept
from kwis.runtime.threads import engine
from kwis.stats.folds import make_folds
from kwis.stats.sums import sum_of_others
from kwis.typing import Classifier, Floats, Ints, Seed

_EM_STEPS = 60
_ROWS_AT_ONCE = 20_000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EstimatedPropensity:
    """Estimated behaviour policy on the rows of one log.

    Attributes
    ----------
    distribution, logged
        ``(n, K)`` probability of every action, and ``(n,)`` of the logged one.
    model
        The classifier, or the mixture of several, in words.
    folds
        ``(n,)`` which fold each row was held out in.
    log_loss
        Held-out mean of ``-log p(logged action)``; ``log_loss_without_context`` is that of the bare shares of
        the actions.
    candidates
        Held-out log loss of every classifier by itself.
    floor, floored
        The smallest probability allowed, and in how many rows the logged action's was raised to it.
    refits
        ``(n, folds)`` probability of the logged action by each of the fold's models, in all rows: how far
        estimates with them are apart is the error that the model adds, see
        :func:`kwis.intervals.student.model_error`.
    """

    distribution: Floats
    logged: Floats
    model: str
    folds: Ints
    log_loss: float
    log_loss_without_context: float
    candidates: Mapping[str, float]
    floor: float
    floored: int
    refits: Floats

    @property
    def note(self) -> str:
        """One sentence for the result."""
        raised = f"; {self.floored} of them were raised to {self.floor:.2g}" if self.floored else ""
        k = int(self.folds.max()) + 1
        return (
            f"propensities were estimated from the context by {self.model}, cross-fitted over {k} folds and "
            f"calibrated{raised}"
        )

    def attach(self, log: LoggedBandit) -> LoggedBandit:
        """The log with these propensities, and a note that says so."""
        return log.with_propensity(self.distribution, self.note)


def estimate_propensities(
    log: LoggedBandit,
    model: Classifier | str | None = None,
    *,
    folds: int = 5,
    floor: float | None = None,
    rng: Seed = 0,
) -> EstimatedPropensity:
    """Cross-fitted, calibrated probabilities of every action given the context.

    Parameters
    ----------
    log
        What :func:`kwis.read_log` returns.
    model
        A scikit-learn classifier with ``predict_proba``, trained on ``log.features()``. None: smooth
        regression and boosted trees, mixed; see :mod:`kwis.models.propensity.learners`. Either of these by
        itself by its name, ``"smooth regression"`` or ``"boosted trees"``.
    folds
        Each row is predicted from the other folds; rows of a group share a fold, and each action is spread
        over all folds.
    floor
        Smallest probability; None: ``1/n``, below which nothing can be told from never.
    rng
        A seed or a generator.

    Returns
    -------
    EstimatedPropensity
        Probabilities of all actions in every row, and how well they predict held-out actions; ``attach(log)``
        puts them into the log.

    See Also
    --------
    kwis.propensity_report : tests them.
    kwis.repair_propensities : for propensities that were logged.
    kwis.evaluate : estimates them itself where the log has none.

    Examples
    --------
    >>> log = kwis.sample_log(200, rng=1).read()
    >>> from sklearn.linear_model import LogisticRegression
    >>> estimated = kwis.estimate_propensities(log, LogisticRegression(max_iter=1000))
    >>> estimated.attach(log).propensity_origin
    'estimated'
    """
    generator = check.generator(rng)
    _refuse_too_little(log)
    log = with_copies_grouped(log)
    lowest = 1 / len(log) if floor is None else check.positive(floor, "floor")
    most = int(log.set_sizes.max())
    if lowest >= 1 / most:
        raise InputError(f"`floor` must be below 1 over the number of actions ({most}), got {lowest}")
    labels = _folds(log, check.whole(folds, "folds", 2), generator)
    seed, features = int(generator.integers(2**31)), log.features()
    with (
        engine(),
        one_thread(),
    ):  # trees on two threads are thirty times slower than on one wherever a core is busy
        learners = (
            _default(log, features, seed, model)
            if model is None or isinstance(model, str)
            else {_described(model): ClassifierLearner(model, log, features)}
        )
        tried = {
            name: CrossFittedPropensity.of(learner, features, log, labels, lowest)
            for name, learner in learners.items()
        }
        mixture = _Mixture.of(tuple(tried.values()), log, lowest)
        refits = mixture.logged_by_each(features, log.action, log.available)
    mass = np.ones(len(log)) if log.row_weight is None else log.row_weight
    logged = mixture.distribution[np.arange(len(log)), log.action]
    return EstimatedPropensity(
        distribution=kept(mixture.distribution),
        logged=kept(logged),
        model=_in_words(dict(zip(tried, mixture.shares, strict=True))),
        folds=kept(labels),
        log_loss=_log_loss(mixture.distribution, log.action, mass),
        log_loss_without_context=_log_loss(
            floored(among(_frequencies(log, labels, mass), log.available), lowest, log.available),
            log.action,
            mass,
        ),
        candidates={name: _log_loss(found.distribution, log.action, mass) for name, found in tried.items()},
        floor=lowest,
        floored=int((logged <= lowest).sum()),
        refits=kept(refits),
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Mixture:
    """Several learners in fixed shares, to the power of one ``exponent``."""

    parts: tuple[CrossFittedPropensity, ...]
    shares: tuple[float, ...]
    exponent: float
    distribution: Floats
    floor: float

    @classmethod
    def of(cls, parts: tuple[CrossFittedPropensity, ...], log: LoggedBandit, floor: float) -> _Mixture:
        if len(parts) == 1:
            return cls(
                parts=parts, shares=(1.0,), exponent=1.0, distribution=parts[0].distribution, floor=floor
            )
        taken = np.stack([part.distribution[np.arange(len(log)), log.action] for part in parts], axis=1)
        shares = _likeliest_shares(taken, log.row_weight)
        raw = _mixed([part.distribution for part in parts], shares)
        exponent = likeliest_exponent(raw, log.action, log.row_weight)
        return cls(
            parts=parts,
            shares=shares,
            exponent=exponent,
            distribution=floored(to_power(raw, exponent), floor, log.available),
            floor=floor,
        )

    def logged_by_each(self, features: Floats, action: Ints, available: Mask | None) -> Floats:
        """``(n, folds)`` probability of the actions taken by the models without each fold, the rows they
        learnt from included.
        """
        found = np.empty((len(action), len(self.parts[0].models)))
        for start in range(0, len(action), _ROWS_AT_ONCE):
            part = slice(start, start + _ROWS_AT_ONCE)
            open_to = None if available is None else available[part]
            for fold in range(found.shape[1]):
                table = self._by_fold(fold, features[part], open_to)
                found[part, fold] = table[np.arange(len(table)), action[part]]
        return found

    def _by_fold(self, fold: int, features: Floats, available: Mask | None) -> Floats:
        mixed = _mixed([part.by_fold(fold, features, available) for part in self.parts], self.shares)
        return floored(to_power(mixed, self.exponent), self.floor, available)


def _mixed(tables: Sequence[Floats], shares: Sequence[float]) -> Floats:
    return np.einsum("m,mik->ik", np.array(shares), np.stack(tables))


def _likeliest_shares(taken: Floats, mass: Floats | None) -> tuple[float, ...]:
    """Shares of the learners that make the actions taken most likely, from their ``(n, m)`` held-out
    probabilities (EM algorithm).
    """
    weight = np.full(len(taken), 1 / len(taken)) if mass is None else mass / mass.sum()
    shares = np.full(taken.shape[1], 1 / taken.shape[1])
    for _ in range(_EM_STEPS):
        belonging = shares * taken
        shares = weight @ (belonging / belonging.sum(axis=1, keepdims=True))
    return tuple(float(share) for share in shares)


def _in_words(shares: Mapping[str, float]) -> str:
    if len(shares) == 1:
        return next(iter(shares))
    return " and ".join(f"{share:.0%} {name}" for name, share in shares.items())


def _refuse_too_little(log: LoggedBandit) -> None:
    """More rows than actions, and something to hold out."""
    if len(log) <= log.n_actions:
        raise InputError(
            f"`log` must have more rows than actions to estimate propensities, got {len(log)} rows for "
            f"{log.n_actions} actions"
        )
    if log.group is not None and len(np.unique(log.group)) < 2:
        raise InputError("`log` must have at least 2 groups to estimate propensities, got 1")


def _default(log: LoggedBandit, features: Floats, seed: int, name: str | None) -> Mapping[str, Learner]:
    """Learners that need no choice of a model: all, or the one of that name."""
    known = default_learners(log, features, seed)
    if name is not None and name not in known:
        raise InputError(f"`model` must be one of {', '.join(known)} for this log, got {name!r}")
    return known if name is None else {name: known[name]}


def _described(model: Any) -> str:
    if not hasattr(model, "fit") or not hasattr(model, "predict_proba"):
        raise InputError(
            f"`model` must be a scikit-learn classifier with `predict_proba`, got {type(model).__name__}"
        )
    return type(model).__name__


def _folds(log: LoggedBandit, k: int, generator: np.random.Generator) -> Ints:
    """Fold of each row: whole groups together, or else every action dealt out evenly."""
    n = len(log)
    if log.group is not None:
        return make_folds(n, min(k, len(np.unique(log.group))), generator, log.group)
    order = generator.permutation(n)
    order = order[np.argsort(log.action[order], kind="stable")]
    labels = np.empty(n, dtype=np.int64)
    labels[order] = np.arange(n) % min(k, n)
    return labels


def _frequencies(log: LoggedBandit, labels: Ints, mass: Floats) -> Floats:
    """How often each action is taken in the other folds, whatever the context."""
    counts = np.zeros((int(labels.max()) + 1, log.n_actions))
    np.add.at(counts, (labels, log.action), mass)
    others = sum_of_others(counts)
    return (others / others.sum(axis=1, keepdims=True))[labels]


def _log_loss(distribution: Floats, action: Ints, mass: Floats) -> float:
    return float(-np.average(np.log(distribution[np.arange(len(action)), action]), weights=mass))
