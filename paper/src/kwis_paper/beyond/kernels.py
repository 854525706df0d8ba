"""Kernel-WIS with other kernels, and with bandwidths chosen otherwise."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from kwis import select_bandwidths
from kwis.bandwidth.shrunk import select_shrunk
from kwis.estimators.neighbourhood import LocalSums
from kwis.kernel import kernel_products
from kwis.kernel.profiles import KERNELS
from kwis.typing import Floats, Ints
from kwis_paper import names
from kwis_paper.beyond.columns import BEST, CRITERIA
from kwis_paper.beyond.criteria import choices, estimate_path, usual_grid
from kwis_paper.estimates import Influenced, TestSetEstimates, local_of
from kwis_paper.grid import Cell
from kwis_paper.pairs import Pairs
from kwis_paper.records import StoredBandwidth
from kwis_paper.simulate import Experiment, Laboratory

KERNEL_ROWS = 1000
Estimates = dict[str, TestSetEstimates]


def by_criterion(laboratory: Laboratory, cell: Cell, pairs: Pairs, shared: float) -> Estimates:
    """Estimates by every criterion, which looks at each test set as a user's log, and with the shrunk
    bandwidth of the training log.
    """
    experiment = laboratory.experiment(cell)
    bandwidths = np.unique(np.append(usual_grid(experiment.context), [shared, np.inf]))
    path = estimate_path(experiment.weight, experiment.reward, bandwidths, pairs.sums)
    error = np.sqrt(path.variance)
    anchors = np.full(experiment.weight.shape[1], shared)
    columns = np.arange(experiment.weight.shape[1])
    found: Estimates = {}
    for rule in CRITERIA:
        places = np.array(
            [int(np.argmax(path.bandwidths == choice.value)) for choice in choices(path, rule, anchors)]
        )
        found[f"normalised-kernel-wis-{rule}"] = TestSetEstimates(
            value=path.value[places, columns], std_error=error[places, columns]
        )
    best = int(np.argmin(np.abs(path.value - experiment.expected).mean(axis=1)))
    found[f"normalised-kernel-wis-{BEST}"] = TestSetEstimates(value=path.value[best], std_error=error[best])
    choice = select_shrunk(experiment.train_context, experiment.train_weight, folds=laboratory.fold_labels)
    plain, normalised = _both(experiment, pairs.sums(_one_if_alike(np.asarray(choice.value))))
    return found | {
        "kernel-wis-shrunk": plain.estimates,
        "normalised-kernel-wis-shrunk": normalised.estimates,
    }


def choose_by_kernel(laboratory: Laboratory, cells: Sequence[Cell]) -> Iterator[StoredBandwidth]:
    """Bandwidths of many cells for every kernel, by cross-validation on some rows of the training log; cells
    whose weights are all 0 there have none.
    """
    rows = _some_rows(laboratory)
    weights = laboratory.train_weights(cells)[rows]
    usable = np.flatnonzero(np.isfinite(weights).all(axis=0) & weights.any(axis=0)).tolist()
    if not usable:
        return
    context, folds = laboratory.train_context[rows], laboratory.fold_labels[rows]
    for kernel in KERNELS:
        choices = select_bandwidths(context, weights[:, usable], folds=folds, kernel=kernel)
        for place, choice in zip(usable, choices, strict=True):
            yield StoredBandwidth.of(cells[place].key, kind_of(kernel), choice)


def kind_of(kernel: str) -> str:
    """Under which bandwidths for a kernel are stored."""
    return f"kernel-{kernel}"


def by_kernel(experiment: Experiment, bandwidths: Mapping[str, float]) -> Estimates:
    """Plain and normalised estimates with every kernel at its bandwidth."""
    found: Estimates = {}
    for kernel, bandwidth in bandwidths.items():
        plain, normalised = _both(experiment, _sums(experiment, bandwidth, kernel))
        found |= {
            f"kernel-wis-{kernel}": plain.estimates,
            f"normalised-kernel-wis-{kernel}": normalised.estimates,
        }
    return found


def _some_rows(laboratory: Laboratory) -> Ints:
    """Training rows that bandwidths of all kernels are chosen on: a compact kernel's take long."""
    n = laboratory.rows[0].size
    return np.sort(names.stream(laboratory.dataset.name, "kernel-rows").permutation(n)[:KERNEL_ROWS])


def _both(experiment: Experiment, sums: LocalSums) -> tuple[Influenced, Influenced]:
    return local_of(experiment.weight, [experiment.reward], sums)[0]


def _one_if_alike(bandwidth: Floats) -> Floats:
    """One number where all features share it, which is quicker to sum with."""
    return bandwidth[:1] if (bandwidth == bandwidth[0]).all() else bandwidth


def _sums(experiment: Experiment, bandwidth: float, kernel: str) -> LocalSums:
    return lambda vectors: kernel_products(experiment.context, bandwidth, KERNELS[kernel], (), vectors)
