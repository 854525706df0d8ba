"""What is done to a cell: choose its bandwidths, estimate, bootstrap. Arrays in, records out; nothing here is
stored.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from kwis import WeightedSample, select_bandwidth, select_bandwidths
from kwis.bandwidth.scale import default_starts, typical_distance
from kwis.estimators import Estimator
from kwis.estimators.state_wis import state_codes, sums_by_state
from kwis.kernel.geometry import Geometry
from kwis.runtime.threads import each_block, row_blocks
from kwis.typing import Bandwidth, Floats
from kwis_paper import names
from kwis_paper.estimates import (
    PER_FEATURE,
    PLAIN,
    SHARED,
    Influenced,
    TestSetEstimates,
    local_of,
    plain_estimates,
    resampled_local,
    resampled_plain,
)
from kwis_paper.grid import Cell
from kwis_paper.pairs import Pairs
from kwis_paper.paper_intervals import fixed_intervals
from kwis_paper.records import StoredBandwidth
from kwis_paper.simulate import Experiment, Laboratory
from kwis_paper.store import LEVELS

Span = tuple[str, str, Floats]
SHARED_KIND = "shared"
# One start at the shared optimum: further ones cost as much again and rarely end lower.
WARM_KIND = "per-feature"
WARM_EVALUATIONS = 60
PLAIN_KIND = "per-feature-plain"
PLAIN_EVALUATIONS = 600  # of all starts together
_REPLICATES_PER_BLOCK = 25  # bounds memory: test sets times this many columns at once, in every thread


@dataclass(frozen=True, slots=True, eq=False)
class Chosen:
    """Bandwidths of a batch of cells, and the errors of cells that have none."""

    bandwidths: tuple[StoredBandwidth, ...]
    errors: Mapping[str, str]


@dataclass(frozen=True, slots=True, eq=False)
class Estimated:
    """Estimates of a cell by name, and intervals as estimator, method and ends (levels, 2, test_sets)."""

    estimates: Mapping[str, TestSetEstimates]
    intervals: tuple[Span, ...] = ()


class Sums:
    """Sums over neighbouring test rows, which the cells of a dataset share."""

    def __init__(self, context: Floats) -> None:
        self.states = sums_by_state(state_codes(context))
        self.pairs = Pairs(context)

    def kernel_wis(self, experiment: Experiment, bandwidth: Bandwidth) -> tuple[Influenced, Influenced]:
        """Plain and normalised Kernel-WIS."""
        return local_of(experiment.weight, [experiment.reward], self.pairs.sums(bandwidth))[0]


def choose_shared(laboratory: Laboratory, cells: Sequence[Cell]) -> Chosen:
    """Shared bandwidths of many cells from the same passes over the training contexts."""
    weights = laboratory.train_weights(cells)
    errors = {
        cell.key: error for cell, column in zip(cells, weights.T, strict=True) if (error := _unusable(column))
    }
    usable = [number for number, cell in enumerate(cells) if cell.key not in errors]
    if not usable:
        return Chosen((), errors)
    choices = select_bandwidths(laboratory.train_context, weights[:, usable], folds=laboratory.fold_labels)
    stored = (
        StoredBandwidth.of(cells[number].key, SHARED_KIND, choice)
        for number, choice in zip(usable, choices, strict=True)
    )
    return Chosen(tuple(stored), errors)


def choose_per_feature(laboratory: Laboratory, cell: Cell, kind: str, shared: float) -> StoredBandwidth:
    """One bandwidth per feature.

    ``per-feature`` starts once, at the shared optimum, and is capped; ``per-feature-plain`` is the paper's
    Algorithm 1 from plain starts.
    """
    context, weight = laboratory.train_context, laboratory.weight(cell, 0)
    starts = default_starts(typical_distance(Geometry.of(context, ())))
    cap = PLAIN_EVALUATIONS // starts.size
    if kind == WARM_KIND:
        # An infinite bandwidth is no place to start from: the widest plain start stands in for it.
        starts, cap = np.atleast_1d(starts.max() if np.isinf(shared) else shared), WARM_EVALUATIONS
    choice = select_bandwidth(
        context, weight, folds=laboratory.fold_labels, per_feature=True, starts=starts, max_evaluations=cap
    )
    return StoredBandwidth.of(cell.key, kind, choice)


def estimate(
    experiment: Experiment,
    wanted: Iterable[str],
    sums: Sums,
    bandwidths: Mapping[str, Bandwidth],
    extra: Iterable[Estimator[WeightedSample]],
    counts: Floats | None = None,
) -> Estimated:
    """Estimates of one experiment by the estimators asked for; the paper's intervals as well if there are
    ``counts`` of resamples.
    """
    missing = set(wanted)
    found: dict[str, TestSetEstimates] = {}
    spans: tuple[Span, ...] = ()
    if missing & set(PLAIN):
        found.update(plain_estimates(experiment, sums.states))
    if missing & set(SHARED):
        pair = sums.kernel_wis(experiment, bandwidths[SHARED_KIND])
        found.update(zip(SHARED, (one.estimates for one in pair), strict=True))
        if counts is not None:
            spans = _paper_intervals(experiment, pair[0], counts)
    for kind in (WARM_KIND, PLAIN_KIND):
        name = estimator_of(kind)
        if name in missing:
            found[name] = sums.kernel_wis(experiment, bandwidths[kind])[0].estimates
    found.update((one.name, _one_by_one(one, experiment)) for one in extra if one.name in missing)
    return Estimated({name: result for name, result in found.items() if name in missing}, spans)


def _paper_intervals(experiment: Experiment, kernel_wis: Influenced, counts: Floats) -> tuple[Span, ...]:
    """The paper's own intervals of WIS and Kernel-WIS, by every method."""
    weight, reward, applied = experiment.weight, experiment.reward, kernel_wis.applied
    assert applied is not None
    terms = {"wis": weight * reward / weight.mean(axis=0), "kernel-wis": applied * reward}
    return tuple(
        (name, method, ends)
        for name, values in terms.items()
        for method, ends in fixed_intervals(values, counts, LEVELS).items()
    )


