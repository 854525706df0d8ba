"""Whether held-out actions became more likely by more than chance.

If the given distribution is right, the ratio of repaired to given likelihood on held-out rows is 1 on average, whatever was learnt from
the other rows. By Markov's inequality it exceeds ``c`` with a probability of at most ``1/c``, for any number of rows and actions. The
ratios of several splits are averaged, and the p-value is the inverse of that, times the number of models tried.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import logsumexp, ndtr

from kwis.estimators.influence import draw_sums
from kwis.typing import Floats, Ints


def gain_p_value(gains: Sequence[Floats], mass: Sequence[Floats | None], group: Sequence[Ints | None], tried: int) -> float:
    """P-value of the gains in log-likelihood per held-out row, one array per split.

    Rows that stand for several are not draws from the given distribution, and the ratio above says nothing; then the mean gain is
    compared with its standard error instead.
    """
    if any(part is not None for part in mass):
        return surplus_p_value(gains, mass, group, tried)
    log_ratio = logsumexp([gain.sum() for gain in gains]) - np.log(len(gains))
    return float(np.exp(min(0.0, np.log(tried) - log_ratio)))


def surplus_p_value(surplus: Sequence[Floats], mass: Sequence[Floats | None], group: Sequence[Ints | None], tried: int) -> float:
    """P-value of sums that are 0 on average if propensities are right and above 0 if they are wrong, one array per split.

    What one split learns the other can confirm with the same rows, so the sums in standard errors are averaged as if they were one.
    """
    each = [_standardised(values, part, labels) for values, part, labels in zip(surplus, mass, group, strict=True)]
    return min(1.0, tried * float(ndtr(-np.mean(each))))


def _standardised(values: Floats, mass: Floats | None, group: Ints | None) -> float:
    """Sum of the values in standard errors, rows of a group being one draw."""
    sums = draw_sums(values if mass is None else values * mass, group)
    spread = sums.std(ddof=1) * np.sqrt(len(sums)) if len(sums) > 1 else 0.0
    return float(sums.sum() / spread) if spread > 0 else 0.0
