"""Confidence intervals: an interval method takes any estimator and a sample, and never sees terms per row."""

from kwis.intervals.bernstein import EmpiricalBernstein
from kwis.intervals.bootstrap import Bootstrap
from kwis.intervals.influence_interval import InfluenceInterval
from kwis.intervals.logarithmic import LogarithmicSmoothing
from kwis.intervals.method import IntervalMethod
from kwis.intervals.paired import difference
from kwis.intervals.student import StudentInterval

__all__ = [
    "Bootstrap",
    "InfluenceInterval",
    "StudentInterval",
    "EmpiricalBernstein",
    "LogarithmicSmoothing",
    "difference",
    "IntervalMethod",
]
