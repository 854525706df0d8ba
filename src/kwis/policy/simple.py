"""Policies that need no column: always one action, any action alike, fixed probabilities, and mixtures.

Each is a small record. :mod:`kwis.policy.target` resolves the policies it is made of, and :func:`on_rows`
makes it a policy on the rows of a log, whose candidates it keeps to where it draws any action alike.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from kwis.data.columns import Label
from kwis.data.distributions import constant_distribution, unknown_action
from kwis.data.log import LoggedBandit
from kwis.errors import InputError
from kwis.policy.discrete import TargetPolicy, from_distribution, uniform_distribution
from kwis.runtime.arrays import kept

if TYPE_CHECKING:
    from kwis.policy.target import Target

SHOWN = 4
"""So many actions of fixed probabilities are part of the policy's name."""


@dataclass(frozen=True, slots=True)
class Always:
    """Takes one action in every row."""

    action: Label

    @property
    def parts(self) -> tuple[Target, ...]:
        return ()


@dataclass(frozen=True, slots=True)
class Uniform:
    """Takes every action with the same probability."""

    @property
    def parts(self) -> tuple[Target, ...]:
        return ()


@dataclass(frozen=True, slots=True)
class Fixed:
    """Takes actions with the same probabilities in every row; actions that are not named are never taken."""

    probabilities: Mapping[Any, float]

    @property
    def parts(self) -> tuple[Target, ...]:
        return ()


@dataclass(frozen=True, slots=True)
class EpsilonGreedy:
    """Takes any action with probability ``epsilon``, otherwise the one that a policy likes best."""

    policy: Target
    epsilon: float

    @property
    def parts(self) -> tuple[Target, ...]:
        return (self.policy,)


@dataclass(frozen=True, slots=True)
class Mix:
    """Follows ``second`` in a ``share`` of the decisions, drawn at random, and ``first`` in the others."""

    first: Target
    second: Target
    share: float

    @property
    def parts(self) -> tuple[Target, ...]:
        return (self.first, self.second)


SimplePolicy = Always | Uniform | Fixed | EpsilonGreedy | Mix


def always(action: Label) -> Always:
    """The policy that takes ``action`` in every row: "treat all", "offer B to everybody".

    Parameters
    ----------
    action
        Label of the action, as it is in the log.

    Returns
    -------
    Always
        A target for :func:`kwis.evaluate`.

    See Also
    --------
    kwis.uniform : every action alike.
    kwis.mix : a gradual rollout.
    kwis.chosen : an action that depends on the row.

    Examples
    --------
    >>> kwis.always("B")
    Always(action='B')
    """
    return Always(action)


def uniform() -> Uniform:
    """The policy that takes every action with the same probability.

    Returns
    -------
    Uniform
        A target for :func:`kwis.evaluate`. It draws among the candidates of a row where the log has
        candidates.

    See Also
    --------
    kwis.always : one action in every row.
    kwis.epsilon_greedy : a policy with some exploration.

    Examples
    --------
    >>> kwis.uniform()
    Uniform()
    """
    return Uniform()


def epsilon_greedy(policy: Target, epsilon: float) -> EpsilonGreedy:
    """The policy that explores: any action alike with probability ``epsilon``, otherwise the best of
    ``policy``.

    Parameters
    ----------
    policy
        Any target of :func:`kwis.evaluate`. Its best action is the one it takes, or to which it gives the
        highest probability; actions that tie share.
    epsilon
        In [0, 1].

    Returns
    -------
    EpsilonGreedy
        A target for :func:`kwis.evaluate`.

    See Also
    --------
    kwis.uniform : every action alike.
    kwis.mix : two policies in given shares.

    Examples
    --------
    >>> kwis.epsilon_greedy("pick", 0.1)
    EpsilonGreedy(policy='pick', epsilon=0.1)
    """
    return EpsilonGreedy(policy, _share(epsilon, "epsilon"))


