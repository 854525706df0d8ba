"""Boosted regression trees, grown as ``HistGradientBoostingRegressor`` of scikit-learn grows them: columns in
at most 255 bins, and each tree splits the leaf that gains most, up to a number of leaves.

A module of our own, as loading scikit-learn takes longer than growing the trees of a small log, and its
trees hold the interpreter, so that folds cannot be fitted side by side.

Of hundreds of columns the first trees try all; the others try those that gained most in any leaf of the
first. Noise among many columns is split as readily as what matters little, so nothing is lost by that.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from kwis.typing import Floats, Ints

_BINS = 255
# With more columns than these they are cut into fewer bins, and after the first trees only some are tried.
_MANY, _COARSE_BINS, _FIRST, _TRIED = 100, 127, 6, 60


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

    def fit(
        self, design: Floats, outcome: Floats, sample_weight: Floats | None = None, *, last: int = 0
    ) -> Trees:
        """Learn from rows, each counted by its weight; all trees try the ``last`` columns."""
        mass = np.ones(0) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        many = design.shape[1] > _MANY
        self.level = float(np.average(outcome, weights=sample_weight))
        self.thresholds = [
            _thresholds(column, sample_weight, _COARSE_BINS if many else _BINS)
            for column in np.ascontiguousarray(design.T)
        ]
        bins, every = self._bins(design), np.arange(design.shape[1])
        first = min(_FIRST, self.max_iter) if many else self.max_iter
        nodes, values, left_over, gained = self._grown(bins, every, outcome - self.level, mass, first)
        if first < self.max_iter:
            gained[design.shape[1] - last :] = np.inf
            tried = np.sort(np.argsort(-gained, kind="stable")[: _TRIED + last])
            more, more_values, _, _ = self._grown(
                np.ascontiguousarray(bins[:, tried]), tried, left_over, mass, self.max_iter - first
            )
            split = more[..., 0] >= 0
            more[split, 0] = tried[more[split, 0]]
            nodes, values = np.concatenate([nodes, more]), np.concatenate([values, more_values])
        self.nodes, self.values = nodes, values
        return self

    def _grown(
        self, bins: Ints, columns: Ints, outcome: Floats, mass: Floats, rounds: int
    ) -> tuple[Ints, Floats, Floats, Floats]:
        """So many trees of these columns."""
        from kwis.models.reward.grow import grown

        ends = np.cumsum([0, *(self.thresholds[column].size + 1 for column in columns)])
        found: tuple[Ints, Floats, Floats, Floats] = grown(
            bins,
            ends,
            outcome,
            mass,
            rounds,
            self.learning_rate,
            self.max_leaf_nodes,
            self.min_samples_leaf,
            self.l2_regularization,
        )
        return found

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
        by_column = np.empty(design.shape[::-1], dtype=np.uint8)
        for j, column in enumerate(np.ascontiguousarray(design.T)):
            by_column[j] = _places(self.thresholds[j], column)
        return np.ascontiguousarray(by_column.T)


def _places(cuts: Floats, column: Floats) -> Ints:
    """How many of the thresholds are below each entry: quicker by looking up each threshold among the sorted
    entries than the other way round.
    """
    order = np.argsort(column)
    ends = np.searchsorted(column[order], cuts, side="right")
    found = np.empty(column.size, dtype=np.uint8)
    found[order] = np.repeat(
        np.arange(cuts.size + 1, dtype=np.uint8), np.diff(ends, prepend=0, append=column.size)
    )
    return found


def _thresholds(column: Floats, mass: Floats | None, bins: int = _BINS) -> Floats:
    """Between what values a column is divided: all of them, or as many quantiles as there are bins."""
    if mass is not None:
        column, mass = column[mass > 0], mass[mass > 0]
    order = np.argsort(column)
    column = column[order]
    new = np.flatnonzero(np.diff(column, prepend=-np.inf))
    if new.size <= bins:
        return np.array([(low + high) / 2 for low, high in pairwise(column[new])])
    below = np.arange(1, column.size + 1.0) if mass is None else np.cumsum(mass[order])
    places = np.arange(1, bins) / bins * below[-1]
    first = np.searchsorted(below, places * (1 - 1e-12))
    second = np.searchsorted(below, places * (1 + 1e-12), side="right")
    return np.unique((column[first] + column[np.minimum(second, column.size - 1)]) / 2)
