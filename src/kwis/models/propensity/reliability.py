"""Reliability of a distribution over actions: what is said to have probability p should happen a share p of
the time.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kwis._validation import read_only, whole
from kwis.data.log import LoggedBandit
from kwis.errors import InputError
from kwis.stats.subsets import some_rows
from kwis.typing import Floats, Ints

_MOST_ROWS = 200_000  # a curve of ten points needs no more
_LEAST_MASS = 1e-100  # of the largest: no bin is without mass, and no square vanishes or overflows


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Reliability:
    """Points of a reliability curve, over all pairs of a row and an action, in bins of about equally many
    pairs.

    Attributes
    ----------
    predicted, observed
        Mean probability of the pairs in each bin, and the share of them that happened.
    std_error
        Of ``observed - predicted`` if the probabilities are right.
    count
        Pairs in each bin.
    expected_calibration_error
        Mean of ``|observed - predicted|``, bins weighed by their pairs. It is not 0 even for right
        probabilities: ``expected_by_chance`` says how large it then is on average.
    """

    predicted: Floats
    observed: Floats
    std_error: Floats
    count: Ints
    expected_calibration_error: float
    expected_by_chance: float


def reliability(log: LoggedBandit, distribution: Floats | None = None, *, bins: int = 10) -> Reliability:
    """Reliability curve of ``distribution`` (default: the behaviour distribution of the log)."""
    chances = log.behaviour if distribution is None else distribution
    if chances is None:
        raise InputError(
            "`distribution` must be given for a log that holds the probability of the logged action alone"
        )
    rows = some_rows(len(log), _MOST_ROWS)
    chances, action = chances[rows], log.action[rows]
    happened = np.zeros_like(chances)
    happened[np.arange(len(action)), action] = 1.0
    # Actions that were not available say nothing: nobody could have taken them.
    pairs = slice(None) if log.available is None else np.flatnonzero(log.available[rows].ravel())
    mass = (
        np.ones(len(action))
        if log.row_weight is None
        else np.maximum(log.row_weight[rows] / log.row_weight.max(), _LEAST_MASS)
    )
    weight, said, came = (
        np.repeat(mass, chances.shape[1])[pairs],
        chances.ravel()[pairs],
        happened.ravel()[pairs],
    )
    bin_of, used = _bins(said, whole(bins, "bins", 1))

    def total(values: Floats) -> Floats:
        return np.bincount(bin_of, values, minlength=used).astype(np.float64)

    shares = total(weight)
    predicted, observed = total(weight * said) / shares, total(weight * came) / shares
    std_error = np.sqrt(total(weight**2 * (said * (1 - said)))) / shares
    importance = shares / shares.sum()
    return Reliability(
        predicted=read_only(predicted),
        observed=read_only(observed),
        std_error=read_only(std_error),
        count=read_only(np.bincount(bin_of, minlength=used)),
        expected_calibration_error=float(importance @ np.abs(observed - predicted)),
        expected_by_chance=float(np.sqrt(2 / np.pi) * importance @ std_error),
    )


def _bins(values: Floats, bins: int) -> tuple[Ints, int]:
    """Bin of every pair, equal probabilities in the same one."""
    edges = np.unique(np.quantile(values, np.arange(1, bins) / bins))
    codes = np.searchsorted(edges, values, side="right")
    used, inverse = np.unique(codes, return_inverse=True)
    return inverse, len(used)
