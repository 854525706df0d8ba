"""Off-policy evaluation of contextual bandits with kernel-weighted importance sampling.

Every public name is here. Each is loaded when it is first used, so that ``import kwis`` is quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kwis.bandwidth import cv_score, kernel_mean, make_folds, select_bandwidth, select_bandwidths
    from kwis.errors import InputError, KwisError, KwisWarning, UnsupportedError
    from kwis.estimators import VIS, WIS, DirectMethod, DoublyRobust, KernelWIS, StateWIS, TruncatedVIS
    from kwis.intervals import Bootstrap, EmpiricalBernstein, InfluenceInterval, difference
    from kwis.kernels import RBF, Epanechnikov, Kernel, Laplace, Matern32, Matern52, bandwidth_from_lambda
    from kwis.outcome import PredictedSample, predict_rewards
    from kwis.results import BandwidthChoice, Estimate, Interval
    from kwis.scaling import Scaling, standardise
    from kwis.weights import WeightedSample

_HOMES = {
    "kwis.weights": ("WeightedSample",),
    "kwis.scaling": ("standardise", "Scaling"),
    "kwis.estimators": ("VIS", "TruncatedVIS", "WIS", "StateWIS", "KernelWIS", "DirectMethod", "DoublyRobust"),
    "kwis.outcome": ("PredictedSample", "predict_rewards"),
    "kwis.bandwidth": ("kernel_mean", "make_folds", "cv_score", "select_bandwidth", "select_bandwidths"),
    "kwis.intervals": ("Bootstrap", "InfluenceInterval", "EmpiricalBernstein", "difference"),
    "kwis.kernels": ("Kernel", "RBF", "Laplace", "Matern32", "Matern52", "Epanechnikov", "bandwidth_from_lambda"),
    "kwis.results": ("Estimate", "Interval", "BandwidthChoice"),
    "kwis.errors": ("KwisError", "InputError", "UnsupportedError", "KwisWarning"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
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
    "EmpiricalBernstein",
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
