"""What estimates would be with other propensities: as given, and as estimated or repaired without one part of
the log or another.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from kwis.estimators import traits
from kwis.estimators.together import Job, reweighted_together
from kwis.evaluation.measure import Measured, batches
from kwis.typing import Floats


def refitted(measured: Iterable[Measured]) -> list[Measured]:
    """The same with values under each of these weights, where a model made the propensities; a family of
    estimators takes one pass.
    """
    found = list(measured)
    for batch in batches(found, lambda one: one.reweighted is not None):
        for index, values in zip(batch, _values([found[index] for index in batch]), strict=True):
            found[index] = replace(found[index], given=float(values[0]), refitted=values[1:])
    return found


def _values(members: list[Measured]) -> list[Floats]:
    """Values as given, then by each refit; the members share target and family."""
    assert members[0].reweighted is not None
    samples = (members[0].reweighted.given, *members[0].reweighted.refits)
    if traits.family(members[0].estimator) is None:
        return [np.array([members[0].estimator.estimate(sample).value for sample in samples])]
    return reweighted_together(
        [Job(one.estimator, one.sample) for one in members],
        [sample.weight for sample in samples],
        [one.estimate.value for one in members],
    )
