"""Estimators of the value of a policy, one per file.

Each is a rule for the weights it applies (``vis``, ``truncated_vis``, ``wis``, ``state_wis``,
``kernel_wis``, ``empirical_likelihood``, ``control_variate``, ``shrunken``); ``ratio`` turns a rule into
values, influence and resamples; ``half_normalised`` is the mean of two of them; ``direct`` and
``doubly_robust`` use predicted rewards; ``difference`` compares two policies.
"""

from kwis.estimators.control_variate import ControlVariate
from kwis.estimators.difference import Difference, PairedSample
from kwis.estimators.direct import DirectMethod
from kwis.estimators.doubly_robust import DoublyRobust
from kwis.estimators.empirical_likelihood import EmpiricalLikelihood
from kwis.estimators.half_normalised import HalfNormalised
from kwis.estimators.kernel_wis import KernelWIS
from kwis.estimators.log_sum_exp import LogSumExp
from kwis.estimators.protocol import Estimator, Resamples
from kwis.estimators.quantile import Quantile
from kwis.estimators.shrunken import ShrunkenIS
from kwis.estimators.state_wis import StateWIS
from kwis.estimators.tail_mean import TailMean
from kwis.estimators.truncated_vis import TruncatedVIS
from kwis.estimators.vis import VIS
from kwis.estimators.wis import WIS

__all__ = [
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
    "Difference",
    "PairedSample",
    "Estimator",
    "Resamples",
]
