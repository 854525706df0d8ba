"""The assumptions of the consistency theorem, and what can be checked of each."""

from __future__ import annotations

import math

import numpy as np

from kwis_paper.catalogue import PAPER_DATASETS, SPECS
from kwis_paper.policies import TEMPERATURES
from kwis_paper.results import Results
from kwis_paper.tables.record import Line, Table, text


def assumption_table(results: Results) -> Table:
    """Assumptions 1 to 9 and the condition on the bandwidth."""
    rows = (
        ("1", "The kernel is bounded.", "Provable: the RBF is at most 1.", "Holds."),
        (
            "2",
            "The scaled kernels have polynomial covering numbers.",
            "Provable, not testable on data: true of the RBF.",
            "Holds.",
        ),
        (
            "3",
            "The class of scaled kernels is pointwise measurable.",
            "Provable: the RBF is continuous.",
            "Holds.",
        ),
        (
            "4",
            "The kernel is zero outside a box.",
            (
                "Checkable by looking at the kernel. It conflicts with assumption 5, which wants it positive "
                "everywhere."
            ),
            "Fails for the RBF; holds for kernels of compact support.",
        ),
        (
            "5",
            "The kernel integrates to one, is positive and vanishes at infinity.",
            "Provable; the scale cancels in the local mean weight.",
            "Holds for the RBF up to that scale.",
        ),
        (
            "6",
            "The contexts have a positive, Lipschitz density on a compact set.",
            "Not testable. It is false where contexts are categorical or repeat.",
            "Fails for soybean and kropt, whose features are all categorical; unknown for the others.",
        ),
        (
            "7",
            "Weights are bounded, and bounded away from zero.",
            "Checkable: extremes of the weights, effective sample size.",
            _weights(),
        ),
        (
            "8",
            "Rewards lie between 0 and 1.",
            "Checkable on every reward.",
            "Holds by construction, noise included.",
        ),
        (
            "9",
            "The propensities are right.",
            "Checkable in part: the mean weight is 1 in every region if they are; `kwis check` tests it.",
            "Holds in the oracle settings, violated on purpose in the others. " + _local_means(results),
        ),
        (
            "h",
            "The bandwidth shrinks, but slowly: n h^d / log n grows without bound.",
            (
                "Checkable only along a sequence of samples. With right propensities cross-validation has no "
                "reason to shrink it."
            ),
            _widths(results),
        ),
    )
    return Table(
        key="assumptions",
        title="Assumptions of the consistency theorem",
        caption="Each assumption, what can be checked of it, and what is known in these experiments.",
        columns=("#", "Assumption", "What can be checked", "In these experiments"),
        lines=tuple(Line(entries=tuple(map(text, row))) for row in rows),
        label="tbl:assump_justi",
    )


def _weights() -> str:
    """Smallest and largest weight any two Gibbs policies can give, over the paper's datasets."""
    ratios = []
    for name in PAPER_DATASETS:
        others = SPECS[name].n_actions - 1
        tops = [1 / (1 + others * math.exp(-1 / temperature)) for temperature in TEMPERATURES]
        lows = [top * math.exp(-1 / temperature) for top, temperature in zip(tops, TEMPERATURES, strict=True)]
        ratios.append(max(tops) / min(lows))
    largest = max(ratios)
    return (
        f"Holds for Gibbs policies: every weight lies between {1 / largest:.3f} and {largest:.1f}. Trained "
        f"policies have no such bound."
    )


def _local_means(results: Results) -> str:
    """Mean of weight over local mean weight, which is 1 where Kernel-WIS needs no normalising."""
    parts = []
    for setting in ("oracle", "non-oracle"):
        cells = results.chosen(setting)
        plain, ratio = results.values("kernel-wis", cells), results.values("normalised-kernel-wis", cells)
        usable = np.isfinite(plain) & np.isfinite(ratio) & (ratio > 0)
        if usable.any():
            parts.append(f"{float((plain[usable] / ratio[usable]).mean()):.3f} {setting}")
    return f"Mean of weight over local mean weight: {', '.join(parts)}." if parts else "No results yet."


def _widths(results: Results) -> str:
    found = results.bandwidths.get("shared", {})
    parts = []
    for setting in ("oracle", "non-oracle"):
        means = np.array([found[facts.key].mean for facts in results.chosen(setting) if facts.key in found])
        if means.size:
            parts.append(f"{np.isinf(means).mean():.0%} {setting}")
    return f"Infinite shared bandwidths chosen: {', '.join(parts)}." if parts else "No results yet."
