"""Results with known numbers for cells of the paper's grid, and a small run of a table of one's own."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from kwis_paper.grid import Cell, bucket, cells
from kwis_paper.records import CellFacts
from kwis_paper.results import ChosenBandwidth, Covered, Outcome, Provenance, Results, Timing
from kwis_paper.simulate import Design

NAMES = ("vis", "wis", "state-wis", "truncated-vis", "kernel-wis", "normalised-kernel-wis", "logged-mean")
Errors = Callable[[CellFacts, str], float]


def facts_of(cell: Cell, difference: float) -> CellFacts:
    return CellFacts(
        key=cell.key,
        dataset=cell.dataset,
        setting=cell.setting,
        logging=cell.logging.name,
        evaluation=cell.evaluation.name,
        behaviour=cell.behaviour.name,
        policy_type=cell.policy_type,
        published=cell.published,
        n_train=300,
        n_test=100,
        difference=difference,
        bucket=bucket(difference),
        truth_published=0.5,
        truth_expected=0.5,
    )


def results_of(
    datasets: Iterable[str],
    settings: Iterable[str],
    error: Errors,
    *,
    every: int = 1,
    bootstrap: bool = False,
    per_feature: bool = False,
) -> Results:
    """Results whose errors are ``error(facts, estimator)``; against the expected truth they are half as
    large.
    """
    rng = np.random.default_rng(3)
    chosen = list(cells(datasets, settings))[::every]
    facts = {cell.key: facts_of(cell, float(rng.uniform(0, 0.6))) for cell in chosen}
    names = (*NAMES, "kernel-wis-per-feature") if per_feature else NAMES
    outcomes = {
        name: {key: outcome_of(error(one, name), bootstrap) for key, one in facts.items()} for name in names
    }
    kinds = ("shared", "per-feature") if per_feature else ("shared",)
    spread = {
        kind: ChosenBandwidth(mean=2.0, std=0.0 if kind == "shared" else 3.0, features=1, evaluations=20)
        for kind in kinds
    }
    return Results(
        design=Design(),
        cells=facts,
        outcomes=outcomes,
        bandwidths={kind: dict.fromkeys(facts, one) for kind, one in spread.items()},
        curves=curves_of(),
        timings=(
            Timing(
                dataset="soybean",
                setting="oracle",
                stage="estimates",
                cells=len(facts),
                seconds=60.0,
                threads=2,
            ),
        ),
        replicates=200 if bootstrap else 0,
        provenance=Provenance(command="kwis paper run", version="0"),
    )


def outcome_of(error: float, bootstrap: bool = False) -> Outcome:
    return Outcome(
        value=0.5 + error,
        std_error=0.1,
        error_published=error,
        error_expected=error / 2,
        influence=Covered((5, 6, 7, 8), (6, 7, 8, 9)),
        bootstrap=Covered((4, 5, 6, 7), (5, 6, 7, 8)) if bootstrap else None,
        kernel_average=0.8,
    )


def curves_of() -> dict[tuple[str, str], np.ndarray]:
    rng = np.random.default_rng(1)
    found = {
        ("optdigitsDist", f"pictures/{digit}"): rng.integers(0, 17, 128).astype(float) for digit in (3, 6, 9)
    }
    rewards = np.full((10, 10), 0.4)
    rewards[3, 9], rewards[3, 6] = 0.6, 0.2
    found["optdigitsDist", "rewards"] = rewards.ravel()
    for part in ("train", "test"):
        for name in ("reconstruction", "divergence"):
            found["optdigitsDist", f"autoencoder/{part}_{name}"] = np.linspace(30, 15, 30)
    return found


def half_as_bad(facts: CellFacts, estimator: str) -> float:
    """Kernel-WIS at half the error of WIS, a little different in every cell."""
    base = 0.1 + int(facts.key[:4], 16) / 65536 * 0.02
    return base * {"wis": 1.0, "kernel-wis": 0.5, "normalised-kernel-wis": 0.4}.get(estimator, 2.0)
