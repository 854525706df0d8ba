"""Scores of the actions as functions of the features, of which rewards and policies are made.

The two sets of designs have different functions, not other coefficients of the same: ``tuning`` has straight
lines, and lines with steps and products; ``test`` has bends that level off, and waves with steps and folds.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np


def _directions(rng, features, actions):
    return rng.standard_normal((features, actions)) / np.sqrt(features)


def lines(rng, features, actions):
    slope = _directions(rng, features, actions)
    return lambda x: x @ slope


def steps(rng, features, actions):
    slope, across, left, right = (_directions(rng, features, actions) for _ in range(4))
    threshold = rng.uniform(-0.5, 0.5, size=actions)
    return lambda x: 0.5 * (x @ slope) + 0.9 * (x @ across > threshold) + 0.8 * (x @ left) * (x @ right)


def bends(rng, features, actions):
    slope, square = _directions(rng, features, actions), _directions(rng, features, actions)
    shift = rng.uniform(-0.5, 0.5, size=actions)
    return lambda x: np.tanh(1.4 * (x @ slope) + shift) + 0.15 * (x @ square) ** 2


def _single(rng, features, actions):
    """One feature for each action."""
    return (np.arange(features)[:, None] == rng.integers(features, size=actions)).astype(float)


def waves(rng, features, actions):
    slope, gate, ridge = (_single(rng, features, actions) for _ in range(3))
    phase, threshold = rng.uniform(0, 2 * np.pi, size=actions), rng.uniform(-0.6, 0.6, size=actions)
    return lambda x: (
        np.sin(1.3 * (x @ slope) + phase) + 0.7 * (x @ gate > threshold) + 0.4 * np.abs(x @ ridge)
    )


FORMS = {"tuning": {"smooth": lines, "rugged": steps}, "test": {"smooth": bends, "rugged": waves}}


@dataclass(frozen=True, eq=False)
class Scores:
    """One score per action, each of mean 0 and standard deviation 1 over the contexts; ``level`` lifts
    actions apart.
    """

    raw: Any
    mean: np.ndarray
    spread: np.ndarray
    level: np.ndarray

    def __call__(self, features):
        return self.level + (self.raw(features) - self.mean) / self.spread


def standardised(raw, reference, level=0.0):
    """The raw function brought to mean 0 and standard deviation 1 over the reference contexts."""
    values = raw(reference)
    spread = values.std(axis=0)
    return Scores(
        raw, values.mean(axis=0), np.where(spread > 0, spread, 1.0), np.broadcast_to(level, values.shape[1:])
    )


def blend(parts):
    """Weighted sum of scores, from pairs of weight and scores."""
    return lambda features: sum(weight * scores(features) for weight, scores in parts)
