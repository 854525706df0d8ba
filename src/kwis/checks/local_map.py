"""The local mean weight: what Kernel-WIS divides by, shown as a map of where propensities fail."""

from __future__ import annotations

import math

import numpy as np

from kwis import _validation as check
from kwis._validation import read_only
from kwis.checks.findings import LocalMeanWeight, PropensityReport
from kwis.kernel.geometry import Geometry, log_kernel
from kwis.kernel.profiles import RBF, Kernel
from kwis.runtime.threads import each_block
from kwis.sample import WeightedSample
from kwis.stats.influence import draw_sums
from kwis.stats.subsets import drawn_rows, some_rows
from kwis.typing import Bandwidth, Floats, Ints, Seed

_PAIRS = 20_000_000  # what a second or so allows
_MOST_ROWS = 1_000  # the share outside the band is known to less than a hundredth
_ROWS_AROUND = 200_000  # of a larger log: a map needs no more
_BLOCK_CELLS = 1 << 19
_REACH = 1.959963984540054


def local_mean_weight(
    sample: WeightedSample,
    target: str,
    report: PropensityReport,
    *,
    bandwidth: Bandwidth | None = None,
    kernel: Kernel = RBF,
    rng: Seed = 0,
) -> LocalMeanWeight:
    """Mean weight around each context, with a pointwise band, and the tests of the target's mean weight from
    ``report``.

    Parameters
    ----------
    bandwidth
        Of the kernel average. None: ``sqrt(d) n^(-1/(d + 4))``, for standardised contexts of d columns.
    rng
        Draws the rows at which the map is computed, for a log too large for all of them.
    """
    some = some_rows(sample.n, _ROWS_AROUND)
    sample = sample if isinstance(some, slice) else sample.take(some)
    n, d = sample.context.shape
    h = math.sqrt(d) * n ** (-1 / (d + 4)) if bandwidth is None else check.bandwidth(bandwidth, d)
    count = max(1, min(n, _MOST_ROWS, _PAIRS // n))
    rows = drawn_rows(n, count, rng)
    mean, error = _local(sample, rows, h, kernel)
    low, high = mean - _REACH * error, mean + _REACH * error
    tests = tuple(test for test in report.tests if test.kind == "weight" and test.subject == target)
    return LocalMeanWeight(
        target=target,
        bandwidth=h,
        rows=read_only(sample.rows[rows]),
        mean=read_only(mean),
        low=read_only(low),
        high=read_only(high),
        outside=float(((low > 1) | (high < 1)).mean()),
        p_value=min((test.p_value for test in tests), default=1.0),
        tests=tests,
    )


def _local(sample: WeightedSample, rows: Ints, bandwidth: Bandwidth, kernel: Kernel) -> tuple[Floats, Floats]:
    """``m = sum k c w / sum k c`` around each row, c the mass of a row, and ``sqrt(sum (k c (w - m))^2) / sum
    k c``, summed by group.
    """
    points = Geometry.of(sample.context, sample.categorical).scaled(bandwidth)
    mass = np.ones(sample.n) if sample.mass is None else sample.mass
    weight = sample.weight

    def block(part: Ints) -> Floats:
        k = np.exp(log_kernel(points.take(part), points, kernel)[0]) * mass
        total = k.sum(axis=1)
        mean = (k @ weight) / total
        k *= weight - mean[:, None]
        parts = draw_sums(k.T, sample.group)
        return np.stack([mean, np.sqrt(np.einsum("ji,ji->i", parts, parts)) / total])

    size = max(1, _BLOCK_CELLS // sample.n)
    mean, error = np.concatenate(each_block(block, np.split(rows, np.arange(size, len(rows), size))), axis=1)
    return mean, error
