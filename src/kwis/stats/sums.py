"""Sums that lose nothing to rounding."""

from __future__ import annotations

from typing import Any

import numpy as np

from kwis.typing import Floats


def sum_of_others(values: Any) -> Floats:
    """For each entry along the first axis the sum of all others, added up rather than subtracted from the
    total.

    So a huge entry does not swallow the rest, and the others of the only entry are 0.
    """
    terms = np.asarray(values, dtype=np.float64)
    nothing = np.zeros((1, *terms.shape[1:]))
    before, after = np.cumsum(terms, axis=0), np.cumsum(terms[::-1], axis=0)[::-1]
    return np.concatenate([nothing, before[:-1]]) + np.concatenate([after[1:], nothing])
