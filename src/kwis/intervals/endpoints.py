"""From a bootstrap distribution to the two ends of an interval."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np

from kwis.errors import UnsupportedError
from kwis.typing import Floats

_NORMAL = NormalDist()
# Values closer than this, relative to the largest, differ by rounding only.
_TIE = 1e-12


def percentile(values: Floats, level: float) -> tuple[float, float]:
    """Quantiles of the resampled estimates."""
    return _quantiles(values, (1 - level) / 2, (1 + level) / 2)


def bca(values: Floats, value: float, acceleration: float, level: float) -> tuple[float, float]:
    """Percentiles moved to correct for bias and for a standard error that changes with the value (Efron
    1987).
    """
    bias = bias_correction(values, value)
    tails = [_moved(tail, bias, acceleration) for tail in ((1 - level) / 2, (1 + level) / 2)]
    return _quantiles(values, *tails)


def bias_correction(values: Floats, value: float) -> float:
    """Normal quantile of the share of resamples below the estimate, ties counting half."""
    close = _TIE * max(float(np.abs(values).max()), abs(value))
    below = np.count_nonzero(values < value - close)
    ties = np.count_nonzero(np.abs(values - value) <= close)
    share = (below + 0.5 * ties) / values.size
    # All resamples on one side says "at least so far", not infinitely far: half a resample is what B of them
    # can tell.
    least = 0.5 / values.size
    return _NORMAL.inv_cdf(min(max(share, least), 1 - least))


def acceleration_of(influence: Floats) -> float:
    """A sixth of the skewness of the influence of independent draws; 0 where they have no spread."""
    largest = np.abs(influence).max()
    if largest == 0:
        return 0.0
    ratio = influence / largest  # cubes of huge influences would overflow
    return float((ratio**3).sum() / (6 * (ratio**2).sum() ** 1.5))


def _moved(tail: float, bias: float, acceleration: float) -> float:
    shifted = bias + _NORMAL.inv_cdf(tail)
    slack = 1 - acceleration * shifted
    if slack <= 0:  # the correction runs off the end of the distribution
        return 1.0 if shifted > 0 else 0.0
    return _NORMAL.cdf(bias + shifted / slack)


def studentised(
    values: Floats, errors: Floats, value: float, std_error: float, level: float
) -> tuple[float, float]:
    """Quantiles of ``(value* - value) / std_error*``, scaled back with the standard error of the sample."""
    close = _TIE * max(float(np.abs(values).max()), abs(value))
    gaps = np.where(np.abs(values - value) <= close, 0.0, values - value)
    flat = errors <= close
    with np.errstate(divide="ignore", invalid="ignore"):
        pivots = np.where(gaps == 0, 0.0, gaps / np.where(flat, 0.0, errors))
        low, high = percentile(pivots, level)
    if not (math.isfinite(low) and math.isfinite(high)):
        raise UnsupportedError(
            f"`sample` must keep spread in its resamples for a studentised interval, got none in "
            f"{np.count_nonzero(flat)} of {flat.size}"
        )
    return value - high * std_error, value - low * std_error


def _quantiles(values: Floats, low: float, high: float) -> tuple[float, float]:
    ends = np.quantile(values, [low, high])
    return float(ends[0]), float(ends[1])
