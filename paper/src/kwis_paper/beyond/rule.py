"""What the recommendation of :mod:`kwis.evaluation.recommend` picks on every test set of a cell."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence

import numpy as np

from kwis import WIS, DoublyRobust, KernelWIS
from kwis.estimators.joint import Contrast
from kwis.evaluation.recommend import HEAVY_WEIGHTS, are_heavy, has_neighbours, model_helps, recommended
from kwis.typing import Floats
from kwis_paper.beyond.columns import REPAIRED
from kwis_paper.estimates import Influenced, TestSetEstimates

CLIPPED = HEAVY_WEIGHTS[1]
NEAR = KernelWIS(normalised=True).name
_CHOICE = tuple(
    form.name for rule in (WIS(), KernelWIS(normalised=True)) for form in (rule, DoublyRobust(rule))
)


def isolation(found: Mapping[str, Influenced]) -> Floats:
    """How isolated the rows of each test set are."""
    alone = found[f"{REPAIRED}{NEAR}"].isolation
    assert alone is not None
    return alone


def heavy_sets(weight: Floats, columns: int, explained: float) -> tuple[int, ...]:
    """Numbers, from 0, of the test sets on which the weights ``(n, test_sets)`` are to be clipped.

    ``columns`` is the number of columns of the context, ``explained`` the share of the held-out variance that
    the reward model explains.
    """
    return tuple(t for t, of_set in enumerate(weight.T) if are_heavy(of_set, columns, explained))


def picked(
    found: Mapping[str, Influenced], heavy: Container[int] = (), *, kept: bool, explained: float
) -> tuple[str, ...]:
    """Name of the pipeline for each test set, by its own standard errors and isolation; those of kept
    propensities have no prefix. Test sets in ``heavy`` have their weights clipped.
    """
    prefix = "" if kept else REPAIRED
    errors = {name: found[f"{prefix}{name}"].estimates.std_error for name in _CHOICE}
    return tuple(
        f"{prefix}{CLIPPED}"
        if t in heavy
        else prefix
        + recommended(
            {name: error[t] for name, error in errors.items()},
            near=has_neighbours(alone),
            robust=model_helps(explained),
        )
        for t, alone in enumerate(isolation(found))
    )


def estimates(
    found: Mapping[str, Influenced], names: Sequence[str], clipped: Mapping[int, Contrast]
) -> TestSetEstimates:
    """The estimates picked, one per test set; ``clipped`` are those of test sets with heavy weights."""
    by_name = {name: found[name].estimates for name in set(names) & set(found)}
    value, error = np.empty(len(names)), np.empty(len(names))
    for t, name in enumerate(names):
        if t in clipped:
            value[t], error[t] = clipped[t].value, clipped[t].estimate.std_error
        else:
            value[t], error[t] = by_name[name].value[t], by_name[name].std_error[t]
    return TestSetEstimates(value=value, std_error=error)
