"""A random subset of the rows that does not depend on their order: those whose identities hash lowest."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from kwis.large.arrow import alike
from kwis.streaming.compiled import mixed
from kwis.streaming.counts import seed_word
from kwis.typing import Ints


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Subset:
    """At most ``size`` whole rows as Arrow tables, every subset of that size equally likely.

    Attributes
    ----------
    limit
        Hashes above it are out; it only falls.
    """

    size: int
    seed: int
    hashes: Ints
    tables: tuple[Any, ...] = ()
    limit: int = 2**64 - 1

    @classmethod
    def empty(cls, size: int, seed: int) -> Self:
        return cls(size=size, seed=seed, hashes=np.empty(0, dtype=np.uint64))

    def add(self, identity: Ints, table: Any) -> Subset:
        """Take rows in."""
        # Another salt than that of the bootstrap counts, which must not favour the rows of the subset.
        hashes = mixed(identity, seed_word(self.seed) ^ np.uint64(0x5C5C5C5C5C5C5C5C))
        picked = np.flatnonzero(hashes <= np.uint64(self.limit))
        if not picked.size:
            return self
        part = replace(self, hashes=hashes[picked], tables=(table.take(picked),))
        return self.merge(part)

    def merge(self, other: Subset) -> Subset:
        both = replace(
            self,
            hashes=np.concatenate([self.hashes, other.hashes]),
            tables=(*self.tables, *other.tables),
            limit=min(self.limit, other.limit),
        )
        return both._cut() if both.hashes.size > 2 * self.size else both

    def _cut(self) -> Subset:
        order = np.argsort(self.hashes, kind="stable")[: self.size]
        kept = self.hashes[order]
        return replace(self, hashes=kept, tables=(alike(self.tables).take(order),), limit=int(kept[-1]))

    def finished(self) -> Any:
        """The rows as one Arrow table, in the order of their hashes; None if there are none."""
        return self._cut().tables[0] if self.hashes.size else None
