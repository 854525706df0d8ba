"""Scanned logs that fit in memory, read piece by piece into the log that :func:`kwis.read_log` makes.

What a log is evaluated by must not depend on the door it came through: below a size every door ends here,
with the rows in the order of the log and known by their number in it. Only larger logs are evaluated batch by
batch, by :mod:`kwis.streaming.evaluate`.

All columns are read, not only those with a role: copies of rows and undeclared users are looked for in every
column, and targets that are functions may use any. Pieces become columns of numbers and codes as soon as they
are read, so that no more than two copies are held.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from kwis.data.log import LoggedBandit
from kwis.data.read.assemble import assemble
from kwis.data.read.frames import from_frame
from kwis.data.read.read_log import completed, read_source
from kwis.data.read.source import Roles
from kwis.data.read.source import Source as TableSource
from kwis.data.read.uneven import note_on
from kwis.data.table import Table, stacked
from kwis.errors import InputError
from kwis.large.estimate import runner_of
from kwis.large.runner import Progress, Runner, Threads
from kwis.streaming.scan import ScannedLog, Whole
from kwis.streaming.source import ArrowData, Batch, ParquetFiles, Source

COLLECTED_ROWS = 1_000_000
COLLECTED_CELLS = 40_000_000  # rows times columns: 320 MB of numbers


def collected(
    log: ScannedLog, *, client: Any = None, progress: Progress | None = None
) -> LoggedBandit | None:
    """The log in memory; None if it is too large for that. With a ``client``, its workers read files and Dask
    partitions.
    """
    return _read(log, runner_of(client, progress), limited=True)


def read_scanned(log: ScannedLog, *, client: Any = None, progress: Progress | None = None) -> LoggedBandit:
    """The log in memory, however large it is."""
    found = _read(log, runner_of(client, progress), limited=False)
    assert found is not None
    return found


def _read(log: ScannedLog, runner: Runner, *, limited: bool) -> LoggedBandit | None:
    source = log.source
    if isinstance(source, Whole):
        read = _whole(source, runner)
        return assemble(read, completed(log.roles, read))
    if isinstance(source, ArrowData):
        runner = Threads(getattr(runner, "steps", Threads().steps))  # what is here is not sent to workers
    parts = source.parts(runner)
    if limited and not _fits(source.size(parts, runner, COLLECTED_ROWS), len(source.types)):
        return None
    names, notes = _columns(source, log.roles)
    table = _table(source, parts, names, runner)
    try:
        return assemble(TableSource(table=table, notes=notes), log.roles)
    except InputError as trouble:
        raise InputError(_placed(str(trouble), source)) from None


def _placed(sentence: str, source: Source) -> str:
    """A sentence that names a row of the log, with the file that the row is in."""
    if not isinstance(source, ParquetFiles):
        return sentence
    return re.sub(r"\bat row (\d+)", lambda found: f"at {source.place(int(found[1]))}", sentence)


def _fits(rows: int, columns: int) -> bool:
    return rows <= COLLECTED_ROWS and rows * columns <= COLLECTED_CELLS


def _whole(source: Whole, runner: Runner) -> TableSource:
    """A path is read where the runner works, anything else here."""
    arguments = (source.given, source.query, source.format, source.allow_external)
    found: TableSource = (
        runner.fetch(runner.call(read_source, *arguments)) if source.is_path else read_source(*arguments)
    )
    return found


def _columns(source: Source, roles: Roles) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Columns to be read, and a note on those that some files lack; one that has a role is refused with its
    file.
    """
    if not isinstance(source, ParquetFiles):
        return tuple(source.types), ()
    shared = source.shared()
    uneven = [name for name in source.types if name not in shared]
    source.check([name for name in _named(roles) if name in uneven])
    return shared, (*source.notes, *note_on(uneven))


def _named(roles: Roles) -> Iterable[str]:
    """Every column that somebody named."""
    yield from roles.single
    sets = roles.candidates if isinstance(roles.candidates, str | Mapping) else ()
    for several in (
        roles.reward or "reward",
        roles.propensity or (),
        roles.context or (),
        roles.categorical,
        sets,
    ):
        yield from (
            [several]
            if isinstance(several, str)
            else several.values()
            if isinstance(several, Mapping)
            else several
        )


def _table(source: Source, parts: Sequence[Any], names: Sequence[str], runner: Runner) -> Table:
    if not parts:
        raise InputError("`source` must have rows, got none")
    handles = runner.each(_pieces, [(source.read, part, names) for part in parts], "reading the log")
    pieces = [piece for handle in handles for piece in runner.fetch(handle)]
    if not pieces:
        raise InputError("`source` must have rows, got none")
    return stacked(pieces)


def _pieces(read: Callable[..., Iterable[Batch]], part: Any, names: Sequence[str]) -> list[Table]:
    return [from_frame(batch.table, piece=True) for batch in read(part, names) if batch.n]
