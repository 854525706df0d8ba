"""Models that learn propensities from contexts and actions, cross-fitted and calibrated on held-out rows.

Smooth regression is the multinomial regression of :mod:`kwis.models.propensity.choose`, linear and curved in
the context, shrunk as far as makes held-out actions most likely. Boosted trees find steps and interactions
that it does not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from kwis.data.candidates import among, uniform
from kwis.data.log import LoggedBandit
from kwis.errors import InputError
from kwis.models.fitting import ROWS_FOR_TREES, TREES, fitting, weight_argument
from kwis.models.propensity.calibrate import Calibration, calibrated, calibrations
from kwis.models.propensity.choose import Chosen, Fitted, Splits, choose
from kwis.models.propensity.material import Material
from kwis.models.propensity.penalised import Mask
from kwis.typing import Floats, Ints


class Learner(Protocol):
    """A model that can be fitted on some rows of a log."""

    def learn(self, rows: Mask, floor: float) -> Predictor:
        """Fit it on ``rows``; it predicts no probability below ``floor``."""


class Predictor(Protocol):
    """A fitted model of the propensities of all actions."""

    def __call__(self, features: Floats, available: Mask | None, /) -> Floats:
        """``(m, K)`` distribution, 0 for actions that are not available."""


def default_learners(log: LoggedBandit, features: Floats, seed: int) -> dict[str, Learner]:
    """Smooth regression, and boosted trees where rows are enough; by name."""
    learners: dict[str, Learner] = {}
    smooth = SmoothRegression.of(log, features, seed)
    if smooth is not None:
        learners["smooth regression"] = smooth
    if len(log) >= ROWS_FOR_TREES or smooth is None:
        learners["boosted trees"] = ClassifierLearner(_trees(seed), log, features)
    return learners


def _trees(seed: int) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(**TREES, early_stopping=False, random_state=seed)


@dataclass(frozen=True, slots=True, eq=False)
class ClassifierLearner:
    """A classifier of scikit-learn on the rows of a log."""

    model: Any
    log: LoggedBandit
    features: Floats

    def learn(self, rows: Mask, floor: float) -> Predictor:
        from sklearn.base import clone

        log, fitted = self.log, None
        seen = np.unique(log.action[rows])
        if len(seen) > 1:  # most classifiers refuse to learn from one action
            weight = None if log.row_weight is None else log.row_weight[rows]
            with fitting(self.model, len(log)):
                fitted = clone(self.model)
                fitted.fit(self.features[rows], log.action[rows], **weight_argument(fitted, weight))
                seen = np.asarray(fitted.classes_, dtype=np.int64)
        return _FittedClassifier(fitted, seen, log.n_actions, floor)


@dataclass(frozen=True, slots=True, eq=False)
class _FittedClassifier:
    """None for a classifier where only one action was seen."""

    classifier: Any
    seen: Ints
    n_actions: int
    floor: float

    def __call__(self, features: Floats, available: Mask | None) -> Floats:
        distribution = np.zeros((len(features), self.n_actions))
        distribution[:, self.seen] = 1.0
        if self.classifier is not None:
            with fitting(self.classifier, len(features)):
                distribution[:, self.seen] = np.asarray(
                    self.classifier.predict_proba(features), dtype=np.float64
                )
        if not np.isfinite(distribution).all():
            raise InputError(
                f"`model` must predict finite probabilities, got others from {type(self.classifier).__name__}"
            )
        return floored(among(distribution, available), self.floor, available)


@dataclass(frozen=True, slots=True, eq=False)
class SmoothRegression:
    """Multinomial regression on the rows of a log, its shrinkage chosen on held-out rows."""

    chosen: Chosen
    rows: Material
    seed: int

    @classmethod
    def of(cls, log: LoggedBandit, features: Floats, seed: int) -> SmoothRegression | None:
        """None where rows are too few to choose the shrinkage."""
        flat = uniform(log.available, log.n, log.n_actions)
        rows = Material(
            features=features, action=log.action, given=flat, mass=log.row_weight, group=log.group
        )
        rng = np.random.default_rng(seed)
        splits = Splits.of(rows, rng)
        return None if splits is None else cls(choose(splits, ("context",), rng), rows, seed)

    def learn(self, rows: Mask, floor: float) -> Predictor:
        return _FittedRegression(
            self.chosen.fit(self.rows.take(rows), np.random.default_rng(self.seed)),
            self.rows.given.shape[1],
            floor,
        )


@dataclass(frozen=True, slots=True, eq=False)
class _FittedRegression:
    fitted: Fitted
    n_actions: int
    floor: float

    def __call__(self, features: Floats, available: Mask | None) -> Floats:
        flat = uniform(available, len(features), self.n_actions)
        return floored(self.fitted.distribution(features, flat), self.floor, available)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CrossFittedPropensity:
    """One learner, fitted without each fold in turn, and the ``(n, K)`` calibrated distribution of the rows
    held out.
    """

    models: tuple[Predictor, ...]
    calibrations: tuple[Calibration, ...]
    distribution: Floats
    floor: float

    @classmethod
    def of(
        cls, learner: Learner, features: Floats, log: LoggedBandit, labels: Ints, floor: float
    ) -> CrossFittedPropensity:
        models = tuple(learner.learn(labels != fold, floor) for fold in range(int(labels.max()) + 1))
        raw = np.empty((len(log), log.n_actions))
        for fold, model in enumerate(models):
            held = labels == fold
            raw[held] = model(features[held], None if log.available is None else log.available[held])
        known = calibrations(raw, log.action, labels, log.row_weight)
        return cls(
            models=models,
            calibrations=known,
            distribution=floored(calibrated(raw, labels, known), floor, log.available),
            floor=floor,
        )

    def by_fold(self, fold: int, features: Floats, available: Mask | None) -> Floats:
        """``(m, K)`` what the model without one fold says of any rows."""
        made = self.calibrations[fold](self.models[fold](features, available))
        return floored(made, self.floor, available)


def floored(distribution: Floats, floor: float, available: Mask | None = None) -> Floats:
    """Distribution with no entry of an available action below ``floor``; what that takes is taken from the
    others in proportion.
    """
    low = np.zeros(distribution.shape, dtype=bool)
    raised = distribution
    open_to = True if available is None else available
    while ((raised < floor) & open_to).any():  # giving way can push another entry below, so at most K rounds
        low |= (raised < floor) & open_to
        high = np.where(low, 0.0, distribution)
        room = 1 - floor * low.sum(axis=1, keepdims=True)
        raised = np.where(low, floor, high * (room / high.sum(axis=1, keepdims=True)))
    return raised
