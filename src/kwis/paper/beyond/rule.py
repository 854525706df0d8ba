"""What the recommendation of :mod:`kwis.evaluation.recommend` picks for a cell, from its training log alone."""

from __future__ import annotations

from kwis.evaluation.recommend import EXPLAINED_IN_DOUBT, EXPLAINED_WITHOUT_FAULT, IN_DOUBT, WITHOUT_FAULT
from kwis.paper.beyond.columns import REPAIRED
from kwis.paper.beyond.workshop import Predicted, Repaired


def recommended(repaired: Repaired, predicted: Predicted) -> str:
    """Name of the pipeline picked."""
    if repaired.kept:
        return _modelled(WITHOUT_FAULT[0], predicted.explained, EXPLAINED_WITHOUT_FAULT)
    return REPAIRED + _modelled(IN_DOUBT[0], predicted.explained, EXPLAINED_IN_DOUBT)


def _modelled(name: str, explained: float, least: float) -> str:
    return f"doubly-robust-{name}" if explained >= least else name
