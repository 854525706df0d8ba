"""The local mean weight: what Kernel-WIS divides by, shown as a map of where propensities fail."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kwis import _validation as check
from kwis._validation import read_only
from kwis.checks.findings import LocalMeanWeight, PropensityReport
from kwis.kernel import uses_compiled_tiles
from kwis.kernel.geometry import Geometry, log_kernel
from kwis.kernel.ladder import sums_around
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
_VECTOR_CELLS = 1 << 20  # of the weights of targets whose maps are made together
_REACH = 1.959963984540054


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Place:
    """What the map of one target is to be made of.

    Attributes
    ----------
    bandwidth
        Of the kernel average. None: ``sqrt(d) n^(-1/(d + 4))``, for standardised contexts of d columns.
    """

    target: str
    sample: WeightedSample
    bandwidth: Bandwidth | None = None
    kernel: Kernel = RBF


def local_mean_weight(
    sample: WeightedSample,
    target: str,
    report: PropensityReport,
    *,
    bandwidth: Bandwidth | None = None,
    kernel: Kernel = RBF,
    rng: Seed = 0,
) -> LocalMeanWeight:
    """The map of one target, see :func:`local_mean_weights`."""
    place = Place(target=target, sample=sample, bandwidth=bandwidth, kernel=kernel)
    return local_mean_weights([place], report, rng=rng)[0]


def local_mean_weights(
    places: Sequence[Place], report: PropensityReport, *, rng: Seed = 0
) -> list[LocalMeanWeight]:
    """Mean weight around each context, with a pointwise band, and the tests of the target's mean weight from
    ``report``; one map for every target. All have the same rows.

    Parameters
    ----------
    rng
        Draws the rows at which the maps are computed, for a log too large for all of them.
    """
    whole = places[0].sample
    some = some_rows(whole.n, _ROWS_AROUND)
    if not isinstance(some, slice):
        places = [replace(place, sample=place.sample.take(some)) for place in places]
    n, d = places[0].sample.context.shape
    usual = math.sqrt(d) * n ** (-1 / (d + 4))
    bandwidths = [
        usual if place.bandwidth is None else check.bandwidth(place.bandwidth, d) for place in places
    ]
    rows = drawn_rows(n, max(1, min(n, _MOST_ROWS, _PAIRS // n)), rng)
    sources = read_only(places[0].sample.rows[rows])
    return [
        _map(place.target, h, sources, around, report)
        for place, h, around in zip(places, bandwidths, _all_local(places, bandwidths, rows), strict=True)
    ]


def _map(
    target: str, bandwidth: Bandwidth, rows: Ints, around: tuple[Floats, Floats], report: PropensityReport
) -> LocalMeanWeight:
    mean, error = around
    low, high = mean - _REACH * error, mean + _REACH * error
    tests = tuple(test for test in report.tests if test.kind == "weight" and test.subject == target)
    return LocalMeanWeight(
        target=target,
        bandwidth=bandwidth,
        rows=rows,
        mean=read_only(mean),
        low=read_only(low),
        high=read_only(high),
        outside=float(((low > 1) | (high < 1)).mean()),
        p_value=min((test.p_value for test in tests), default=1.0),
        tests=tests,
    )


def _all_local(
    places: Sequence[Place], bandwidths: Sequence[Bandwidth], rows: Ints
) -> list[tuple[Floats, Floats]]:
    """Local means and their errors: together where the kernel and its square come from one pass over the
    pairs of rows, else one by one.
    """
    first = places[0].sample
    geometry = Geometry.of(first.context, first.categorical)
    together = [
        number
        for number, (place, h) in enumerate(zip(places, bandwidths, strict=True))
        if first.group is None
        and np.ndim(h) == 0
        and np.isfinite(h)
        and uses_compiled_tiles(geometry, place.kernel)
    ]
    found: dict[int, tuple[Floats, Floats]] = {}
    size = max(1, _VECTOR_CELLS // first.n)
    for start in range(0, len(together), size):
        part = together[start : start + size]
        samples, own = [places[number].sample for number in part], [bandwidths[number] for number in part]
        found.update(zip(part, _together(geometry, samples, own, rows), strict=True))
    return [
        found.get(number) or _local(place.sample, rows, h, place.kernel)
        for number, (place, h) in enumerate(zip(places, bandwidths, strict=True))
    ]


def _together(
    geometry: Geometry, samples: Sequence[WeightedSample], bandwidths: Sequence[Any], rows: Ints
) -> list[tuple[Floats, Floats]]:
    """:func:`_local` of the RBF kernel ``k``, whose square is that of a bandwidth less by the root of 2:
    ``sum (k c (w - m))^2 = sum k^2 c^2 w^2 - 2 m sum k^2 c^2 w + m^2 sum k^2 c^2``.
    """
    mass = np.ones(geometry.n) if samples[0].mass is None else samples[0].mass
    mass = mass / mass.max()
    # Weights in units of the largest, less their mean: their squares neither overflow nor cancel.
    units = [float(sample.weight.max()) or 1.0 for sample in samples]
    middles = [float((sample.weight / unit).mean()) for sample, unit in zip(samples, units, strict=True)]
    centred = [
        sample.weight / unit - middle for sample, unit, middle in zip(samples, units, middles, strict=True)
    ]
    ladder = sorted(set(bandwidths))
    asking = [[number for number, h in enumerate(bandwidths) if h == rung] for rung in ladder]
    once = [[mass, *(mass * centred[number] for number in some)] for some in asking]
    squared = [
        [mass**2, *(mass**2 * centred[number] ** power for number in some for power in (1, 2))]
        for some in asking
    ]
    both = np.append(ladder, np.array(ladder) / math.sqrt(2))
    sums = sums_around(geometry, rows, both, [np.stack(own, axis=1) for own in (*once, *squared)])
    found: dict[int, tuple[Floats, Floats]] = {}
    for some, plain, squares in zip(asking, sums, sums[len(ladder) :], strict=False):
        total = plain[:, 0]
        for place, number in enumerate(some):
            mean = plain[:, 1 + place] / total
            first, second = squares[:, 1 + 2 * place], squares[:, 2 + 2 * place]
            spread = np.sqrt(np.maximum(second - mean * (2 * first - mean * squares[:, 0]), 0.0)) / total
            found[number] = ((mean + middles[number]) * units[number], spread * units[number])
    return [found[number] for number in range(len(samples))]


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