def estimator_of(kind: str) -> str:
    """Name of the per-feature estimator that uses bandwidths of this kind."""
    return PER_FEATURE if kind == WARM_KIND else f"{PER_FEATURE}-plain"


def bootstrap(experiment: Experiment, replicates: int, sums: Sums, bandwidth: Bandwidth) -> dict[str, Floats]:
    """Percentile interval ends (levels, 2, test_sets) of every estimator with a shared bandwidth or none.

    All test sets of a cell see the same resamples of rows: the kernel sums of the counts are then needed
    once.
    """
    rng = names.stream("bootstrap", *experiment.cell.names)
    n = experiment.weight.shape[0]
    rules = resampled_plain(experiment, sums.states)
    local = sums.pairs.sums(bandwidth, single=True)

    def block(counts: Floats) -> dict[str, Floats]:
        found = {name: rule(counts) for name, rule in rules.items()}
        return found | dict(
            zip(SHARED, resampled_local(experiment.weight, experiment.reward, local, counts), strict=True)
        )

    blocks = row_blocks(replicates, _REPLICATES_PER_BLOCK)
    parts = each_block(block, [_draw_counts(n, rows.stop - rows.start, rng) for rows in blocks])
    tails = np.array([[(1 - level) / 2, (1 + level) / 2] for level in LEVELS])
    return {
        name: np.quantile(np.concatenate([part[name] for part in parts]), tails, axis=0)
        for name in (*PLAIN, *SHARED)
    }


def _draw_counts(n: int, replicates: int, rng: np.random.Generator) -> Floats:
    """``(n, replicates)``: how often each row is drawn."""
    picks = rng.integers(n, size=(replicates, n)) + n * np.arange(replicates)[:, None]
    return np.bincount(picks.ravel(), minlength=replicates * n).reshape(replicates, n).T.astype(np.float64)


def _one_by_one(estimator: Estimator[WeightedSample], experiment: Experiment) -> TestSetEstimates:
    """An estimator from outside, on each test set in turn."""
    results = [
        estimator.estimate(WeightedSample(context=experiment.context, weight=weight, reward=reward))
        for weight, reward in zip(experiment.weight.T, experiment.reward.T, strict=True)
    ]
    return TestSetEstimates(
        value=np.array([result.value for result in results]),
        std_error=np.array([result.std_error for result in results]),
    )


def _unusable(weight: Floats) -> str | None:
    """Why no bandwidth can be chosen for these weights."""
    finite = np.isfinite(weight)
    if not finite.all():
        row = int(np.argmin(finite))
        return f"`weight` must be finite, got {weight[row]} at row {row}"
    return None if weight.any() else "`weight` must be positive in at least one row, got 0.0 in all"
