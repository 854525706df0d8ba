"""Reward models on plain arrays: what is fitted, how its error is judged, and a model that predicts rows it
was not fitted on.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kwis.data.candidates import Mask
from kwis.errors import InputError
from kwis.models.fitting import ROWS_FOR_TREES, TREES, fitting, fitting_ours, weight_argument
from kwis.models.reward.ridge import Ridge
from kwis.models.reward.trees import Trees
from kwis.runtime.threads import each_block
from kwis.stats.subsets import drawn_rows
from kwis.typing import Floats, Ints

CHOICE_ROWS = 20_000
"""Models are compared on at most this many rows, drawn at random; the best one then learns from more."""
MODEL_ROWS = 60_000
"""A model learns from at most this many rows, drawn at random from those it may see."""
_PREDICTED_AT_ONCE = 50_000  # rows
# In a race a model that is no better on the first folds goes no further: from so many rows on these tell any
# difference that matters.
_HEATS, _RACE_ROWS = 2, 2_000
_MOST_INDICATORS = 50  # rarer actions are told apart by none
_MOST_SLOPES = 300


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """A regressor, and whether its design has a slope per action for every feature."""

    model: Any
    slopes: bool = False


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Lesson:
    """One reward to be learnt; ``codes`` gives each action its 0/1 column, -1 for none."""

    features: Floats
    action: Ints
    outcome: Floats
    codes: Ints
    mass: Floats | None = None
    available: Mask | None = None

    @classmethod
    def of(
        cls,
        features: Floats,
        action: Ints,
        outcome: Floats,
        n_actions: int,
        mass: Floats | None = None,
        available: Mask | None = None,
    ) -> Lesson:
        frequent = np.sort(
            np.argsort(-np.bincount(action, minlength=n_actions), kind="stable")[:_MOST_INDICATORS]
        )
        codes = np.full(n_actions, -1)
        codes[frequent] = np.arange(len(frequent))
        return cls(
            features=features, action=action, outcome=outcome, codes=codes, mass=mass, available=available
        )

    def held_out(self, candidate: Candidate, folds: Ints, some: Iterable[int] | None = None) -> Floats:
        """``(n, K)`` predictions, each from a model trained on the other folds; of ``some`` folds only, 0 in
        the others.
        """
        expected = np.zeros((self.action.size, self.codes.size))

        def fill(fold: int) -> None:
            held = folds == fold
            open_to = None if self.available is None else self.available[held]
            expected[held] = self.learnt(candidate, np.flatnonzero(~held), self.features[held], open_to)

        several = range(int(folds.max()) + 1) if some is None else some
        if isinstance(candidate.model, Ridge | Trees):
            each_block(fill, several)
        else:
            for fold in several:
                fill(fold)
        return expected

    def learnt(self, candidate: Candidate, rows: Ints, at: Floats, open_to: Mask | None = None) -> Floats:
        """``(m, K)`` predictions for the features ``at`` from a model trained on some rows; 0 for actions
        that are not available there.
        """
        rows = _drawn(rows, MODEL_ROWS)
        weight = None if self.mass is None else self.mass[rows]
        if isinstance(candidate.model, Ridge | Trees):
            with fitting_ours(candidate.model):
                fitted = copy(candidate.model)
                design = self._design(self.features[rows], self.action[rows], candidate.slopes)
                if isinstance(fitted, Trees):
                    fitted.fit(design, self.outcome[rows], weight, last=int(self.codes.max()) + 1)
                else:
                    fitted.fit(design, self.outcome[rows], weight)
                every = (
                    self._linear(fitted, at, candidate.slopes)
                    if isinstance(fitted, Ridge)
                    else fitted.of_choices(at, self.codes)
                )
                return every if open_to is None else np.where(open_to, every, 0.0)
        from sklearn.base import clone

        expected = np.zeros((at.shape[0], self.codes.size))
        with fitting(candidate.model, self.action.size):
            fitted = clone(candidate.model)
            design = self._design(self.features[rows], self.action[rows], candidate.slopes)
            fitted.fit(design, self.outcome[rows], **weight_argument(fitted, weight))
            for start in range(0, at.shape[0], _PREDICTED_AT_ONCE):
                part = np.arange(start, min(start + _PREDICTED_AT_ONCE, at.shape[0]))
                for action in range(self.codes.size):
                    places = part if open_to is None else part[open_to[part, action]]
                    if not places.size:
                        continue
                    design = self._design(at[places], np.full(places.size, action), candidate.slopes)
                    predicted = np.asarray(fitted.predict(design), dtype=np.float64).reshape(places.size)
                    expected[places, action] = predicted
        if not np.isfinite(expected).all():
            raise InputError(
                f"`model` must predict finite rewards, got others from {type(candidate.model).__name__}"
            )
        return expected

    def _linear(self, fitted: Ridge, at: Floats, slopes: bool) -> Floats:
        """``(m, K)`` predictions of a linear model for all actions at once."""
        p, count = at.shape[1], int(self.codes.max()) + 1
        found = fitted.coefficients
        by_code = np.zeros((at.shape[0], count + 1))  # the last for actions without an indicator
        by_code[:, :count] = found[p : p + count]
        if slopes:
            by_code[:, :count] += at @ found[p + count :].reshape(p, count)
        return np.asarray((at @ found[:p] + fitted.intercept)[:, None] + by_code[:, self.codes])

    def _design(self, features: Floats, action: Ints, slopes: bool) -> Floats:
        count = int(self.codes.max()) + 1
        chosen = (self.codes[action][:, None] == np.arange(count)).astype(np.float64)
        parts = [features, chosen]
        if slopes:
            parts.append((features[:, :, None] * chosen[:, None, :]).reshape(features.shape[0], -1))
        return np.hstack(parts)

    def error(self, predicted: Floats) -> float:
        """Mean squared error of predictions of the logged actions."""
        return float(np.average((self.outcome - predicted) ** 2, weights=self.mass))

    def error_without_context(self, folds: Ints) -> float:
        """Mean squared error of the mean reward of the other folds; 0 if all rewards are the same."""
        if np.ptp(self.outcome) == 0:
            return 0.0
        mass = np.ones(self.action.size) if self.mass is None else self.mass
        others = [folds != fold for fold in range(int(folds.max()) + 1)]
        return self.error(
            np.array([np.average(self.outcome[rows], weights=mass[rows]) for rows in others])[folds]
        )

    def take(self, rows: Ints) -> Lesson:
        """The same lesson from some of its rows."""
        mass = None if self.mass is None else self.mass[rows]
        return replace(
            self,
            available=None if self.available is None else self.available[rows],
            features=self.features[rows],
            action=self.action[rows],
            outcome=self.outcome[rows],
            mass=mass,
        )

    def taken(self, expected: Floats) -> Floats:
        """Predictions of the logged actions among those of all actions."""
        return expected[np.arange(self.action.size), self.action]


def _drawn(rows: Ints, most: int) -> Ints:
    """At most so many of the rows, always the same ones."""
    return rows if rows.size <= most else rows[drawn_rows(rows.size, most)]


def default_models(n: int, features: int, n_actions: int) -> dict[str, Candidate]:
    """The models tried by default."""
    slopes = features * min(n_actions, _MOST_INDICATORS) <= _MOST_SLOPES
    models = {"ridge regression": Candidate(Ridge(np.logspace(-1, 4, 11)), slopes)}
    if n >= ROWS_FOR_TREES:
        models["boosted trees"] = Candidate(Trees(**TREES))
    return models


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Tried:
    """Reward models tried on held-out rows.

    Attributes
    ----------
    best
        Name of the one with the smallest error, and in ``expected`` its ``(n, K)`` held-out predictions.
    errors, plain
        Held-out mean squared error of each, and of the mean reward; of those not chosen, on the rows they
        were compared on, or in proportion where they left a race.
    """

    best: str
    expected: Floats
    errors: Mapping[str, float]
    plain: float

    @classmethod
    def of(
        cls, lesson: Lesson, candidates: Mapping[str, Candidate], folds: Ints, *, race: bool = False
    ) -> Tried:
        """Every model on all folds; in a ``race`` one that is no better on the first two goes no further."""
        plain = lesson.error_without_context(folds)
        rows = _drawn(np.arange(lesson.action.size), CHOICE_ROWS)
        if rows.size == lesson.action.size or len(candidates) == 1:
            race = race and rows.size >= _RACE_ROWS and int(folds.max()) >= _HEATS
            expected, errors = dict[str, Floats](), dict[str, float]()
            for name, candidate in candidates.items():
                table = lesson.held_out(candidate, folds, range(_HEATS) if race and errors else None)
                if race and errors:
                    seen = np.flatnonzero(folds < _HEATS)
                    first = min(errors, key=lambda one: errors[one])
                    part = lesson.take(seen)
                    own, other = (part.error(lesson.taken(one)[seen]) for one in (table, expected[first]))
                    if not own < other:
                        errors[name] = errors[first] * own / other if other > 0 else own
                        continue
                    table += lesson.held_out(candidate, folds, range(_HEATS, int(folds.max()) + 1))
                expected[name], errors[name] = table, lesson.error(lesson.taken(table))
            best = min(expected, key=lambda name: errors[name])
            return cls(best=best, expected=expected[best], errors=errors, plain=plain)
        some = cls.of(
            lesson.take(rows), candidates, np.unique(folds[rows], return_inverse=True)[1], race=race
        )
        chosen = lesson.held_out(candidates[some.best], folds)
        return cls(
            best=some.best,
            expected=chosen,
            errors={**some.errors, some.best: lesson.error(lesson.taken(chosen))},
            plain=plain,
        )

    @property
    def explained(self) -> float:
        """Share of the held-out variance that the best one explains; below 0 if it does worse than
        the mean.
        """
        return 1 - self.errors[self.best] / self.plain if self.plain > 0 else 0.0
