"""Scales from data to pixels, with ticks people would have chosen."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from kwis.report.wording import number, rough

_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
_NOTHING = 1e-12  # ends closer than this are drawn as one


@dataclass(frozen=True, slots=True)
class Scale:
    """Range of data that a length on the page stands for; ``log`` for powers of ten."""

    low: float
    high: float
    log: bool = False

    def share(self, value: float) -> float:
        """Where ``value`` lies, from 0 at ``low`` to 1 at ``high``; what lies outside is put on the edge."""
        if self.log:
            value = max(value, self.low)
            where = math.log(value / self.low) / math.log(self.high / self.low)
        else:
            where = (value - self.low) / (self.high - self.low)
        return min(max(where, 0.0), 1.0)

    def holds(self, value: float) -> bool:
        low, high = (self.low * (1 - 1e-9), self.high * (1 + 1e-9)) if self.log else self._with_slack()
        return low <= value <= high

    def _with_slack(self) -> tuple[float, float]:
        slack = 1e-9 * (self.high - self.low)
        return self.low - slack, self.high + slack

    def ticks(self, most: int = 6) -> tuple[float, ...]:
        """At most about ``most`` round numbers in the range."""
        return _log_ticks(self, most) if self.log else _linear_ticks(self, most)

    def tick_labels(self, most: int = 6) -> tuple[tuple[float, str], ...]:
        """Ticks with their labels, decimals alike on a linear scale."""
        ticks = next(
            (found for found in map(self.ticks, range(most, 2 * most + 1)) if len(found) > 1),
            self.ticks(most),
        )
        if self.log and len(ticks) > 1:
            return tuple((tick, rough(tick)) for tick in ticks)
        if self.log:  # within less than a power of ten: round numbers as on a linear scale
            ticks = _linear_ticks(self, most)
        decimals = _decimals(ticks[1] - ticks[0]) if len(ticks) > 1 else 3
        return tuple((tick, number(tick, decimals)) for tick in ticks)


def linear(values: Iterable[float], *, include: Iterable[float] = (), margin: float = 0.06) -> Scale:
    """Linear scale over the finite ``values`` and ``include``, with a margin."""
    finite = [value for value in (*values, *include) if math.isfinite(value)]
    low, high = (min(finite), max(finite)) if finite else (0.0, 1.0)
    if math.isclose(low, high, rel_tol=1e-9, abs_tol=_NOTHING):
        around = abs(low) if abs(low) > _NOTHING else 1.0
        low, high = low - around / 2, high + around / 2
    spare = margin * (high - low)
    return Scale(low - spare, high + spare)


def logarithmic(values: Iterable[float], *, margin: float = 0.04) -> Scale:
    """Log scale over the finite positive ``values``, with a margin."""
    positive = [value for value in values if value > 0 and math.isfinite(value)]
    low, high = (min(positive), max(positive)) if positive else (0.1, 10.0)
    if high < low * 1.5:
        low, high = low / 2, high * 2
    spare = (high / low) ** margin
    return Scale(low / spare, high * spare, log=True)


def _linear_ticks(scale: Scale, most: int) -> tuple[float, ...]:
    reach = scale.high - scale.low
    rough_step = reach / max(most, 1)
    size = 10.0 ** math.floor(math.log10(rough_step))
    step = next(size * factor for factor in _STEPS if size * factor >= rough_step * (1 - 1e-9))
    first, last = math.ceil(scale.low / step - 1e-9), math.floor(scale.high / step + 1e-9)
    return tuple(
        round(k * step, 15) + 0.0 if abs(k * step) < 1e6 else k * step for k in range(first, last + 1)
    )


def _log_ticks(scale: Scale, most: int) -> tuple[float, ...]:
    """Powers of ten, thinned if there are many, with 2 and 5 between them if there are few."""
    first, last = math.floor(math.log10(scale.low)), math.ceil(math.log10(scale.high))
    for factors in ((1, 2, 5), (1, 3), (1,)):
        ticks = [factor * 10.0**power for power in range(first, last + 1) for factor in factors]
        kept = tuple(tick for tick in ticks if scale.holds(tick))
        if len(kept) <= most + 1:
            break
    return kept[:: max(1, math.ceil(len(kept) / (most + 1)))]


def _decimals(step: float) -> int:
    return min(max(-math.floor(math.log10(step) + 1e-9) + (0 if _whole(step) else 1), 0), 12)


def _whole(step: float) -> bool:
    mantissa = step / 10.0 ** math.floor(math.log10(step) + 1e-9)
    return math.isclose(mantissa, round(mantissa), rel_tol=1e-6)
