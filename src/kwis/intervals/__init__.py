"""Confidence intervals: an interval method takes any estimator and a sample, and never sees terms per row."""

from kwis.intervals.bernstein import EmpiricalBernstein
from kwis.intervals.bootstrap import Bootstrap
from kwis.intervals.clopper_pearson import ClopperPearson
from kwis.intervals.distribution import RewardDistribution, reward_distribution
from kwis.intervals.efron_stein import efron_stein_bound
from kwis.intervals.influence_interval import InfluenceInterval
from kwis.intervals.likelihood import LikelihoodInterval
from kwis.intervals.logarithmic import LogarithmicSmoothing
from kwis.intervals.method import IntervalMethod
from kwis.intervals.paired import difference
from kwis.intervals.sequence import BettingSequence, SequenceState
from kwis.intervals.student import StudentInterval

__all__ = [
    "Bootstrap",
    "InfluenceInterval",
    "StudentInterval",
    "EmpiricalBernstein",
    "LogarithmicSmoothing",
    "ClopperPearson",
    "LikelihoodInterval",
    "BettingSequence",
    "SequenceState",
    "efron_stein_bound",
    "RewardDistribution",
    "reward_distribution",
    "difference",
    "IntervalMethod",
]
