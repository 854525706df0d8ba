"""Confidence intervals: an interval method takes any estimator and a sample, and never sees terms per row."""

from kwis.intervals.bernstein import EmpiricalBernstein
from kwis.intervals.bootstrap import Bootstrap
from kwis.intervals.influence import InfluenceInterval
from kwis.intervals.paired import difference
from kwis.intervals.protocol import IntervalMethod

__all__ = ["Bootstrap", "InfluenceInterval", "EmpiricalBernstein", "difference", "IntervalMethod"]
