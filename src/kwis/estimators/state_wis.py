"""Importance sampling normalised within each state."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from kwis.data.copies import all_different, codes_of_rows
from kwis.estimators.neighbourhood import LocalSums, locally_normalised
from kwis.estimators.ratio import Applied, RuleEstimator
from kwis.estimators.traits import Circumstances
from kwis.results import Verdict
from kwis.sample import WeightedSample
from kwis.typing import Floats, Ints

OWN_CONTEXT = 0.5
"""Share of the rows with a context of their own beyond which State-WIS says little."""
EMPTY, MOSTLY_EMPTY = 0.02, 0.1
"""Shares of the rows in states without any weight, to be named and too many: the plain form takes them for
rewards of 0. The former is that of Kernel-WIS."""


@dataclass(frozen=True, slots=True)
class StateWIS(RuleEstimator):
    """``mean(r_i w_i / m_i)`` with ``m_i`` the mean weight over the rows whose context equals that of row i.

    Parameters
    ----------
    normalised
        Divide by ``mean(w_i / m_i)``, which keeps the estimate within the range of the rewards.

    See Also
    --------
    kwis.KernelWIS : for contexts that hardly ever repeat.
    kwis.WIS : one normaliser for all rows.

    Examples
    --------
    >>> sample = kwis.WeightedSample(
    ...     context=[[0.0], [0.0], [1.0]], weight=[2.0, 1.0, 0.5], reward=[1.0, 0.0, 1.0]
    ... )
    >>> round(kwis.StateWIS().estimate(sample).value, 3)
    0.778
    """

    normalised: bool = False

    @property
    def name(self) -> str:
        """Its name in results and messages."""
        return "normalised-state-wis" if self.normalised else "state-wis"

    @property
    def sentence(self) -> str:
        """What it is."""
        if self.normalised:
            return "state-wis divided by the mean of its weights, so that equal rewards give that reward"
        return "weights are divided by their mean over the rows with the same context"

    @property
    def family(self) -> Self:
        """Estimators with the same are worked out together."""
        return replace(self, normalised=False)

    def caveats(self, circumstances: Circumstances) -> Iterable[Verdict]:
        """It says little where most contexts occur once, or without the actions of the target."""
        if circumstances.lone > OWN_CONTEXT:
            told = (
                f"{circumstances.estimate.name} says little where {circumstances.lone:.0%} of the rows have "
                f"a context of their own"
            )
            yield Verdict(level="do not trust", reasons=(f"{told}: their weights cancel",))
        empty = 1 - circumstances.estimate.mean_weight
        if empty >= EMPTY:
            what = "leaves out" if self.normalised else "counts as 0"
            reason = (
                f"{self.name} {what} {empty:.0%} of the rows: no row with the same context has an action of "
                f"the target"
            )
            too_many = empty >= MOSTLY_EMPTY and not self.normalised
            yield Verdict(level="do not trust" if too_many else "with care", reasons=(reason,))

    def applied(self, sample: WeightedSample, counts: Floats) -> Applied:
        """Weights divided by the mean weight of their state."""
        return locally_normalised(sample.weight, counts, self.sums(sample))

    def sampling(self, sample: WeightedSample) -> None:
        """Sums over states are always exact."""

    def sums(self, sample: WeightedSample) -> LocalSums:
        """Sums over the rows of the same state."""
        return sums_by_state(state_codes(sample.context))


def state_codes(context: Floats) -> Ints:
    """A number per distinct row; sorting hashes is far quicker than sorting wide rows."""
    if any(all_different(column) for column in context.T):
        return np.arange(context.shape[0])
    plain = np.ascontiguousarray(context + 0.0)  # -0.0 and 0.0 are equal but not the same bytes
    _, first, codes = np.unique(_hashes(plain.view(np.uint64)), return_index=True, return_inverse=True)
    if np.array_equal(plain[first[codes]], plain):
        return codes
    return codes_of_rows(plain.T)  # two rows have one hash


def _hashes(bits: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """``(n,)`` hash of every row, each entry mixed with what was before it."""
    found = np.full(bits.shape[0], bits.shape[1], dtype=np.uint64)
    for column in bits.T:
        found ^= column
        found *= np.uint64(0x9E3779B97F4A7C15)
        found ^= found >> np.uint64(29)
        found *= np.uint64(0xBF58476D1CE4E5B9)
        found ^= found >> np.uint64(32)
    return found


def sums_by_state(codes: Ints) -> LocalSums:
    """Sums over the rows of the same state, one per row."""
    order = np.argsort(codes, kind="stable")
    starts = np.flatnonzero(np.diff(codes[order], prepend=-1))

    def sums(vectors: Floats) -> Floats:
        if starts.size == codes.size:
            return vectors.copy()
        return np.add.reduceat(vectors[order], starts, axis=0)[codes]

    return sums
