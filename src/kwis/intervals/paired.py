"""Compare two policies on the same logged interactions."""

from __future__ import annotations

from kwis.estimators.difference import Difference, PairedSample
from kwis.estimators.protocol import Estimator
from kwis.intervals.bootstrap import Bootstrap
from kwis.intervals.method import IntervalMethod
from kwis.results import Interval
from kwis.sample import WeightedSample
from kwis.typing import Seed


def difference(
    estimator: Estimator[WeightedSample],
    sample_a: WeightedSample,
    sample_b: WeightedSample,
    method: IntervalMethod | None = None,
    level: float = 0.95,
    rng: Seed = 0,
) -> Interval:
    """Interval for the value on ``sample_a`` minus the value on ``sample_b``.

    The samples hold the same interactions, weighted for two policies. Every resample takes the same rows of
    both, so what they have in common cancels: the interval is usually far narrower than two separate ones
    suggest.

    Parameters
    ----------
    estimator
        Estimates both values.
    sample_a, sample_b
        The same rows, weighted for each policy.
    method
        Any interval method, ``Bootstrap()`` if not given. A bandwidth to be selected is selected on each
        sample by itself.
    level
        Confidence level of the interval.
    rng
        A seed or a generator.

    Returns
    -------
    Interval
        ``value`` is the difference of the two estimates.

    See Also
    --------
    kwis.evaluate : compares policies of a log, with checks.
    kwis.Bootstrap : the default method.

    Examples
    --------
    >>> sample = kwis.WeightedSample(
    ...     context=[[0.0], [0.0], [1.0]], weight=[2.0, 1.0, 0.5], reward=[1.0, 0.0, 1.0]
    ... )
    >>> same = kwis.difference(kwis.WIS(), sample, sample, kwis.InfluenceInterval())
    >>> same.low, same.high
    (0.0, 0.0)
    """
    pair = PairedSample(sample_a, sample_b)
    return (Bootstrap() if method is None else method).interval(
        Difference(estimator, estimator), pair, level, rng
    )
