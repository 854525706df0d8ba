"""Boosted regression trees, grown as ``HistGradientBoostingRegressor`` of scikit-learn grows them: columns in
at most 255 bins, and each tree splits the leaf that gains most, up to a number of leaves.

A module of our own, as loading scikit-learn takes longer than growing the trees of a small log, and its
trees hold the interpreter, so that folds cannot be fitted side by side.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from kwis.typing import Floats, Ints

_BINS = 255


class Trees:
    """Boosted trees for the mean of an outcome.

    Parameters
    ----------
    max_iter, learning_rate
        How many trees, and what share of its leaf means each adds.
    max_leaf_nodes, min_samples_leaf
        Most leaves of a tree, and fewest rows of a leaf.
    l2_regularization
        Rows of no reward that each leaf is averaged with.
    """

    def __init__(
        self,
        *,
        max_iter: int,
        learning_rate: float,
        max_leaf_nodes: int,
        min_samples_leaf: int,
        l2_regularization: float,
    ) -> None:
        self.max_iter, self.learning_rate = max_iter, learning_rate
        self.max_leaf_nodes, self.min_samples_leaf = max_leaf_nodes, min_samples_leaf
        self.l2_regularization = l2_regularization
        self.thresholds: list[Floats] = []
        self.level = 0.0
        self.nodes: Ints = np.zeros((0, 1, 4), dtype=np.int32)
        self.values: Floats = np.zeros((0, 1))

    def fit(self, design: Floats, outcome: Floats, sample_weight: Floats | None = None) -> Trees:
        """Learn from rows, each counted by its weight."""
        from kwis.models.reward.grow import grown

        mass = np.ones(0) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        self.level = float(np.average(outcome, weights=sample_weight))
        self.thresholds = [_thresholds(column, sample_weight) for column in design.T]
        ends = np.cumsum([0, *(cuts.size + 1 for cuts in self.thresholds)])
        self.nodes, self.values = grown(
            self._bins(design),
            ends,
            outcome - self.level,
            mass,
            self.max_iter,
            self.learning_rate,
            self.max_leaf_nodes,
            self.min_samples_leaf,
            self.l2_regularization,
        )
        return self

    def predict(self, design: Floats) -> Floats:
        """Predictions for rows."""
        none = np.full((1, 1), -1)
        return self.of_choices(design, none)[:, 0]

    def of_choices(self, features: Floats, codes: Ints) -> Floats:
        """``(m, K)`` predictions for every choice; each has a 0/1 column after the features, the number
        ``codes`` gives it, or none for -1.
        """
        from kwis.models.reward.grow import predicted

        p = features.shape[1]
        later = self.thresholds[p:]
        unlit = np.array([np.searchsorted(cuts, 0.0) for cuts in later], dtype=np.uint8)
        lit = np.array([np.searchsorted(cuts, 1.0) for cuts in later], dtype=np.uint8)
        found = predicted(self._bins(features), np.ravel(codes), unlit, lit, self.nodes, self.values)
        return np.asarray(self.level + found)

    def _bins(self, design: Floats) -> Ints:
        """``(n, p)`` bin of every entry: how many thresholds are below it."""
        bins = np.empty(design.shape, dtype=np.uint8)
        for j in range(design.shape[1]):
            bins[:, j] = np.searchsorted(self.thresholds[j], design[:, j])
        return bins


def _thresholds(column: Floats, mass: Floats | None) -> Floats:
    """Between what values a column is divided: all of them, or as many quantiles as there are bins."""
    if mass is not None:
        column, mass = column[mass > 0], mass[mass > 0]
    order = np.argsort(column)
    column = column[order]
    new = np.flatnonzero(np.diff(column, prepend=-np.inf))
    if new.size <= _BINS:
        return np.array([(low + high) / 2 for low, high in pairwise(column[new])])
    below = np.arange(1, column.size + 1.0) if mass is None else np.cumsum(mass[order])
    places = np.arange(1, _BINS) / _BINS * below[-1]
    first = np.searchsorted(below, places * (1 - 1e-12))
    second = np.searchsorted(below, places * (1 + 1e-12), side="right")
    return np.unique((column[first] + column[np.minimum(second, column.size - 1)]) / 2)
