"""Names of the pipelines, by the part of the run that computes them.

A name says how the propensities were treated, then the estimator: ``repaired-wis`` is WIS with repaired
propensities, ``oracle-wis`` WIS with those of the policy that logged, no prefix means the propensities as
given.
"""

from __future__ import annotations

from dataclasses import dataclass

from kwis.kernel.profiles import KERNELS
from kwis_paper.further import FURTHER, MISREPORTS

REPAIRED, ORACLE = "repaired-", "oracle-"
RECOMMENDED = "recommended"
MODELLED = ("doubly-robust", "doubly-robust-wis", "doubly-robust-normalised-kernel-wis")
WEIGHTED = ("wis", "kernel-wis", "normalised-kernel-wis")
WITH_ORACLE = ("wis", "doubly-robust-wis")
LOGGED = "logged"
REPAIRS: dict[str, tuple[str, ...]] = {
    "scale": ("scale",),
    "actions": ("actions",),
    "context": ("context",),
    LOGGED: (),
}
"""Parts of the repair alone; ``logged`` is the whole of it where only the logged action's propensity is
known.
"""
CRITERIA = ("slope", "plug-in")
"""By which :mod:`kwis_paper.beyond.criteria` chooses a bandwidth."""

MAIN_COLUMNS = (
    "direct-method",
    *MODELLED,
    *(f"{REPAIRED}{name}" for name in (*WEIGHTED, *MODELLED)),
    *(f"{ORACLE}{name}" for name in WITH_ORACLE),
    RECOMMENDED,
)
ABLATION_COLUMNS = tuple(f"{name}-only-wis" for name in REPAIRS)
BEST = "best"
"""The bandwidth that is best in hindsight, known only with the truth: what there is to win."""
BANDWIDTH_COLUMNS = (
    "kernel-wis-shrunk",
    *(f"normalised-kernel-wis-{rule}" for rule in (*CRITERIA, BEST, "shrunk")),
)
AVERAGED = "normalised-kernel-wis-averaged"
"""Averaged over the bandwidth, by a PAC-Bayes bound."""
BOUND_COLUMNS = (f"{REPAIRED}vis",)
KERNEL_COLUMNS = tuple(f"{name}-{kernel}" for kernel in KERNELS for name in WEIGHTED[1:])


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A part of the run: its columns, the settings it applies to, and how much of each it takes.

    Attributes
    ----------
    pairs, cells
        Take so many pairs of logging and behaviour policy with all their cells, or about so many cells of any
        pair; 0 for all.
    """

    name: str
    columns: tuple[str, ...]
    settings: tuple[str, ...]
    pairs: int = 0
    cells: int = 0


PARTS = {
    part.name: part
    for part in (
        Part(
            name="main",
            columns=MAIN_COLUMNS,
            settings=("oracle", "non-oracle", "learnt-oracle", "learnt-non-oracle", *FURTHER[:-1]),
        ),
        Part(name="ablation", columns=ABLATION_COLUMNS, settings=("non-oracle", *MISREPORTS), pairs=8),
        Part(name="bandwidths", columns=BANDWIDTH_COLUMNS, settings=("oracle", "non-oracle"), cells=16),
        Part(name="averages", columns=(AVERAGED,), settings=("oracle", "non-oracle"), cells=16),
        Part(name="bounds", columns=BOUND_COLUMNS, settings=("oracle", "non-oracle"), cells=32),
        Part(name="kernels", columns=KERNEL_COLUMNS, settings=("kernels",)),
    )
}
PIPELINES = tuple(column for part in PARTS.values() for column in part.columns)
