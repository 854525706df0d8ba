"""What an interval method is, to everything that uses one, and what is assumed of one that says nothing more.

A method needs ``interval(estimator, sample, level, rng)``. Every function here reads one optional member of
the same name:

- ``of(contrast, level, rng)``: the interval of an estimate, or of a difference, that was made before. It
  refuses a contrast that it does not apply to with :class:`kwis.errors.UnsupportedError`;
- ``p_value_of(contrast)``: the p-value of 0, which agrees with the intervals;
- ``differences(sides, pairs)``: all of these differences of estimates at once, a
  :class:`kwis.intervals.pairwise.Differences` whose intervals and p-values are those of one by one;
- ``adds_model_error``: whether ``of`` adds the error of a model of the propensities to its own;
- ``block``: how many consecutive rows it draws together, None for single rows;
- ``common_resamples``: how many resamples ``of`` wants estimates to have in common;
- ``description``: the method in words.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from kwis.estimators.joint import Contrast
from kwis.estimators.protocol import Estimator, S
from kwis.results import Interval
from kwis.typing import Seed

if TYPE_CHECKING:
    from kwis.intervals.pairwise import Differences


class IntervalMethod(Protocol):
    """A confidence interval for what an estimator estimates."""

    def interval(
        self, estimator: Estimator[S], sample: S, level: float = 0.95, rng: Seed = 0
    ) -> Interval: ...


def of(method: IntervalMethod, contrast: Contrast, level: float, rng: Seed) -> Interval:
    own = getattr(method, "of", None)
    if own is None:
        return method.interval(contrast.estimator, contrast.sample, level, rng)
    found: Interval = own(contrast, level, rng)
    return found


def has_p_values(method: IntervalMethod) -> bool:
    return hasattr(method, "p_value_of")


def p_value_of(method: IntervalMethod, contrast: Contrast) -> float:
    return float(method.p_value_of(contrast))  # type: ignore[attr-defined]


def differences(
    method: IntervalMethod, sides: Sequence[Contrast], pairs: Sequence[tuple[int, int]]
) -> Differences | None:
    own = getattr(method, "differences", None)
    known = own is not None and all(side.influence is not None for side in sides)
    return own(sides, pairs) if own is not None and known else None


def adds_model_error(method: IntervalMethod) -> bool:
    return bool(getattr(method, "adds_model_error", False))


def common_resamples(method: IntervalMethod) -> int:
    return int(getattr(method, "common_resamples", 0))


def draws_blocks(method: IntervalMethod) -> bool:
    return getattr(method, "block", None) is not None


def description(method: IntervalMethod) -> str:
    return str(getattr(method, "description", type(method).__name__))
