"""Logs and policies for the check of training: policies that learnt from the very log, from another one, or
from none.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestRegressor,
)

import kwis


@dataclass(frozen=True)
class World:
    """Steps and a slope in three numbers and a category; an epsilon-greedy or softmax logger."""

    n: int = 1000
    actions: int = 3
    binary: bool = False
    skewed: bool = False
    greedy_logger: bool = False

    def draw(self, rng: np.random.Generator):
        context = np.column_stack([rng.uniform(-1, 1, (self.n, 3)), rng.integers(0, 4, self.n)])
        value = self.value(context)
        scores = np.stack(
            [np.sin(2 * context[:, 0] + k) + 0.4 * (context[:, 3] == k) for k in range(self.actions)], axis=1
        )
        if self.greedy_logger:
            chance = np.full((self.n, self.actions), 0.3 / self.actions)
            chance[np.arange(self.n), scores.argmax(axis=1)] += 0.7
        else:
            chance = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
        action = (chance.cumsum(axis=1) < rng.random((self.n, 1))).sum(axis=1).clip(max=self.actions - 1)
        mean = value[np.arange(self.n), action]
        if self.binary:
            reward = (rng.random(self.n) < mean).astype(float)
        else:
            reward = (
                mean * rng.exponential(size=self.n)
                if self.skewed
                else mean + 0.5 * rng.standard_normal(self.n)
            )
        return context, action, reward, chance

    def value(self, context):
        """``(n, K)`` mean rewards, between 0 and 1."""
        steps = [
            0.15 * (context[:, k % 3] > 0.2) + 0.1 * (context[:, 3] == k) + 0.1 * context[:, (k + 1) % 3]
            for k in range(self.actions)
        ]
        return 0.3 + np.stack(steps, axis=1)


def log_of(context, action, reward, chance) -> kwis.LoggedBandit:
    names = [f"x{j}" for j in range(context.shape[1])]
    frame = {name: context[:, j] for j, name in enumerate(names)} | {"action": action, "reward": reward}
    frame |= {f"p_{k}": chance[:, k] for k in range(chance.shape[1])}
    return kwis.read_log(frame, propensity="p", context=names, categorical=["x3"])


def _design(context, action, actions):
    return np.hstack([context, np.eye(actions)[action]])


def _regressed(model, context, action, reward, actions):
    model.fit(_design(context, action, actions), reward)
    return lambda at: np.stack(
        [model.predict(_design(at, np.full(len(at), k), actions)) for k in range(actions)], axis=1
    )


def _classified(context, action, reward, actions):
    """Chance of a reward above the median, one model per action."""
    good = reward > np.median(reward) if np.unique(reward).size > 2 else reward > 0
    models = [
        HistGradientBoostingClassifier().fit(context[action == k], good[action == k]) for k in range(actions)
    ]
    return lambda at: np.stack([model.predict_proba(at)[:, 1] for model in models], axis=1)


LEARNERS = {
    "boosted": lambda *data: _regressed(HistGradientBoostingRegressor(), *data),
    "boosted classifiers": _classified,
    "forest": lambda *data: _regressed(RandomForestRegressor(40, min_samples_leaf=3, n_jobs=1), *data),
}


def greedy(scores):
    return np.eye(scores.shape[1])[scores.argmax(axis=1)]


def softmax(scores, sharpness: float = 2.0):
    raised = np.exp(sharpness * (scores - scores.max(axis=1, keepdims=True)) / max(scores.std(), 1e-9))
    return raised / raised.sum(axis=1, keepdims=True)
