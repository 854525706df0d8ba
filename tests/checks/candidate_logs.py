"""Logs with candidate sets of which everything is known: right propensities, and wrong ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Design:
    """How a log with candidate sets comes about.

    Attributes
    ----------
    actions, smallest, largest
        How many actions there are, and how many of them are available in a row, every number as likely.
    heat
        Spread of the logger's scores.
    shared
        Whether actions differ in how often they are available.
    own
        Part of the scores that actions have by themselves, whatever the context.
    """

    actions: int
    smallest: int
    largest: int
    n: int
    heat: float = 0.7
    shared: bool = False
    own: float = 1.0


@dataclass(frozen=True, eq=False)
class CandidateLog:
    """The arrays of one log; ``chance`` is ``(n, K)``, 0 for actions that are not available."""

    x: Any
    action: Any
    reward: Any
    available: Any
    chance: Any

    @property
    def logged(self) -> Any:
        return self.chance[np.arange(len(self.action)), self.action]

    @property
    def even(self) -> Any:
        """Propensities if every candidate were as likely."""
        return 1 / self.available.sum(axis=1)

    def table(self, propensity: Any = None) -> dict[str, Any]:
        """A source for ``kwis.read_log``, with the right propensities or others."""
        return {
            "x": self.x[:, 0],
            "z": self.x[:, 1],
            "action": np.array([f"item {code:03}" for code in self.action]),
            "reward": self.reward,
            "propensity": self.logged if propensity is None else propensity,
            "candidates": [[f"item {code:03}" for code in np.flatnonzero(row)] for row in self.available],
        }


def candidate_log(design: Design, seed: int) -> CandidateLog:
    """One log of a design."""
    rng = np.random.default_rng([seed, design.actions, design.largest, design.n])
    n, k = design.n, design.actions
    x = rng.normal(size=(n, 2))
    order = rng.random((n, k)) ** (1 / rng.uniform(0.3, 3, k) if design.shared else 1.0)
    rank = np.argsort(np.argsort(-order, axis=1), axis=1)
    available = rank < rng.integers(design.smallest, design.largest + 1, n)[:, None]
    scores = design.heat * (design.own * rng.normal(size=k) + x @ rng.normal(size=(2, k)))
    powers = np.where(available, np.exp(scores), 0.0)
    chance = powers / powers.sum(axis=1, keepdims=True)
    action = (rng.random(n)[:, None] > chance.cumsum(axis=1)[:, :-1]).sum(axis=1)
    quality = rng.uniform(0.1, 0.6, k)
    reward = (rng.random(n) < quality[action] + 0.1 * (x[:, 0] > 0)).astype(float)
    return CandidateLog(x=x, action=action, reward=reward, available=available, chance=chance)


def wrong_in(log: CandidateLog, how: str) -> Any:
    """``(n,)`` wrong propensities of the logged actions."""
    rows = np.arange(len(log.action))
    if how == "too sure":
        return _taken(_normal(log.chance**1.6), log)
    if how == "too timid":
        return _taken(_normal(np.where(log.available, log.chance, 0) ** 0.5 * log.available), log)
    if how == "of another logger":
        return _taken(_normal(log.chance * np.exp(np.linspace(-1, 1, log.chance.shape[1]))), log)
    if how == "wrong where x is high":
        other = _taken(_normal(log.chance * np.exp(np.linspace(1, -1, log.chance.shape[1]) * 1.5)), log)
        return np.where(log.x[:, 0] > 0.7, other, log.chance[rows, log.action])
    if how == "halved":
        return 0.6 * log.logged
    raise ValueError(how)


WRONG = ("too sure", "too timid", "of another logger", "wrong where x is high", "halved")


def _normal(powers: Any) -> Any:
    return powers / powers.sum(axis=1, keepdims=True)


def _taken(chance: Any, log: CandidateLog) -> Any:
    return chance[np.arange(len(log.action)), log.action]
