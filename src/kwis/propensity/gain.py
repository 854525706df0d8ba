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
        single = [_normal(gain, part, labels) for gain, part, labels in zip(gains, mass, group, strict=True)]
        return min(1.0, tried * len(single) * min(single))
    log_ratio = logsumexp([gain.sum() for gain in gains]) - np.log(len(gains))
    return float(np.exp(min(0.0, np.log(tried) - log_ratio)))


def _normal(gain: Floats, mass: Floats | None, group: Ints | None) -> float:
    sums = draw_sums(gain if mass is None else gain * mass, group)
    spread = sums.std(ddof=1) * np.sqrt(len(sums)) if len(sums) > 1 else 0.0
    return float(ndtr(-sums.sum() / spread)) if spread > 0 else 1.0
