"""Off-policy evaluation of contextual bandits with kernel-weighted importance sampling.

Every public name is here. Each is loaded when it is first used, so that ``import kwis`` is quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kwis.bandwidth import cv_score, kernel_mean, make_folds, select_bandwidth, select_bandwidths
    from kwis.checks import propensity_report
    from kwis.data.log import LoggedBandit
    from kwis.data.read.read_log import read_log
    from kwis.data.read.scan import ScannedLog, scan_log
    from kwis.data.sample_log import sample_log
    from kwis.data.scaling import Scaling, standardise
    from kwis.errors import InputError, KwisError, KwisWarning, UnsupportedError
    from kwis.estimators import VIS, WIS, DirectMethod, DoublyRobust, KernelWIS, StateWIS, TruncatedVIS
    from kwis.evaluation import Evaluation
    from kwis.evaluation.run import evaluate
    from kwis.evaluation.sensitivity import sensitivity
    from kwis.intervals import (
        Bootstrap,
        EmpiricalBernstein,
        InfluenceInterval,
        LogarithmicSmoothing,
        StudentInterval,
        difference,
    )
    from kwis.kernel.profiles import (
        RBF,
        Epanechnikov,
        Kernel,
        Laplace,
        Matern32,
        Matern52,
        bandwidth_from_lambda,
    )
    from kwis.models.crossfit import cross_fit
    from kwis.models.propensity import check_propensities, estimate_propensities, repair_propensities
    from kwis.models.reward import PredictedSample, predict_rewards
    from kwis.policy.discrete import chosen, distribution, probability, trained_elsewhere
    from kwis.results import BandwidthChoice, Estimate, Interval, Verdict
    from kwis.sample import WeightedSample

_HOMES = {
    "kwis.data.read.read_log": ("read_log",),
    "kwis.data.read.scan": ("scan_log", "ScannedLog"),
    "kwis.data.log": ("LoggedBandit",),
    "kwis.data.sample_log": ("sample_log",),
    "kwis.policy.discrete": ("probability", "chosen", "distribution", "trained_elsewhere"),
    "kwis.models.crossfit": ("cross_fit",),
    "kwis.evaluation.run": ("evaluate",),
    "kwis.evaluation.sensitivity": ("sensitivity",),
    "kwis.evaluation": ("Evaluation",),
    "kwis.checks": ("propensity_report",),
    "kwis.models.propensity": ("estimate_propensities", "check_propensities", "repair_propensities"),
    "kwis.sample": ("WeightedSample",),
    "kwis.data.scaling": ("standardise", "Scaling"),
    "kwis.estimators": (
        "VIS",
        "TruncatedVIS",
        "WIS",
        "StateWIS",
        "KernelWIS",
        "DirectMethod",
        "DoublyRobust",
    ),
    "kwis.models.reward": ("PredictedSample", "predict_rewards"),
    "kwis.bandwidth": ("kernel_mean", "make_folds", "cv_score", "select_bandwidth", "select_bandwidths"),
    "kwis.intervals": (
        "Bootstrap",
        "InfluenceInterval",
        "StudentInterval",
        "EmpiricalBernstein",
        "LogarithmicSmoothing",
        "difference",
    ),
    "kwis.kernel.profiles": (
        "Kernel",
        "RBF",
        "Laplace",
        "Matern32",
        "Matern52",
        "Epanechnikov",
        "bandwidth_from_lambda",
    ),
    "kwis.results": ("Estimate", "Interval", "BandwidthChoice", "Verdict"),
    "kwis.errors": ("KwisError", "InputError", "UnsupportedError", "KwisWarning"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "read_log",
    "scan_log",
    "LoggedBandit",
    "ScannedLog",
    "sample_log",
    "probability",
    "chosen",
    "distribution",
    "trained_elsewhere",
    "cross_fit",
    "evaluate",
    "Evaluation",
    "sensitivity",
    "estimate_propensities",
    "repair_propensities",
    "propensity_report",
    "check_propensities",
    "WeightedSample",
    "standardise",
    "Scaling",
    "VIS",
    "TruncatedVIS",
    "WIS",
    "StateWIS",
    "KernelWIS",
    "DirectMethod",
    "DoublyRobust",
    "PredictedSample",
    "predict_rewards",
    "kernel_mean",
    "make_folds",
    "cv_score",
    "select_bandwidth",
    "select_bandwidths",
    "Bootstrap",
    "InfluenceInterval",
    "StudentInterval",
    "EmpiricalBernstein",
    "LogarithmicSmoothing",
    "difference",
    "Kernel",
    "RBF",
    "Laplace",
    "Matern32",
    "Matern52",
    "Epanechnikov",
    "bandwidth_from_lambda",
    "Estimate",
    "Interval",
    "BandwidthChoice",
    "Verdict",
    "KwisError",
    "InputError",
    "UnsupportedError",
    "KwisWarning",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'kwis' has no attribute {name!r}")
    value = getattr(import_module(_HOME_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
