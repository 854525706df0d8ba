"""Weights over what describes the actions instead of the actions themselves (Saito and Joachims 2022).

With ``e`` the features of an action, the weight of a row is ``p(e | s)`` of the target over that of the
logger: the sums of their probabilities over all actions that share the features of the logged one. It is the
mean of the plain weights around it, so its variance is never larger, and with many actions it is far smaller.
It asks for one thing more: actions that share their features must bring the same reward. Doubly robust
estimators weaken that: the reward model sees actions, so it need only be right about the differences between
those that share features (OffCEM, Saito, Ren and Joachims 2023).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from kwis.data.log import LoggedBandit
from kwis.errors import InputError, UnsupportedError
from kwis.policy.discrete import TargetPolicy, importance_weights
from kwis.runtime.arrays import kept
from kwis.typing import Ints

ActionFeatures: TypeAlias = Mapping[Any, Any] | Any
"""From actions to their features, a label or several; or an array with one row per action, in the order of
``log.action_names``."""


def feature_groups(log: LoggedBandit, features: ActionFeatures) -> Ints:
    """``(K,)`` which actions have the same features, as numbers from 0."""
    if isinstance(features, Mapping):
        given = dict(features)
        missing = [name for name in log.action_names if name not in given]
        if missing:
            raise InputError(
                f"`action_features` must name every action of the log, got none for {missing[0]!r}"
            )
        rows = [given[name] for name in log.action_names]
    else:
        rows = list(np.asarray(features).tolist())
        if len(rows) != log.n_actions:
            raise InputError(
                f"`action_features` must have one row per action, {log.n_actions} of them, got {len(rows)}"
            )
    labels = [tuple(row) if isinstance(row, list | tuple | np.ndarray) else (row,) for row in rows]
    numbers: dict[tuple[Any, ...], int] = {}
    try:
        return np.array([numbers.setdefault(label, len(numbers)) for label in labels])
    except TypeError:
        raise InputError("`action_features` must be labels or numbers that can be compared") from None


def marginal(log: LoggedBandit, target: TargetPolicy, groups: Ints) -> TargetPolicy:
    """The target with weights over features; as it is, with a note, where propensities are not those logged.

    A repair moves the probability of the logged action, which says nothing of the others.
    """
    if log.propensity_origin != "logged":
        return target.noted(
            f"weights of {target.name} are over actions, not over `action_features`: its propensities were "
            f"{log.propensity_origin}"
        )
    if log.behaviour is None or target.distribution is None:
        whose = "the logging policy" if log.behaviour is None else target.name
        raise UnsupportedError(
            f"`action_features` needs the probability of every action in each row; {whose} has none"
        )
    alike = groups[:, None] == np.arange(groups.max() + 1)
    own = np.arange(len(log)), groups[log.action]
    weight = importance_weights((target.distribution @ alike)[own], (log.behaviour @ alike)[own], log.rows)
    said = f"weights of {target.name} are over {alike.shape[1]} values of `action_features`"
    doubt = (
        "weights are over features of the actions, which is right only if actions that share them bring the "
        "same reward, or a reward model knows by how much they differ"
    )
    return replace(
        target.noted(said),
        weight=kept(weight),
        factor=None,
        question=doubt if target.question is None else f"{target.question}; {doubt}",
    )
