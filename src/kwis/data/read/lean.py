"""Parquet files read for a few of their columns, and some of their rows in full.

Row groups that lie one after the other are read together, so that many small ones cost no more than few large
ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kwis.data.columns import ISO_DATE, Label
from kwis.data.read.batches import BATCH_ROWS, ParquetFiles
from kwis.data.read.duck import clear_errors, connect, listed, query_table, quoted
from kwis.data.read.frames import from_frame
from kwis.data.read.parquet import readable
from kwis.data.table import Table, stacked
from kwis.errors import KwisError
from kwis.runtime.runner import Runner
from kwis.stats.subsets import drawn_rows
from kwis.typing import Floats, Ints

STRETCH_ROWS = 100_000
_AHEAD = 1 << 18  # bytes
FEWEST_ALIKE, MOST_ALIKE = 1_000, 300_000
"""Rows that may be looked through for copies and shared draws."""
MOST_ACTIONS = 32
"""Sums of products of their probabilities take the square of that per row."""
STRETCHES_SAMPLED = 12
"""Rows are drawn from at most so many places of a log, spread evenly: each has to be read in full. Any
tenth of the log has a part of one of them at least.
"""


class UnusualError(KwisError):
    """Something that only the whole log can answer."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Row groups of one file that lie one after the other, and which rows of the log they are; ``footer`` is
    what the file says of itself.
    """

    path: str
    groups: tuple[int, ...]
    start: int
    rows: int
    footer: Any = field(compare=False)

    @property
    def stop(self) -> int:
        return self.start + self.rows

    def batches(
        self, columns: Sequence[str], coded: Sequence[str] = (), rows: int = BATCH_ROWS
    ) -> Iterator[tuple[slice, Any]]:
        """Batches with their rows in the log; text of the columns ``coded`` comes as codes."""
        from pyarrow import parquet

        done = self.start
        # Reading far ahead of what is decoded only takes memory, and time, where files are on a disk.
        opened = parquet.ParquetFile(
            self.path, metadata=self.footer, read_dictionary=list(coded), pre_buffer=False,
            buffer_size=_AHEAD,
        )  # fmt: skip
        with readable(self.path), opened as file:
            for batch in file.iter_batches(
                rows, row_groups=list(self.groups), columns=list(columns), use_threads=False
            ):
                yield slice(done, done + batch.num_rows), batch
                done += batch.num_rows


def stretches_of(source: ParquetFiles) -> list[Stretch]:
    """The rows of the files in order, in stretches of at least ``STRETCH_ROWS`` where files are that long."""
    from pyarrow import parquet

    found: list[Stretch] = []
    start = 0
    for footer in source.footers:
        with readable(footer.path):
            own = parquet.read_metadata(footer.path)
        groups: list[int] = []
        rows = 0
        for number, size in enumerate(footer.groups):
            groups, rows = [*groups, number], rows + size
            if rows >= STRETCH_ROWS or number == len(footer.groups) - 1:
                if rows:
                    found.append(Stretch(footer.path, tuple(groups), start, rows, own))
                start, groups, rows = start + rows, [], 0
    return found


def numbers_of(column: Any) -> Floats:
    """Numbers of an Arrow column without gaps, as they lie in memory where they are float64."""
    from pyarrow import types

    kind = column.type
    if column.null_count or not (types.is_floating(kind) or types.is_integer(kind) or types.is_boolean(kind)):
        raise UnusualError(f"a column of {kind}")
    return np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.float64)


def actions_of(
    stretches: Sequence[Stretch], name: str, listed: Sequence[Label] | None, runner: Runner
) -> tuple[Ints, tuple[Label, ...]]:
    """``(n,)`` codes of the actions, and their labels in the order that a log has them in."""
    codes = np.empty(stretches[-1].stop, dtype=np.int8)

    def read(stretch: Stretch) -> list[tuple[slice, list[Label]]]:
        found = []
        for rows, batch in stretch.batches([name], [name]):
            batch.validate(full=True)
            column = batch.column(0)
            coded = column if hasattr(column, "dictionary") else column.dictionary_encode()
            if column.null_count:
                raise UnusualError("rows without an action")
            if len(coded.dictionary) > MOST_ACTIONS:
                raise UnusualError("many actions")
            codes[rows] = coded.indices.to_numpy(zero_copy_only=False)
            found.append((rows, coded.dictionary.to_pylist()))
        return found

    parts = [
        part
        for found in runner.each(read, [(one,) for one in stretches], "reading the log")
        for part in found
    ]
    names = _names({label for _, labels in parts for label in labels}, listed)
    if len(names) > MOST_ACTIONS:
        raise UnusualError("many actions")
    place = {label: code for code, label in enumerate(names)}
    for rows, labels in parts:
        own = [place[label] for label in labels]
        if own != list(range(len(own))):
            codes[rows] = np.array(own, dtype=np.int8)[codes[rows]]
    return codes, names


def _names(labels: set[Any], listed: Sequence[Label] | None) -> tuple[Label, ...]:
    text = all(isinstance(label, str) for label in labels)
    if not text and not all(type(label) is int for label in labels):
        raise UnusualError("actions that are neither text nor whole numbers")
    if text and ("" in labels or all(ISO_DATE.fullmatch(label) for label in labels)):
        raise UnusualError("actions that are empty, or dates")
    names = tuple(sorted(labels)) if listed is None else tuple(listed)
    if not labels <= set(names) or len(set(names)) != len(names) or len(names) < 2:
        raise UnusualError("actions that are not those listed, or fewer than two")
    return names


@dataclass(frozen=True, slots=True, eq=False)
class Drawn:
    """Rows drawn at random from stretches spread over a log: their numbers, and which stretches they are
    of.
    """

    rows: Ints
    stretches: frozenset[Stretch]

    @classmethod
    def of(cls, stretches: Sequence[Stretch], most: int, seed: int) -> Drawn:
        places = np.unique(np.linspace(0, len(stretches) - 1, min(len(stretches), STRETCHES_SAMPLED)).round())
        chosen = [stretches[int(place)] for place in places]
        ends = np.cumsum([one.rows for one in chosen])
        drawn = drawn_rows(int(ends[-1]), min(most, int(ends[-1])), seed)
        which = np.searchsorted(ends, drawn, side="right")
        shift = np.array([one.start for one in chosen]) - np.concatenate([[0], ends[:-1]])
        return cls(drawn + shift[which], frozenset(chosen))

    def within(self, rows: slice) -> Ints:
        """Which of some consecutive rows were drawn, counted from the first of these."""
        low, high = np.searchsorted(self.rows, [rows.start, rows.stop])
        return np.asarray(self.rows[low:high] - rows.start)


def table_of_batches(batches: Sequence[Any], names: Sequence[str]) -> Table:
    """One table of Arrow batches, as any reader makes it."""
    from pyarrow import Table as ArrowTable

    for batch in batches:
        batch.validate(full=True)  # text that is not UTF-8, offsets that lead nowhere
    whole = ArrowTable.from_batches(batches).select(list(names))
    return stacked([from_frame(whole, piece=True)])


def table_alike(
    paths: Sequence[str], columns: Sequence[str], names: Sequence[str], share: float
) -> Table | None:
    """About such a share of the rows with the columns ``names``: of the rows that have the same values in
    ``columns`` all or none. None where no two of them have.
    """
    alike = f"hash({', '.join(map(quoted, columns))})"
    chosen = f"FROM read_parquet({listed(paths)}) WHERE {alike} <= {int(share * (2**64 - 1))}::UBIGINT"
    doing = "cannot read the log"
    with connect() as connection, clear_errors(doing):
        counts = connection.execute(f"SELECT count(*), count(DISTINCT {alike}) {chosen}").fetchall()
        rows, distinct = counts[0]
        if not FEWEST_ALIKE <= rows <= MOST_ALIKE:
            raise UnusualError("values that most rows share")
        if rows == distinct:
            return None
        return query_table(connection, f"SELECT {', '.join(map(quoted, names))} {chosen}", doing)


Visit = Callable[[slice, Any], None]
"""What is done with a batch, told which rows of the log it holds."""


def visiting(
    columns: Sequence[str], every: Sequence[str], coded: Sequence[str], drawn: Drawn,
    each: Callable[[Stretch], tuple[Visit, Any]],
) -> Callable[[Stretch], tuple[Any, list[Any]]]:  # fmt: skip
    """What goes through a stretch: ``each`` gives what is done with its batches and what comes of that in the
    end. Returns the latter, and the rows drawn with ``every`` column; text in columns ``coded``, of few
    values, is only written out for these.
    """

    def read(stretch: Stretch) -> tuple[Any, list[Any]]:
        act, found = each(stretch)
        sampled = stretch in drawn.stretches
        kept = []
        for rows, batch in stretch.batches(every, coded) if sampled else stretch.batches(columns):
            act(rows, batch)
            if sampled:
                kept.append(_written_out(batch.take(_arrow(drawn.within(rows))), coded))
        return found, [batch for batch in kept if batch.num_rows]

    return read


def _written_out(batch: Any, coded: Sequence[str]) -> Any:
    """The batch with text instead of its codes."""
    for place, name in enumerate(batch.schema.names):
        column = batch.column(place)
        if name in coded and hasattr(column, "dictionary"):
            batch = batch.set_column(place, name, column.dictionary_decode())
    return batch


def _arrow(rows: Ints) -> Any:
    import pyarrow as pa

    return pa.array(rows)
