"""Many actions: weights over what describes an action, not the action itself (Saito and Joachims 2022)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from kwis import _validation as check
from kwis import estimators as core
from kwis.compat.obp.inputs import Given, at_position, count, number
from kwis.compat.obp.shared import ValueEstimator
from kwis.data.distributions import sums_to_one
from kwis.errors import InputError
from kwis.models.fitting import fitting
from kwis.sample import WeightedSample, safe_ratio
from kwis.typing import Floats

Columns = tuple[int, ...]
SELECTIONS = ("exact", "greedy")


@dataclass(frozen=True)
class MarginalizedInverseProbabilityWeighting(ValueEstimator):
    """Mean of ``w(x, e) r`` with ``w(x, e)`` the ratio of the chances of the description e under the target
    and the logging policy.

    Needs ``action_embed`` (n, D), ``pi_b`` (n, K, L), and either ``p_e_a`` (K, C, D), the chance of every
    value of every column of the description given the action, or ``context``: then
    ``w(x, e) = sum_a P(a | x, e) pi(a | x) / pi_b(a | x)`` with P learnt by a classifier. With ``p_e_a`` the
    values of ``action_embed`` are whole numbers, and its columns independent given the action.

    Parameters
    ----------
    n_actions
        Number of actions.
    pi_a_x_e_estimator
        A scikit-learn classifier of the action; None: logistic regression.
    embedding_selection_method
        Leave out columns of the description as long as that changes the estimate by no more than chance
        (SLOPE): of ``"exact"`` every set of columns is tried, of ``"greedy"`` those with one column less than
        the last. None: all columns. Intervals keep the columns that the sample chose.
    min_emb_dim
        How many columns to keep at least.
    delta
        One minus the level of the intervals that are compared for it.
    """

    _order = ("reward", "action", "action_embed", "pi_b", "action_dist", "context")
    n_actions: int
    pi_a_x_e_estimator: Any = None
    embedding_selection_method: str | None = None
    min_emb_dim: int = 1
    delta: float = 0.05
    estimator_name: str = "mipw"

    def __post_init__(self) -> None:
        count(self.n_actions, "n_actions", 2)
        count(self.min_emb_dim, "min_emb_dim", 1)
        number(self.delta, "delta", 0.0, 1.0)
        if self.embedding_selection_method is not None:
            check.one_of(self.embedding_selection_method, "embedding_selection_method", SELECTIONS)
        model = self.pi_a_x_e_estimator
        if model is not None and not (hasattr(model, "fit") and hasattr(model, "predict_proba")):
            raise InputError(
                f"`pi_a_x_e_estimator` must be a classifier with `predict_proba`, got {type(model).__name__}"
            )

    def _core(self) -> Any:
        return core.VIS()

    def _ratio(self, given: Given, shares: Floats) -> Floats:
        logging = at_position(given.other("pi_b"), "pi_b", given.position)
        if logging.shape != shares.shape:
            raise InputError(
                f"`pi_b` must have the shape of `action_dist`, got {logging.shape} and {shares.shape}"
            )
        sums_to_one(logging, "pi_b")
        embed = np.asarray(given.other("action_embed"))
        if embed.ndim != 2 or len(embed) != len(shares):
            raise InputError(f"`action_embed` must have shape (n, D), got {embed.shape}")
        if given.others.get("p_e_a") is None:
            weigh = self._by_model(given, shares, logging, embed)
        else:
            weigh = _by_chances(given.others["p_e_a"], shares, logging, embed)
        every = tuple(range(embed.shape[1]))
        if self.embedding_selection_method is None or len(every) == 1:
            return weigh(every)
        return weigh(self._selected(every, weigh, given.rewards(len(shares))))

    def _by_model(
        self, given: Given, shares: Floats, logging: Floats, embed: Any
    ) -> Callable[[Columns], Floats]:
        """Weights over columns of the description from a classifier's ``P(a | x, e)``."""
        context = check.contexts(given.needed("context"))
        check.same_length(len(context), "context", len(shares), "action_dist")
        ratio, action = safe_ratio(shares, logging), given.actions(shares)

        def weights(columns: Columns) -> Floats:
            kinds = [(embed[:, [j]] == np.unique(embed[:, j])).astype(float) for j in columns]
            learnt = self._chances(np.hstack([context, *kinds]), action, shares.shape)
            return np.asarray((learnt * ratio).sum(axis=1))

        return weights

    def _chances(self, design: Floats, action: Any, shape: tuple[int, ...]) -> Floats:
        """``P(a | x, e)`` of every action."""
        from sklearn.base import clone
        from sklearn.linear_model import LogisticRegression

        named = self.pi_a_x_e_estimator
        model = LogisticRegression(C=100.0, max_iter=2000) if named is None else clone(named)
        with fitting(model, len(design)):
            model.fit(design, action)
            found = np.zeros(shape)
            found[:, model.classes_] = model.predict_proba(design)
        return found

    def _selected(self, every: Columns, weigh: Callable[[Columns], Floats], reward: Floats) -> Columns:
        """The fewest columns whose estimate agrees with all estimates from more of them."""
        reach = _reach(self.delta, len(reward))

        def interval(columns: Columns) -> tuple[float, float]:
            found = self._core().estimate(
                WeightedSample(context=np.zeros((len(reward), 1)), weight=weigh(columns), reward=reward)
            )
            return found.value, reach * found.std_error

        last, kept = every, [interval(every)]
        for size in range(len(every) - 1, self.min_emb_dim - 1, -1):
            sets = combinations(every if self.embedding_selection_method == "exact" else last, size)
            for columns, one in _widest_first(sets, interval):
                if not all(_agree(one, other) for other in kept):
                    return last
                last = columns
                kept.append(one)
        return last


