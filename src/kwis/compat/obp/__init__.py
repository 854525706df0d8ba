"""Open Bandit Pipeline's names, arguments and result shapes, computed by kwis.

A script written for ``obp.ope`` runs after changing the import to ``kwis.compat.obp`` (or
``kwis.compat.obp.ope``). What differs:

- intervals redo the whole statistic on every resample, normalisers included. With every reward equal to 1 the
  interval of ``SelfNormalizedInverseProbabilityWeighting`` is [1, 1];
- arguments are passed by name;
- ``action_dist`` may have shape ``(n, K)``, or ``(n, K, L)`` with ``position``;
- what cannot be estimated is refused in a sentence instead of answered with 0.

``KernelWIS`` is ours, with their interface.
"""

from kwis.compat.obp.estimators import (
    DirectMethod,
    DoublyRobust,
    DoublyRobustWithShrinkage,
    InverseProbabilityWeighting,
    KernelWIS,
    ReplayMethod,
    SelfNormalizedDoublyRobust,
    SelfNormalizedInverseProbabilityWeighting,
    SwitchDoublyRobust,
)
from kwis.compat.obp.facade import OffPolicyEvaluation
from kwis.compat.obp.regression import RegressionModel

__all__ = [
    "DirectMethod",
    "DoublyRobust",
    "DoublyRobustWithShrinkage",
    "InverseProbabilityWeighting",
    "KernelWIS",
    "OffPolicyEvaluation",
    "RegressionModel",
    "ReplayMethod",
    "SelfNormalizedDoublyRobust",
    "SelfNormalizedInverseProbabilityWeighting",
    "SwitchDoublyRobust",
]
