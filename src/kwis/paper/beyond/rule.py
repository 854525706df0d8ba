"""What the recommendation of :mod:`kwis.evaluation.recommend` picks on every test set of a cell.

Propensities are in doubt if the repair on the training log changed them; the tests that :func:`kwis.evaluate` makes besides take no part.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from kwis.evaluation.recommend import recommended
from kwis.paper.beyond.columns import REPAIRED
from kwis.paper.estimates import Influenced, TestSetEstimates

_CHOICE = ("wis", "doubly-robust-wis", "normalised-kernel-wis", "doubly-robust-normalised-kernel-wis")


def picked(found: Mapping[str, Influenced], *, kept: bool) -> tuple[str, ...]:
    """Name of the pipeline for each test set, by its own standard errors and by whether the given propensities were kept."""
    prefix = "" if kept else REPAIRED
    errors = {name: found[f"{prefix}{name}"].estimates.std_error for name in _CHOICE}
    sets = len(errors[_CHOICE[0]])
    return tuple(prefix + recommended({name: error[t] for name, error in errors.items()}, in_doubt=not kept) for t in range(sets))


def estimates(found: Mapping[str, Influenced], names: Sequence[str]) -> TestSetEstimates:
    """The estimates picked, one per test set."""
    by_name = {name: found[name].estimates for name in set(names)}
    return TestSetEstimates(
        value=np.array([by_name[name].value[t] for t, name in enumerate(names)]),
        std_error=np.array([by_name[name].std_error[t] for t, name in enumerate(names)]),
    )
