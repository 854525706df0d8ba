"""How the importance weights of a target are spread."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ndtr

from kwis._validation import read_only
from kwis.checks.findings import InfluentialRow, WeightDiagnostics
from kwis.checks.pareto import pareto_k
from kwis.estimators.vis import VIS
from kwis.estimators.wis import WIS
from kwis.sample import WeightedSample, effective_size
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
