"""Models of propensities and of importance weights: classifiers, cross-fitted where that is asked for."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from kwis import _validation as check
from kwis.compat.obp.inputs import at_position, codes, count, places_of
from kwis.errors import InputError
from kwis.models.fitting import fitting
from kwis.stats.folds import make_folds
from kwis.typing import Floats, Ints

_LARGEST_CHANCE = 1 - 1e-6  # a chance of 1 would be an infinite weight


@dataclass
class _Classifier:
    """A scikit-learn classifier per position, calibrated over ``calibration_cv`` folds if those exceed 1."""

    base_model: Any
    n_actions: int
    len_list: int = 1
    calibration_cv: int = 2
    models_: list[Any] = field(default_factory=list, init=False, repr=False)

    def __post_init__(self) -> None:
        count(self.n_actions, "n_actions", 2)
        count(self.len_list, "len_list", 1)
        if not hasattr(self.base_model, "fit") or not hasattr(self.base_model, "predict_proba"):
            raise InputError(
                f"`base_model` must be a classifier with `predict_proba`, got "
                f"{type(self.base_model).__name__}"
            )

    def _fitted(self, design: Floats, label: Ints) -> Any:
        from sklearn.base import clone
        from sklearn.calibration import CalibratedClassifierCV

        model = clone(self.base_model)
        if self.calibration_cv > 1:
            model = CalibratedClassifierCV(model, cv=self.calibration_cv)
        with fitting(model, label.size):
            return model.fit(design, label)

    def _model(self, place: int) -> Any:
        if not self.models_:
            raise InputError("`fit` must be called before `predict`")
        return self.models_[place]

    def _folds(self, n: int, n_folds: int, random_state: int | None) -> Ints:
        return make_folds(
            n, n_folds, 0 if random_state is None else check.whole(random_state, "random_state", 0)
        )


@dataclass
class PropensityScoreEstimator(_Classifier):
    """Probability with which the logger took the logged action, from the context."""

    def fit(self, context: Any, action: Any, position: Any = None) -> Self:
        """Fit one classifier per position."""
        x = check.contexts(context)
        taken = codes(action, "action", len(x), self.n_actions)
        place = places_of(position, len(x), self.len_list)
        self.models_ = [self._fitted(x[place == k], taken[place == k]) for k in range(self.len_list)]
        return self

    def predict(self, context: Any, action: Any, position: Any = None) -> Floats:
        """``(n,)`` propensity of the logged actions."""
        x = check.contexts(context)
        taken = codes(action, "action", len(x), self.n_actions)
        place = places_of(position, len(x), self.len_list)
        found = np.empty(len(x))
        for k in range(self.len_list):
            here, model = place == k, self._model(k)
            table = np.zeros((int(here.sum()), self.n_actions))
            table[:, model.classes_] = model.predict_proba(x[here])
            found[here] = table[np.arange(len(table)), taken[here]]
        return found

    def fit_predict(
        self,
        context: Any,
        action: Any,
        position: Any = None,
        n_folds: int = 1,
        random_state: int | None = None,
        **_: Any,
    ) -> Floats:
        """Propensities of the rows fitted on; with ``n_folds`` above 1 by models that never saw them."""
        if count(n_folds, "n_folds", 1) == 1:
            return self.fit(context, action, position).predict(context, action, position)
        x, taken = check.contexts(context), np.asarray(action)
        place = None if position is None else np.asarray(position)
        check.same_length(taken.shape[0], "action", len(x), "context")
        fold, found = self._folds(len(x), n_folds, random_state), np.empty(len(x))
        for number in np.unique(fold):
            held, rest = fold == number, fold != number
            self.fit(x[rest], taken[rest], None if place is None else place[rest])
            found[held] = self.predict(x[held], taken[held], None if place is None else place[held])
        return found


@dataclass
class ImportanceWeightEstimator(_Classifier):
    """Importance weights as the odds that a row came from the target rather than from the log (Sondhi et al.
    2020).

    Parameters
    ----------
    action_context
        ``(K, m)`` description of the actions; None: a 0/1 column each.
    fitting_method
        ``"sample"``: the target's rows have actions drawn from it; ``"raw"``: its probabilities in the place
        of 0/1 columns.
    """

    action_context: Any = None
    fitting_method: str = "sample"

    def __post_init__(self) -> None:
        super().__post_init__()
        check.one_of(self.fitting_method, "fitting_method", ("sample", "raw"))
        if self.action_context is None or self.fitting_method == "raw":
            self.action_context = np.eye(self.n_actions)
        self.action_context = check.contexts(self.action_context, "action_context")

    def fit(
        self,
        context: Any,
        action: Any,
        action_dist: Any,
        position: Any = None,
        random_state: int | None = None,
    ) -> Self:
        """Fit one classifier per position: the log's rows against the target's."""
        x = check.contexts(context)
        taken = codes(action, "action", len(x), self.n_actions)
        place = places_of(position, len(x), self.len_list)
        shares = at_position(action_dist, "action_dist", place)
        if shares.shape != (len(x), self.n_actions) or not np.allclose(shares.sum(axis=1), 1):
            raise InputError(
                f"`action_dist` must be probabilities of shape ({len(x)}, {self.n_actions}, L), got "
                f"{shares.shape}"
            )
        features = shares
        if self.fitting_method == "sample":
            uniform = np.random.default_rng(random_state).random((len(x), 1))
            drawn = np.minimum((uniform >= shares.cumsum(axis=1)).sum(axis=1), self.n_actions - 1)
            features = self.action_context[drawn]
        logged, wanted = np.hstack([x, self.action_context[taken]]), np.hstack([x, features])
        label = np.repeat([0, 1], len(x))
        both, twice = np.vstack([logged, wanted]), np.tile(place, 2)
        self.models_ = [self._fitted(both[twice == k], label[twice == k]) for k in range(self.len_list)]
        return self

    def predict(self, context: Any, action: Any, position: Any = None) -> Floats:
        """``(n,)`` importance weights of the logged actions."""
        x = check.contexts(context)
        taken = codes(action, "action", len(x), self.n_actions)
        place = places_of(position, len(x), self.len_list)
        design, chance = np.hstack([x, self.action_context[taken]]), np.empty(len(x))
        for k in range(self.len_list):
            chance[place == k] = self._model(k).predict_proba(design[place == k])[:, 1]
        chance = np.minimum(chance, _LARGEST_CHANCE)
        return np.asarray(chance / (1 - chance))

    def fit_predict(
        self,
        context: Any,
        action: Any,
        action_dist: Any,
        position: Any = None,
        n_folds: int = 1,
        random_state: int | None = None,
        **_: Any,
    ) -> Floats:
        """Weights of the rows fitted on; with ``n_folds`` above 1 by models that never saw them."""
        if count(n_folds, "n_folds", 1) == 1:
            return self.fit(context, action, action_dist, position, random_state).predict(
                context, action, position
            )
        x, taken, shares = check.contexts(context), np.asarray(action), np.asarray(action_dist)
        place = None if position is None else np.asarray(position)
        check.same_length(taken.shape[0], "action", len(x), "context")
        check.same_length(shares.shape[0], "action_dist", len(x), "context")
        fold, found = self._folds(len(x), n_folds, random_state), np.empty(len(x))
        for number in np.unique(fold):
            held, rest = fold == number, fold != number
            self.fit(x[rest], taken[rest], shares[rest], None if place is None else place[rest], random_state)
            found[held] = self.predict(x[held], taken[held], None if place is None else place[held])
        return found
