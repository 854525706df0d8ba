"""What the recommendation of :mod:`kwis.evaluation.recommend` picks on every test set of a cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from kwis import WIS, DoublyRobust, KernelWIS
from kwis.evaluation.recommend import has_neighbours, model_helps, recommended
from kwis.typing import Floats
from kwis_paper.beyond.columns import REPAIRED
from kwis_paper.estimates import Influenced, TestSetEstimates

NEAR = KernelWIS(normalised=True).name
_CHOICE = tuple(
    form.name for rule in (WIS(), KernelWIS(normalised=True)) for form in (rule, DoublyRobust(rule))
)


def isolation(found: Mapping[str, Influenced]) -> Floats:
    """How isolated the rows of each test set are."""
    alone = found[f"{REPAIRED}{NEAR}"].isolation
    assert alone is not None
    return alone


def picked(found: Mapping[str, Influenced], *, kept: bool, explained: float) -> tuple[str, ...]:
    """Name of the pipeline for each test set, by its own standard errors and isolation; those of kept
    propensities have no prefix.

    ``explained`` is the share of the held-out variance that the reward model explains.
    """
    prefix = "" if kept else REPAIRED
    errors = {name: found[f"{prefix}{name}"].estimates.std_error for name in _CHOICE}
    return tuple(
        prefix
        + recommended(
            {name: error[t] for name, error in errors.items()},
            near=has_neighbours(alone),
            robust=model_helps(explained),
        )
        for t, alone in enumerate(isolation(found))
    )


def estimates(found: Mapping[str, Influenced], names: Sequence[str]) -> TestSetEstimates:
    """The estimates picked, one per test set."""
    by_name = {name: found[name].estimates for name in set(names)}
    return TestSetEstimates(
        value=np.array([by_name[name].value[t] for t, name in enumerate(names)]),
        std_error=np.array([by_name[name].std_error[t] for t, name in enumerate(names)]),
    )
