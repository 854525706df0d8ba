"""Everything one pass over a log collects; two of them merge into one, in any order."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

import numpy as np

from kwis.checks.bound import Floor
from kwis.data.columns import Label
from kwis.errors import InputError
from kwis.streaming.capped import CappedSums
from kwis.streaming.largest import Largest, Spread
from kwis.streaming.promises import Promises, together
from kwis.streaming.rows import Layout, Rows
from kwis.streaming.states import States
from kwis.streaming.subset import Subset
from kwis.typing import Floats, Ints

MOST_LABELS = 100_000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Weighed:
    """A batch ready to be taken in.

    Attributes
    ----------
    table
        The batch itself, for the subset.
    context
        ``(n, 2)`` hashes of the contexts; None where states are not wanted.
    actions
        How often each action was taken.
    promised
        From target to what it promised each action, where that is known.
    floor, ceilings
        Smallest propensity, and the largest weight that any action would have for each target, infinite where
        that is not known.
    """

    rows: Rows
    table: Any
    context: Ints | None
    actions: dict[Label, int]
    promised: dict[str, Promises]
    floor: Floor
    ceilings: Floats


@dataclass(slots=True, kw_only=True, eq=False)
class Accumulator:
    """Sums, largest weights, states and a random subset of the rows taken in so far.

    Its memory does not grow with the rows: see :mod:`kwis.streaming.capped` and :mod:`kwis.streaming.states`
    for the two parts that grow with something else. It can be pickled.
    """

    sums: CappedSums
    largest: tuple[Largest, ...]
    spreads: tuple[Spread, ...]
    subset: Subset
    states: States | None
    rows: int = 0
    actions: Counter[Label] = field(default_factory=Counter)
    promised: dict[str, Promises] = field(default_factory=dict)
    floor: Floor = field(default_factory=Floor)
    ceilings: Floats = field(default_factory=lambda: np.zeros(1))

    @classmethod
    def empty(
        cls, layout: Layout, *, replicates: int, seed: int, subset: int, tail: int, pivots: Floats | None
    ) -> Accumulator:
        """Nothing yet; ``subset`` and ``tail`` say how many rows to keep at random and by weight, ``pivots``
        None leaves the states out.
        """
        return cls(
            sums=CappedSums.empty(layout, replicates, seed),
            largest=tuple(
                Largest.empty(t, layout.targets, layout.rewards, tail) for t in range(layout.targets)
            ),
            spreads=tuple(Spread.empty() for _ in range(layout.targets)),
            subset=Subset.empty(subset, seed),
            states=None if pivots is None else States.empty(layout.targets, pivots),
        )

    def add(self, batch: Weighed) -> None:
        """Take a batch in."""
        rows = batch.rows
        self.sums = self.sums.add(rows)
        self.largest = tuple(one.add(rows) for one in self.largest)
        self.spreads = tuple(one.add(rows.weight[:, t], rows.mass) for t, one in enumerate(self.spreads))
        self.subset = self.subset.add(rows.identity, batch.table)
        if self.states is not None and batch.context is not None:
            self.states.add(batch.context, rows)
        self.rows += rows.n
        self.actions.update(batch.actions)
        self.promised = _joined(self.promised, batch.promised)
        self.floor, self.ceilings = self.floor.merge(batch.floor), np.maximum(self.ceilings, batch.ceilings)
        if len(self.actions) > MOST_LABELS:
            raise InputError(
                f"`action` must have at most {MOST_LABELS:,} different labels in a log that is scanned, got "
                f"more"
            )

    def merge(self, other: Accumulator) -> Accumulator:
        """One accumulator of the rows of both, which are not to be used any more."""
        return Accumulator(
            sums=self.sums.merge(other.sums),
            largest=tuple(a.merge(b) for a, b in zip(self.largest, other.largest, strict=True)),
            spreads=tuple(a.merge(b) for a, b in zip(self.spreads, other.spreads, strict=True)),
            subset=self.subset.merge(other.subset),
            states=None if self.states is None or other.states is None else self.states.merge(other.states),
            rows=self.rows + other.rows,
            actions=self.actions + other.actions,
            promised=_joined(self.promised, other.promised),
            floor=self.floor.merge(other.floor),
            ceilings=np.maximum(self.ceilings, other.ceilings),
        )


def _joined(one: dict[str, Promises], other: dict[str, Promises]) -> dict[str, Promises]:
    return {target: together(one.get(target, {}), other.get(target, {})) for target in {**one, **other}}


def merged(parts: list[Accumulator]) -> Accumulator:
    """All of them, in the order given."""
    return reduce(Accumulator.merge, parts)


def checked_terms(rows: Rows, place: Any) -> Rows:
    """Refuse numbers whose squares would overflow."""
    with np.errstate(over="ignore"):
        sizes = (
            rows.mass[:, None]
            * np.maximum(rows.weight, 1.0).max(axis=1, keepdims=True)
            * np.maximum(np.abs(rows.reward), 1.0)
        )
    bad = ~(sizes < 1e75)
    if bad.any():
        row = int(np.argmax(bad.any(axis=1)))
        raise InputError(
            f"`weight` times `reward` must be below 1e75 in a log that is scanned, got more at {place(row)}"
        )
    return rows
