"""Weights over what describes the actions instead of the actions themselves (Saito and Joachims 2022).

With ``e`` the features of an action, the weight of a row is ``p(e | s)`` of the target over that of the
logger: the sums of their probabilities over all actions that share the features of the logged one. It is the
mean of the plain weights around it, so its variance is never larger, and with many actions it is far smaller.
It asks for one thing more: actions that share their features must bring the same reward. Doubly robust
estimators weaken that: the reward model sees actions, so it need only be right about the differences between
those that share features (OffCEM, Saito, Ren and Joachims 2023).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from kwis.data.log import LoggedBandit
from kwis.errors import UnsupportedError
from kwis.policy.action_features import FeatureGroups
from kwis.policy.discrete import TargetPolicy, importance_weights
from kwis.runtime.arrays import kept
from kwis.typing import Floats

DOUBT = (
    "weights are over features of the actions, which is right only if actions that share them bring the same "
    "reward, or a reward model knows by how much they differ"
)


def marginal(log: LoggedBandit, target: TargetPolicy, features: FeatureGroups) -> TargetPolicy:
    """The target with weights over features; as it is, with a note, where propensities are not those logged.

    A repair moves the probability of the logged action, which says nothing of the others.
    """
    if log.propensity_origin != "logged":
        return target.noted(
            f"weights of {target.name} are over actions, not over `action_features`: its propensities were "
            f"{log.propensity_origin}"
        )
    if features.count == log.n_actions:
        return target.noted(
            f"weights of {target.name} are over actions: no two of them share their `action_features`"
        )
    return replace(
        target.noted(f"weights of {target.name} are over {features.count} values of `action_features`"),
        weight=kept(marginal_weights(log, target, features)),
        alike=features.of_action,
        factor=None,
        question=DOUBT if target.question is None else f"{target.question}; {DOUBT}",
    )


def marginal_weights(log: LoggedBandit, target: TargetPolicy, features: FeatureGroups) -> Floats:
    """``(n,)`` probability of the logged action's features under the target over that under the logger."""
    if log.behaviour is None or target.distribution is None:
        whose = "the logging policy" if log.behaviour is None else target.name
        raise UnsupportedError(
            f"`action_features` needs the probability of every action in each row, one column per action or "
            f"a mapping; {whose} has none"
        )
    over = replace(target, alike=features.of_action).over
    own = np.arange(len(log)), features.of_action[log.action]
    return importance_weights(over(target.distribution)[own], over(log.behaviour)[own], log.rows)
