"""What a reader hands over: a table, and what it already knows about the meaning of its columns."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

from kwis.data.columns import Array, Label
from kwis.data.distributions import ColumnsByAction
from kwis.data.log import PropensitySource
from kwis.data.position import PositionPart
from kwis.data.table import Table

PropensityColumns = ColumnsByAction | float | Mapping[Label, Any] | Sequence[float] | Array | bool
"""Columns of probabilities, or the probabilities, or a mapping from loggers to either; False: there are none
to be used, estimate them.
"""
USUAL_PROPENSITY = ("propensity", "pscore")


@dataclass(frozen=True, slots=True, kw_only=True)
class Roles:
    """Which columns are what, through whichever door a log comes; :func:`kwis.read_log` explains them."""

    action: str | None = None
    reward: str | Sequence[str] | bool | None = None
    propensity: PropensityColumns | None = None
    context: str | Sequence[str] | None = None
    row_weight: str | None = None
    group: str | None = None
    time: str | None = None
    logger: str | None = None
    position: str | None = None
    position_in: PositionPart | None = None
    actions: Sequence[Label] | None = None
    candidates: Any = None
    categorical: str | Sequence[str] = ()
    missing: str | Sequence[str] = ()
    drop_missing: bool = False
    propensity_source: PropensitySource | None = None
    key: str | None = None

    @property
    def given(self) -> dict[str, Any]:
        """Every role under the name that it has as an argument."""
        return {entry.name: getattr(self, entry.name) for entry in fields(self)}

    @property
    def single(self) -> tuple[str, ...]:
        """Columns that are neither context, nor rewards, nor probabilities."""
        slot = self.position if self.position_in == "action" else None
        named = (self.action or "action", self.row_weight, self.group, self.time, self.logger, slot, self.key)
        return tuple(name for name in named if name is not None)

    @property
    def rewards(self) -> str | Sequence[str]:
        """Columns of rewards, as they were named or by their usual name; none if there are none."""
        if isinstance(self.reward, bool):
            return ()
        return "reward" if self.reward is None else self.reward

    def columns(self) -> Iterator[str]:
        """Every column that somebody named, and those that have a role by their usual name."""
        yield from self.single
        several = (self.rewards, self.propensity, self.context, self.categorical)
        for named in (*several, self.candidates, self.position):
            yield from _names_in(named)


def _names_in(named: Any) -> Iterator[str]:
    """Names in a name, a list or a mapping of names or of probabilities; by logger a mapping may hold
    mappings.
    """
    if isinstance(named, str):
        yield named
    elif isinstance(named, Mapping | list | tuple):
        for entry in named.values() if isinstance(named, Mapping) else named:
            yield from _names_in(entry)


def with_usual_propensity(roles: Roles, names: Container[str]) -> Roles:
    """Roles in which a column holds the propensities by its name where nobody named one."""
    if roles.propensity is not None:
        return roles
    return replace(roles, propensity=next((name for name in USUAL_PROPENSITY if name in names), None))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Source:
    """A table as it was read.

    Attributes
    ----------
    roles
        What its format already says about its columns.
    query, dialect
        The SQL that made it, and of which database; None where it takes none.
    """

    table: Table
    roles: Roles = Roles()
    notes: tuple[str, ...] = ()
    query: str | None = None
    dialect: Literal["duckdb", "sqlite"] | None = None
