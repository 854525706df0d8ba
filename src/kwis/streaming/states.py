"""State-WIS from one record per distinct context; records beyond what memory should hold wait in files that
DuckDB sums up.

With ``G``, ``M``, ``R`` the sums of mass, mass times weight and mass times weight times reward over the rows
of a state, State-WIS is ``sum_s G R / M`` over the total mass (normalised: over the mass of the states with
``M > 0``), and the influence of a row is

    ``m (n / total) (G/M w (r - R/M) + R/M - J)``, normalised ``(... + R/M - N) / B``, ``B`` the share of the
    mass with ``M > 0``.

Its square, and its products with the other terms of a row, need sums of ``m^2 w^a r^b`` with a and b up to 2
per state, no more.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from kwis.runtime.scratch import Folder
from kwis.streaming.rows import Rows
from kwis.typing import Floats, Ints

MEMORY_STATES = 1 << 18
"""States held in memory per accumulator; above that they are written out."""

SHARED = ("n", "m", "m2")
PAIRED = ("mr", "mw", "mwr", "m2r", "m2r2", "m2w", "m2wr", "m2wr2", "m2w2", "m2w2r", "m2w2r2")


def _moments(rows: Rows, pivots: Floats) -> Floats:
    """Columns of a record: rows, mass, mass squared, then ``PAIRED`` for every target and reward; rewards
    less a pivot.
    """
    m, m2 = rows.mass, rows.mass**2
    columns = [np.ones(rows.n), m, m2]
    for w in rows.weight.T:
        for r in (rows.reward - pivots).T:
            wr = w * r
            columns += [
                m * r,
                m * w,
                m * wr,
                m2 * r,
                m2 * r * r,
                m2 * w,
                m2 * wr,
                m2 * wr * r,
                m2 * w * w,
                m2 * w * wr,
                m2 * wr * wr,
            ]
    return np.stack(columns, axis=1)


@dataclass(frozen=True, slots=True, eq=False)
class Records:
    """Sums per state; ``key`` is two 64-bit hashes of the context, which no two contexts share in
    practice.
    """

    key: Ints
    moments: Floats

    def reduced(self) -> Records:
        """One record per state, sorted by key."""
        if not len(self.key):
            return self
        order = np.lexsort((self.key[:, 1], self.key[:, 0]))
        key = self.key[order]
        starts = np.flatnonzero(np.concatenate([[True], (key[1:] != key[:-1]).any(axis=1)]))
        return Records(key[starts], np.add.reduceat(self.moments[order], starts, axis=0))


@dataclass(slots=True, eq=False)
class States:
    """Records of all states seen so far.

    Attributes
    ----------
    pivots
        Subtracted from the rewards, so that squares of rewards far from 0 keep their digits; any number among
        them will do, the same for all that is to be merged.
    recent
        Records in memory, not yet reduced to one per state.
    folders, spilled
        Folders that records are written to when they are too many, and the files in them.
    """

    pivots: Floats
    width: int
    recent: list[Records] = field(default_factory=list)
    pending: int = 0
    folders: list[Folder] = field(default_factory=list)
    spilled: list[str] = field(default_factory=list)

    @classmethod
    def empty(cls, targets: int, pivots: Floats) -> States:
        return cls(pivots=pivots, width=len(SHARED) + len(PAIRED) * targets * pivots.size)

    def add(self, key: Ints, rows: Rows) -> None:
        """Take rows in, with the two hashes ``(n, 2)`` of their contexts."""
        self._append(Records(key, _moments(rows, self.pivots)).reduced())

    def merge(self, other: States) -> States:
        """Records of both; files of either stay where they are."""
        spilled, folders = [*self.spilled, *other.spilled], [*self.folders, *other.folders]
        joined = States(pivots=self.pivots, width=self.width, folders=folders, spilled=spilled)
        for records in (*self.recent, *other.recent):
            joined._append(records)
        return joined

    def _append(self, records: Records) -> None:
        self.recent.append(records)
        self.pending += len(records.key)
        if self.pending <= MEMORY_STATES:
            return
        self._reduce()
        if self.pending > MEMORY_STATES // 2:  # they will not become fewer by waiting
            self._spill()

    def _reduce(self) -> Records:
        key = (
            np.concatenate([records.key for records in self.recent])
            if self.recent
            else np.empty((0, 2), dtype=np.uint64)
        )
        moments = (
            np.concatenate([records.moments for records in self.recent])
            if self.recent
            else np.empty((0, self.width))
        )
        whole = Records(key, moments).reduced()
        self.recent, self.pending = [whole], len(whole.key)
        return whole

    def _spill(self) -> None:
        import pyarrow as pa
        from pyarrow import parquet

        own = Folder()
        path = str(Path(own.path) / "states.parquet")
        records = self._reduce()
        columns = {
            "k0": records.key[:, 0],
            "k1": records.key[:, 1],
            **{f"x{j}": records.moments[:, j] for j in range(self.width)},
        }
        parquet.write_table(
            pa.table(columns), path, compression="none", use_dictionary=False, write_statistics=False
        )
        self.folders.append(own)
        self.spilled.append(path)
        self.recent, self.pending = [], 0

    def chunks(self) -> Iterator[Floats]:
        """Moments of all states, one record each, some at a time."""
        if not self.spilled:
            yield self._reduce().moments
            return
        if self.pending:
            self._spill()
        from kwis.data.read.duck import connect, listed, literal

        sums = ", ".join(f"fsum(x{j}) AS x{j}" for j in range(self.width))
        with Folder() as folder, connect() as connection:
            connection.execute(
                "SET memory_limit = '300MB'; SET preserve_insertion_order = false; SET threads = 2"
            )
            connection.execute(f"SET temp_directory = {literal(folder)}")
            found: Any = connection.sql(
                f"SELECT {sums} FROM read_parquet({listed(self.spilled)}) GROUP BY k0, k1"
            )
            reader = (
                found.to_arrow_reader if hasattr(found, "to_arrow_reader") else found.fetch_arrow_reader
            )  # the name before 2.0
            for batch in reader(1 << 16):
                yield np.stack([column.to_numpy() for column in batch.columns], axis=1)

    def __reduce__(self) -> Any:
        """Pickled with the records that files hold, so that another process can go on with them."""
        moments = self._gathered()
        return _restored, (self.pivots, self.width, moments.key, moments.moments)

    def _gathered(self) -> Records:
        from pyarrow import parquet

        records = [*self.recent]
        for path in self.spilled:
            table = parquet.read_table(path)
            key = np.stack([table.column(name).to_numpy() for name in ("k0", "k1")], axis=1)
            records.append(
                Records(key, np.stack([table.column(f"x{j}").to_numpy() for j in range(self.width)], axis=1))
            )
        if not records:
            return Records(np.empty((0, 2), dtype=np.uint64), np.empty((0, self.width)))
        return Records(
            np.concatenate([one.key for one in records]), np.concatenate([one.moments for one in records])
        ).reduced()


def _restored(pivots: Floats, width: int, key: Ints, moments: Floats) -> States:
    states = States(pivots=pivots, width=width)
    states._append(Records(key, moments))
    return states
