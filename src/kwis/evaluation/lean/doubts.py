"""What of a log of many rows makes it worth reading whole: propensities that fail in some stretch of it, and
rows that repeat each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import ndtri

from kwis.data.log import LoggedBandit
from kwis.data.read.lean import UnusualError
from kwis.evaluation.lean.pass_sums import LoggingSums, TargetSums
from kwis.evaluation.sharing import has_candidates
from kwis.typing import Floats

_FALSE_ALARMS = 0.01  # over all stretches: right propensities cost the time of the whole log once in 100
_AGAINST_ALL_ODDS = 1e-3  # as in kwis.models.propensity.check
_SAME = 1e-9
_FEWEST = 100.0  # expected, for the sums to be about normal


def refuse_doubtful_parts(
    logging: Sequence[LoggingSums], targets: Sequence[Sequence[TargetSums]], known: bool
) -> None:
    """Refuse a log in which mean weights, or how often actions were taken, are not what propensities say, by
    more than chance: on the whole or in any stretch.
    """
    distances: list[Floats] = []
    every = [*logging, LoggingSums.total(logging)]
    if known:
        for sums in every:
            spread = np.sqrt(np.maximum(sums.expected - np.diag(sums.products), 0.0))
            some = sums.expected >= _FEWEST
            distances.append((sums.taken - sums.expected)[some] / np.maximum(spread[some], 1e-9))
    for parts in zip(*targets, strict=True):
        for found in [*parts, TargetSums.total(parts)]:
            mean, error = found.mean_weight
            distances.append(np.array([(mean - 1) / max(error, 1e-9)]))
    far = np.abs(np.concatenate(distances))
    if (far > -ndtri(_FALSE_ALARMS / (2 * far.size))).any():
        raise UnusualError("propensities that fail in some stretch")


def refuse_unlikely(sums: LoggingSums, n: int) -> None:
    """Refuse a log that may have actions taken against all odds, or propensities that are all the same."""
    if sums.ends[1] - sums.ends[0] <= _SAME:
        raise UnusualError("propensities that are all the same")
    below = np.cumsum(sums.exponents)
    some = np.flatnonzero(sums.exponents)
    smallest = np.ldexp(1.0, some - 1023)  # of its power of two, each
    chance = len(sums.taken) * n * smallest / below[some]
    if (chance < _AGAINST_ALL_ODDS).any():
        raise UnusualError("actions that were hardly possible")


def refuse_repeats(some: LoggedBandit, keys: Any) -> None:
    """Refuse a log whose rows may be copies of each other or share draws: one in which probabilities of rows
    are the same, or a column may be an identifier.
    """
    if keys.size == 0 or np.unique(keys).size < keys.size or has_candidates(some):
        raise UnusualError("rows that repeat each other")
