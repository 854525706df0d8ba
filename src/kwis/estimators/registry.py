"""The estimators that are known by name: those of every evaluation in the order of tables and reports, and
those that take part where they are asked for.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kwis.estimators import traits
from kwis.estimators.control_variate import ControlVariate
from kwis.estimators.direct import DirectMethod
from kwis.estimators.doubly_robust import DoublyRobust
from kwis.estimators.empirical_likelihood import EmpiricalLikelihood
from kwis.estimators.half_normalised import HalfNormalised
from kwis.estimators.kernel_wis import KernelWIS
from kwis.estimators.log_sum_exp import LogSumExp
from kwis.estimators.protocol import Estimator
from kwis.estimators.shrinkage import SHRINKAGES
from kwis.estimators.shrunken import ShrunkenIS
from kwis.estimators.state_wis import StateWIS
from kwis.estimators.truncated_vis import TruncatedVIS
from kwis.estimators.tuning import RULES
from kwis.estimators.vis import VIS
from kwis.estimators.wis import WIS


def all_estimators(seed: int = 0) -> Iterator[Estimator[Any]]:
    """Every estimator that an evaluation has by default."""
    yield from (VIS(), TruncatedVIS(), WIS(), StateWIS(), StateWIS(normalised=True))
    yield from (KernelWIS(rng=seed), KernelWIS(rng=seed, normalised=True))
    yield from (
        DirectMethod(),
        DoublyRobust(),
        DoublyRobust(WIS()),
        DoublyRobust(KernelWIS(rng=seed, normalised=True)),
    )


def further_estimators() -> Iterator[Estimator[Any]]:
    """Estimators that take part where they are asked for by name."""
    weightings: list[Any] = [EmpiricalLikelihood(), ControlVariate()]
    weightings += [ShrunkenIS(name, rule) for name in SHRINKAGES for rule in RULES]
    weightings += [LogSumExp(rule) for rule in RULES]
    yield from weightings
    normalised: list[Any] = [ShrunkenIS(name, rule, normalised=True) for name in SHRINKAGES for rule in RULES]
    normalised += [HalfNormalised("clipping", rule) for rule in RULES]
    yield from normalised
    yield from (DoublyRobust(weighting) for weighting in (*weightings, *normalised))


def by_name(seed: int = 0) -> dict[str, Estimator[Any]]:
    """The estimators of every evaluation by their own names."""
    return {estimator.name: estimator for estimator in all_estimators(seed)}


def further_by_name() -> dict[str, Estimator[Any]]:
    """The further estimators by their own names."""
    return {estimator.name: estimator for estimator in further_estimators()}


def name_of_alias() -> dict[str, str]:
    """From other names of the field (``snips``) to those used here (``wis``)."""
    known = (*all_estimators(), *further_estimators())
    return {alias: estimator.name for estimator in known for alias in traits.aliases(estimator)}
