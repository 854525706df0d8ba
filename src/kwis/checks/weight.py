"""How the importance weights of a target are spread."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ndtr

from kwis._validation import read_only
from kwis.checks.findings import InfluentialRow, WeightDiagnostics
from kwis.checks.pareto import pareto_k, tail_of
from kwis.estimators.vis import VIS
from kwis.estimators.wis import WIS
from kwis.sample import WeightedSample, effective_size
from kwis.stats import long
from kwis.stats.influence import draw_sums, standard_error
from kwis.typing import Floats, Ints

PROBABILITIES = (0.0, 0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 1.0)


def weight_diagnostics(
    sample: WeightedSample, *, most: int = 10, bounded: bool = False, expected_effective_n: float = math.inf
) -> WeightDiagnostics:
    """Spread of the weights, their mean, their tail, and the ``most`` influential rows.

    Parameters
    ----------
    bounded
        Whether the weights are known to have a bound, see :mod:`kwis.checks.bound`.
    expected_effective_n
        What ``effective_n`` would be on average, where that is known.
    """
    if sample.mass is None and sample.group is None and long.is_long(sample.weight, sample.reward):
        extent = long.Extent.of(sample.weight)
        if long.in_range(extent.largest, extent.total):
            return _of_many(sample, extent, most, bounded, expected_effective_n)
    mass = np.ones(sample.n) if sample.mass is None else sample.mass
    loads = (sample.weight / max(float(sample.weight.max()), 1e-300)) * (mass / mass.max())
    total = float(loads.sum())
    draws = draw_sums(loads, sample.group)
    mean = float(np.average(sample.weight, weights=mass))
    error = standard_error((sample.weight - mean) * (mass / mass.mean()), sample.group)
    return WeightDiagnostics(
        n=sample.n,
        groups=None if sample.group is None else draws.size,
        effective_n=effective_size(draws),
        expected_effective_n=expected_effective_n,
        largest_share=float(draws.max()) / total if total > 0 else 0.0,
        zero_share=float(np.average(sample.weight == 0, weights=mass)),
        mean=mean,
        std_error=error,
        p_value=_two_sided(mean - 1, error),
        probabilities=read_only(np.array(PROBABILITIES)),
        quantiles=read_only(_quantiles(sample.weight, mass)),
        pareto_k=pareto_k(_once(loads, sample.group), bounded=bounded),
        bounded=bounded,
        influential=_influential(sample, loads / total if total > 0 else loads, most),
    )


def _of_many(
    sample: WeightedSample, extent: long.Extent, most: int, bounded: bool, expected_effective_n: float
) -> WeightDiagnostics:
    """The same for many rows, each a draw of its own, without sorting them."""
    n, weight = sample.n, sample.weight
    mean = extent.total / n
    error = math.sqrt(long.distances(weight, mean) / (n - 1) / n)
    shares = np.array(PROBABILITIES) - 1e-12
    places = np.clip(np.ceil(shares * n).astype(np.int64) - 1, 0, n - 1)
    places += (places + 1) / n < shares  # the product may have been rounded down
    positive = n - extent.zeros
    ranked = long.Ranked.of(weight)
    top = ranked.top(tail_of(positive) + 1)
    return WeightDiagnostics(
        n=n,
        effective_n=extent.total**2 / extent.squares,
        expected_effective_n=expected_effective_n,
        largest_share=extent.largest / extent.total,
        zero_share=extent.zeros / n,
        mean=mean,
        std_error=error,
        p_value=_two_sided(mean - 1, error),
        probabilities=read_only(np.array(PROBABILITIES)),
        quantiles=read_only(ranked.at(np.minimum(places, n - 1))),
        pareto_k=pareto_k(top[top > 0], bounded=bounded, positive=positive),
        bounded=bounded,
        influential=_rows_of(sample, extent.total, most),
    )


def _once(loads: Floats, group: Ints | None) -> Floats:
    """Loads without those that a row shares with another of its group: copies of one draw say nothing about
    the tail.
    """
    return loads if group is None else np.unique(np.column_stack([group, loads]), axis=0)[:, 1]


def _two_sided(distance: float, error: float) -> float:
    if math.isnan(error):
        return math.nan
    if error == 0:
        return 1.0 if abs(distance) < 1e-12 else 0.0
    return float(2 * ndtr(-abs(distance) / error))


def _quantiles(weight: Floats, mass: Floats) -> Floats:
    """Smallest weights below which at least the given shares of the mass lie."""
    order = np.argsort(weight)
    below = np.cumsum(mass[order]) / mass.sum()
    places = np.searchsorted(below, np.array(PROBABILITIES) - 1e-12)
    return weight[order][np.minimum(places, weight.size - 1)]


def _largest(values: Floats, most: int) -> Ints:
    """Rows of the largest values, the first of equal ones before others."""
    rows = np.arange(values.size)
    if values.size > most:
        rows = np.flatnonzero(values >= np.partition(values, -most)[-most])
    return rows[np.argsort(-values[rows], kind="stable")][:most]


def _rows_of(sample: WeightedSample, total: float, most: int) -> tuple[InfluentialRow, ...]:
    """The same rows of many; ``total`` is the sum of the weights."""
    weight, reward = sample.weight, sample.reward
    value = long.products(weight, reward)[0] / total
    return tuple(
        InfluentialRow(
            row=sample.number(int(i)),
            weight=float(weight[i]),
            reward=float(reward[i]),
            share=float(weight[i] / total),
            effect=float((weight[i] * reward[i] - value * weight[i]) / total),
        )
        for i in long.heaviest(weight, reward, value, min(most, sample.n))
    )


def _influential(sample: WeightedSample, shares: Floats, most: int) -> tuple[InfluentialRow, ...]:
    estimate = (WIS() if sample.weight.any() else VIS()).estimate(sample)
    effect = np.zeros(sample.n) if estimate.influence is None else estimate.influence / sample.n
    order = _largest(np.abs(effect), most)
    return tuple(
        InfluentialRow(
            row=int(sample.rows[i]),
            weight=float(sample.weight[i]),
            reward=float(sample.reward[i]),
            share=float(shares[i]),
            effect=float(effect[i]),
        )
        for i in order
    )
