"""Bandwidths on thinned logs, whose rows stand for different numbers of interactions.

Normalising weights around each context costs nothing where every row counts alike: even a bandwidth that
cross-validation selected by chance makes the estimate no worse. A row that stands for ten interactions is ten
of its own neighbours, though: it divides its weight by a mean it has drawn to itself, a row that stands for
one does not, and rewards of the latter count too much. On such a log a finite bandwidth has to be worth it:
kernel means must predict held-out weights better than the mean of all does, beyond chance.
"""

from __future__ import annotations

from dataclasses import replace
from statistics import NormalDist

import numpy as np

from kwis._validation import read_only
from kwis.bandwidth.standardised import Standardised
from kwis.estimators.kernel_wis import fold_groups
from kwis.estimators.protocol import CrossValidated
from kwis.kernel import kernel_means
from kwis.kernel.held_out import Folds
from kwis.results import BandwidthChoice
from kwis.sample import WeightedSample
from kwis.stats.folds import as_folds
from kwis.stats.influence import draw_sums
from kwis.typing import Bandwidth, Floats, Ints

CHANCE = 0.05
"""Chance at most of a finite bandwidth where weights do not depend on the context, as far as one normal test
of the gain goes.
"""


def worthwhile(choice: BandwidthChoice, estimator: CrossValidated, sample: WeightedSample) -> BandwidthChoice:
    """The choice, made infinite where rows count unevenly and the gain of a finite bandwidth may be
    chance.
    """
    if sample.mass is None or np.ptp(sample.mass) == 0 or np.isinf(choice.value).all():
        return choice
    gains = draw_sums(held_out_gains(choice.value, estimator, sample), sample.group)
    spread = float(np.sqrt(np.square(gains).sum()))
    if gains.sum() > NormalDist().inv_cdf(1 - CHANCE) * spread:
        return choice
    infinite = np.full(np.shape(choice.value), np.inf)
    score = Standardised.of(sample.weight, Folds.of(_fold_labels(estimator, sample), sample.mass)).restore(
        1.0
    )
    return replace(
        choice, value=float(infinite) if infinite.ndim == 0 else read_only(infinite), score=score, isolated=0
    )


def _fold_labels(estimator: CrossValidated, sample: WeightedSample) -> Ints:
    """The folds its bandwidth was selected with."""
    group = fold_groups(sample)
    return as_folds(
        min(estimator.folds, sample.n if group is None else np.unique(group).size),
        sample.n,
        estimator.rng,
        group,
    )


def held_out_gains(bandwidth: Bandwidth, estimator: CrossValidated, sample: WeightedSample) -> Floats:
    """``(n,)`` by how much less squared error the kernel mean of the other folds has than their mean, times
    the mass of the row.

    The folds are those the bandwidth was selected with; weights and masses are in units of the largest.
    """
    folds = _fold_labels(estimator, sample)
    weight = sample.weight / sample.weight.max()
    mass = np.ones(sample.n) if sample.mass is None else sample.mass / sample.mass.max()
    gains = np.zeros(sample.n)
    for fold in np.unique(folds):
        fit, judge = folds != fold, folds == fold
        load, total = mass[fit] * weight[fit], mass[fit]
        around = (sample.context[judge], sample.context[fit], bandwidth, estimator.kernel, sample.categorical)
        near = kernel_means(*around, load) / kernel_means(*around, total)
        gains[judge] = mass[judge] * (
            np.square(weight[judge] - load.sum() / total.sum()) - np.square(weight[judge] - near)
        )
    return gains
