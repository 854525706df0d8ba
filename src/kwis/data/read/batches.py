"""Logs that come in batches: Parquet files, or Arrow data handed over. Every batch is an Arrow table."""

from __future__ import annotations

import itertools
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import Any, Protocol

from kwis.data.read.folders import base_of, folder_columns, note_on, unused_folders
from kwis.data.read.parquet import Footer, kind_of, parquet_files, readable, refuse_uneven
from kwis.errors import InputError, UnsupportedError
from kwis.runtime.runner import Runner

BATCH_ROWS = 1 << 16
Read = Callable[[Any, Sequence[str]], Iterator[Any]]
"""Reads the named columns of a part as Arrow tables; it goes to wherever the task runs."""


class Batches(Protocol):
    """Rows in parts that can be read independently of each other."""

    @property
    def types(self) -> Mapping[str, Any]:
        """Arrow type of every column, as in the first file; None where it is not known."""
        ...

    @property
    def rows(self) -> int | None:
        """How many rows there are, if that is known beforehand."""
        ...

    def parts(self, runner: Runner) -> Sequence[Any]:
        """What tasks are told to read."""
        ...

    @property
    def read(self) -> Read: ...


@dataclass(frozen=True, slots=True)
class Part:
    """A row group of a Parquet file, small enough to be sent anywhere; ``said`` are the columns that the
    names of its folders give.
    """

    path: str
    group: int
    said: tuple[tuple[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class ParquetFiles:
    """Parquet files, in the order of their names; ``said`` has the columns that the names of folders give."""

    footers: tuple[Footer, ...]
    said: tuple[tuple[tuple[str, Any], ...], ...]
    notes: tuple[str, ...]

    @classmethod
    def of(cls, source: Any) -> ParquetFiles:
        """The files meant by a path, a folder, a pattern or a list of these; each is opened once to see that
        it can be read.
        """
        needed()
        paths = parquet_files(source)
        _refuse_repeated(paths)
        footers = tuple(Footer.of(path) for path in paths)
        columns = folder_columns(paths, _base(source, paths))
        unused = unused_folders(columns, {name for footer in footers for name in footer.names})
        used = {name: _arrow(values) for name, values in columns.items() if name not in unused}
        said = tuple(tuple((name, values[i]) for name, values in used.items()) for i in range(len(paths)))
        whole = (
            replace(footer, types=(*footer.types, *((name, value.type) for name, value in more)))
            for footer, more in zip(footers, said, strict=True)
        )
        return cls(tuple(whole), said, note_on(unused))

    @property
    def types(self) -> dict[str, Any]:
        return dict(next((footer for footer in self.footers if footer.rows), self.footers[0]).types)

    @property
    def rows(self) -> int | None:
        return sum(footer.rows for footer in self.footers)

    def check(self, columns: Sequence[str]) -> None:
        """Refuse files that lack one of the columns, or hold something else in it."""
        refuse_uneven(self.footers, columns)

    def shared(self) -> tuple[str, ...]:
        """Columns that every file with rows has, and has of one kind."""
        types = [dict(footer.types) for footer in self.footers if footer.rows]
        return tuple(
            name for name in self.types if len({_kind(known.get(name)) for known in types} - {"empty"}) <= 1
        )

    def parts(self, runner: Runner) -> list[Part]:  # noqa: ARG002 - the same wherever they are read
        return [
            Part(footer.path, group, said)
            for footer, said in zip(self.footers, self.said, strict=True)
            for group, size in enumerate(footer.groups)
            if size
        ]

    @property
    def read(self) -> Read:
        return read_part


def _base(source: Any, paths: Sequence[str]) -> str | None:
    """The folder below which names of folders may say something."""
    if isinstance(source, str | os.PathLike):
        return base_of(os.fspath(source))
    return os.path.commonpath([os.path.dirname(os.path.abspath(path)) for path in paths])


def _kind(type_: Any) -> str:
    """What a column holds, in one word; the type itself if it is none of the usual ones, "none" if there is
    no such column.
    """
    return "none" if type_ is None else kind_of(type_) or str(type_)


def _refuse_repeated(paths: Sequence[str]) -> None:
    """A file listed twice would have its rows counted twice."""
    path, times = Counter(os.path.abspath(path) for path in paths).most_common(1)[0]
    if times > 1:
        raise InputError(f"`source` must name every file once, got {path!r} {times} times")


def read_part(part: Part, columns: Sequence[str]) -> Iterator[Any]:
    """Batches of a row group, in order."""
    from pyarrow import Table, parquet

    said = dict(part.said)
    own = [name for name in columns if name not in said]
    with readable(part.path), parquet.ParquetFile(part.path) as file:
        for batch in file.iter_batches(BATCH_ROWS, row_groups=[part.group], columns=own, use_threads=False):
            batch.validate(full=True)  # text that is not UTF-8, offsets that lead nowhere
            yield _with_said(Table.from_batches([batch]), said, columns)


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
    batches: Iterable[Any] | None

    @classmethod
    def of(cls, source: Any) -> ArrowData:
        needed()
        import pyarrow as pa

        several = [source] if isinstance(source, pa.Table | pa.RecordBatch) else source
        batches = iter(several)
        first = next((batch for batch in batches if _is_arrow(batch).num_rows), None)
        if first is None:
            raise InputError("`source` must have rows, got none")
        types = {field.name: field.type for field in first.schema}
        if isinstance(several, list | tuple):
            return cls(types, sum(_is_arrow(batch).num_rows for batch in several), list(several))
        return cls(types, None, itertools.chain([first], batches))

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

    def read(self, part: int, columns: Sequence[str]) -> Iterator[Any]:
        done = part
        for batch in self._once():
            for table in _slices(_is_arrow(batch), columns, done):
                yield table
                done += table.num_rows


def _slices(batch: Any, columns: Sequence[str], done: int) -> Iterator[Any]:
    import pyarrow as pa

    missing = [name for name in columns if name not in batch.schema.names]
    if missing:
        raise InputError(
            f"column `{missing[0]}` is missing from the batch of `source` that starts at row {done}"
        )
    table = (batch if isinstance(batch, pa.Table) else pa.Table.from_batches([batch])).select(list(columns))
    for start in range(0, table.num_rows, BATCH_ROWS):
        yield table.slice(start, BATCH_ROWS)


def _is_arrow(batch: Any) -> Any:
    import pyarrow as pa

    if not isinstance(batch, pa.Table | pa.RecordBatch):
        raise InputError(
            f"`source` must be Parquet files, or Arrow tables and record batches, got {type(batch).__name__}"
        )
    return batch


def needed() -> None:
    """Refuse to go on without pyarrow."""
    if find_spec("pyarrow") is None:
        raise UnsupportedError(
            "scanning a log needs pyarrow: pip install pyarrow (the extra `stream` of kwis)"
        )
