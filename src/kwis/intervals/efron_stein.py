"""A lower bound on the value from WIS, where the logger's and the target's distributions are known."""

from __future__ import annotations

import math

import numpy as np

from kwis import _validation as check
from kwis.data.distributions import TOLERANCE
from kwis.errors import InputError
from kwis.results import Interval
from kwis.typing import ArrayLike, Floats, Ints, Seed


def efron_stein_bound(
    target: ArrayLike,
    logging: ArrayLike,
    action: ArrayLike,
    reward: ArrayLike,
    *,
    bounds: tuple[float, float] = (0.0, 1.0),
    level: float = 0.95,
    draws: int = 200,
    rng: Seed = 0,
) -> Interval:
    """Lower bound of Kuzborskij et al. (2021) on the value of a policy, from its WIS estimate.

    With Z the sum of the weights and ``x = log(2 / (1 - level))`` the value is, with probability ``level`` at
    least, above ``B (WIS - sqrt(2 (V + U) (x + log(1 + V / U) / 2))) - sqrt(x / (2 n))`` for rewards in
    [0, 1]. V is the Efron-Stein variance proxy ``sum_k E[(W_k / Z + W'_k / Z_k)^2 | W_1 ... W_k]``, ``Z_k``
    having a fresh weight ``W'_k`` in the place of ``W_k``; U is its mean over the logged actions; and
    ``B = min(1 / E[n / Z], 1)`` bounds the bias. All three are means over actions drawn anew from the logging
    distribution at the logged contexts. Time is O(n K ``draws``), memory O(n K).

    Parameters
    ----------
    target, logging
        ``(n, K)`` probabilities of every action under the target and under the logging policy.
    action
        Logged actions, from 0.
    reward
        Logged rewards.
    bounds
        Range of the rewards, known beforehand.
    level
        Probability with which the bound holds.
    draws
        How often all actions are drawn anew.
    rng
        A seed or a generator.

    Returns
    -------
    Interval
        Its high end is that of ``bounds``: nothing is said about it.

    See Also
    --------
    kwis.LogarithmicSmoothing : two-sided, for VIS.
    kwis.StudentInterval : for large samples.

    Examples
    --------
    >>> even = [[0.5, 0.5]] * 100
    >>> kwis.efron_stein_bound(even, even, [0, 1] * 50, [1.0] * 100).high
    1.0
    """
    level, generator = check.level(level), check.generator(rng)
    check.reward_range(bounds)
    low, high = (float(end) for end in bounds)
    pi, mu = _distribution(target, "target"), _distribution(logging, "logging")
    check.same_length(pi.shape[0], "target", mu.shape[0], "logging")
    n = mu.shape[0]
    taken = _actions(action, *mu.shape)
    gain = (check.column(reward, "reward", n, like="logging") - low) / (high - low)
    check.rewards_within(gain, 0.0, 1.0)
    rows = np.arange(n)
    if (mu[rows, taken] == 0).any():
        row = int(np.argmax(mu[rows, taken] == 0))
        raise InputError(f"`logging` must give logged actions a positive probability, got 0.0 at row {row}")
    ratio = np.divide(pi, mu, out=np.zeros_like(pi), where=mu > 0)
    weight = ratio[rows, taken]
    if not weight.any():
        return Interval(low=low, high=high, level=level, value=math.nan, method="efron-stein")
    value = float(weight @ gain / weight.sum())
    proxy, mean_proxy, shrink = _simulated(
        weight, ratio, mu.cumsum(axis=1), check.whole(draws, "draws", 2), generator
    )
    x = math.log(2 / (1 - level))
    reach = math.sqrt(2 * (proxy + mean_proxy) * (x + math.log1p(proxy / mean_proxy) / 2))
    bound = max(shrink * (value - reach) - math.sqrt(x / (2 * n)), 0.0)
    span = high - low
    return Interval(
        low=low + span * bound, high=high, level=level, value=low + span * value, method="efron-stein"
    )


def _simulated(
    weight: Floats, ratio: Floats, cumulative: Floats, draws: int, rng: np.random.Generator
) -> tuple[float, float, float]:
    """V, U and B by simulation: two fresh sets of weights per draw."""
    proxies, others, inverses = [], [], []
    n = weight.size
    for _ in range(draws):
        fresh, other = (_weights(ratio, cumulative, rng) for _ in range(2))
        proxies.append(variance_proxy(weight, fresh))
        others.append(variance_proxy(other, fresh))
        inverses.append(n / fresh.sum() if fresh.any() else math.inf)
    return float(np.mean(proxies)), float(np.mean(others)), min(1 / float(np.mean(inverses)), 1.0)


def _weights(ratio: Floats, cumulative: Floats, rng: np.random.Generator) -> Floats:
    """Weights of actions drawn from the logging policy."""
    uniform = rng.random((ratio.shape[0], 1)) * cumulative[:, -1:]
    drawn = (uniform >= cumulative).sum(axis=1)
    return np.asarray(ratio[np.arange(ratio.shape[0]), drawn])


def variance_proxy(weight: Floats, fresh: Floats) -> float:
    """``sum_k (W_k / Z + W'_k / Z_k)^2`` with the weights up to k as they are and those after k fresh."""
    after = np.concatenate([fresh[::-1].cumsum()[::-1][1:], [0.0]])
    before = np.concatenate([[0.0], weight.cumsum()[:-1]])
    rest = before + after
    with np.errstate(invalid="ignore", divide="ignore"):
        own = np.where(weight > 0, weight / (rest + weight), 0.0)
        new = np.where(fresh > 0, fresh / (rest + fresh), 0.0)
    return float(np.square(own + new).sum())


def _distribution(value: ArrayLike, name: str) -> Floats:
    shares = check.real_array(value, name, 2, columns="K")
    wrong = (shares < 0).any(axis=1) | (np.abs(shares.sum(axis=1) - 1) > TOLERANCE)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise InputError(
            f"`{name}` must be probabilities that sum to 1, got {shares[row].sum():.6g} at row {row}"
        )
    return shares


def _actions(value: ArrayLike, n: int, count: int) -> Ints:
    array = np.asarray(value)
    if array.shape != (n,) or array.dtype.kind not in "iu" or (array < 0).any() or (array >= count).any():
        raise InputError(
            f"`action` must be {n} whole numbers from 0 to {count - 1}, got {array.dtype} of shape "
            f"{array.shape}"
        )
    return array.astype(np.int64)
