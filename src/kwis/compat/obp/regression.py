"""Reward models: ``RegressionModel``, cross-fitted with any scikit-learn model."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from kwis import _validation as check
from kwis.compat.obp.inputs import Given, codes, places_of
from kwis.errors import InputError
from kwis.models.fitting import fitting
from kwis.policy.discrete import importance_weights
from kwis.stats.folds import make_folds
from kwis.typing import Floats, Ints

METHODS = ("normal", "iw", "mrdr")


@dataclass
class RegressionModel:
    """Predicts the reward of every action from the context and a description of the action.

    Parameters
    ----------
    base_model
        A scikit-learn regressor, or a classifier for rewards of 0 and 1; None: ridge regression.
    n_actions, len_list
        Numbers of actions and of positions; each position gets a model of its own.
    action_context
        ``(K, m)`` description of the actions; None: a 0/1 column each.
    fitting_method
        ``"normal"``; ``"iw"``: rows count by their importance weight; or ``"mrdr"``: rows count by
        ``pi (1 - p) / p^2``, which makes the doubly robust estimate vary least. The last two need ``pscore``
        and ``action_dist``.
    """

    base_model: Any = None
    n_actions: int = 0
    len_list: int = 1
    action_context: Any = None
    fitting_method: str = "normal"
    models_: list[Any] = field(default_factory=list, init=False, repr=False)

    def __post_init__(self) -> None:
        check.whole(self.n_actions, "n_actions", 2)
        check.whole(self.len_list, "len_list", 1)
        if self.fitting_method not in METHODS:
            raise InputError(
                f"`fitting_method` must be one of {', '.join(METHODS)}, got {self.fitting_method!r}"
            )
        described = np.eye(self.n_actions) if self.action_context is None else self.action_context
        self.action_context = check.contexts(described, "action_context")
        check.same_length(self.action_context.shape[0], "action_context", self.n_actions, "n_actions")

    def fit(
        self,
        context: Any,
        action: Any,
        reward: Any,
        pscore: Any = None,
        position: Any = None,
        action_dist: Any = None,
    ) -> Self:
        """Fit one model per position."""
        from sklearn.base import clone
        from sklearn.linear_model import RidgeCV

        x = check.contexts(context)
        n = x.shape[0]
        taken = codes(action, "action", n, self.n_actions)
        y = check.column(reward, "reward", n)
        place = places_of(position, n, self.len_list)
        weight = self._weights(taken, pscore, position, action_dist, n)
        self.models_ = []
        for number in range(self.len_list):
            rows = np.flatnonzero(place == number)
            if rows.size == 0:
                raise InputError(f"`position` must have rows at every position, got none at {number}")
            model = RidgeCV(np.logspace(-3, 3, 13)) if self.base_model is None else clone(self.base_model)
            extra = {} if weight is None else {"sample_weight": weight[rows]}
            with fitting(model, rows.size):
                model.fit(self._design(x[rows], taken[rows]), y[rows], **extra)
            self.models_.append(model)
        return self

    def predict(self, context: Any) -> Floats:
        """``(n, K, L)`` predicted reward of every action at every position."""
        if not self.models_:
            raise InputError("`fit` must be called before `predict`")
        x = check.contexts(context)
        found = np.empty((x.shape[0], self.n_actions, self.len_list))
        for number, model in enumerate(self.models_):
            for action in range(self.n_actions):
                design = self._design(x, np.full(x.shape[0], action))
                with fitting(model, x.shape[0]):
                    found[:, action, number] = _mean_of(model, design)
        return found

    def fit_predict(
        self,
        context: Any,
        action: Any,
        reward: Any,
        pscore: Any = None,
        position: Any = None,
        action_dist: Any = None,
        n_folds: int = 1,
        random_state: int | None = None,
    ) -> Floats:
        """Predictions for the rows fitted on; with ``n_folds`` above 1 each row by a model that
        never saw it.
        """
        x = check.contexts(context)
        n = x.shape[0]
        if check.whole(n_folds, "n_folds", 1) == 1:
            return self.fit(x, action, reward, pscore, position, action_dist).predict(x)
        fold = make_folds(
            n, n_folds, 0 if random_state is None else check.whole(random_state, "random_state", 0)
        )
        found = np.empty((n, self.n_actions, self.len_list))
        names = ("action", "reward", "pscore", "position", "action_dist")
        columns = [
            None if value is None else _rows(value, name, n)
            for value, name in zip((action, reward, pscore, position, action_dist), names, strict=True)
        ]
        for number in np.unique(fold):
            kept = fold != number
            self.fit(x[kept], *(None if column is None else column[kept] for column in columns))
            found[~kept] = self.predict(x[~kept])
        self.models_ = []  # none of them is the model of all rows
        return found

    def _design(self, context: Floats, action: Ints) -> Floats:
        return np.column_stack([context, self.action_context[action]])

    def _weights(self, action: Ints, pscore: Any, position: Any, action_dist: Any, n: int) -> Floats | None:
        if self.fitting_method == "normal":
            return None
        name = f"fitting_method={self.fitting_method!r}"
        given = Given(name=name, pscore=pscore, position=position, action_dist=action_dist)
        shares = given.distribution()
        check.same_length(len(shares), "action_dist", n, "context")
        if shares.shape[1] != self.n_actions:
            raise InputError(f"`action_dist` must have {self.n_actions} actions, got {shares.shape[1]}")
        propensity = given.propensities(n, estimated=False)
        weight = importance_weights(shares[np.arange(n), action], propensity)
        return np.asarray(weight if self.fitting_method == "iw" else weight * (1 - propensity) / propensity)


def _rows(value: Any, name: str, n: int) -> Any:
    """An array with one entry per row."""
    array = np.asarray(value)
    if array.ndim == 0:
        raise InputError(f"`{name}` must be an array with one entry per row, got {value!r}")
    check.same_length(array.shape[0], name, n, "context")
    return array


def _mean_of(model: Any, design: Floats) -> Floats:
    """Expected reward: a classifier's probabilities times its classes, or what a regressor says."""
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(design) @ model.classes_.astype(np.float64))
    return np.asarray(model.predict(design), dtype=np.float64)
