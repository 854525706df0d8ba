"""Scanned logs, read batch by batch into the log that :func:`kwis.read_log` makes.

What a log is evaluated by must not depend on the door it came through: every door ends here, with the rows in
the order of the log and known by their number in it.

All columns are read, not only those with a role: copies of rows and undeclared users are looked for in every
column, and targets that are functions may use any. Batches become columns of numbers and codes as soon as
they are read, and those of a large log wait outside memory, see :mod:`kwis.runtime.arrays`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from kwis.data.log import LoggedBandit, in_files
from kwis.data.read.arguments import LogArguments, refuse_said
from kwis.data.read.assemble import assemble, refuse_unknown
from kwis.data.read.batches import ArrowData, Batches, ParquetFiles
from kwis.data.read.files import parquet_head
from kwis.data.read.frames import from_frame
from kwis.data.read.read_log import completed, read_source
from kwis.data.read.scan import ScannedLog, Whole, scan_log
from kwis.data.read.source import Roles
from kwis.data.read.source import Source as TableSource
from kwis.data.read.uneven import note_on
from kwis.data.table import Table, stacked
from kwis.errors import InputError
from kwis.runtime.arrays import kept
from kwis.runtime.runner import Progress, Runner, runner_of
from kwis.runtime.scratch import remove_left_once
from kwis.typing import Client, LogSource

STRETCH_ROWS = 1 << 20
PARTS_AT_ONCE = 8


def collected(
    log: ScannedLog, *, client: Client | None = None, progress: Progress | None = None
) -> LoggedBandit:
    """The log, read. With a ``client``, its workers read files and Dask partitions."""
    runner = runner_of(client, progress)
    source = log.source
    if isinstance(source, Whole):
        read = _whole(source, runner)
        return assemble(read, completed(log.roles, read))
    if isinstance(source, ArrowData):
        runner = runner_of(None, progress)  # what is here is not sent to workers
    _refuse_unknown(source, log.roles)
    names, notes = columns_to_read(source, log.roles)
    table = _table(source, source.parts(runner), names, runner)
    files = _files(source)
    try:
        return replace(
            assemble(TableSource(table=table, notes=notes, dialect="duckdb"), log.roles), files=files
        )
    except InputError as trouble:
        raise InputError(in_files(str(trouble), files)) from None


def opened(
    log: ScannedLog | LogSource,
    said: LogArguments,
    client: Client | None = None,
    progress: Progress | None = None,
) -> LoggedBandit:
    """The log behind whatever somebody calls one, and what is said about it."""
    if isinstance(log, ScannedLog):
        refuse_said(said)
    try:
        scanned = log if isinstance(log, ScannedLog) else scan_log(log, **said)
        return collected(scanned, client=client, progress=progress)
    except InputError as trouble:
        if isinstance(log, ScannedLog):
            raise
        # whoever calls evaluate knows no `source`
        raise InputError(str(trouble).replace("`source`", "`log`", 1)) from None


def _files(source: Batches) -> tuple[tuple[str, int], ...]:
    if not isinstance(source, ParquetFiles):
        return ()
    return tuple((footer.path, footer.rows) for footer in source.footers)


def _whole(source: Whole, runner: Runner) -> TableSource:
    """A path is read where the runner works, anything else here."""
    arguments = (source.given, source.reading)
    found: TableSource = (
        runner.fetch(runner.call(read_source, *arguments)) if source.is_path else read_source(*arguments)
    )
    return found


def _refuse_unknown(source: Batches, roles: Roles) -> None:
    """Refuse names that no column of the files has, before all their rows are read."""
    types = source.types
    if not isinstance(source, ParquetFiles) or all(name in types for name in roles.columns()):
        return
    filled = next((footer for footer in source.footers if footer.rows), None)
    if filled is not None:
        refuse_unknown(parquet_head(filled.path, types), roles)


def columns_to_read(source: Batches, roles: Roles) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Columns to be read, and a note on those that some files lack; one that has a role is refused with its
    file.
    """
    if not isinstance(source, ParquetFiles):
        return tuple(source.types), ()
    shared = source.shared()
    uneven = [name for name in source.types if name not in shared]
    source.check([name for name in roles.columns() if name in uneven])
    return shared, (*source.notes, *note_on(uneven))


def _table(source: Batches, parts: Sequence[Any], names: Sequence[str], runner: Runner) -> Table:
    stretches: list[Table] = []
    small: list[Table] = []
    for piece in _read_in_waves(source, parts, names, runner):
        small.append(piece)
        if sum(one.n for one in small) >= STRETCH_ROWS:
            stretches.append(_stretch(small))
            small = []
    if small:
        stretches.append(_stretch(small) if stretches else stacked(small, piece=True))
    if not stretches:
        raise InputError("`source` must have rows, got none")
    return stacked(stretches)


def _read_in_waves(
    source: Batches, parts: Sequence[Any], names: Sequence[str], runner: Runner
) -> Iterator[Table]:
    """Pieces of the log in order; no more than a wave of parts is held at once."""
    for start in range(0, len(parts), PARTS_AT_ONCE):
        wave = [(source.read, part, names) for part in parts[start : start + PARTS_AT_ONCE]]
        for handle in runner.each(_pieces, wave, "reading the log"):
            yield from runner.fetch(handle)


def _stretch(pieces: Sequence[Table]) -> Table:
    """Consecutive pieces as one that waits outside memory."""
    whole = stacked(pieces, piece=True)
    columns = {
        name: replace(column, values=kept(column.values, least=0)) for name, column in whole.columns.items()
    }
    return replace(whole, columns=columns)


def _pieces(read: Callable[..., Iterable[Any]], part: Any, names: Sequence[str]) -> list[Table]:
    remove_left_once()  # a worker's own machine has temporary folders of its own
    return [from_frame(table, piece=True) for table in read(part, names) if table.num_rows]
