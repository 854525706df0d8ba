"""What a reader hands over: a table, and what it already knows about the meaning of its columns."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from kwis.data.columns import Label
from kwis.data.distributions import ColumnsByAction
from kwis.data.log import PropensitySource
from kwis.data.position import PositionPart
from kwis.data.table import Table

PropensityColumns = ColumnsByAction | Literal[False]
"""Columns of probabilities; False: there are none to be used, estimate them."""
USUAL_PROPENSITY = ("propensity", "pscore")


@dataclass(frozen=True, slots=True, kw_only=True)
class Roles:
    """Which columns are what, through whichever door a log comes; :func:`kwis.read_log` explains them."""

    action: str | None = None
    reward: str | Sequence[str] | None = None
    propensity: PropensityColumns | None = None
    context: str | Sequence[str] | None = None
    row_weight: str | None = None
    group: str | None = None
    time: str | None = None
    logger: str | None = None
    actions: Sequence[Label] | None = None
    categorical: str | Sequence[str] = ()
    missing: str | Sequence[str] = ()
    propensity_source: PropensitySource | None = None
    key: str | None = None
    candidates: Any = None
    position: str | None = None
    position_in: PositionPart | None = None

    @property
    def single(self) -> tuple[str, ...]:
        """Columns that are neither context, nor rewards, nor probabilities."""
        named = (
            self.action or "action",
            self.row_weight,
            self.group,
            self.time,
            self.logger,
            self.key,
            self.position if self.position_in == "action" else None,
        )
        return tuple(name for name in named if name is not None)


def with_usual_propensity(roles: Roles, names: Container[str]) -> tuple[Roles, tuple[str, ...]]:
    """Roles in which a column holds the propensities by its name where nobody named one, and a note that says
    so.
    """
    usual = (
        next((name for name in USUAL_PROPENSITY if name in names), None) if roles.propensity is None else None
    )
    if usual is None:
        return roles, ()
    note = f"propensities are those of the column `{usual}`, as none were named"
    return replace(roles, propensity=usual), (note,)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Source:
    """A table as it was read; ``roles`` are what its format already says."""

    table: Table
    roles: Roles = Roles()
    notes: tuple[str, ...] = ()
