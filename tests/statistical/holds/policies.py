"""Policies with known probabilities, and how sharp they must be for weights of a given heaviness."""

from dataclasses import dataclass
from typing import Any

import numpy as np


def softmax(scores):
    shifted = np.exp(scores - scores.max(axis=1, keepdims=True))
    return shifted / shifted.sum(axis=1, keepdims=True)


def one_hot(actions, count):
    return (np.asarray(actions)[:, None] == np.arange(count)).astype(float)


@dataclass(frozen=True)
class Softmax:
    scores: Any
    sharpness: float

    def __call__(self, features):
        return softmax(self.sharpness * self.scores(features))


@dataclass(frozen=True)
class EpsilonGreedy:
    """The action of the highest score; with probability epsilon any of them. Epsilon 0 is deterministic."""

    scores: Any
    epsilon: float

    def __call__(self, features):
        scores = self.scores(features)
        count = scores.shape[1]
        return (1 - self.epsilon) * one_hot(scores.argmax(axis=1), count) + self.epsilon / count


@dataclass(frozen=True)
class Constant:
    action: int
    count: int

    def __call__(self, features):
        return one_hot(np.full(features.shape[0], self.action), self.count)


@dataclass(frozen=True)
class Uniform:
    count: int

    def __call__(self, features):
        return np.full((features.shape[0], self.count), 1 / self.count)


@dataclass(frozen=True)
class Mixture:
    """One of several policies, drawn anew for every row."""

    parts: tuple[tuple[float, Any], ...]

    def __call__(self, features):
        return sum(share * policy(features) for share, policy in self.parts)


@dataclass(frozen=True, eq=False)
class Posterior:
    """How often each action is best if one of the ``errors`` (m, K), all as likely, is added to the
    scores.
    """

    scores: Any
    errors: np.ndarray

    def __call__(self, features):
        scores = self.scores(features)
        found, rows = np.zeros(scores.shape), np.arange(scores.shape[0])
        for error in self.errors:
            found[rows, (scores + error).argmax(axis=1)] += 1 / len(self.errors)
        return found


@dataclass(frozen=True)
class Tilted:
    """The base policy with the odds of each action multiplied by ``exp(strength * score)``."""

    base: Any
    scores: Any
    strength: float

    def __call__(self, features):
        with np.errstate(divide="ignore"):
            return softmax(np.log(self.base(features)) + self.strength * self.scores(features))


@dataclass(frozen=True)
class Coarse:
    """A policy whose probabilities are multiples of ``step``, none of them 0: what it says is what
    it does.
    """

    inner: Any
    step: float

    def __call__(self, features):
        whole = round(1 / self.step)
        units = np.maximum(np.round(self.inner(features) * whole), 1)
        rows = np.arange(units.shape[0])
        units[rows, units.argmax(axis=1)] += whole - units.sum(axis=1)
        return units / whole


def effective_share(target, logger, features):
    """Effective rows as a share of the rows, in a large log: ``1 / E[sum_a target^2 / logger]``."""
    return share_of(target(features), logger(features))


def share_of(target, logger):
    """The same from the probabilities of both in many contexts."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(target > 0, target**2 / logger, 0.0)
    return float(1 / ratio.sum(axis=1).mean())


def solved(measure, wanted, low, high, rounds=40):
    """Where a decreasing measure falls to the wanted value."""
    for _ in range(rounds):
        middle = (low + high) / 2
        low, high = (middle, high) if measure(middle) > wanted else (low, middle)
    return (low + high) / 2


def tilted_to(share, base, scores, features):
    """The base policy tilted until its effective share of the rows is ``share``."""
    logged, found = base(features), scores(features)
    with np.errstate(divide="ignore"):
        odds = np.log(logged)
    strength = solved(lambda value: share_of(softmax(odds + value * found), logged), share, 0.0, 20.0)
    return Tilted(base, scores, strength)


def softmax_reaching(smallest, scores, features):
    """A softmax as sharp as makes one row in a thousand have an action less likely than ``smallest``."""
    sharpness = solved(
        lambda value: np.quantile(Softmax(scores, value)(features).min(axis=1), 0.001), smallest, 0.0, 20.0
    )
    return Softmax(scores, sharpness)


def softmax_against(share, target, scores, features):
    """A softmax as sharp as leaves the target an effective share of the rows of ``share``."""
    wanted, found = target(features), scores(features)
    sharpness = solved(lambda value: share_of(wanted, softmax(value * found)), share, 0.0, 20.0)
    return Softmax(scores, sharpness)
