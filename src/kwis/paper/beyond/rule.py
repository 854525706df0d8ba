"""What the recommendation of :mod:`kwis.evaluation.recommend` picks for a cell, from its training log alone."""

from __future__ import annotations

from kwis.evaluation import recommend
from kwis.paper.beyond.columns import REPAIRED
from kwis.paper.beyond.pipelines import Bench
from kwis.paper.beyond.workshop import Pair, Workshop
from kwis.paper.grid import Cell


def recommended(workshop: Workshop, cell: Cell) -> str:
    """Name of the pipeline picked.

    Standard errors with local normalisers are taken to be those with one normaliser for all rows: on all pairs of training rows they
    would cost more than the rest of the pipeline.
    """
    repaired, bench = workshop.repair(Pair.of(cell)), Bench.train(workshop, cell)
    found = bench.global_estimates(bench.weight(repaired.train))
    weighting = "wis" if repaired.kept else "normalised-kernel-wis"
    errors = {weighting: found["wis"], recommend.modelled(weighting): found["doubly-robust-wis"]}
    name = recommend.recommended({key: one.estimates.std_error[0] for key, one in errors.items()}, in_doubt=not repaired.kept)
    return name if repaired.kept else f"{REPAIRED}{name}"
