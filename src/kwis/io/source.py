"""What a reader hands over: a table, and what it already knows about the meaning of its columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kwis.columns import Label
from kwis.distributions import ColumnsByAction
from kwis.logged import PropensitySource
from kwis.table import Table


@dataclass(frozen=True, slots=True, kw_only=True)
class Roles:
    """Which columns are what; the arguments of :func:`kwis.read_log`, which explains them."""

    action: str | None = None
    reward: str | Sequence[str] | None = None
    propensity: ColumnsByAction | None = None
    context: str | Sequence[str] | None = None
    row_weight: str | None = None
    group: str | None = None
    time: str | None = None
    logger: str | None = None
    actions: Sequence[Label] | None = None
    categorical: str | Sequence[str] = ()
    propensity_source: PropensitySource | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Source:
    """A table as it was read; ``roles`` are what its format already says."""

    table: Table
    roles: Roles = Roles()
    notes: tuple[str, ...] = ()
