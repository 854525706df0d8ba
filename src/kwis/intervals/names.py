"""Interval methods that are known by name."""

from __future__ import annotations

from collections.abc import Callable

from kwis.errors import InputError
from kwis.intervals.bernstein import EmpiricalBernstein
from kwis.intervals.bootstrap import Bootstrap
from kwis.intervals.influence_interval import InfluenceInterval
from kwis.intervals.logarithmic import LogarithmicSmoothing
from kwis.intervals.method import IntervalMethod
from kwis.intervals.student import StudentInterval

BY_NAME: dict[str, Callable[[], IntervalMethod]] = {
    "student": StudentInterval,
    "bootstrap": Bootstrap,
    "influence": InfluenceInterval,
    "empirical-bernstein": EmpiricalBernstein,
    "logarithmic-smoothing": LogarithmicSmoothing,
}
ALIASES = {
    "t": "student",
    "normal": "influence",
    "bernstein": "empirical-bernstein",
    "ls": "logarithmic-smoothing",
}


def interval_method(given: IntervalMethod | str | None) -> IntervalMethod | None:
    """The method that somebody named or gave; None stays None."""
    if isinstance(given, str):
        name = given.strip().lower().replace("_", "-").replace(" ", "-")
        found = BY_NAME.get(ALIASES.get(name, name))
        if found is None:
            raise InputError(f"`interval` must be one of {', '.join(BY_NAME)}, got {given!r}")
        return found()
    if given is not None and (isinstance(given, type) or not hasattr(given, "interval")):
        raise InputError(f"`interval` must be an interval method such as kwis.Bootstrap(), got {given!r}")
    method: IntervalMethod | None = given
    return method
