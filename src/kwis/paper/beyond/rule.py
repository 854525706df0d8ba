"""What the recommendation of :mod:`kwis.evaluation.recommend` picks for a cell, from its training log alone."""

from __future__ import annotations

from kwis.evaluation.recommend import IN_DOUBT, WITHOUT_FAULT
from kwis.paper.beyond.columns import REPAIRED
from kwis.paper.beyond.pipelines import Bench
from kwis.paper.beyond.workshop import Pair, Workshop
from kwis.paper.grid import Cell


def recommended(workshop: Workshop, cell: Cell) -> str:
    """Name of the pipeline picked.

    Propensities that pass their test ask for one normaliser, repaired ones for local normalisers; a reward model is used where it makes
    the standard error smaller, which is judged by the estimators without neighbours: on all pairs of training rows it would cost more
    than the rest of the pipeline.
    """
    repaired, bench = workshop.repair(Pair.of(cell)), Bench.train(workshop, cell)
    found = bench.global_estimates(bench.weight(repaired.train))
    modelled = found["doubly-robust-wis"].estimates.std_error[0] < found["wis"].estimates.std_error[0]
    name = WITHOUT_FAULT[0] if repaired.kept else IN_DOUBT[0]
    return f"{'' if repaired.kept else REPAIRED}{'doubly-robust-' if modelled else ''}{name}"
