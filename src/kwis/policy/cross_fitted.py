"""The record of a policy learnt by folds: what ``cross_fit`` returns, and ``evaluate`` takes as a target."""

from __future__ import annotations

from dataclasses import dataclass

from kwis.typing import Floats, Ints


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CrossFitted:
    """A policy made by :func:`kwis.cross_fit`, a target of :func:`kwis.evaluate` on the same log.

    Attributes
    ----------
    distribution
        ``(n, K)`` probability of every action, on each row by the policy that has not seen it.
    folds
        ``(n,)`` which fold each row was held out in.
    rows
        Row numbers of the log it was made for.
    """

    name: str
    distribution: Floats
    folds: Ints
    rows: Ints

    @property
    def note(self) -> str:
        """One sentence for the result."""
        k = int(self.folds.max()) + 1
        return (
            f"{self.name} was trained {k} times, each time without the rows it is evaluated on: its value is "
            f"the mean of {k} policies"
        )
