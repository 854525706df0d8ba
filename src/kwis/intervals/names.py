"""Interval methods that are known by name; some take a number after a colon.

==================================  =========================================================================
``student``                         the default of :func:`kwis.evaluate`
``bootstrap``, ``influence``        :class:`kwis.Bootstrap`, :class:`kwis.InfluenceInterval`
``block-bootstrap[:ROWS]``          :class:`kwis.Bootstrap` of runs of so many rows in the order of time
``empirical-likelihood``            :class:`kwis.LikelihoodInterval`
``logarithmic-smoothing``           :class:`kwis.LogarithmicSmoothing`
``empirical-bernstein:BOUND``       :class:`kwis.EmpiricalBernstein`, weight times reward at most BOUND
``clopper-pearson:BOUND``           :class:`kwis.ClopperPearson`, the same
``betting-sequence[:LARGEST]``      :class:`kwis.BettingSequence`, weights at most LARGEST
==================================  =========================================================================
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kwis.errors import InputError
from kwis.intervals.bernstein import EmpiricalBernstein
from kwis.intervals.bootstrap import Bootstrap
from kwis.intervals.clopper_pearson import ClopperPearson
from kwis.intervals.influence_interval import InfluenceInterval
from kwis.intervals.likelihood import LikelihoodInterval
from kwis.intervals.logarithmic import LogarithmicSmoothing
from kwis.intervals.method import IntervalMethod
from kwis.intervals.sequence import BettingSequence
from kwis.intervals.student import StudentInterval

BY_NAME: dict[str, Callable[[], IntervalMethod]] = {
    "student": StudentInterval,
    "bootstrap": Bootstrap,
    "influence": InfluenceInterval,
    "logarithmic-smoothing": LogarithmicSmoothing,
    "block-bootstrap": lambda: Bootstrap(block="auto"),
    "betting-sequence": BettingSequence,
    "empirical-likelihood": LikelihoodInterval,
}
WITH_NUMBER: dict[str, Callable[[float], Any]] = {
    "empirical-bernstein": EmpiricalBernstein,
    "clopper-pearson": ClopperPearson,
    "betting-sequence": lambda largest: BettingSequence(largest_weight=largest),
    "block-bootstrap": lambda rows: Bootstrap(block=int(rows) if rows.is_integer() else rows),  # type: ignore[arg-type]
}
ALIASES = {
    "t": "student",
    "normal": "influence",
    "bernstein": "empirical-bernstein",
    "ls": "logarithmic-smoothing",
    "betting": "betting-sequence",
    "el": "empirical-likelihood",
}
NEEDS_NUMBER = tuple(name for name in WITH_NUMBER if name not in BY_NAME)


def interval_method(given: IntervalMethod | str | None) -> IntervalMethod | None:
    """The method that somebody named or gave; None stays None."""
    if isinstance(given, str):
        return _named(given)
    if given is not None and (isinstance(given, type) or not hasattr(given, "interval")):
        raise InputError(f"`interval` must be an interval method such as kwis.Bootstrap(), got {given!r}")
    method: IntervalMethod | None = given
    return method


def _named(text: str) -> IntervalMethod:
    said, colon, number = text.partition(":")
    name = said.strip().lower().replace("_", "-").replace(" ", "-")
    name = ALIASES.get(name, name)
    if name not in BY_NAME and name not in WITH_NUMBER:
        known = ", ".join([*BY_NAME, *(f"{one}:BOUND" for one in NEEDS_NUMBER)])
        raise InputError(f"`interval` must be one of {known}, got {text!r}")
    if not colon and name in NEEDS_NUMBER:
        raise InputError(
            f"`interval` must say what weight times reward cannot exceed, as {name}:20 does, got {text!r}"
        )
    if not colon:
        return BY_NAME[name]()
    if name not in WITH_NUMBER:
        raise InputError(f"`interval` must have no number after {name}, got {text!r}")
    try:
        value = float(number)
    except ValueError:
        raise InputError(f"`interval` must have a number after {name}, got {text!r}") from None
    method: IntervalMethod = WITH_NUMBER[name](value)
    return method
