"""Off-policy evaluation of contextual bandits with kernel-weighted importance sampling.

Every public name is here. Each is loaded when it is first used, so that ``import kwis`` is quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kwis.bandwidth import cv_score, kernel_mean, make_folds, select_bandwidth, select_bandwidths
    from kwis.checks.propensity import propensity_report
    from kwis.data.log import LoggedBandit
    from kwis.data.read.read_log import read_log
    from kwis.data.read.scan import ScannedLog, scan_log
    from kwis.data.sample_log import sample_log
    from kwis.data.scaling import Scaling, standardise
    from kwis.errors import InputError, KwisError, KwisWarning, UnsupportedError
    from kwis.estimators import (
        VIS,
        WIS,
        ControlVariate,
        DirectMethod,
        DoublyRobust,
        EmpiricalLikelihood,
        HalfNormalised,
        KernelWIS,
        LogSumExp,
        Quantile,
        ShrunkenIS,
        StateWIS,
        TailMean,
        TruncatedVIS,
    )
    from kwis.evaluation import Evaluation
    from kwis.evaluation.look import Look
    from kwis.evaluation.plan import Plan, plan
    from kwis.evaluation.run import evaluate
    from kwis.evaluation.sensitivity import sensitivity
    from kwis.evaluation.spread_of_rewards import RewardDistributions, reward_distributions
    from kwis.evaluation.watch import watch
    from kwis.intervals import (
        BettingSequence,
        Bootstrap,
        ClopperPearson,
        EmpiricalBernstein,
        InfluenceInterval,
        LikelihoodInterval,
        LogarithmicSmoothing,
        StudentInterval,
        difference,
        efron_stein_bound,
        reward_distribution,
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
    from kwis.models.propensity.check import check_propensities as check_propensities
    from kwis.models.propensity.estimate import estimate_propensities
    from kwis.models.propensity.repaired import repair_propensities
    from kwis.models.reward import PredictedSample, mrdr_weights, predict_rewards
    from kwis.policy.discrete import chosen, distribution, probability, trained_elsewhere
    from kwis.policy.joined import joined
    from kwis.policy.simple import always, epsilon_greedy, mix, uniform
    from kwis.result.diff import diff
    from kwis.result.keep import load
    from kwis.results import BandwidthChoice, Estimate, Interval, Verdict
    from kwis.sample import WeightedSample

_HOMES = {
    "kwis.data.read.read_log": ("read_log",),
    "kwis.data.read.scan": ("scan_log", "ScannedLog"),
    "kwis.data.log": ("LoggedBandit",),
    "kwis.data.sample_log": ("sample_log",),
    "kwis.policy.discrete": ("probability", "chosen", "distribution", "trained_elsewhere"),
    "kwis.policy.simple": ("always", "uniform", "epsilon_greedy", "mix"),
    "kwis.policy.joined": ("joined",),
    "kwis.models.crossfit": ("cross_fit",),
    "kwis.evaluation.run": ("evaluate",),
    "kwis.evaluation.sensitivity": ("sensitivity",),
    "kwis.evaluation.plan": ("plan", "Plan"),
    "kwis.evaluation.spread_of_rewards": ("reward_distributions", "RewardDistributions"),
    "kwis.evaluation.look": ("Look",),
    "kwis.evaluation.watch": ("watch",),
    "kwis.result.diff": ("diff",),
    "kwis.result.keep": ("load",),
    "kwis.evaluation": ("Evaluation",),
    "kwis.checks.propensity": ("propensity_report",),
    "kwis.models.propensity.check": ("check_propensities",),
    "kwis.models.propensity.estimate": ("estimate_propensities",),
    "kwis.models.propensity.repaired": ("repair_propensities",),
    "kwis.sample": ("WeightedSample",),
    "kwis.data.scaling": ("standardise", "Scaling"),
    "kwis.estimators": (
        "VIS",
        "TruncatedVIS",
        "WIS",
        "StateWIS",
        "KernelWIS",
        "EmpiricalLikelihood",
        "ControlVariate",
        "ShrunkenIS",
        "HalfNormalised",
        "LogSumExp",
        "Quantile",
        "TailMean",
        "DirectMethod",
        "DoublyRobust",
    ),
    "kwis.models.reward": ("PredictedSample", "predict_rewards", "mrdr_weights"),
    "kwis.bandwidth": ("kernel_mean", "make_folds", "cv_score", "select_bandwidth", "select_bandwidths"),
    "kwis.intervals": (
        "Bootstrap",
        "InfluenceInterval",
        "StudentInterval",
        "EmpiricalBernstein",
        "LogarithmicSmoothing",
        "BettingSequence",
        "ClopperPearson",
        "LikelihoodInterval",
        "efron_stein_bound",
        "reward_distribution",
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
"""Where each name is defined; ``check_propensities`` is deprecated, and so not among ``__all__``."""
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
    "always",
    "uniform",
    "epsilon_greedy",
    "mix",
    "joined",
    "cross_fit",
    "evaluate",
    "Evaluation",
    "load",
    "diff",
    "plan",
    "watch",
    "Look",
    "Plan",
    "sensitivity",
    "reward_distributions",
    "RewardDistributions",
    "estimate_propensities",
    "repair_propensities",
    "propensity_report",
    "WeightedSample",
    "standardise",
    "Scaling",
    "VIS",
    "TruncatedVIS",
    "WIS",
    "StateWIS",
    "KernelWIS",
    "EmpiricalLikelihood",
    "ControlVariate",
    "ShrunkenIS",
    "HalfNormalised",
    "LogSumExp",
    "Quantile",
    "TailMean",
    "DirectMethod",
    "DoublyRobust",
    "PredictedSample",
    "predict_rewards",
    "mrdr_weights",
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
    "BettingSequence",
    "ClopperPearson",
    "LikelihoodInterval",
    "efron_stein_bound",
    "reward_distribution",
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
    if name == "__version__":
        return import_module("importlib.metadata").version("kwis")
    if name == "datasets":
        return import_module("kwis.datasets")
    if name not in _HOME_OF:
        raise AttributeError(f"module 'kwis' has no attribute {name!r}")
    value = getattr(import_module(_HOME_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
