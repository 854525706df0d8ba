"""What columns mean where that has to be read off their values: those of the first rows of a log decide, for
all of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from kwis.data.columns import Label
from kwis.data.distributions import ColumnsByAction, numbers_in
from kwis.data.read.context import context_columns
from kwis.data.read.frames import from_frame
from kwis.data.read.source import Roles, with_usual_propensity
from kwis.data.table import Table
from kwis.errors import InputError, UnsupportedError
from kwis.policy.discrete import ChosenColumn, DistributionColumns, ProbabilityColumn, TrainedElsewhere
from kwis.policy.target import each_target, target_in
from kwis.streaming.plan import ByAction, Target
from kwis.typing import Floats

HEAD_ROWS = 10_000


@dataclass(frozen=True, slots=True, eq=False)
class Head:
    """The first rows, from which the meaning of columns is read."""

    table: Table
    roles: Roles
    names: tuple[str, ...]
    actions: tuple[Label, ...]
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, rows: Any, roles: Roles) -> Head:
        """``rows`` is an Arrow table of all columns."""
        table = from_frame(rows.slice(0, HEAD_ROWS))
        actions = (
            tuple(roles.actions)
            if roles.actions is not None
            else table.column(roles.action or "action", "action").coded()[1]
        )
        roles, notes = with_usual_propensity(roles, table)
        return cls(table, roles, tuple(rows.column_names), actions, notes)

    def propensity(self) -> ByAction:
        asked = self.roles.propensity
        if asked is None or asked is False:
            raise UnsupportedError(
                "`propensity` must be named for a log that is scanned, as estimating it needs all rows at "
                "once; kwis.read_log can do that"
            )
        if isinstance(asked, str) and asked in self.table:
            return ByAction(column=asked)
        if not isinstance(asked, str | Mapping | list | tuple):
            raise UnsupportedError("`propensity` must be columns for a log that is too large for memory")
        return ByAction(columns=self._by_action(cast(ColumnsByAction, asked), "propensity"))

    def rewards(self) -> tuple[str, ...]:
        names = self.table.expand(self.roles.rewards, "reward")
        if not names:
            raise InputError("`reward` must name at least one column, got none")
        return names

    def first_rewards(self, names: Sequence[str]) -> Floats:
        """Rewards of the first row."""
        return np.array(
            [numbers_in(self.table.column(name).take(np.arange(1)), name, "reward")[0] for name in names]
        )

    def context(
        self, used: Iterable[str], targets: Iterable[Target]
    ) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Context columns without those of the targets, and notes on how they were found."""
        found = context_columns(self.table, self.roles, tuple(used), self.actions)
        taken = {name for target in targets for name in target.names}
        names = tuple(name for name in found.names if name not in taken)
        listed = (
            f"no context was named, so it is every other column: {', '.join(names)}; the first "
            f"{self.table.n:,} rows decided which"
        )
        notes = [listed] if self.roles.context is None and names else []
        return names, (*self.notes, *notes, *found.notes[1:])

    def targets(self, asked: Any) -> tuple[Target, ...]:
        """Targets as :func:`kwis.evaluate` takes them, as far as columns say what they do."""
        return each_target(asked, self.table, self.actions, self._target)

    def _target(self, asked: Any, name: str | None = None) -> Target:
        if isinstance(asked, TrainedElsewhere):
            return replace(self._target(asked.target, name), elsewhere=True)
        if isinstance(asked, str) and asked in self.table:
            asked = target_in(self.table, asked, self.actions)
        if isinstance(asked, ChosenColumn):
            self.table.column(asked.column, "target")
            return Target(
                name=name or asked.column,
                chosen=asked.column,
                source=f"column `{asked.column}`: the action taken",
            )
        if isinstance(asked, ProbabilityColumn):
            self.table.column(asked.column, "target")
            source = f"column `{asked.column}`: probability of the logged action"
            return Target(name=name or asked.column, chance=ByAction(column=asked.column), source=source)
        columns = asked.columns if isinstance(asked, DistributionColumns) else asked
        if not isinstance(columns, str | Mapping | tuple):
            kind = type(asked).__name__
            raise UnsupportedError(
                f"`target` must be a column or one column per action for a log that is scanned, got {kind}"
            )
        found = self._by_action(columns, "target")
        ends = list(found.values())
        label = name or (columns if isinstance(columns, str) else ends[0])
        return Target(
            name=label,
            chance=ByAction(columns=found),
            source=f"one column per action, `{ends[0]}` to `{ends[-1]}`",
        )

    def _by_action(self, asked: ColumnsByAction, role: str) -> dict[str, str]:
        """From the text of a label to its column."""
        if isinstance(asked, Mapping):
            found = {str(label): name for label, name in asked.items()}
        elif isinstance(asked, str):
            found = {
                name.removeprefix(f"{asked}_"): name for name in self.names if name.startswith(f"{asked}_")
            }
            if not found:
                self.table.expand(asked, role)  # says that there is no such name, and which is nearest
                raise InputError(
                    f"`{role}` must have one column per action (`{asked}_{self.actions[0]}`, ...), got the "
                    f"column `{asked}`"
                )
        elif self.roles.actions is None:
            raise InputError(
                f"`{role}` must be a mapping from actions to columns, or `actions` must list the actions of "
                f"the columns"
            )
        else:
            found = {str(label): name for label, name in zip(self.roles.actions, asked, strict=True)}
        for name in found.values():
            self.table.column(name, role)
        return found
