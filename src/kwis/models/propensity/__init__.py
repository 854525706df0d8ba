"""Behaviour propensities: estimate them where they were not logged, check those that were, and repair those
that are wrong.
"""

from kwis.models.propensity.check import (
    Finding,
    PropensityCheck,
    check_propensities,
    propensity_signs,
    refuse_deterministic,
)
from kwis.models.propensity.estimate import EstimatedPropensity, estimate_propensities
from kwis.models.propensity.reliability import Reliability, reliability
from kwis.models.propensity.repair import LoggedRepairModel, RepairModel, fit_repair, fit_repair_logged
from kwis.models.propensity.repaired import RepairedPropensity, RepairSummary, repair_propensities
from kwis.models.propensity.support import Support, support

__all__ = [
    "EstimatedPropensity",
    "Finding",
    "LoggedRepairModel",
    "PropensityCheck",
    "Reliability",
    "RepairModel",
    "RepairSummary",
    "RepairedPropensity",
    "Support",
    "check_propensities",
    "estimate_propensities",
    "fit_repair",
    "fit_repair_logged",
    "propensity_signs",
    "refuse_deterministic",
    "reliability",
    "repair_propensities",
    "support",
]
