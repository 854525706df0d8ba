"""The paper's own intervals: a bootstrap of finished per-row terms, with the normaliser held fixed.

An estimate is written as a mean of terms, ``n w_i r_i / sum(w)`` for WIS and ``r_i w_i / m_i`` for
Kernel-WIS, and the terms are resampled. The normaliser is not resampled with them, so these are no valid
intervals: with every reward 1, WIS is 1 on every sample, and they are far from [1, 1]. They are here to
reproduce the published coverage, whose level is not in the paper, and nowhere in the library.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from scipy.special import ndtr, ndtri

from kwis.typing import Floats

ESTIMATORS = ("wis", "kernel-wis")
METHODS: tuple[Literal["fixed-percentile", "fixed-bca"], ...] = ("fixed-percentile", "fixed-bca")
REPLICATES = 200


def drawn_counts(n: int, rng: np.random.Generator, replicates: int = REPLICATES) -> Floats:
    """``(replicates, n)``: how often each row is drawn; one draw serves all experiments of a dataset."""
    picks = rng.integers(n, size=(replicates, n)) + n * np.arange(replicates)[:, None]
    return np.bincount(picks.ravel(), minlength=replicates * n).reshape(replicates, n).astype(np.float64)


def fixed_intervals(terms: Floats, counts: Floats, levels: Sequence[float]) -> dict[str, Floats]:
    """Interval ends ``(levels, 2, test_sets)`` by method, from terms ``(n, test_sets)`` whose mean is the
    estimate.
    """
    n = terms.shape[0]
    means = np.sort(counts @ terms / n, axis=0)
    tails = np.array([[(1 - level) / 2, (1 + level) / 2] for level in levels])
    centred = terms - terms.mean(axis=0)
    spread = np.sqrt(np.square(centred).sum(axis=0))
    # The jackknife of a mean has the skewness of its terms.
    acceleration = np.divide(
        (centred**3).sum(axis=0), 6 * spread**3, out=np.zeros_like(spread), where=spread > 0
    )
    below = (means < terms.mean(axis=0)).sum(axis=0)
    bias = ndtri(np.clip(below, 1, means.shape[0] - 1) / means.shape[0])
    shifted = bias + ndtri(tails)[:, :, None]
    shares = ndtr(bias + shifted / (1 - acceleration * shifted))
    plain = np.broadcast_to(tails[:, :, None], shares.shape)
    return {"fixed-percentile": _quantiles(means, plain), "fixed-bca": _quantiles(means, shares)}


def _quantiles(ordered: Floats, shares: Floats) -> Floats:
    """Quantiles of sorted columns at shares ``(levels, 2, columns)``, interpolated between neighbours."""
    place = shares * (ordered.shape[0] - 1)
    low = np.floor(place).astype(np.int64)
    high = np.minimum(low + 1, ordered.shape[0] - 1)
    columns = np.arange(ordered.shape[1])
    return ordered[low, columns] + (place - low) * (ordered[high, columns] - ordered[low, columns])
