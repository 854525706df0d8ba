"""The distribution of the rewards that a policy would bring, with a band that holds everywhere at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kwis import _validation as check
from kwis._validation import read_only
from kwis.errors import InputError
from kwis.sample import WeightedSample, balanced
from kwis.stats.influence import draw_sums
from kwis.typing import Floats, Seed

MOST_POINTS = 100
_DRAWS = 2_000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RewardDistribution:
    """Distribution function of the reward under a policy at some points.

    Attributes
    ----------
    reward
        ``(k,)`` points in increasing order.
    share
        Share of the rewards at or below each point, the weights divided by their sum.
    low, high
        Band around it that holds at all points together with probability ``level``.
    """

    reward: Floats
    share: Floats
    low: Floats
    high: Floats
    level: float


def reward_distribution(sample: WeightedSample, level: float = 0.95, rng: Seed = 0) -> RewardDistribution:
    """Estimate the distribution function of the reward by WIS, at up to 100 points.

    The band is as many standard errors wide as the largest of the correlated errors at all points is with
    probability ``level``, by simulation from their influence.

    Parameters
    ----------
    sample
        Rewards and weights of a policy.
    level
        Probability with which the band holds at all points together.
    rng
        A seed or a generator.

    Returns
    -------
    RewardDistribution
        Points, the share of rewards at or below each, and the band around it.

    See Also
    --------
    kwis.Quantile : one quantile with an interval.
    kwis.TailMean : the mean beyond a quantile.

    Examples
    --------
    >>> sample = kwis.WeightedSample(
    ...     context=[[0.0]] * 120, weight=[2.0, 1.0, 0.5] * 40, reward=[1.0, 0.0, 1.0] * 40
    ... )
    >>> found = kwis.reward_distribution(sample)
    >>> found.reward, found.share.round(3), found.low.round(3), found.high.round(3)
    (array([0., 1.]), array([0.286, 1.   ]), array([0.205, 1.   ]), array([0.367, 1.   ]))
    """
    level, generator = check.level(level), check.generator(rng)
    check.two_draws(sample.n, sample.group)
    if not sample.weight.any():
        raise InputError(f"`weight` must be positive in at least one row, got 0.0 in all {sample.n} rows")
    mass = np.ones(sample.n) if sample.mass is None else sample.mass
    load = balanced(sample.weight, float(mass.sum())) * mass
    load = load / load.mean()
    points = np.unique(sample.reward)
    if points.size > MOST_POINTS:
        places = np.linspace(0, points.size - 1, MOST_POINTS).round().astype(int)
        points = points[places]
    below = (sample.reward[:, None] <= points).astype(np.float64)
    share = np.minimum((load[:, None] * below).mean(axis=0), 1.0)
    draws = draw_sums(load[:, None] * (below - share), sample.group)
    covariance = draws.T @ draws * (len(draws) / (len(draws) - 1)) / sample.n**2
    error = np.sqrt(np.diag(covariance))
    uncertain = error > 0
    reach = np.zeros_like(error)
    if uncertain.any():
        scaled = covariance[np.ix_(uncertain, uncertain)] / np.outer(error[uncertain], error[uncertain])
        values, vectors = np.linalg.eigh(scaled)
        root = vectors * np.sqrt(np.maximum(values, 0))
        largest = np.abs(generator.standard_normal((_DRAWS, root.shape[1])) @ root.T).max(axis=1)
        reach = float(np.quantile(largest, level)) * error
    return RewardDistribution(
        reward=read_only(points),
        share=read_only(share),
        low=read_only(np.maximum.accumulate(np.maximum(share - reach, 0.0))),
        high=read_only(np.minimum.accumulate(np.minimum(share + reach, 1.0)[::-1])[::-1]),
        level=level,
    )
