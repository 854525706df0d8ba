"""Boosted regression trees, grown as scikit-learn's ``HistGradientBoostingRegressor`` grows them: columns in at
most 255 bins, and each tree splits the leaf that gains most, up to a number of leaves.

A module of our own, as loading scikit-learn takes longer than growing the trees of a small log, and its
trees hold the interpreter, so that folds cannot be fitted side by side.
"""
# mypy: disable-error-code="no-untyped-def, no-untyped-call, misc"

from __future__ import annotations

from itertools import pairwise

import numpy as np

from kwis.runtime.compile import compiled
from kwis.typing import Floats, Ints

_BINS = 255
_SURE = 1e-3  # least mass of a leaf


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
        mass = np.ones(0) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        self.level = float(np.average(outcome, weights=sample_weight))
        self.thresholds = [_thresholds(column, sample_weight) for column in design.T]
        ends = np.cumsum([0, *(cuts.size + 1 for cuts in self.thresholds)])
        self.nodes, self.values = _grown(
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
        p = features.shape[1]
        later = self.thresholds[p:]
        unlit = np.array([np.searchsorted(cuts, 0.0) for cuts in later], dtype=np.uint8)
        lit = np.array([np.searchsorted(cuts, 1.0) for cuts in later], dtype=np.uint8)
        found = _predicted(self._bins(features), np.ravel(codes), unlit, lit, self.nodes, self.values)
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


@compiled(nogil=True, error_model="numpy")
def _grown(bins, ends, outcome, mass, rounds, rate, most, fewest, ridge):
    """Trees one after another, each on what those before it leave over.

    Returns ``(rounds, nodes, 4)`` column (-1 in a leaf), last bin that goes left, left and right child, and
    ``(rounds, nodes)`` what each leaf adds. Entries of ``(leaf, bin, 3)`` histograms are sums of what is left
    over, numbers of rows and, where rows have a mass, their masses.
    """
    n, p = bins.shape
    weighted = mass.size > 0
    heavy = 2 if weighted else 1
    nodes = np.full((rounds, 2 * most - 1, 4), -1, np.int32)
    values = np.zeros((rounds, 2 * most - 1))
    left_over = outcome.copy()
    pulls = np.empty(n)
    rows, spare = np.empty(n, np.int64), np.empty(n, np.int64)
    table = np.zeros((most, ends[p], 3))
    # Of each leaf: its node, rows from and to; sum, mass and mean; the split it would make.
    node = np.zeros(most, np.int64)
    begin, end = np.zeros(most, np.int64), np.zeros(most, np.int64)
    total, weight, mean = np.zeros(most), np.zeros(most), np.zeros(most)
    gain, column, cut = np.zeros(most), np.zeros(most, np.int64), np.zeros(most, np.int64)
    sum_left, weight_left = np.zeros(most), np.zeros(most)
    for t in range(rounds):
        for i in range(n):
            rows[i] = i
            pulls[i] = left_over[i] * mass[i] if weighted else left_over[i]
        leaves, used = 1, 1
        node[0], begin[0], end[0], mean[0] = 0, 0, n, 0.0
        total[0], weight[0] = pulls.sum(), (mass.sum() if weighted else float(n))
        fresh, other = 0, -1
        table[0] = 0.0
        for i in range(n):
            for j in range(p):
                entry = table[0, ends[j] + bins[i, j]]
                entry[0] += pulls[i]
                entry[1] += 1.0
                if weighted:
                    entry[2] += mass[i]
        while True:
            for leaf in (fresh, other):
                if leaf < 0:
                    continue
                gain[leaf] = 0.0
                count = end[leaf] - begin[leaf]
                if count < 2 * fewest or weight[leaf] < _SURE:
                    continue
                now = total[leaf] * mean[leaf]
                for j in range(p):
                    behind, sums, masses = 0.0, 0.0, 0.0
                    for b in range(ends[j], ends[j + 1] - 1):
                        sums += table[leaf, b, 0]
                        behind += table[leaf, b, 1]
                        masses += table[leaf, b, heavy]
                        if behind < fewest or masses < _SURE:
                            continue
                        rest = weight[leaf] - masses
                        if count - behind < fewest or rest < _SURE:
                            break
                        across = total[leaf] - sums
                        better = (
                            sums * sums / (masses + ridge + 1e-15)
                            + across * across / (rest + ridge + 1e-15)
                            - now
                        )
                        if better > gain[leaf]:
                            gain[leaf], column[leaf], cut[leaf] = better, j, b - ends[j]
                            sum_left[leaf], weight_left[leaf] = sums, masses
            fresh = np.argmax(gain[:leaves])
            if leaves == most or gain[fresh] <= 0.0:
                break
            other = leaves
            leaves += 1
            j, last = column[fresh], cut[fresh]
            first, stop = begin[fresh], end[fresh]
            middle, kept = first, 0
            for z in range(first, stop):
                i = rows[z]
                if bins[i, j] <= last:
                    rows[middle] = i
                    middle += 1
                else:
                    spare[kept] = i
                    kept += 1
            rows[middle:stop] = spare[:kept]
            parent = nodes[t, node[fresh]]
            parent[0], parent[1], parent[2], parent[3] = j, last, used, used + 1
            node[fresh], node[other] = used, used + 1
            used += 2
            begin[other], end[other], end[fresh] = middle, stop, middle
            total[other], weight[other] = total[fresh] - sum_left[fresh], weight[fresh] - weight_left[fresh]
            total[fresh], weight[fresh] = sum_left[fresh], weight_left[fresh]
            mean[fresh] = total[fresh] / (weight[fresh] + ridge + 1e-15)
            mean[other] = total[other] / (weight[other] + ridge + 1e-15)
            gain[fresh], gain[other] = 0.0, 0.0
            if leaves == most:
                break
            # The smaller part is counted; the larger one is what remains.
            small, large = (fresh, other) if middle - first < stop - middle else (other, fresh)
            if large == other:
                table[other] = table[fresh]
            table[small] = 0.0
            for z in range(begin[small], end[small]):
                i = rows[z]
                for k in range(p):
                    entry = table[small, ends[k] + bins[i, k]]
                    entry[0] += pulls[i]
                    entry[1] += 1.0
                    if weighted:
                        entry[2] += mass[i]
            table[large] -= table[small]
        for leaf in range(leaves):
            value = rate * mean[leaf]
            values[t, node[leaf]] = value
            for z in range(begin[leaf], end[leaf]):
                left_over[rows[z]] -= value
    return nodes, values


@compiled(nogil=True, error_model="numpy")
def _predicted(bins, codes, unlit, lit, nodes, values):
    """``(n, choices)`` sums over the trees, with the column of each choice lit in turn."""
    n, p = bins.shape
    out = np.zeros((n, codes.shape[0]))
    row = np.empty(p + unlit.shape[0], np.uint8)
    row[p:] = unlit
    for i in range(n):
        row[:p] = bins[i]
        for k in range(codes.shape[0]):
            code = codes[k]
            if code >= 0:
                row[p + code] = lit[code]
            for t in range(nodes.shape[0]):
                at = 0
                while nodes[t, at, 0] >= 0:
                    at = nodes[t, at, 2] if row[nodes[t, at, 0]] <= nodes[t, at, 1] else nodes[t, at, 3]
                out[i, k] += values[t, at]
            if code >= 0:
                row[p + code] = unlit[code]
    return out
