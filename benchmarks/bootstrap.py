"""Bootstrap intervals against resampling rows in a loop, and against SciPy's bootstrap."""

from __future__ import annotations

import numpy as np
from scipy import stats

import kwis
from benchmarks import data, yardstick
from benchmarks.harness import Check, Line, Settings, interleaved

BANDWIDTH = 2.0


def _sample(log: data.Log) -> kwis.WeightedSample:
    return kwis.WeightedSample(context=log.context, weight=log.weight, reward=log.reward)


def bootstrap_kernel_wis(settings: Settings) -> list[Line]:
    """Per replicate: ours of a thousand, the yardstick's of fifty, since it does each on its own and all cost
    the same.
    """
    log = data.numeric(settings.size(5_000, 500), 16)
    sample, replicates, loops = _sample(log), settings.size(1_000, 100), settings.size(50, 20)

    def ours(number):
        return kwis.Bootstrap(replicates=replicates, method="percentile").interval(
            kwis.KernelWIS(bandwidth=BANDWIDTH), sample, rng=number
        )

    def plain(number):
        rng = np.random.default_rng(number)
        draws = (rng.integers(0, sample.n, sample.n) for _ in range(loops))
        return np.array(
            [
                yardstick.kernel_wis(log.context[rows], log.weight[rows], log.reward[rows], BANDWIDTH)
                for rows in draws
            ]
        )

    ours(0)
    mine, theirs = interleaved(settings.rounds(), ours, plain)
    spread = np.std(theirs.result)
    # Means of two independent bootstraps.
    gap = abs(mine.result.distribution.mean() - theirs.result.mean()) / (
        spread * np.sqrt(1 / replicates + 1 / loops)
    )
    return [
        Line(
            name=f"bootstrap of Kernel-WIS, n={sample.n:,}, per replicate",
            ours=mine.median / replicates,
            theirs=theirs.median / loops,
            ratio=theirs.over(mine, per=loops / replicates),
            rounds=settings.rounds(),
            check=Check("means of both distributions, in Monte-Carlo errors", gap, 4.0),
            floor=None if settings.quick else 300,
            goal=None if settings.quick else 600,
            notes=[
                f"{replicates:,} replicates of ours, {loops} of the yardstick",
                (
                    f"standard deviations: {np.std(mine.result.distribution):.3g} ours, {spread:.3g} of the "
                    f"yardstick"
                ),
            ],
        )
    ]


def scipy_bootstrap_wis(settings: Settings) -> list[Line]:
    log = data.numeric(settings.size(5_000, 500), 4)

    def wis(weight, reward, axis=-1):
        return np.sum(weight * reward, axis=axis) / np.sum(weight, axis=axis)

    return [_against_scipy(settings, log, kwis.WIS(), (log.weight, log.reward), wis, vectorised=True)]


def scipy_bootstrap_kernel_wis(settings: Settings) -> list[Line]:
    log = data.numeric(settings.size(500, 100), 4)

    def kernel_wis(rows):
        return yardstick.kernel_wis(log.context[rows], log.weight[rows], log.reward[rows], BANDWIDTH)

    return [
        _against_scipy(
            settings,
            log,
            kwis.KernelWIS(bandwidth=BANDWIDTH),
            (np.arange(len(log.weight)),),
            kernel_wis,
            vectorised=False,
        )
    ]


def _against_scipy(settings: Settings, log, estimator, columns, statistic, *, vectorised: bool) -> Line:
    """BCa intervals of both; SciPy draws with its own generator, so the ends differ by Monte-Carlo error."""
    sample, replicates = _sample(log), settings.size(1_000, 200)

    def ours(number):
        return kwis.Bootstrap(replicates=replicates).interval(estimator, sample, rng=number)

    def theirs(number):
        return stats.bootstrap(
            columns,
            statistic,
            n_resamples=replicates,
            paired=True,
            vectorized=vectorised,
            method="BCa",
            rng=np.random.default_rng(number),
        )

    ours(0)
    mine, other = interleaved(settings.rounds(), ours, theirs)
    low, high = other.result.confidence_interval
    gap = max(abs(mine.result.low - low), abs(mine.result.high - high)) / (high - low)
    return Line(
        name=f"{estimator.name}, BCa, {replicates:,} replicates, n={sample.n:,}",
        ours=mine.median,
        theirs=other.median,
        ratio=other.over(mine),
        rounds=settings.rounds(),
        against="scipy.stats.bootstrap",
        check=Check("ends of the intervals, in widths", gap, 0.15),
    )
