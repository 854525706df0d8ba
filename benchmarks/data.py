"""Seeded logs with the sizes the benchmarks name."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Log:
    context: np.ndarray
    weight: np.ndarray
    reward: np.ndarray
    folds: np.ndarray


def numeric(n: int, d: int, seed: int = 0) -> Log:
    """Normal contexts; weights that follow three of the features, as under wrong propensities,
    times noise.
    """
    rng = np.random.default_rng([n, d, seed])
    context = rng.standard_normal((n, d))
    return _log(rng, context, np.sin(context[:, 0]) + 0.6 * context[:, 1] + 0.4 * context[:, 2 % d] ** 2)


def categorical(n: int, levels: tuple[int, ...], seed: int = 0) -> Log:
    """Codes on a lattice; weights that follow two of the columns."""
    rng = np.random.default_rng([n, seed])
    codes = np.stack([rng.integers(0, size, n) for size in levels], axis=1).astype(np.float64)
    return _log(rng, codes, 0.5 * (codes[:, 0] == 1) + 0.15 * codes[:, 2])


def many_weights(log: Log, count: int) -> np.ndarray:
    """``(n, count)`` weight vectors on the same contexts, each following another direction."""
    rng = np.random.default_rng(count)
    directions = rng.standard_normal((log.context.shape[1], count)) / np.sqrt(log.context.shape[1])
    weights = np.exp(
        np.sin(2 * log.context @ directions) + 0.3 * rng.standard_normal((len(log.context), count))
    )
    return weights / weights.mean(axis=0)


def dummies(codes: np.ndarray, levels: tuple[int, ...]) -> np.ndarray:
    """One column per level: two rows that differ in a code are at squared distance 2, so the RBF kernel is
    ``exp(-1/h^2)``.
    """
    return np.concatenate(
        [codes[:, [column]] == np.arange(size) for column, size in enumerate(levels)], axis=1
    ).astype(np.float64)


def _log(rng, context, signal) -> Log:
    n = len(context)
    weight = np.exp(0.7 * signal + 0.4 * rng.standard_normal(n))
    reward = (rng.uniform(size=n) < 1 / (1 + np.exp(-signal))).astype(np.float64)
    return Log(context, weight / weight.mean(), reward, rng.permutation(np.arange(n) % 5))
