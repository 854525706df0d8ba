"""Propensities that this evaluation estimates itself, because the log has none: the first estimate that
passes its tests.

The mixture of both models comes first. If it fails tests that need no target, each model by itself is tried,
then a repair of the mixture from the logged actions. If all fail, the mixture stays and its verdict says that
our estimate does not fit, and where.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from kwis.checks.findings import PropensityReport
from kwis.checks.propensity import propensity_report
from kwis.data.log import LoggedBandit
from kwis.models.propensity.estimate import EstimatedPropensity, estimate_propensities
from kwis.models.propensity.repaired import repair_propensities
from kwis.policy.discrete import TargetPolicy
from kwis.runtime.arrays import kept
from kwis.typing import Classifier


@dataclass(frozen=True, slots=True, eq=False)
class OwnPropensities:
    """Estimated propensities, the log that has them, and their tests."""

    estimated: EstimatedPropensity
    log: LoggedBandit
    report: PropensityReport

    @classmethod
    def of(
        cls, estimated: EstimatedPropensity, log: LoggedBandit, targets: Sequence[TargetPolicy]
    ) -> OwnPropensities:
        attached = estimated.attach(log)
        return cls(estimated, attached, propensity_report(attached, targets, estimated))


def own_propensities(
    log: LoggedBandit, targets: Sequence[TargetPolicy], model: Classifier | str | None, seed: int
) -> OwnPropensities:
    """Estimate propensities; another way each time that tests fail, as far as there is one.

    A ``model`` that the user gave is used whatever the tests say.
    """
    first = OwnPropensities.of(estimate_propensities(log, model, rng=seed), log, targets)
    if model is not None or not first.report.contradicted:
        return first
    for other in _others(log, first, seed):
        tried = OwnPropensities.of(other, log, targets)
        if not tried.report.contradicted:
            return tried
    return first


def _others(log: LoggedBandit, first: OwnPropensities, seed: int) -> Iterator[EstimatedPropensity]:
    names = list(first.estimated.candidates)
    if len(names) > 1:
        yield from (estimate_propensities(log, name, rng=seed) for name in names)
    repair = repair_propensities(first.log, when="helpful", rng=seed)
    if not repair.kept and repair.distribution is not None:
        # How far the models of the folds are apart is taken over from the estimate that was repaired.
        change = repair.logged / first.estimated.logged
        yield replace(
            first.estimated,
            distribution=kept(repair.distribution),
            logged=kept(repair.logged),
            model=f"{first.estimated.model}, repaired from the logged actions",
            refits=kept(np.clip(first.estimated.refits * change[:, None], first.estimated.floor, 1.0)),
        )
