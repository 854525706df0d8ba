"""The difference of two estimates on the same rows, as an estimator like any other."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from kwis.errors import InputError
from kwis.estimators import traits
from kwis.estimators.protocol import Estimator, KernelEstimator, Resamples, selects_bandwidth
from kwis.estimators.resampling import resamples
from kwis.results import Estimate
from kwis.runtime.arrays import kept
from kwis.sample import WeightedSample
from kwis.stats.influence import standard_error
from kwis.typing import ArrayLike, Floats, Ints


@dataclass(frozen=True, slots=True, eq=False)
class PairedSample:
    """Two samples of the same interactions, weighted for two policies; resampling takes the same rows of
    both.
    """

    a: WeightedSample
    b: WeightedSample

    def __post_init__(self) -> None:
        if self.a.n != self.b.n:
            raise InputError(
                f"`sample_b` must have the rows of `sample_a`, got {self.b.n} for {self.a.n} rows"
            )
        for name in ("rows", "group", "mass"):
            row = _first_difference(getattr(self.a, name), getattr(self.b, name))
            if row is not None:
                raise InputError(
                    f"`sample_b` must have the {name} of `sample_a`, got a difference at row {row}"
                )

    @property
    def n(self) -> int:
        """Number of rows, the same in both."""
        return self.a.n

    @property
    def group(self) -> Ints | None:
        """Labels of the rows, the same in both."""
        return self.a.group

    def take(self, rows: ArrayLike, *, group: ArrayLike | None = None) -> PairedSample:
        """The given rows of both samples."""
        return PairedSample(self.a.take(rows, group=group), self.b.take(rows, group=group))


def _first_difference(a: Any, b: Any) -> int | None:
    if a is None and b is None:
        return None
    differs = np.asarray(a != b)  # from None, every row
    return int(np.argmax(differs)) if differs.any() else None


def difference_of(a: Estimate, b: Estimate, name: str) -> Estimate:
    """The first estimate minus the second, of the same rows; its standard error, which takes their groups, is
    left out.
    """
    influence = None if a.influence is None or b.influence is None else kept(a.influence - b.influence)
    leverage = None if a.leverage is None or b.leverage is None else kept(np.maximum(a.leverage, b.leverage))
    effective = min(a.effective_n, b.effective_n)
    return Estimate(
        name=name,
        value=a.value - b.value,
        n=a.n,
        effective_n=effective,
        influence=influence,
        leverage=leverage,
    )


@dataclass(frozen=True, slots=True)
class Difference:
    """``first`` on the first sample of a pair, minus ``second`` on the second.

    The two are the same estimator until a bandwidth is selected: each sample has its own.
    """

    first: Estimator[WeightedSample]
    second: Estimator[WeightedSample]

    @property
    def name(self) -> str:
        """Its name in results and messages."""
        return f"difference of {self.first.name}"

    @property
    def selects_bandwidth(self) -> bool | None:
        """Whether a bandwidth depends on the sample; None if there is no bandwidth at all."""
        return selects_bandwidth(self.first)

    def held(self, sample: PairedSample) -> Self:
        """The same with the bandwidth selected on each sample."""
        if not isinstance(self.first, KernelEstimator) or not isinstance(self.second, KernelEstimator):
            return self
        return replace(self, first=self.first.held(sample.a), second=self.second.held(sample.b))

    @property
    def shrinks(self) -> bool:
        """Whether one of the two is biased on purpose."""
        return traits.shrinks(self.first) or traits.shrinks(self.second)

    def bias_reference(self) -> Difference | None:
        """The same without what may bias either of the two."""
        first, second = traits.bias_reference(self.first), traits.bias_reference(self.second)
        return (
            None
            if first is None and second is None
            else Difference(first or self.first, second or self.second)
        )

    def estimate(self, sample: PairedSample) -> Estimate:
        """Difference of the two values; its standard error knows that the rows are shared."""
        apart = difference_of(self.first.estimate(sample.a), self.second.estimate(sample.b), self.name)
        return (
            apart
            if apart.influence is None
            else replace(apart, std_error=standard_error(apart.influence, sample.group))
        )

    def resampled(self, sample: PairedSample, counts: Floats, *, influence: bool = False) -> Resamples:
        """The same on resamples with the given counts (n, B)."""
        a = resamples(self.first, sample.a, counts, influence=influence)
        b = resamples(self.second, sample.b, counts, influence=influence)
        effect = None if a.influence is None or b.influence is None else a.influence - b.influence
        return Resamples(a.values - b.values, effect)
