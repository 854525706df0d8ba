"""Propensities learnt from the log itself, for logs that did not keep them.

The probability of every action given the context, from a classifier that never saw the row it predicts (nor, with groups,
any row of its group), calibrated afterwards. Estimated propensities repair nothing that the context does not show: if the
logger looked at something that is not in the log, the weights stay wrong, and the result says that they were estimated.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from kwis import _validation as check
from kwis._learning import fitting, weight_argument
from kwis._sums import sum_of_others
from kwis._validation import read_only
from kwis.bandwidth.folds import make_folds
from kwis.errors import InputError
from kwis.logged import LoggedBandit
from kwis.propensity.calibrate import Calibration, calibrated, calibrations
from kwis.propensity.shrunk import Mask
from kwis.typing import Floats, Ints, Seed

# Boosted trees learn little from fewer rows that a linear model does not, and memorise more.
_ROWS_FOR_TREES = 500
_ROWS_TO_CHOOSE = 20_000
_ROWS_AT_ONCE = 20_000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EstimatedPropensity:
    """Estimated behaviour policy on the rows of one log.

    Attributes
    ----------
    distribution, logged
        ``(n, K)`` probability of every action, and ``(n,)`` of the logged one.
    model
        The classifier, in words.
    folds
        ``(n,)`` which fold each row was held out in.
    log_loss
        Held-out mean of ``-log p(logged action)``; ``log_loss_without_context`` is that of the bare shares of the actions.
    candidates
        Held-out log loss of every model that was tried.
    floor, floored
        The smallest probability allowed, and in how many rows the logged action's was raised to it.
    refits
        ``(n, folds)`` probability of the logged action by each of the fold's models, in all rows: how far estimates with them are apart
        is the error that the model adds, see :func:`kwis.intervals.student.model_error`.
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
        return f"propensities were estimated from the context by {self.model}, cross-fitted over {k} folds and calibrated{raised}"

    def attach(self, log: LoggedBandit) -> LoggedBandit:
        """The log with these propensities, and a note that says so."""
        return log.with_propensity(self.distribution, self.note)


def estimate_propensities(
    log: LoggedBandit, model: Any = None, *, folds: int = 5, floor: float | None = None, rng: Seed = 0
) -> EstimatedPropensity:
    """Cross-fitted, calibrated probabilities of every action given the context.

    Parameters
    ----------
    model
        A scikit-learn classifier with ``predict_proba``, trained on ``log.features()``. None: logistic regression or boosted
        trees, whichever predicts held-out actions better (on 20,000 of the rows, if there are more).
    folds
        Each row is predicted from the other folds; rows of a group share a fold, and each action is spread over all folds.
    floor
        Smallest probability; None: ``1/n``, below which nothing can be told from never.
    """
    generator = check.generator(rng)
    _refuse_too_little(log)
    lowest = 1 / len(log) if floor is None else check.positive(floor, "floor")
    if lowest >= 1 / log.n_actions:
        raise InputError(f"`floor` must be below 1 over the number of actions ({log.n_actions}), got {lowest}")
    labels = _folds(log, check.whole(folds, "folds", 2), generator)
    seed = int(generator.integers(2**31))
    models = _default_models(len(log), seed) if model is None else {_described(model): model}
    tried_on_part: Mapping[str, float] = {}
    if len(models) > 1 and len(log) > _ROWS_TO_CHOOSE:
        part = estimate_propensities(log.take(generator.choice(len(log), _ROWS_TO_CHOOSE, replace=False)), folds=folds, rng=generator)
        models, tried_on_part = {part.model: models[part.model]}, part.candidates
    mass = np.ones(len(log)) if log.row_weight is None else log.row_weight
    design = log.features()
    with threadpool_limits(1):  # trees on two threads are thirty times slower than on one wherever a core is busy
        tried = {name: _CrossFitted.of(candidate, design, log, labels, lowest) for name, candidate in models.items()}
        losses = {name: _log_loss(found.distribution, log.action, mass) for name, found in tried.items()}
        best = min(losses, key=lambda name: losses[name])
        refits = tried[best].logged_by_each(design, log.action)
    distribution = tried[best].distribution
    logged = distribution[np.arange(len(log)), log.action]
    return EstimatedPropensity(
        distribution=read_only(distribution),
        logged=read_only(logged),
        model=best,
        folds=read_only(labels),
        log_loss=losses[best],
        log_loss_without_context=_log_loss(_floored(_shares(log, labels, mass), lowest), log.action, mass),
        candidates={**tried_on_part, **losses},
        floor=lowest,
        floored=int((logged <= lowest).sum()),
        refits=read_only(refits),
    )


def _refuse_too_little(log: LoggedBandit) -> None:
    """More rows than actions, and something to hold out."""
    if len(log) <= log.n_actions:
        raise InputError(
            f"`log` must have more rows than actions to estimate propensities, got {len(log)} rows for {log.n_actions} actions"
        )
    if log.group is not None and len(np.unique(log.group)) < 2:
        raise InputError("`log` must have at least 2 groups to estimate propensities, got 1")