@dataclass(frozen=True)
class SelfNormalizedMarginalizedInverseProbabilityWeighting(MarginalizedInverseProbabilityWeighting):
    """The same, divided by the sum of the weights."""

    estimator_name: str = "snmipw"

    def _core(self) -> Any:
        return core.WIS()


def _by_chances(given: Any, shares: Floats, logging: Floats, embed: Any) -> Callable[[Columns], Floats]:
    """Weights over columns of the description from the chances of their values given the action."""
    chances = np.asarray(given, dtype=np.float64)
    wanted = shares.shape[1], embed.shape[1]
    if chances.ndim != 3 or (chances.shape[0], chances.shape[2]) != wanted:
        raise InputError(f"`p_e_a` must have shape ({wanted[0]}, C, {wanted[1]}), got {chances.shape}")
    if embed.dtype.kind not in "iu" or (embed < 0).any() or (embed >= chances.shape[1]).any():
        raise InputError(
            f"`action_embed` must be whole numbers below {chances.shape[1]}, the values that `p_e_a` has"
        )

    def weights(columns: Columns) -> Floats:
        each = np.ones(shares.shape)
        for column in columns:
            each *= chances[:, embed[:, column], column].T
        return safe_ratio((shares * each).sum(axis=1), (logging * each).sum(axis=1))

    return weights


def _reach(delta: float, n: int) -> float:
    """Half the length of an interval at level ``1 - delta`` in standard errors."""
    from scipy.special import stdtrit

    return float(stdtrit(max(n - 1, 1), 1 - delta / 2))


def _widest_first(
    sets: Iterable[Columns], interval: Callable[[Columns], tuple[float, float]]
) -> list[tuple[Columns, tuple[float, float]]]:
    found = [(columns, interval(columns)) for columns in sets]
    return sorted(found, key=lambda one: -one[1][1])


def _agree(one: tuple[float, float], other: tuple[float, float]) -> bool:
    """Whether the difference to a wider interval is within chance (SLOPE, as Tucker and Lee 2021 have it)."""
    return abs(one[0] - other[0]) <= one[1] + (math.sqrt(6) - 1) * other[1]
