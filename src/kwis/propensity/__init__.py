"""Behaviour propensities: estimate them where they were not logged, and check those that were."""

from kwis.propensity.check import Finding, PropensityCheck, check_propensities, refuse_deterministic
from kwis.propensity.estimate import EstimatedPropensity, estimate_propensities
from kwis.propensity.reliability import Reliability, reliability
from kwis.propensity.support import Support, support

__all__ = [
    "EstimatedPropensity",
    "Finding",
    "PropensityCheck",
    "Reliability",
    "Support",
    "check_propensities",
    "estimate_propensities",
    "refuse_deterministic",
    "reliability",
    "support",
]