def mix(first: Target, second: Target, share: float) -> Mix:
    """The policy of a gradual rollout: ``second`` in a ``share`` of the decisions, ``first`` in the others.

    ``kwis.mix("p_old", "p_new", 0.3)`` follows ``p_new`` in 30 % of the decisions. Both may be any target of
    :func:`kwis.evaluate`.

    Parameters
    ----------
    first, second
        Any targets of :func:`kwis.evaluate`.
    share
        In [0, 1].

    Returns
    -------
    Mix
        A target for :func:`kwis.evaluate`.

    See Also
    --------
    kwis.epsilon_greedy : a policy mixed with chance.
    kwis.always : one action in every row.

    Examples
    --------
    >>> kwis.mix("p_old", "p_new", 0.3)
    Mix(first='p_old', second='p_new', share=0.3)
    """
    return Mix(first, second, _share(share, "share"))


def _share(value: float, name: str) -> float:
    if not 0 <= value <= 1:
        raise InputError(f"`{name}` must be in [0, 1], got {value!r}")
    return float(value)


def on_rows(
    policy: SimplePolicy, log: LoggedBandit, parts: tuple[TargetPolicy, ...], name: str | None
) -> TargetPolicy:
    """The policy on the rows of ``log``; ``parts`` are the policies it is made of, on the same rows."""
    if isinstance(policy, Mix):
        return _mixed(policy, parts, name)
    if isinstance(policy, EpsilonGreedy):
        return _exploring(policy, log, parts[0], name)
    if isinstance(policy, Uniform):
        return from_distribution(log, uniform_distribution(log), name or "uniform", "every action alike")
    if isinstance(policy, Always):
        action = _known(policy.action, log)
        certain = np.zeros((len(log), log.n_actions))
        certain[:, log.action_names.index(action)] = 1.0
        return from_distribution(log, certain, name or f"always {action}", f"{action!r} in every row")
    whole = constant_distribution(policy.probabilities, log.action_names, len(log), "target")
    shares = [f"{action} {share:g}" for action, share in policy.probabilities.items()]
    label = ", ".join(shares) if len(shares) <= SHOWN else "fixed probabilities"
    return from_distribution(log, whole, name or label, "the same probabilities in every row")


def _known(action: Label, log: LoggedBandit) -> Label:
    if action in log.action_names:
        return log.action_names[log.action_names.index(action)]
    spelled = {str(label): label for label in log.action_names}
    if str(action) not in spelled:
        raise InputError(unknown_action("target", action, log.action_names))
    return spelled[str(action)]


def _exploring(
    policy: EpsilonGreedy, log: LoggedBandit, inner: TargetPolicy, name: str | None
) -> TargetPolicy:
    if inner.distribution is None:
        raise InputError(
            f"`target` must know the probability of every action to be greedy, and {inner.name} is known for "
            "the logged action alone"
        )
    best = inner.distribution == inner.distribution.max(axis=1, keepdims=True)
    greedy = best / best.sum(axis=1, keepdims=True)
    whole = (1 - policy.epsilon) * greedy + policy.epsilon * uniform_distribution(log)
    label = name or f"{policy.epsilon:g}-greedy {inner.name}"
    source = f"the best action of {inner.name}, and any with probability {policy.epsilon:g}"
    return _like(from_distribution(log, whole, label, source), (inner,))


def _mixed(policy: Mix, parts: tuple[TargetPolicy, ...], name: str | None) -> TargetPolicy:
    first, second = parts
    share = policy.share
    whole = (
        None
        if first.distribution is None or second.distribution is None
        else (1 - share) * first.distribution + share * second.distribution
    )
    words = f"{1 - share:.4g} {first.name} + {share:.4g} {second.name}"
    made = TargetPolicy(
        name=name or words,
        logged=kept((1 - share) * first.logged + share * second.logged),
        distribution=None if whole is None else kept(whole),
        columns=(),
        source=f"mixture: {words}",
    )
    return _like(made, parts)


def _like(made: TargetPolicy, parts: tuple[TargetPolicy, ...]) -> TargetPolicy:
    """A policy with the columns of its parts, and what has to be asked or said about them."""
    questions = [part.question for part in parts if part.question is not None]
    notes = [part.note for part in parts if part.note is not None]
    return replace(
        made,
        columns=tuple(dict.fromkeys(column for part in parts for column in part.columns)),
        question=questions[0] if questions else None,
        note="; ".join(notes) or None,
        elsewhere=any(part.elsewhere for part in parts) and not questions,
    )
