"""From options to a log and its targets."""

from __future__ import annotations

from collections.abc import Container, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from kwis.cli.options import PositionChoice, SourceChoice, listed
from kwis.errors import InputError, KwisError

if TYPE_CHECKING:
    from kwis.data.columns import Label
    from kwis.data.log import LoggedBandit, PropensitySource
    from kwis.data.read.scan import ScannedLog
    from kwis.data.read.source import Source


@dataclass(frozen=True, slots=True, kw_only=True)
class LogOptions:
    """What the command line says about a log; lists are as typed, commas and all."""

    source: str
    action: str | None = None
    reward: list[str] | None = None
    propensity: str | None = None
    propensity_source: SourceChoice | None = None
    estimate_propensity: bool = False
    context: list[str] | None = None
    categorical: list[str] | None = None
    missing: list[str] | None = None
    actions: list[str] | None = None
    candidates: str | None = None
    row_weight: str | None = None
    group: str | None = None
    time: str | None = None
    logger: str | None = None
    position: str | None = None
    position_in: PositionChoice | None = None
    query: str | None = None
    format: str | None = None

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

    def read(self) -> LoggedBandit:
        """The log in memory."""
        from kwis.data.read.assemble import assemble
        from kwis.data.read.read_log import completed, read_source
        from kwis.data.read.source import Roles

        self.files()
        with _readable(self.source):
            found = read_source(self.source, self.query, self.format)
        table = found.table
        roles = Roles(
            action=self.action,
            reward=listed(self.reward, table),
            propensity=self._propensity(),
            propensity_source=self._source(),
            context=listed(self.context, table),
            row_weight=self.row_weight,
            group=self.group,
            time=self.time,
            logger=self.logger,
            position=self.position,
            position_in=None if self.position_in is None else self.position_in.value,
            actions=self._actions(found),
            candidates=self.candidates,
            categorical=listed(self.categorical, table) or (),
            missing=listed(self.missing) or (),
        )
        return assemble(found, completed(roles, found))

    def opened(self, client: Any, progress: Any) -> LoggedBandit:
        """The log; Parquet files batch by batch, by the workers of a ``client`` if there is one."""
        scanned = self._scanned()
        if scanned is None:
            return self.read()
        from kwis.data.read.collect import collected

        with _readable(self.source):
            return collected(scanned, client=client, progress=progress)

    def _scanned(self) -> ScannedLog | None:
        """Parquet files to be read in batches; None: the log is of another kind."""
        self.files()
        if self.query is not None or self.format not in (None, "parquet"):
            return None
        from kwis.data.read.batches import ParquetFiles
        from kwis.data.read.scan import scan_log

        with _readable(self.source):
            source = scan_log(self.source).source
        if not isinstance(source, ParquetFiles):
            return None
        names = source.types
        return scan_log(
            self.source,
            action=self.action,
            reward=listed(self.reward, names),
            propensity=self._propensity(),
            propensity_source=self._source(),
            context=listed(self.context, names),
            row_weight=self.row_weight,
            group=self.group,
            time=self.time,
            logger=self.logger,
            position=self.position,
            position_in=None if self.position_in is None else self.position_in.value,
            actions=_labels(listed(self.actions), names.get(self.action or "action")),
            candidates=self.candidates,
            categorical=listed(self.categorical, names) or (),
            missing=listed(self.missing) or (),
        )

    def _source(self) -> PropensitySource | None:
        return None if self.propensity_source is None else self.propensity_source.value

    def _actions(self, found: Source) -> list[Label] | None:
        """The labels listed; numbers if the column of actions holds numbers."""
        labels, name = listed(self.actions), self.action or found.roles.action or "action"
        if labels is None or name not in found.table or found.table.column(name).kind != "number":
            return None if labels is None else [*labels]
        try:
            numbers = [float(label) for label in labels]
        except ValueError:
            raise InputError(
                f"`actions` must be numbers, as `{name}` holds numbers, got {', '.join(labels)}"
            ) from None
        return [int(number) if number.is_integer() else number for number in numbers]

    def _propensity(self) -> str | Literal[False] | None:
        if self.estimate_propensity and self.propensity is not None:
            raise InputError(f"`estimate-propensity` must go without `propensity`, got {self.propensity!r}")
        return False if self.estimate_propensity else self.propensity


@contextmanager
def _readable(source: str) -> Iterator[None]:
    """Name the log in whatever a library says of a file that it cannot read."""
    import csv
    import zlib

    import duckdb

    try:
        yield
    except KwisError:
        raise
    except RecursionError:
        raise InputError(f"cannot read {source!r}: it is nested too deeply") from None
    except MemoryError:
        raise InputError(f"cannot read {source!r}: it does not fit into memory") from None
    except (OSError, EOFError, ValueError, OverflowError, csv.Error, zlib.error, duckdb.Error) as failure:
        reason = next(iter(str(failure).strip().splitlines()), type(failure).__name__).rstrip(".")
        raise InputError(f"cannot read {source!r}: {reason}") from None


def _labels(labels: list[str] | None, kind: Any) -> list[Label] | None:
    """The labels listed, as numbers if the column of actions holds numbers."""
    if labels is None or kind is None or not str(kind).startswith(("int", "uint", "float", "double")):
        return None if labels is None else [*labels]
    return [int(label) if float(label).is_integer() else float(label) for label in labels]


def targets_of(texts: list[str], columns: Container[str]) -> Any:
    """Targets as :func:`kwis.evaluate` takes them: a list, or a mapping where any has a name of its own."""
    pairs = [(None, text) if text in columns else _target(text) for text in texts]
    if all(name is None for name, _ in pairs):
        return [target for _, target in pairs]
    named: dict[str, Any] = {}
    for (name, target), text in zip(pairs, texts, strict=True):
        key = name or text.partition(":")[2] or text
        if key in named:
            raise InputError(f"`target` must have different names, got {key!r} twice")
        named[key] = target
    return named


def _target(text: str) -> tuple[str | None, Any]:
    from kwis.policy.discrete import chosen, distribution, probability

    name, equals, rest = text.partition("=")
    label, column = (name.strip(), rest.strip()) if equals else (None, text.strip())
    if not column or label == "":
        raise InputError(f"`target` must be COLUMN or NAME=COLUMN, got {text!r}")
    kind, colon, what = column.partition(":")
    if colon and kind == "chosen":
        return label, chosen(what)
    if colon and kind == "probability":
        return label, probability(what)
    if colon and kind == "distribution":
        return label, distribution(listed([what]) or [])
    return label, column
