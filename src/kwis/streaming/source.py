"""Where record batches come from: Parquet files, or Arrow data handed over; every row keeps its place."""

from __future__ import annotations

import itertools
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from kwis.data.read.duck import first_line
from kwis.data.read.folders import base_of, folder_columns, note_on, unused_folders
from kwis.errors import InputError, UnsupportedError
from kwis.large.arrow import kind_of
from kwis.large.runner import Runner
from kwis.large.source import Footer, parquet_files, same_kinds
from kwis.streaming.counts import row_keys
from kwis.typing import Ints

BATCH_ROWS = 1 << 16


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Batch:
    """Consecutive rows as an Arrow table.

    Attributes
    ----------
    identity
        What the rows are known by in resamples, together with their number: the name of their file within the
        folder of all files.
    place
        The file in messages; empty where there is none.
    start, offset
        Number of the first row within the file, and within the whole log.
    """

    table: Any
    identity: str
    place: str
    start: int
    offset: int

    @property
    def n(self) -> int:
        return int(self.table.num_rows)

    def row(self, i: int) -> str:
        """A row in words."""
        return f"row {self.start + i} of {self.place!r}" if self.place else f"row {self.start + i}"

    @property
    def where(self) -> str:
        return f" in {self.place!r}" if self.place else ""

    def keys(self) -> Ints:
        return row_keys(self.identity, self.start, self.n)

    def numbers(self) -> Ints:
        return np.arange(self.offset, self.offset + self.n)


class Source(Protocol):
    """Batches in parts that can be read independently of each other."""

    @property
    def types(self) -> dict[str, Any]:
        """Arrow type of every column, as in the first file."""
        ...

    @property
    def rows(self) -> int | None:
        """How many rows there are, if that is known beforehand."""
        ...

    def head(self, runner: Runner) -> Any:
        """The first rows as an Arrow table of all columns."""
        ...

    def size(self, parts: Sequence[Any], runner: Runner, most: int) -> int:
        """How many rows the parts have, or any number above ``most`` if they have more than that."""
        ...

    def check(self, columns: Sequence[str]) -> None:
        """Refuse files that lack one of the columns, or hold something else in it."""
        ...

    def parts(self, runner: Runner) -> Sequence[Any]:
        """What tasks are told to read."""
        ...

    @property
    def read(self) -> Callable[[Any, Sequence[str]], Iterator[Batch]]:
        """Reads the named columns of a part; it goes to wherever the task runs."""
        ...


