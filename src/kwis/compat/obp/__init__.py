"""Open Bandit Pipeline's names, arguments and result shapes, computed by kwis.

A script written for ``obp.ope`` of version 0.5 runs after changing the import to ``kwis.compat.obp.ope``;
``kwis.compat.obp`` has the same names. What differs:

- intervals redo the whole statistic on every resample, normalisers included. With every reward equal to 1 the
  interval of ``SelfNormalizedInverseProbabilityWeighting`` is [1, 1];
- ``action_dist`` may have shape ``(n, K)``, or ``(n, K, L)`` with ``position``;
- what cannot be estimated is refused in a sentence instead of answered with 0;
- ``lambda_`` cuts weights in self-normalised forms too, where theirs ignores it;
- folds of cross-fitting are drawn in another way, and tuned estimators judge bias and chance by standard
  errors, so numbers that depend on them differ;
- names of slates and of continuous actions can be imported and refuse to be used.

``docs/open-bandit-pipeline.md`` lists every name.

``KernelWIS`` is ours, with their interface.
"""

from kwis.compat.obp.embedded import (
    MarginalizedInverseProbabilityWeighting,
    SelfNormalizedMarginalizedInverseProbabilityWeighting,
)
from kwis.compat.obp.estimators import (
    BalancedInverseProbabilityWeighting,
    DirectMethod,
    DoublyRobust,
    DoublyRobustWithShrinkage,
    InverseProbabilityWeighting,
    KernelWIS,
    ReplayMethod,
    SelfNormalizedDoublyRobust,
    SelfNormalizedInverseProbabilityWeighting,
    SubGaussianDoublyRobust,
    SubGaussianInverseProbabilityWeighting,
    SwitchDoublyRobust,
)
from kwis.compat.obp.facade import (
    MultiLoggersOffPolicyEvaluation,
    OffPolicyEvaluation,
)
from kwis.compat.obp.learnt import (
    ImportanceWeightEstimator,
    PropensityScoreEstimator,
)
from kwis.compat.obp.refused import (
    BaseContinuousOffPolicyEstimator,
    ContinuousOffPolicyEvaluation,
    KernelizedDoublyRobust,
    KernelizedInverseProbabilityWeighting,
    KernelizedSelfNormalizedInverseProbabilityWeighting,
    SelfNormalizedSlateIndependentIPS,
    SelfNormalizedSlateRewardInteractionIPS,
    SelfNormalizedSlateStandardIPS,
    SlateCascadeDoublyRobust,
    SlateIndependentIPS,
    SlateOffPolicyEvaluation,
    SlateRegressionModel,
    SlateRewardInteractionIPS,
    SlateStandardIPS,
    cosine_kernel,
    epanechnikov_kernel,
    gaussian_kernel,
    triangular_kernel,
)
from kwis.compat.obp.regression import (
    RegressionModel,
)
from kwis.compat.obp.several_loggers import (
    BaseMultiLoggersOffPolicyEstimator,
    MultiLoggersBalancedDoublyRobust,
    MultiLoggersBalancedInverseProbabilityWeighting,
    MultiLoggersNaiveDoublyRobust,
    MultiLoggersNaiveInverseProbabilityWeighting,
    MultiLoggersWeightedDoublyRobust,
    MultiLoggersWeightedInverseProbabilityWeighting,
)
from kwis.compat.obp.shared import (
    BaseOffPolicyEstimator,
)
from kwis.compat.obp.tuned import (
    BaseOffPolicyEstimatorTuning,
    DoublyRobustTuning,
    DoublyRobustWithShrinkageTuning,
    InverseProbabilityWeightingTuning,
    SubGaussianDoublyRobustTuning,
    SubGaussianInverseProbabilityWeightingTuning,
    SwitchDoublyRobustTuning,
)

__all__ = [
    "BalancedInverseProbabilityWeighting",
    "BaseContinuousOffPolicyEstimator",
    "BaseMultiLoggersOffPolicyEstimator",
    "BaseOffPolicyEstimator",
    "BaseOffPolicyEstimatorTuning",
    "ContinuousOffPolicyEvaluation",
    "DirectMethod",
    "DoublyRobust",
    "DoublyRobustTuning",
    "DoublyRobustWithShrinkage",
    "DoublyRobustWithShrinkageTuning",
    "ImportanceWeightEstimator",
    "InverseProbabilityWeighting",
    "InverseProbabilityWeightingTuning",
    "KernelWIS",
    "KernelizedDoublyRobust",
    "KernelizedInverseProbabilityWeighting",
    "KernelizedSelfNormalizedInverseProbabilityWeighting",
    "MarginalizedInverseProbabilityWeighting",
    "MultiLoggersBalancedDoublyRobust",
    "MultiLoggersBalancedInverseProbabilityWeighting",
    "MultiLoggersNaiveDoublyRobust",
    "MultiLoggersNaiveInverseProbabilityWeighting",
    "MultiLoggersOffPolicyEvaluation",
    "MultiLoggersWeightedDoublyRobust",
    "MultiLoggersWeightedInverseProbabilityWeighting",
    "OffPolicyEvaluation",
    "PropensityScoreEstimator",
    "RegressionModel",
    "ReplayMethod",
    "SelfNormalizedDoublyRobust",
    "SelfNormalizedInverseProbabilityWeighting",
    "SelfNormalizedMarginalizedInverseProbabilityWeighting",
    "SelfNormalizedSlateIndependentIPS",
    "SelfNormalizedSlateRewardInteractionIPS",
    "SelfNormalizedSlateStandardIPS",
    "SlateCascadeDoublyRobust",
    "SlateIndependentIPS",
    "SlateOffPolicyEvaluation",
    "SlateRegressionModel",
    "SlateRewardInteractionIPS",
    "SlateStandardIPS",
    "SubGaussianDoublyRobust",
    "SubGaussianDoublyRobustTuning",
    "SubGaussianInverseProbabilityWeighting",
    "SubGaussianInverseProbabilityWeightingTuning",
    "SwitchDoublyRobust",
    "SwitchDoublyRobustTuning",
    "cosine_kernel",
    "epanechnikov_kernel",
    "gaussian_kernel",
    "triangular_kernel",
]
