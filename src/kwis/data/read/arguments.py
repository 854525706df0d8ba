"""What somebody can say about a log: declared once, for ``read_log``, ``scan_log`` and ``evaluate``.

A function that takes these arguments ends its parameters with ``**said: Unpack[LogArguments]`` and is
decorated with :func:`takes_log_arguments`, which shows every one of them in its signature and docstring.
"""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, fields
from typing import Any, TypedDict, TypeVar

from kwis.data.columns import Label
from kwis.data.log import PropensitySource
from kwis.data.position import PositionPart
from kwis.data.read.source import PropensityColumns, Roles
from kwis.errors import InputError

PLACE = "{log arguments}"
"""Stands for the descriptions below in the docstring of a decorated function."""
DESCRIPTIONS = """\
action, reward
    Column of the action taken, and one or more columns of numbers to be estimated; ``"action"`` and
    ``"reward"`` if not named. Formats that say themselves which is which (dsjson, feedback dictionaries)
    need neither. ``reward=False``: there is none, and the log can be checked but not evaluated.
propensity
    Column with the probability of the logged action; or one column per action, as a mapping from actions,
    a list in the order of the sorted actions, or a prefix. Or the probabilities themselves: one number for
    every row, a mapping from actions to numbers, or an array with one entry per row or one per row and
    action. None: the column called ``propensity`` or ``pscore``, if there is one, which a note then says, and
    otherwise they are estimated. False: they are estimated whatever columns there are. Where several policies
    logged, a mapping from each ``logger`` to the column with its probability of the logged action, or the
    prefix of these columns: rows are then weighted by all loggers together where that is more precise.
propensity_source
    ``"randomiser"`` if propensities are the probabilities that the system drew its actions with,
    ``"model"`` if a model was fitted to actions or scores to get them: only the former leave no room for
    hidden causes. None: not said, and the answer asks.
context
    Columns that the logging policy could see. None: all that have no other role, as
    :mod:`kwis.data.read.context` describes, and the answer asks.
row_weight
    Column that says how many interactions each row stands for, where the log was thinned.
group, time, logger
    Columns of the user or session, of the moment (a date or a number), and of the logging policy.
position, position_in
    Column of the position or slot of a decision, and whether it is part of the ``"context"`` (None means the
    same) or of the ``"action"``: see :mod:`kwis.data.position`. Targets may then be arrays of shape
    ``(n, K, L)``.
actions
    All actions there are, if some may never have been taken.
candidates
    The actions that could be taken in each row, where not all could be: a column of lists, or of text such as
    ``a|b|c`` or ``[a, b]``; or one yes/no column per action, as a prefix or a mapping from actions. Where it
    is a column of lists, ``propensity`` and targets may be lists of probabilities in the same order.
categorical
    Context columns of numbers, or of text that looks like numbers, that are labels.
missing
    Values that stand for a gap (``"unknown"``, ``"-999"``) in columns that are no action, reward,
    propensity or other role.
drop_missing
    Leave out rows without a reward, with a note; they are refused otherwise.
key
    Column that identifies a row; it is no context. The answer then does not depend on the order of files and
    rows (but to rounding, and where rows share a key): samples and folds go by the key, and by ``time`` where
    that is named. Policies in other files are joined by it (:func:`kwis.joined`). Without it a row is known
    by its place, files in the order of their names.
query
    SQL to run: on a database, or on files and data frames, which it finds under the name ``log``.
allow_external
    Let the query read and write other files, attach databases and load extensions. For queries that you
    wrote yourself.
format
    One of csv, parquet, json, dsjson, duckdb, sqlite and obp, where neither name nor content of the file
    tells.
skip_bad_lines
    Leave out lines of JSON files that are no JSON objects, with a note; they are refused otherwise.
"""


class LogArguments(TypedDict, total=False):
    """Columns of a log and how it is read, as keyword arguments; ``DESCRIPTIONS`` explains them."""

    action: str | None
    reward: str | Sequence[str] | bool | None
    propensity: PropensityColumns | None
    propensity_source: PropensitySource | None
    context: str | Sequence[str] | None
    row_weight: str | None
    group: str | None
    time: str | None
    logger: str | None
    position: str | None
    position_in: PositionPart | None
    actions: Sequence[Label] | None
    candidates: Any
    categorical: str | Sequence[str]
    missing: str | Sequence[str]
    drop_missing: bool
    key: str | None
    query: str | None
    allow_external: bool
    format: str | None
    skip_bad_lines: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How a source is read, whatever its columns mean."""

    query: str | None = None
    allow_external: bool = False
    format: str | None = None
    skip_bad_lines: bool = False

    @property
    def given(self) -> dict[str, Any]:
        """Every setting under the name that it has as an argument."""
        return {entry.name: getattr(self, entry.name) for entry in fields(self)}


_FIELDS: dict[str, Field[Any]] = {entry.name: entry for entry in (*fields(Roles), *fields(Reading))}
Function = TypeVar("Function", bound=Callable[..., Any])


def roles_of(said: LogArguments) -> Roles:
    """The roles of columns among the arguments."""
    return Roles(**_part(said, Roles))


def reading_of(said: LogArguments) -> Reading:
    """How to read the source, among the arguments."""
    return Reading(**_part(said, Reading))


def refuse_unknown(said: Mapping[str, Any], function: str) -> None:
    """Refuse keywords that are no arguments, as Python would."""
    for name in said:
        if name not in _FIELDS:
            raise TypeError(f"{function}() got an unexpected keyword argument {name!r}")


def refuse_said(said: Mapping[str, Any]) -> None:
    """Refuse arguments about a log whose columns have their roles already; where propensities come from can
    still be said.
    """
    for name in said.keys() - {"propensity_source"}:
        raise InputError(
            f"`{name}` must go with a path or a data frame, got a log that was read already; give it to "
            "read_log"
        )


def takes_log_arguments(function: Function) -> Function:
    """Show every argument about a log in the signature and the docstring of a function that takes them."""
    own = inspect.signature(function)
    kept = [entry for entry in own.parameters.values() if entry.kind is not inspect.Parameter.VAR_KEYWORD]
    shown = [
        inspect.Parameter(
            name, inspect.Parameter.KEYWORD_ONLY, default=_default(_FIELDS[name]), annotation=annotation
        )
        for name, annotation in LogArguments.__annotations__.items()
        if name not in own.parameters
    ]
    marked: Any = function
    marked.__signature__ = own.replace(parameters=[*kept, *shown])
    indent = "    "
    marked.__doc__ = (function.__doc__ or "").replace(
        indent + PLACE, textwrap.indent(DESCRIPTIONS.rstrip(), indent)
    )
    return function


def _part(said: LogArguments, record: type[Any]) -> dict[str, Any]:
    names = {entry.name for entry in fields(record)}
    return {name: value for name, value in said.items() if name in names}


def _default(entry: Field[Any]) -> Any:
    return None if entry.default is MISSING else entry.default
