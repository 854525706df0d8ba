"""What an estimator is, to everything that uses one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol, Self, TypeAlias, TypeVar, runtime_checkable

from kwis.kernel.profiles import Kernel
from kwis.results import BandwidthChoice, Estimate
from kwis.typing import ArrayLike, Bandwidth, Floats, Ints, Seed


class Sample(Protocol):
    """What resampling needs to know of a sample: ``WeightedSample``, or a pair of them."""

    @property
    def n(self) -> int: ...

    @property
    def group(self) -> Ints | None: ...

    def take(self, rows: ArrayLike, *, group: ArrayLike | None = None) -> Self: ...


S = TypeVar("S", bound=Sample)
S_contra = TypeVar("S_contra", bound=Sample, contravariant=True)


class Estimator(Protocol[S_contra]):
    """One number, its standard error and the influence of every row, from a sample.

    These two members are all that an evaluation needs. The protocols below are optional:
    ``ResampledEstimator`` is a faster road to the same numbers, ``KernelEstimator`` says that there is a
    bandwidth to hold or to select anew. What else an estimator may say about itself, from its aliases to its
    caveats, is listed in :mod:`kwis.estimators.traits`.
    """

    @property
    def name(self) -> str: ...

    def estimate(self, sample: S_contra, /) -> Estimate: ...


Estimators: TypeAlias = str | Estimator[Any] | Iterable[str | Estimator[Any]]
"""Estimators as a user says them: names, ready-made estimators, or several of either."""


@dataclass(frozen=True, slots=True, eq=False)
class Resamples:
    """An estimator on B resamples: ``values`` (B,), and if asked for ``influence`` (n, B), 0 on rows not
    drawn.

    A value is ``nan`` where the resample has no estimate (every row drawn has weight 0).
    """

    values: Floats
    influence: Floats | None = None


@runtime_checkable
class ResampledEstimator(Protocol):
    """Redoes the whole statistic on many resamples at once: ``counts[i, b]`` is how often row i is in
    resample b.
    """

    def resampled(self, sample: Any, counts: Floats, *, influence: bool = False) -> Resamples: ...


@runtime_checkable
class KernelEstimator(Protocol):
    """Has a bandwidth: given, or selected from the sample (``selects_bandwidth``)."""

    @property
    def selects_bandwidth(self) -> bool | None: ...

    def held(self, sample: Any, /) -> Any:
        """The same estimator with its bandwidth held at what it would select on ``sample``."""
        ...


def selects_bandwidth(estimator: object) -> bool | None:
    """Whether the bandwidth of an estimator depends on the sample; None where it is no
    :class:`KernelEstimator`. Looked up directly: ``isinstance`` takes many times as long, and every
    comparison asks.
    """
    return getattr(estimator, "selects_bandwidth", None) if hasattr(estimator, "held") else None


@runtime_checkable
class CrossValidated(Protocol):
    """Selects its bandwidth from contexts and weights alone, so that one selection serves all rewards."""

    @property
    def kernel(self) -> Kernel: ...

    @property
    def folds(self) -> int: ...

    @property
    def rng(self) -> Seed: ...

    def choose(self, sample: Any, /) -> BandwidthChoice: ...

    def at(self, bandwidth: Bandwidth, /) -> Any:
        """The same estimator with this bandwidth."""
        ...


@runtime_checkable
class Smoother(Protocol):
    """Averages over contexts nearby: has a kernel, and a bandwidth."""

    @property
    def kernel(self) -> Kernel: ...

    @property
    def bandwidth(self) -> Any: ...
