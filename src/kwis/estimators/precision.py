"""How many neighbours an estimate needs: as many as make its approximation a small part of its standard
error.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from kwis.results import Estimate
from kwis.stats.influence import standard_error
from kwis.typing import Floats, Ints

TOLERANCE = 0.015
"""Of the standard error: the error of an approximation that needs no more neighbours."""
MOST_PAIRS = 2_000_000_000
"""Pairs of rows and neighbours, above which an error over the tolerance is accepted, and stated."""
LONGEST = 50_000_000_000
"""Pairs that are never exceeded, a few minutes' worth: only logs of over two million rows have more."""
_FEWEST, _PER_ROOT = (
    1_000,
    5,
)  # neighbours, and neighbours per square root of the rows: those of the first attempt
_USUAL = 4  # times as many are always allowed
_MARGIN = 1.1  # more neighbours than the first attempt says are needed
_CHEAPER_WHOLE = 0.5  # of the rows, as neighbours: from here on all pairs, each computed once, are quicker


def usual_size(n: int) -> int:
    """Neighbours that are always allowed."""
    return _at_most_all(min(_USUAL * _first_size(n), max(_FEWEST, LONGEST / n)), n)


def _first_size(n: int) -> float:
    return min(max(_FEWEST, _PER_ROOT * math.sqrt(n)), max(_FEWEST, LONGEST / n))


def precise_enough(attempt: Callable[[int], list[Estimate]], n: int) -> list[Estimate]:
    """What ``attempt(size)`` finds with as many neighbours as it needs, or as ``MOST_PAIRS`` allows."""
    size = _at_most_all(_first_size(n), n)
    found = attempt(size)
    error = relative_error(found)
    if size == n or error <= TOLERANCE:
        return found
    wanted = _at_most_all(min(_MARGIN * size * error / TOLERANCE, max(usual_size(n), MOST_PAIRS / n)), n)
    return attempt(wanted) if wanted > size else found


def _at_most_all(size: float, n: int) -> int:
    return n if size >= _CHEAPER_WHOLE * n else math.ceil(size)


def relative_error(estimates: Sequence[Estimate]) -> float:
    """Largest error of an approximation in units of the standard error."""
    return max(_relative(one) for one in estimates)


def _relative(estimate: Estimate) -> float:
    if estimate.precision is None or not estimate.std_error > 0:
        return 0.0
    return estimate.precision.error / estimate.std_error


def few_terms(errors: Floats) -> float:
    """Factor on independent errors that are each known by one draw: the quantile of Student's distribution
    over the normal one, so that 1.96 times their length covers what it says even if few of them are large.

    A sum of squares ``e^2``, each with a variance of at most ``e^4``, has as many degrees of freedom as a
    multiple of chi-squared of its mean and variance: ``2 (sum e^2)^2 / sum e^4``.
    """
    from scipy.special import ndtri, stdtrit

    largest = float(np.abs(errors).max(initial=0.0))
    if not largest > 0:
        return 1.0
    squares = np.square(errors / largest)
    freedom = 2 * float(squares.sum()) ** 2 / float(np.square(squares).sum())
    return float(stdtrit(freedom, 0.975) / ndtri(0.975))


def without_noise(influence: Floats, noise: Floats, group: Ints | None) -> float:
    """Factor that takes noise out of the standard error of an influence: ``noise`` is half of what two halves
    of a sample differ by.

    The product of two independent halves has the expectation of the square without noise, and it is the
    square of their mean less that of half their difference. 1 where noise is all there is: too large rather
    than meaningless.
    """
    whole, noisy = standard_error(influence, group), standard_error(noise, group)
    return math.sqrt(1 - (noisy / whole) ** 2) if noisy < whole else 1.0
