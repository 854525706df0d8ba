"""Can this log answer the question? Weights, propensities, support, balance and drift, and a plain verdict
with its reasons.
"""

from kwis.checks.balance import balance
from kwis.checks.diagnostics import target_diagnostics
from kwis.checks.drift import drift, drift_with_targets
from kwis.checks.findings import (
    Balance,
    Drift,
    InfluentialRow,
    LocalMeanWeight,
    MeanTest,
    Period,
    PropensityReport,
    TargetDiagnostics,
    WeightDiagnostics,
)
from kwis.checks.local_map import local_mean_weight
from kwis.checks.pareto import pareto_k
from kwis.checks.propensity import propensity_report
from kwis.checks.regions import Region, regions_of
from kwis.checks.training import TrainingCheck, training_check, training_checks
from kwis.checks.verdict import combine, verdict
from kwis.checks.weight import weight_diagnostics
from kwis.models.propensity.support import Support, support
from kwis.results import Verdict

__all__ = [
    "Balance",
    "Drift",
    "InfluentialRow",
    "LocalMeanWeight",
    "MeanTest",
    "Period",
    "PropensityReport",
    "Region",
    "Support",
    "TargetDiagnostics",
    "TrainingCheck",
    "Verdict",
    "WeightDiagnostics",
    "balance",
    "combine",
    "drift",
    "drift_with_targets",
    "local_mean_weight",
    "pareto_k",
    "propensity_report",
    "regions_of",
    "support",
    "target_diagnostics",
    "training_check",
    "training_checks",
    "verdict",
    "weight_diagnostics",
]
