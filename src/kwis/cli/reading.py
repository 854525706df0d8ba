"""From options to a log."""

from __future__ import annotations

import inspect
import os
import re
import sys
from collections.abc import Callable, Container, Iterator
from contextlib import contextmanager
from dataclasses import MISSING, dataclass, fields, replace
from functools import cache, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_type_hints

from kwis.cli import options as opt
from kwis.cli.options import listed
from kwis.errors import InputError, KwisError

_ROWS_AT_ONCE = 1_000_000
_SMALL = 1 << 20  # bytes; no Parquet files that are smaller hold rows enough to be read in batches

if TYPE_CHECKING:
    from kwis.data.columns import Label
    from kwis.data.log import LoggedBandit
    from kwis.data.read.arguments import Reading
    from kwis.data.read.scan import ScannedLog
    from kwis.data.read.source import PropensityColumns, Source
    from kwis.typing import Client


@dataclass(frozen=True, slots=True, kw_only=True)
class LogOptions:
    """What the command line says about a log, as typed: every field is an option of every command that reads
    one.
    """

    source: opt.Log
    action: opt.Action = None
    reward: opt.Reward = None
    propensity: opt.Propensity = None
    propensity_source: opt.PropensityFrom = None
    estimate_propensity: opt.NoPropensity = False
    context: opt.Context = None
    categorical: opt.Categorical = None
    missing: opt.Missing = None
    drop_missing: opt.DropMissing = False
    actions: opt.Actions = None
    candidates: opt.Candidates = None
    row_weight: opt.RowWeight = None
    group: opt.Group = None
    time: opt.Time = None
    logger: opt.Logger = None
    position: opt.Position = None
    position_in: opt.PositionIn = None
    key: opt.Key = None
    query: opt.Query = None
    format: opt.Format = None
    skip_bad_lines: opt.SkipBadLines = False

    def files(self) -> list[str]:
        """The files that will be read, as far as they are there; an empty name would stand for the working
        directory.
        """
        if not self.source.strip():
            raise InputError("LOG must be the name of a file, a folder or a pattern, got an empty one")
        from kwis.data.read.files import files_of

        with _readable(self.source):
            try:
                found = files_of(self.source)
            except InputError:  # reading the log will say what is wrong
                found = [self.source]
        for path in found:
            if any(
                "\ud800" <= sign <= "\udfff" for sign in path
            ):  # how Python writes bytes that are not UTF-8
                raise InputError(f"LOG must have a name in UTF-8, got {path!r}; rename it")
        return found

    def read(self, *, rewards: bool = True) -> LoggedBandit:
        """The log in memory; without ``rewards``, only those that were named."""
        from kwis._call import call_of
        from kwis.data.read.assemble import assemble
        from kwis.data.read.read_log import completed, read_log, read_source
        from kwis.data.read.source import Roles

        self.files()
        with _readable(self.source):
            found = read_source(self.source, self._reading())
        roles = Roles(**self._roles(found.table), actions=self._actions(found))
        if not rewards and self.reward is None:
            roles = replace(roles, reward=False)
        call = call_of(read_log, {"source": self.source, **self._reading().given, **roles.given})
        return replace(assemble(found, completed(roles, found)), call=call)

    def said_of(self, path: str) -> dict[str, Any]:
        """Arguments of :func:`kwis.read_log` for a file like this one, and under ``columns`` what it has."""
        from kwis.data.read.read_log import read_source

        with _readable(path):
            found = read_source(path, self._reading())
        roles = {**self._roles(found.table), "actions": self._actions(found)}
        given = {**self._reading().given, **roles}
        said = {name: value for name, value in given.items() if value not in (None, (), False)}
        return {**said, "columns": found.table}

    def _roles(self, names: Container[str]) -> dict[str, Any]:
        """Roles of columns, but for the actions, as :class:`kwis.data.read.source.Roles` has them."""
        return {
            "action": self.action,
            "reward": listed(self.reward, names),
            "propensity": self._propensity(names),
            "propensity_source": None if self.propensity_source is None else self.propensity_source.value,
            "context": listed(self.context, names),
            "row_weight": self.row_weight,
            "group": self.group,
            "time": self.time,
            "logger": self.logger,
            "position": self.position,
            "position_in": None if self.position_in is None else self.position_in.value,
            "candidates": self.candidates,
            "key": self.key,
            "categorical": listed(self.categorical, names) or (),
            "missing": _gaps(self.missing or []) or (),
            "drop_missing": self.drop_missing,
        }

    def _reading(self) -> Reading:
        from kwis.data.read.arguments import Reading

        return Reading(query=self.query, format=self.format, skip_bad_lines=self.skip_bad_lines)

    def opened(self, scanned: ScannedLog | None, client: Client | None, progress: Any) -> LoggedBandit:
        """The log; what was :meth:`scanned` batch by batch if it has many rows, by the workers of a
        ``client`` if there is one.
        """
        if scanned is None or (client is None and (scanned.n or 0) <= _ROWS_AT_ONCE):
            return self.read()
        from kwis.data.read.collect import collected

        with _readable(self.source):
            return replace(collected(scanned, client=client, progress=progress), call=scanned.call)

    def scanned(self, client: Client | None) -> ScannedLog | None:
        """Parquet files that may be read in batches; None: whatever has to be read at once."""
        files = self.files()
        if self.query is not None or not self._is_parquet(files) or not all(map(os.path.isfile, files)):
            return None
        if client is None and sum(Path(path).stat().st_size for path in files) < _SMALL:
            return None
        from kwis.data.read.batches import ParquetFiles
        from kwis.data.read.scan import scan_log

        with _readable(self.source):
            source = scan_log(self.source).source
        if not isinstance(source, ParquetFiles):
            return None
        names = source.types
        if any(name not in names for name in (self.action or "action", *(listed(self.reward, names) or ()))):
            return None  # reading says so
        action = self.action or "action"
        actions = listed(self.actions)
        numbers = str(names.get(action)).startswith(("int", "uint", "float", "double"))
        labels = _numbers(actions, action) if actions is not None and numbers else actions
        return scan_log(self.source, **self._roles(names), actions=labels)

    def _is_parquet(self, files: list[str]) -> bool:
        from kwis.data.read.files import format_of

        said = self.format or {format_of(path) for path in files}
        return said in ("parquet", {"parquet"})

    def _actions(self, found: Source) -> list[Label] | None:
        """The labels listed; numbers if the column of actions holds numbers."""
        labels, name = listed(self.actions), self.action or found.roles.action or "action"
        if labels is None or name not in found.table or found.table.column(name).kind != "number":
            return None if labels is None else [*labels]
        return _numbers(labels, name)

    def _propensity(self, names: Container[str]) -> PropensityColumns | None:
        """A column or a prefix, a number, or a number or column for each action or logger."""
        text = self.propensity
        if self.estimate_propensity and text is not None:
            raise InputError(f"`estimate-propensity` must go without `propensity`, got {text!r}")
        if self.estimate_propensity:
            return False
        if text is None or text in names:
            return text
        pairs = [entry.rpartition("=") for entry in text.split(",")]
        if all(equals for _, equals, _ in pairs):
            each: dict[Label, Any] = {
                name.strip(): _number_or_column(text.strip()) for name, _, text in pairs
            }
            return each
        return _number_or_column(text)


