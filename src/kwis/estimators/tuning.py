"""Choosing how much to shrink: among estimates in the order of their shrinkage, none of it first.

Both rules see estimates and standard errors of the log at hand and nothing else.

- ``slope`` (Su, Srinath and Krishnamurthy 2020): go on as long as the intervals of all estimates so far have
  a point in common; where they have none, the bias of the last is beyond chance.
- ``mse``: the smallest estimated mean squared error, variance plus squared bias. The bias is the difference
  to no shrinkage, its square less what chance adds to it.
"""

from __future__ import annotations

import numpy as np

from kwis.typing import Floats, Ints

RULES = ("slope", "mse")
SLOPE_REACH = 1.0
"""Half the length of the intervals of ``slope`` in standard errors."""


def choose(rule: str, values: Floats, errors: Floats, apart: Floats) -> Ints:
    """Which of G estimates to use, on each of B resamples.

    Parameters
    ----------
    values, errors
        ``(G, B)`` estimates and standard errors, from no shrinkage to the strongest.
    apart
        ``(G, B)`` standard errors of the differences to the first.
    """
    if rule == "slope":
        low = np.maximum.accumulate(values - SLOPE_REACH * errors, axis=0)
        high = np.minimum.accumulate(values + SLOPE_REACH * errors, axis=0)
        return np.asarray(np.logical_and.accumulate(low <= high, axis=0).sum(axis=0) - 1).clip(min=0)
    bias = np.square(values - values[0]) - np.square(apart)
    return np.asarray(np.argmin(np.square(errors) + np.maximum(bias, 0.0), axis=0))