def _default_models(n: int, seed: int) -> dict[str, Any]:
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression

    models: dict[str, Any] = {"logistic regression": LogisticRegression(max_iter=500)}
    if n >= _ROWS_FOR_TREES:
        models["boosted trees"] = HistGradientBoostingClassifier(
            max_iter=60,
            learning_rate=0.1,
            max_leaf_nodes=12,
            min_samples_leaf=30,
            l2_regularization=1.0,
            early_stopping=False,
            random_state=seed,
        )
    return models


def _described(model: Any) -> str:
    if not hasattr(model, "fit") or not hasattr(model, "predict_proba"):
        raise InputError(f"`model` must be a scikit-learn classifier with `predict_proba`, got {type(model).__name__}")
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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Learnt:
    """A classifier that was fitted to some rows, and the actions it has seen; None where that is one action only."""

    classifier: Any
    seen: Ints
    n_actions: int
    floor: float

    @classmethod
    def of(cls, model: Any, design: Floats, log: LoggedBandit, rows: Mask, floor: float) -> _Learnt:
        from sklearn.base import clone

        seen, fitted = np.unique(log.action[rows]), None
        if len(seen) > 1:  # most classifiers refuse to learn from one action
            weight = None if log.row_weight is None else log.row_weight[rows]
            with fitting(model, len(log)):
                fitted = clone(model)
                fitted.fit(design[rows], log.action[rows], **weight_argument(fitted, weight))
                seen = np.asarray(fitted.classes_, dtype=np.int64)
        return cls(classifier=fitted, seen=seen, n_actions=log.n_actions, floor=floor)

    def __call__(self, design: Floats) -> Floats:
        """``(m, K)`` distribution; an action that was not seen gets ``floor``."""
        distribution = np.zeros((len(design), self.n_actions))
        distribution[:, self.seen] = 1.0
        if self.classifier is not None:
            with fitting(self.classifier, len(design)):
                distribution[:, self.seen] = np.asarray(self.classifier.predict_proba(design), dtype=np.float64)
        if not np.isfinite(distribution).all():
            raise InputError(f"`model` must predict finite probabilities, got others from {type(self.classifier).__name__}")
        return _floored(distribution, self.floor)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _CrossFitted:
    """One kind of classifier, fitted without each fold in turn, and the ``(n, K)`` calibrated distribution of the rows held out."""

    models: tuple[_Learnt, ...]
    calibrations: tuple[Calibration, ...]
    distribution: Floats
    floor: float

    @classmethod
    def of(cls, model: Any, design: Floats, log: LoggedBandit, labels: Ints, floor: float) -> _CrossFitted:
        mass = np.ones(len(log)) if log.row_weight is None else log.row_weight
        models = tuple(_Learnt.of(model, design, log, labels != fold, floor) for fold in range(int(labels.max()) + 1))
        raw = np.empty((len(log), log.n_actions))
        for fold, learnt in enumerate(models):
            raw[labels == fold] = learnt(design[labels == fold])
        known = calibrations(raw, log.action, labels, mass)
        return cls(models=models, calibrations=known, distribution=_floored(calibrated(raw, labels, known), floor), floor=floor)

    def logged_by_each(self, design: Floats, action: Ints) -> Floats:
        """``(n, folds)`` probability of the actions taken by each model, the rows it learnt from included."""
        found = np.empty((len(action), len(self.models)))
        for start in range(0, len(action), _ROWS_AT_ONCE):
            part = slice(start, start + _ROWS_AT_ONCE)
            for fold, (model, calibration) in enumerate(zip(self.models, self.calibrations, strict=True)):
                table = _floored(calibration(model(design[part])), self.floor)
                found[part, fold] = table[np.arange(len(table)), action[part]]
        return found


def _floored(distribution: Floats, floor: float) -> Floats:
    """Distribution with no entry below ``floor``; what that takes is taken from the others in proportion."""
    low = np.zeros(distribution.shape, dtype=bool)
    raised = distribution
    while (raised < floor).any():  # giving way can push another entry below, so at most K rounds
        low |= raised < floor
        high = np.where(low, 0.0, distribution)
        room = 1 - floor * low.sum(axis=1, keepdims=True)
        raised = np.where(low, floor, high * (room / high.sum(axis=1, keepdims=True)))
    return raised


def _shares(log: LoggedBandit, labels: Ints, mass: Floats) -> Floats:
    """Shares of the actions in the other folds, whatever the context."""
    counts = np.zeros((int(labels.max()) + 1, log.n_actions))
    np.add.at(counts, (labels, log.action), mass)
    others = sum_of_others(counts)
    return (others / others.sum(axis=1, keepdims=True))[labels]


def _log_loss(distribution: Floats, action: Ints, mass: Floats) -> float:
    return float(-np.average(np.log(distribution[np.arange(len(action)), action]), weights=mass))
