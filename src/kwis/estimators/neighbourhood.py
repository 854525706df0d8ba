"""Weights divided by the mean weight around them: what State-WIS and Kernel-WIS share.

With ``G = K c``, ``M = K (c w)`` the local sums over the rows that count ``c`` times, ``m = M / G`` is the
local mean weight and ``v = w / m`` the weight applied.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kwis.estimators.ratio import Applied
from kwis.sample import balanced
from kwis.typing import Floats

LocalSums = Callable[[Floats], Floats]
"""``K @ vectors`` for vectors (n, p), K symmetric with 1 on its diagonal; (1, p) if all rows have the same
sums.
"""

_TINY = float(np.finfo(np.float64).tiny)


def whole_sums(vectors: Floats) -> Floats:
    """Every row is everyone's neighbour."""
    return vectors.sum(axis=0, keepdims=True)


def locally_normalised(weight: Floats, counts: Floats, sums: LocalSums) -> Applied:
    """``w / m`` on each resample, and how it reacts to the counts; or on one sample with each of several
    weights (n, F).
    """
    columns = counts.shape[1]
    most = float(counts.sum(axis=0).max())
    w = np.stack([balanced(column, most) for column in np.atleast_2d(weight.T)], axis=1)
    both = np.empty((counts.shape[0], columns + max(columns, w.shape[1])))
    both[:, :columns] = counts
    np.multiply(counts, w, out=both[:, columns:])
    around = sums(both)
    near, near_weight = around[:, :columns], around[:, columns:]

    # A row drawn has itself for a neighbour: it never divides by 0, and its ratio is at most the count around
    # it. A row not drawn may have nobody; floor and cap make it a finite number that a count of 0 then
    # cancels (a masked division would take five times as long).
    applied = w * near
    applied /= np.maximum(near_weight, _TINY)
    np.minimum(applied, most, out=applied)

    def reaction(terms: Floats) -> Floats:
        # d/dc_j of sum_i x_i G_i / M_i, x_i = c_i w_i (reward), taken through G and M.
        pulls = sums(np.hstack([terms / np.maximum(near, _TINY), terms / np.maximum(near_weight, _TINY)]))
        return pulls[:, : terms.shape[1]] - w * pulls[:, terms.shape[1] :]

    return Applied(applied, reaction, lambda: counts * w / np.maximum(near_weight, _TINY))