def _number_or_column(text: str) -> Any:
    try:
        return float(text)
    except ValueError:
        return text


def takes_log(
    *more: type, leave_out: Container[str] = ()
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command every option of :class:`LogOptions` and of other such records; it receives these as its
    first arguments.
    """
    records = (LogOptions, *more)

    def decorated(command: Callable[..., None]) -> Callable[..., None]:
        entries = [[entry for entry in fields(record) if entry.name not in leave_out] for record in records]

        @wraps(command)
        def run(**options: Any) -> None:
            said = [{entry.name: options.pop(entry.name) for entry in own} for own in entries]
            command(*(record(**own) for record, own in zip(records, said, strict=True)), **options)

        shown = [
            inspect.Parameter(
                entry.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=inspect.Parameter.empty if entry.default is MISSING else entry.default,
                annotation=_types(record)[entry.name],
            )
            for record, own in zip(records, entries, strict=True)
            for entry in own
        ]
        own = [*inspect.signature(command, eval_str=True).parameters.values()][len(records) :]
        own = [entry.replace(kind=inspect.Parameter.KEYWORD_ONLY) for entry in own]
        marked: Any = run
        marked.__signature__ = inspect.Signature([shown[0], *own[:1], *shown[1:], *own[1:]])
        marked.__annotations__ = {}
        del marked.__wrapped__
        return run

    return decorated


@cache
def _types(record: type) -> dict[str, Any]:
    return get_type_hints(record, include_extras=True)


@contextmanager
def _readable(source: str) -> Iterator[None]:
    """Name the log in whatever a library says of a file that it cannot read."""
    import csv
    import zlib

    try:
        yield
    except KwisError:
        raise
    except RecursionError:
        raise InputError(f"cannot read {source!r}: it is nested too deeply") from None
    except MemoryError:
        raise InputError(f"cannot read {source!r}: it does not fit into memory") from None
    except Exception as failure:
        of_readers = [OSError, EOFError, ValueError, OverflowError, csv.Error, zlib.error]
        if "duckdb" in sys.modules:  # else none of its errors can have been raised, and loading it takes time
            of_readers.append(sys.modules["duckdb"].Error)
        if not isinstance(failure, tuple(of_readers)):
            raise
        reason = next(iter(str(failure).strip().splitlines()), type(failure).__name__).rstrip(".")
        raise InputError(f"cannot read {source!r}: {reason}") from None


def _numbers(labels: list[str], name: str) -> list[Label]:
    """Actions as numbers; whole ones of any length as they are: floats would take different ones for one."""
    try:
        found = [int(label) if re.fullmatch("[+-]?[0-9]+", label) else float(label) for label in labels]
    except ValueError:
        raise InputError(
            f"`actions` must be numbers, as `{name}` holds numbers, got {', '.join(labels)}"
        ) from None
    return [int(number) if float(number).is_integer() else number for number in found]


def _gaps(values: list[str]) -> list[str]:
    """Values that stand for a gap; one with blanks around it is meant with and without them."""
    return [*(listed(values) or ()), *(value for value in values if value != value.strip())]
