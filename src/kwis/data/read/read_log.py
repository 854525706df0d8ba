"""The door for data: one function that reads a log from anywhere."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from kwis.data.columns import Label
from kwis.data.log import LoggedBandit, PropensitySource
from kwis.data.position import PositionPart
from kwis.data.read.assemble import assemble
from kwis.data.read.databases import database_kind, read_database, read_sqlite
from kwis.data.read.duck import run_query
from kwis.data.read.files import SUFFIXES, files_of, format_of, read_files
from kwis.data.read.folders import base_of
from kwis.data.read.frames import from_arrays, from_frame
from kwis.data.read.obp import from_feedback, is_feedback
from kwis.data.read.source import PropensityColumns, Roles, Source
from kwis.errors import InputError

FORMATS = ("csv", "parquet", "json", "dsjson", "duckdb", "sqlite", "obp")


def read_log(
    source: Any,
    *,
    action: str | None = None,
    reward: str | Sequence[str] | None = None,
    propensity: PropensityColumns | None = None,
    propensity_source: PropensitySource | None = None,
    context: str | Sequence[str] | None = None,
    row_weight: str | None = None,
    group: str | None = None,
    time: str | None = None,
    logger: str | None = None,
    position: str | None = None,
    position_in: PositionPart | None = None,
    actions: Sequence[Label] | None = None,
    candidates: Any = None,
    categorical: str | Sequence[str] = (),
    missing: str | Sequence[str] = (),
    key: str | None = None,
    query: str | None = None,
    allow_external: bool = False,
    format: str | None = None,  # noqa: A002 - the word users look for
) -> LoggedBandit:
    """Read logged decisions from a table, a file or a database, check them and make arrays of them.

    Parameters
    ----------
    source
        A pandas or polars frame, an Arrow table, a dictionary of arrays, an Open Bandit Pipeline feedback
        dictionary, or the path of a CSV, Parquet, JSON lines or dsjson file, of a folder or pattern of them,
        or of a DuckDB or SQLite database. An open connection to either database will do too.
    action, reward
        Column of the action taken, and one or more columns of numbers to be estimated; ``"action"`` and
        ``"reward"`` if not named. Formats that say themselves which is which (dsjson, feedback dictionaries)
        need neither.
    propensity
        Column with the probability of the logged action; or one column per action, as a mapping from actions,
        a list in the order of the sorted actions, or a prefix. None: the column called ``propensity`` or
        ``pscore``, if there is one, which a note then says, and otherwise they are estimated. False: they are
        estimated whatever columns there are. Where several policies logged, a mapping from each ``logger`` to
        the column with its probability of the logged action, or the prefix of these columns: rows are then
        weighted by all loggers together where that is more precise.
    propensity_source
        ``"randomiser"`` if propensities are the probabilities that the system drew its actions with,
        ``"model"`` if a model was fitted to actions or scores to get them: only the former leave no room for
        hidden causes. None: not said, and the answer asks.
    context
        Columns that the logging policy could see. None: all that have no other role, as
        :mod:`kwis.data.read.context` describes.
    row_weight
        Column that says how many interactions each row stands for, where the log was thinned.
    group, time, logger
        Columns of the user or session, of the moment (a date or a number), and of the logging policy.
    position, position_in
        Column of the position or slot of a decision, and whether it is part of the ``"context"`` (None means
        the same) or of the ``"action"``: see :mod:`kwis.data.position`. Targets may then be arrays of shape
        ``(n, K, L)``.
    actions
        All actions there are, if some may never have been taken.
    candidates
        The actions that could be taken in each row, where not all could be: a column of lists, or of text
        such as ``a|b|c`` or ``[a, b]``; or one yes/no column per action, as a prefix or a mapping from
        actions. Where it is a column of lists, ``propensity`` and targets may be lists of probabilities in
        the same order.
    categorical
        Context columns of numbers, or of text that looks like numbers, that are labels.
    missing
        Values that stand for a gap (``"unknown"``, ``"-999"``) in columns that are no action, reward,
        propensity or other role.
    key
        Column that identifies a row; it is no context.
    query
        SQL to run: on a database, or on files, which it finds under the name ``log``.
    allow_external
        Let the query read and write other files, attach databases and load extensions. For queries that you
        wrote yourself.
    format
        One of csv, parquet, json, dsjson, duckdb, sqlite and obp, where the name of the file does not tell.
    """
    given = Roles(
        action=action,
        reward=reward,
        propensity=propensity,
        context=context,
        row_weight=row_weight,
        group=group,
        time=time,
        logger=logger,
        position=position,
        position_in=position_in,
        actions=actions,
        candidates=candidates,
        categorical=categorical,
        missing=missing,
        propensity_source=propensity_source,
        key=key,
    )
    found = read_source(source, query, format, allow_external)
    return assemble(found, completed(given, found))


def completed(given: Roles, found: Source) -> Roles:
    """The roles given, and for the rest those that the source itself knows."""
    own = {
        entry.name: getattr(found.roles, entry.name)
        for entry in fields(Roles)
        if getattr(given, entry.name) is None
    }
    return replace(given, **own)


def read_source(
    source: Any, query: str | None = None, kind: str | None = None, allow_external: bool = False
) -> Source:
    """The table behind a source, in the format named or else recognised."""
    if kind is not None and kind not in FORMATS:
        raise InputError(f"`format` must be one of {', '.join(FORMATS)}, got {kind!r}")
    if isinstance(source, str | os.PathLike):
        return _read_path(os.fspath(source), query, kind, allow_external)
    if isinstance(source, sqlite3.Connection):
        return Source(table=read_sqlite(source, _needed(query)))
    if type(source).__name__ == "DuckDBPyConnection":
        return Source(table=run_query(source, _needed(query), confined=False))
    if query is not None:
        raise InputError(
            f"`query` must go with a file or a database, got a source of type {type(source).__name__}"
        )
    if isinstance(source, Mapping):
        return (
            from_feedback(source)
            if kind == "obp" or is_feedback(source)
            else Source(table=from_arrays(source))
        )
    return Source(table=from_frame(source))


def _read_path(path: str, query: str | None, said: str | None, allow_external: bool) -> Source:
    database = said if said in ("duckdb", "sqlite") else database_kind(path)
    if database is not None and said in (None, "duckdb", "sqlite"):
        return Source(table=read_database(path, database, query, allow_external))
    paths = files_of(path)
    kinds = {said or format_of(name) for name in paths}
    if len(kinds) > 1:
        raise InputError(
            f"`source` must hold files of one format, and {path!r} has "
            f"{' and '.join(sorted(map(str, kinds)))}"
        )
    kind = kinds.pop()
    if kind is None or kind == "obp":
        known = ", ".join(SUFFIXES)
        raise InputError(f"`format` must be given for {path!r}, whose name ends with none of {known}")
    if kind == "dsjson":
        from kwis.data.read.dsjson import read_dsjson

        if query is not None:
            raise InputError("`query` must go with a table or a database, got dsjson")
        return read_dsjson(paths)
    return read_files(paths, kind, query, base=base_of(path), allow_external=allow_external)


def _needed(query: str | None) -> str:
    if query is None:
        raise InputError("`query` must be given to read from a database")
    return query
