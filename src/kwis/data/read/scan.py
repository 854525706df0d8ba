"""The door for logs that stay where they are until they are evaluated, and may be larger than memory."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import TypeAlias, Unpack

from kwis._call import Call, call_of
from kwis._text import visible
from kwis.data.log import LoggedBandit
from kwis.data.read.arguments import (
    LogArguments,
    Reading,
    reading_of,
    refuse_unknown,
    roles_of,
    takes_log_arguments,
)
from kwis.data.read.assemble import checked_source
from kwis.data.read.batches import ArrowData, Batches, ParquetFiles
from kwis.data.read.dask_frame import DaskFrame
from kwis.data.read.databases import database_kind
from kwis.data.read.files import files_of, format_of
from kwis.data.read.source import Roles
from kwis.typing import Client, LogSource


@dataclass(frozen=True, slots=True, eq=False)
class Whole:
    """What is read at once and not in batches: frames, CSV, JSON lines, dsjson, results of queries."""

    given: LogSource
    reading: Reading

    @property
    def is_path(self) -> bool:
        return isinstance(self.given, str | os.PathLike)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ScannedLog:
    """A log that stays where it is until it is evaluated.

    Attributes
    ----------
    source
        Where the rows are.
    roles
        Which columns are what.
    call
        The call of :func:`kwis.scan_log` that made it.

    See Also
    --------
    kwis.scan_log : makes it.
    kwis.LoggedBandit : the log once it is read.

    Examples
    --------
    >>> frame = {"age": [20, 40] * 20, "action": ["a", "b"] * 20, "p": [0.5] * 40, "reward": [1, 0] * 20}
    >>> log = kwis.scan_log(frame, propensity="p", context=["age"])
    >>> isinstance(log, kwis.ScannedLog), float(log.read().reward.mean())
    (True, 0.5)
    """

    source: Batches | Whole
    roles: Roles
    call: Call | None = None

    @property
    def n(self) -> int | None:
        """Number of rows, where that can be known without reading them."""
        return None if isinstance(self.source, Whole) else self.source.rows

    def read(self, client: Client | None = None) -> LoggedBandit:
        """The log in memory, as :func:`kwis.read_log` would read it; with a Dask ``client``, its workers read
        files and partitions.
        """
        from kwis.data.read.collect import collected

        return replace(collected(self, client=client), call=self.call)

    def __repr__(self) -> str:
        if isinstance(self.source, Whole):
            return (
                f"ScannedLog: decisions in "
                f"{self.source.given if self.source.is_path else type(self.source.given).__name__}"
            )
        rows = "an unknown number of" if self.n is None else f"{self.n:,}"
        files = f" in {len(self.source.footers)} files" if isinstance(self.source, ParquetFiles) else ""
        return visible(f"ScannedLog: {rows} decisions{files}, columns {', '.join(self.source.types)}")


Log: TypeAlias = LoggedBandit | ScannedLog | LogSource
"""A log, read or not: what an evaluation starts from."""


@takes_log_arguments
def scan_log(source: LogSource, **said: Unpack[LogArguments]) -> ScannedLog:
    """Point at a log, which ``kwis.evaluate`` then reads; Parquet, Arrow and Dask logs may be larger than
    memory.

    The answer is that of :func:`kwis.read_log`, to the last digit. Rows are read batch by batch, and the
    columns of a large log wait in temporary files (where ``TMPDIR`` says) for what is under way.

    Parameters
    ----------
    source
        Whatever :func:`kwis.read_log` reads; a list of paths of Parquet files; a list or an iterator of Arrow
        tables and record batches, where an iterator can be evaluated once; or a Dask dataframe, read by the
        workers of the ``client`` it is evaluated with.
    {log arguments}

    Returns
    -------
    ScannedLog
        Where the log is and what its columns mean; rows are read when it is evaluated.

    See Also
    --------
    kwis.read_log : reads the log at once.
    kwis.evaluate : takes what this returns.

    Examples
    --------
    >>> frame = {"age": [20, 40] * 20, "action": ["a", "b"] * 20, "p": [0.5] * 40, "reward": [1, 0] * 20}
    >>> log = kwis.scan_log(frame, propensity="p", context=["age"])
    >>> log.read().action_names
    ('a', 'b')
    """
    refuse_unknown(said, "scan_log")
    roles = roles_of(said)
    checked_source(roles.propensity_source)
    call = call_of(scan_log, {"source": source, **said})
    return ScannedLog(source=_opened(source, reading_of(said)), roles=roles, call=call)


def _opened(source: LogSource, reading: Reading) -> Batches | Whole:
    """Where rows come from: in batches where that is possible."""
    query, kind = reading.query, reading.format
    if hasattr(source, "to_delayed") and query is None:
        return DaskFrame(source)
    if isinstance(source, str | os.PathLike):
        path = os.fspath(source)
        plain = (
            query is None
            and kind in (None, "parquet")
            and database_kind(path) is None
            and find_spec("pyarrow") is not None
        )
        return (
            ParquetFiles.of(path)
            if plain and all(format_of(file) == "parquet" for file in files_of(path))
            else Whole(path, reading)
        )
    if (
        query is None
        and kind is None
        and isinstance(source, list | tuple)
        and all(isinstance(one, str | os.PathLike) for one in source)
    ):
        return ParquetFiles.of(source)
    if query is None and kind is None and _is_batches(source):
        return ArrowData.of(source)
    return Whole(source, reading)


def _is_batches(source: LogSource) -> bool:
    """Whether something is Arrow data, or a list or iterator that should be."""
    if isinstance(source, Mapping | sqlite3.Connection) or type(source).__name__ == "DuckDBPyConnection":
        return False
    if type(source).__module__.partition(".")[0] == "pyarrow":
        return True
    return isinstance(source, list | tuple) or hasattr(source, "__next__")
