"""Can this log answer the question? Weights, propensities, support, balance and drift, and a plain verdict with its reasons."""

from kwis.diagnostics.balance import balance
from kwis.diagnostics.drift import drift
from kwis.diagnostics.local import local_mean_weight
from kwis.diagnostics.pareto import pareto_k
from kwis.diagnostics.propensity import propensity_report
from kwis.diagnostics.records import (
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
from kwis.diagnostics.regions import Region, regions_of
from kwis.diagnostics.target import target_diagnostics
from kwis.diagnostics.training import TrainingCheck, training_check, training_checks
from kwis.diagnostics.verdict import combine, verdict
from kwis.diagnostics.weight import weight_diagnostics
from kwis.propensity.support import Support, support
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
