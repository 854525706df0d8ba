"""Whether held-out actions became more likely by more than chance.

If the given distribution is right, the ratio of repaired to given likelihood on held-out rows is 1 on
average, whatever was learnt from the other rows. By Markov's inequality it exceeds ``c`` with a probability
of at most ``1/c``, for any number of rows and actions. The ratios of several splits are averaged, and the
p-value is the inverse of that, times the number of models tried.

Rows of a group may share one draw, and then the product of their ratios is not 1 on average. Its root of
degree ``m``, the number of rows, is at most 1 on average however they depend on each other (Hoelder's
inequality). Where they are independent that wastes most of what they say, so the degree is ``1 + (m - 1) r``
with ``r`` how much the gains of a group agree, rounded up by two standard errors.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import logsumexp, stdtr

from kwis.stats.influence import draw_sums
from kwis.typing import Floats, Ints


def gain_p_value(
    gains: Sequence[Floats], mass: Sequence[Floats | None], group: Sequence[Ints | None], tried: int
) -> float:
    """P-value of the gains in log-likelihood per held-out row, one array per split.

    Rows that stand for several are not draws from the given distribution, and the ratio above says nothing;
    then the mean gain is compared with its standard error instead.
    """
    if any(part is not None for part in mass):
        return surplus_p_value(gains, mass, group, tried)
    log_ratio = logsumexp([gain.sum() for gain in gains_of_draws(gains, group)]) - np.log(len(gains))
    return float(np.exp(min(0.0, np.log(tried) - log_ratio)))


def surplus_p_value(
    surplus: Sequence[Floats], mass: Sequence[Floats | None], group: Sequence[Ints | None], tried: int
) -> float:
    """P-value of sums that are 0 on average if propensities are right and above 0 if they are wrong, one
    array per split.

    What one split learns the other can confirm with the same rows, so the sums in standard errors are
    averaged as if they were one.
    """
    sums = [
        draw_sums(values if part is None else values * part, labels)
        for values, part, labels in zip(surplus, mass, group, strict=True)
    ]
    fewest = min(len(part) for part in sums)
    return min(
        1.0, tried * float(stdtr(max(fewest - 1, 1), -np.mean([_standardised(part) for part in sums])))
    )


def gains_of_draws(gains: Sequence[Floats], group: Sequence[Ints | None]) -> list[Floats]:
    """Gain of every draw: that of a row, or that of a group by the root above."""
    if all(labels is None for labels in group):
        return list(gains)
    sums = [draw_sums(gain, labels) for gain, labels in zip(gains, group, strict=True)]
    sizes = [draw_sums(np.ones(len(gain)), labels) for gain, labels in zip(gains, group, strict=True)]
    agreement = _agreement(np.concatenate(gains), np.concatenate(sums), np.concatenate(sizes))
    return [total / (1 + (size - 1) * agreement) for total, size in zip(sums, sizes, strict=True)]


def _agreement(gains: Floats, sums: Floats, sizes: Floats) -> float:
    """How much the gains of a group agree, from 0 to 1, not too little: correlation within groups and two
    standard errors of it.
    """
    mean = gains.mean()
    apart = float(((gains - mean) ** 2).sum())
    together = float(((sums - sizes * mean) ** 2).sum())
    size = float((sizes**2).sum() / sizes.sum())
    if size <= 1:
        return 0.0
    if apart == 0:
        return 1.0
    return float(np.clip((together / apart * (1 + 2 * np.sqrt(2 / len(sums))) - 1) / (size - 1), 0.0, 1.0))


def _standardised(sums: Floats) -> float:
    """Sum over the draws in standard errors."""
    spread = sums.std(ddof=1) * np.sqrt(len(sums)) if len(sums) > 1 else 0.0
    return float(sums.sum() / spread) if spread > 0 else 0.0
