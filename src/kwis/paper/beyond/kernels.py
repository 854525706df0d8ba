"""Kernel-WIS with other kernels, and with bandwidths chosen otherwise; all choices are made on the training log."""

from __future__ import annotations

from typing import Any

from kwis.bandwidth import select_bandwidth
from kwis.estimators import KernelWIS
from kwis.estimators.local import LocalSums
from kwis.kernels import KERNELS
from kwis.paper.beyond.columns import CRITERIA, OTHER_KERNELS
from kwis.paper.estimates import Influenced, local_of
from kwis.paper.grid import Cell
from kwis.paper.pairs import Pairs
from kwis.paper.simulate import Experiment, Laboratory
from kwis.smoothing import kernel_products
from kwis.weights import WeightedSample


def by_criterion(laboratory: Laboratory, cell: Cell, pairs: Pairs) -> dict[str, Influenced]:
    """Plain and normalised estimates with the bandwidth of every criterion, and with the shrunk one per feature."""
    experiment = laboratory.experiment(cell)
    sample = WeightedSample(context=laboratory.train_context, weight=experiment.train_weight, reward=laboratory.log(cell.logging, 0).reward)
    rules: dict[str, dict[str, Any]] = {name: {"bandwidth": name} for name in CRITERIA} | {"shrunk": {"per_feature": "shrunk"}}
    found: dict[str, Influenced] = {}
    for name, options in rules.items():
        for normalised in (False, True):
            held = KernelWIS(normalised=normalised, **options).held(sample)
            both = local_of(experiment.weight, [experiment.reward], pairs.sums(held.bandwidth))[0]
            found[f"{held.name}-{name}"] = both[normalised]
    return found


def by_kernel(laboratory: Laboratory, cell: Cell) -> dict[str, Influenced]:
    """Plain and normalised estimates with every other kernel, its bandwidth chosen by cross-validation."""
    experiment = laboratory.experiment(cell)
    found: dict[str, Influenced] = {}
    for name in OTHER_KERNELS:
        choice = select_bandwidth(experiment.train_context, experiment.train_weight, folds=laboratory.fold_labels, kernel=name)
        both = local_of(experiment.weight, [experiment.reward], _sums(experiment, float(choice.value), name))[0]
        found |= {f"kernel-wis-{name}": both[0], f"normalised-kernel-wis-{name}": both[1]}
    return found


def _sums(experiment: Experiment, bandwidth: float, kernel: str) -> LocalSums:
    return lambda vectors: kernel_products(experiment.context, bandwidth, KERNELS[kernel], (), vectors)
