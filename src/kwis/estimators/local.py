"""Weights divided by the mean weight around them: what State-WIS and Kernel-WIS share.

With ``G = K c``, ``M = K (c w)`` the local sums over the rows that count ``c`` times, ``m = M / G`` is the local mean weight and
``v = w / m`` the weight applied.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kwis.estimators.ratio import Applied
from kwis.typing import Floats
from kwis.weights import balanced, safe_ratio

LocalSums = Callable[[Floats], Floats]
"""``K @ vectors`` for vectors (n, p), K symmetric with 1 on its diagonal; (1, p) if all rows have the same sums."""


def whole_sums(vectors: Floats) -> Floats:
    """Every row is everyone's neighbour."""
    return vectors.sum(axis=0, keepdims=True)


def locally_normalised(weight: Floats, counts: Floats, sums: LocalSums) -> Applied:
    """``w / m`` on each resample, and how it reacts to the counts."""
    w = balanced(weight, float(counts.sum(axis=0).max()))[:, None]
    columns = counts.shape[1]
    both = np.concatenate([counts, counts * w], axis=1)
    drawn = both[:, columns:] > 0
    around = sums(both)
    near, near_weight = around[:, :columns], around[:, columns:]
    # A row drawn has itself for a neighbour, so it never divides by 0; one not drawn may have nobody.
    applied = np.divide(w * near, near_weight, out=np.zeros_like(counts), where=drawn)

    def reaction(terms: Floats) -> Floats:
        # d/dc_j of sum_i x_i G_i / M_i, x_i = c_i w_i (reward), taken through G and M.
        pulls = sums(np.concatenate([safe_ratio(terms, near), safe_ratio(terms, near_weight)], axis=1))
        return pulls[:, :columns] - w * pulls[:, columns:]

    return Applied(applied, reaction)
