"""The estimators that are known by name: one list, in the order of tables and reports."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kwis.estimators import traits
from kwis.estimators.direct import DirectMethod
from kwis.estimators.doubly_robust import DoublyRobust
from kwis.estimators.kernel_wis import KernelWIS
from kwis.estimators.state_wis import StateWIS
from kwis.estimators.truncated_vis import TruncatedVIS
from kwis.estimators.vis import VIS
from kwis.estimators.wis import WIS


def all_estimators(seed: int = 0) -> Iterator[Any]:
    """Every estimator that an evaluation has by default."""
    yield from (VIS(), TruncatedVIS(), WIS(), StateWIS(), StateWIS(normalised=True))
    yield from (KernelWIS(rng=seed), KernelWIS(rng=seed, normalised=True))
    yield from (
        DirectMethod(),
        DoublyRobust(),
        DoublyRobust(WIS()),
        DoublyRobust(KernelWIS(rng=seed, normalised=True)),
    )


def by_name(seed: int = 0) -> dict[str, Any]:
    """The same by their own names."""
    return {estimator.name: estimator for estimator in all_estimators(seed)}


def name_of_alias() -> dict[str, str]:
    """From other names of the field (``snips``) to those used here (``wis``)."""
    return {alias: estimator.name for estimator in all_estimators() for alias in traits.aliases(estimator)}