@dataclass(frozen=True, slots=True)
class Part:
    """A row group of a Parquet file, small enough to be sent anywhere; ``said`` are the columns that the
    names of its folders give.
    """

    path: str
    identity: str
    group: int
    start: int
    offset: int
    said: tuple[tuple[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class ParquetFiles:
    """Parquet files, in the order of their names, and the folder that holds them all."""

    footers: tuple[Footer, ...]
    folder: str
    said: tuple[tuple[tuple[str, Any], ...], ...] = ()
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, source: Any) -> ParquetFiles:
        """The files meant by a path, a folder, a pattern or a list of these; each is opened once to see that
        it can be read.
        """
        needed()
        paths = parquet_files(source)
        _refuse_repeated(paths)
        single = isinstance(source, str | Path) and Path(source).is_dir()
        folder = (
            os.path.abspath(source)
            if single
            else os.path.commonpath([os.path.dirname(os.path.abspath(path)) for path in paths])
        )
        footers = tuple(Footer.of(path) for path in paths)
        columns = folder_columns(
            paths, base_of(os.fspath(source)) if isinstance(source, str | os.PathLike) else folder
        )
        unused = unused_folders(columns, {name for footer in footers for name in footer.names})
        used = {name: _arrow(values) for name, values in columns.items() if name not in unused}
        said = tuple(tuple((name, values[i]) for name, values in used.items()) for i in range(len(paths)))
        whole = (
            replace(one, types=(*one.types, *((name, value.type) for name, value in more)))
            for one, more in zip(footers, said, strict=True)
        )
        return cls(tuple(whole), folder, said, note_on(unused))

    @property
    def types(self) -> dict[str, Any]:
        return dict(next((footer for footer in self.footers if sum(footer.groups)), self.footers[0]).types)

    @property
    def rows(self) -> int | None:
        return sum(sum(footer.groups) for footer in self.footers)

    def head(self, runner: Runner) -> Any:
        part = next(iter(self.parts(runner)), None)
        if part is None:
            raise InputError("`source` must have rows, got none")
        return next(read_part(part, list(self.types))).table

    def size(self, parts: Sequence[Any], runner: Runner, most: int) -> int:  # noqa: ARG002 - footers know
        return sum(sum(footer.groups) for footer in self.footers)

    def check(self, columns: Sequence[str]) -> None:
        same_kinds(self.footers, columns)

    def shared(self) -> tuple[str, ...]:
        """Columns that every file with rows has, and has of one kind."""
        types = [dict(footer.types) for footer in self.footers if sum(footer.groups)]
        return tuple(
            name
            for name in self.types
            if len({_kind(known.get(name), name) for known in types} - {"empty"}) <= 1
        )

    def parts(self, runner: Runner) -> list[Part]:  # noqa: ARG002 - the same wherever they are read
        found, offset = [], 0
        for footer, said in zip(self.footers, self.said or [()] * len(self.footers), strict=True):
            start = 0
            for group, size in enumerate(footer.groups):
                if size:
                    found.append(
                        Part(footer.path, self._identity(footer.path), group, start, offset + start, said)
                    )
                start += size
            offset += start
        return found

    def place(self, row: int) -> str:
        """Where a row of the whole log is, in words."""
        for footer in self.footers:
            if row < sum(footer.groups):
                return f"row {row} of {footer.path!r}"
            row -= sum(footer.groups)
        return f"row {row}"

    def _identity(self, path: str) -> str:
        """Name of a file within the folder, so that a folder that is moved keeps its resamples."""
        return Path(os.path.abspath(path)).relative_to(self.folder).as_posix()

    @property
    def read(self) -> Callable[[Part, Sequence[str]], Iterator[Batch]]:
        return read_part


def _kind(type_: Any, name: str) -> str:
    """What a column holds, in one word; the type itself if it is none of the usual ones, "none" if there is
    no such column.
    """
    try:
        return "none" if type_ is None else kind_of(type_, name, "")
    except InputError:
        return str(type_)


def _refuse_repeated(paths: Sequence[str]) -> None:
    """A file listed twice would have its rows counted twice, in the same resamples."""
    path, times = Counter(os.path.abspath(path) for path in paths).most_common(1)[0]
    if times > 1:
        raise InputError(f"`source` must name every file once, got {path!r} {times} times")


def read_part(part: Part, columns: Sequence[str]) -> Iterator[Batch]:
    """Batches of a row group, in order."""
    from pyarrow import Table, parquet

    done = 0
    said = dict(part.said)
    own = [name for name in columns if name not in said]
    with readable(part.path), parquet.ParquetFile(part.path) as file:
        for batch in file.iter_batches(BATCH_ROWS, row_groups=[part.group], columns=own, use_threads=False):
            yield Batch(
                table=_with_said(Table.from_batches([batch]), said, columns),
                identity=part.identity,
                place=part.path,
                start=part.start + done,
                offset=part.offset + done,
            )
            done += batch.num_rows


def _with_said(table: Any, said: Mapping[str, Any], columns: Sequence[str]) -> Any:
    """The columns in order, those that names of folders give among them."""
    if not said:
        return table
    import pyarrow as pa

    rows = table.num_rows
    return pa.table(
        {name: pa.repeat(said[name], rows) if name in said else table.column(name) for name in columns}
    )


def _arrow(values: Sequence[Any]) -> Any:
    import pyarrow as pa

    array = pa.array(values)
    return pa.array(values, pa.string()) if pa.types.is_null(array.type) else array


@dataclass(slots=True, eq=False)
class ArrowData:
    """Arrow tables or record batches, read one after the other and, if they come from an iterator,
    only once.
    """

    types: dict[str, Any]
    rows: int | None
    first: Any
    batches: Iterable[Any] | None

    @classmethod
    def of(cls, source: Any) -> ArrowData:
        needed()
        import pyarrow as pa

        if isinstance(source, pa.Table | pa.RecordBatch):
            return cls({field.name: field.type for field in source.schema}, source.num_rows, source, [source])
        batches = iter(source)
        first = next((batch for batch in batches if _is_arrow(batch).num_rows), None)
        if first is None:
            raise InputError("`source` must have rows, got none")
        if isinstance(source, list | tuple):
            rows = sum(_is_arrow(batch).num_rows for batch in source)
            return cls({field.name: field.type for field in first.schema}, rows, first, list(source))
        return cls(
            {field.name: field.type for field in first.schema}, None, first, itertools.chain([first], batches)
        )

    def head(self, runner: Runner) -> Any:  # noqa: ARG002 - it is here
        return next(_pieces(self.first, list(self.types), 0))

    def size(self, parts: Sequence[Any], runner: Runner, most: int) -> int:  # noqa: ARG002 - there are no parts
        """Rows of an iterator are counted by holding them, up to ``most``; the rest still comes after those
        held.
        """
        if self.rows is None and self.batches is not None:
            rest, held, rows = iter(self.batches), [], 0
            while rows <= most and (batch := next(rest, None)) is not None:
                held.append(batch)
                rows += _is_arrow(batch).num_rows
            self.batches = itertools.chain(held, rest)
            return rows
        return self.rows or 0

    def check(self, columns: Sequence[str]) -> None:
        """Batches are checked as they come."""

    def parts(self, runner: Runner) -> list[int]:  # noqa: ARG002 - read here, one after the other
        return [0]

    def _once(self) -> Iterable[Any]:
        """The batches; those of an iterator are gone afterwards."""
        batches = self.batches
        if batches is None:
            raise InputError(
                "`source` must be Parquet files, or Arrow data that is more than an iterator, to be read "
                "again"
            )
        if not isinstance(batches, list):
            self.batches = None
        return batches

    def read(self, part: int, columns: Sequence[str]) -> Iterator[Batch]:
        done = part
        for given in self._once():
            for table in _pieces(_is_arrow(given), columns, done):
                yield Batch(table=table, identity="", place="", start=done, offset=done)
                done += table.num_rows


def _pieces(given: Any, columns: Sequence[str], done: int) -> Iterator[Any]:
    import pyarrow as pa

    missing = [name for name in columns if name not in given.schema.names]
    if missing:
        raise InputError(
            f"`source` must have the column `{missing[0]}` in every batch, and the one that starts at row "
            f"{done} has not"
        )
    table = (given if isinstance(given, pa.Table) else pa.Table.from_batches([given])).select(list(columns))
    for start in range(0, table.num_rows, BATCH_ROWS):
        yield table.slice(start, BATCH_ROWS)


def _is_arrow(given: Any) -> Any:
    import pyarrow as pa

    if not isinstance(given, pa.Table | pa.RecordBatch):
        raise InputError(
            f"`source` must be Parquet files, or Arrow tables and record batches, got {type(given).__name__}"
        )
    return given


@contextmanager
def readable(path: str) -> Iterator[None]:
    """Whatever is wrong with a file becomes one sentence that names it."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OSError) as failure:
        raise InputError(
            f"`source` must hold files that can be read, and {path!r} cannot: {first_line(failure)}"
        ) from None


def needed() -> None:
    """Refuse to go on without pyarrow."""
    from importlib.util import find_spec

    if find_spec("pyarrow") is None:
        raise UnsupportedError("scanning a log needs pyarrow to be installed: pip install 'kwis[stream]'")
