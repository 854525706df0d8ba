"""Many actions: weights over what describes an action, not the action itself (Saito and Joachims 2022)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kwis import _validation as check
from kwis import estimators as core
from kwis.compat.obp.inputs import Given, at_position, count
from kwis.compat.obp.shared import ValueEstimator
from kwis.errors import InputError, UnsupportedError
from kwis.models.fitting import fitting
from kwis.sample import safe_ratio
from kwis.typing import Floats


@dataclass(frozen=True)
class MarginalizedInverseProbabilityWeighting(ValueEstimator):
    """Mean of ``w(x, e) r`` with ``w(x, e)`` the ratio of the chances of the description e under the target
    and the logging policy.

    Needs ``action_embed`` (n, D) of whole numbers, ``pi_b`` (n, K, L), and either ``p_e_a`` (K, C, D), the
    chance of every value of every column of the description given the action, or ``context``: then
    ``w(x, e) = sum_a P(a | x, e) pi(a | x) / pi_b(a | x)`` with P learnt by a classifier.

    Parameters
    ----------
    n_actions
        Number of actions.
    pi_a_x_e_estimator
        A scikit-learn classifier of the action; None: logistic regression.
    embedding_selection_method
        None; the choice of columns is not supported.
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
        if self.embedding_selection_method is not None:
            raise UnsupportedError(
                f"`embedding_selection_method` must be None, got {self.embedding_selection_method!r}"
            )

    def _core(self) -> Any:
        return core.VIS()

    def _ratio(self, given: Given, shares: Floats) -> Floats:
        logging = at_position(given.other("pi_b"), "pi_b", given.position)
        if logging.shape != shares.shape:
            raise InputError(
                f"`pi_b` must have the shape of `action_dist`, got {logging.shape} and {shares.shape}"
            )
        embed = np.asarray(given.other("action_embed"))
        if embed.ndim != 2 or len(embed) != len(shares) or embed.dtype.kind not in "iu":
            raise InputError(f"`action_embed` must be whole numbers of shape (n, D), got shape {embed.shape}")
        if given.others.get("p_e_a") is not None:
            chances = np.asarray(given.others["p_e_a"], dtype=np.float64)
            each = np.ones(shares.shape)
            for column in range(embed.shape[1]):
                each *= chances[:, embed[:, column], column].T
            return safe_ratio((shares * each).sum(axis=1), (logging * each).sum(axis=1))
        learnt = self._chances(given, shares, embed)
        return np.asarray((learnt * safe_ratio(shares, logging)).sum(axis=1))

    def _chances(self, given: Given, shares: Floats, embed: Any) -> Floats:
        """``P(a | x, e)`` of every action."""
        from sklearn.base import clone
        from sklearn.linear_model import LogisticRegression

        context = check.contexts(given.needed("context"))
        check.same_length(len(context), "context", len(shares), "action_dist")
        indicators = [(embed[:, [j]] == np.unique(embed[:, j])).astype(float) for j in range(embed.shape[1])]
        design = np.hstack([context, *indicators])
        named = self.pi_a_x_e_estimator
        model = LogisticRegression(C=100.0, max_iter=2000) if named is None else clone(named)
        with fitting(model, len(design)):
            model.fit(design, given.actions(shares))
            found = np.zeros(shares.shape)
            found[:, model.classes_] = model.predict_proba(design)
        return found


@dataclass(frozen=True)
class SelfNormalizedMarginalizedInverseProbabilityWeighting(MarginalizedInverseProbabilityWeighting):
    """The same, divided by the sum of the weights."""

    estimator_name: str = "snmipw"

    def _core(self) -> Any:
        return core.WIS()
