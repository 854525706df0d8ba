"""What an interval method is, to everything that uses one."""

from __future__ import annotations

from typing import Any, Protocol, Self, runtime_checkable

from kwis.estimators.protocol import Estimator, S
from kwis.results import Estimate, Interval
from kwis.typing import Floats, Seed


class IntervalMethod(Protocol):
    """A confidence interval for what an estimator estimates.

    ``interval`` is all that an evaluation needs. The protocols below are optional: they make use of what was
    estimated already, or know more. A method may have a ``description`` in words; without one, its class
    stands for it.
    """

    def interval(
        self, estimator: Estimator[S], sample: S, level: float = 0.95, rng: Seed = 0
    ) -> Interval: ...


@runtime_checkable
class InfluenceMethod(Protocol):
    """Makes its interval from an estimate and the influence of its rows, and adds the error of a
    model to it.
    """

    def interval_of(self, estimate: Estimate, estimator: Any, sample: Any, level: float) -> Interval: ...

    def with_model_error(self, added: float) -> Self: ...


@runtime_checkable
class TestMethod(Protocol):
    """Has p-values of its own, which agree with its intervals."""

    def p_value_of(self, estimate: Estimate, estimator: Any, sample: Any) -> float: ...


@runtime_checkable
class ResamplingMethod(Protocol):
    """Makes its interval from resamples, which estimates may have in common.

    Attributes
    ----------
    shares_resamples
        Whether values on common resamples are all it needs.
    reselect
        Whether bandwidths are selected anew on every resample.
    """

    @property
    def replicates(self) -> int: ...

    @property
    def shares_resamples(self) -> bool: ...

    @property
    def reselect(self) -> bool: ...

    def interval_from(self, values: Floats, estimate: Estimate, sample: Any, level: float) -> Interval: ...


def description(method: IntervalMethod) -> str:
    """The method in words."""
    return str(getattr(method, "description", type(method).__name__))
