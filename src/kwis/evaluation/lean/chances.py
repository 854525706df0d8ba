"""Which columns weights and rewards come from, recognised on the first rows of a log."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kwis.data.columns import Label
from kwis.data.distributions import columns_by_action, proper_family
from kwis.data.log import LoggedBandit
from kwis.data.read.lean import UnusualError, numbers_of
from kwis.data.read.source import Roles, with_usual_propensity
from kwis.data.table import Table
from kwis.policy.discrete import TargetPolicy
from kwis.typing import Floats, Ints

_SAME = 1e-6  # by how much a probability of its own may differ from that among those of all actions


@dataclass(frozen=True, slots=True)
class Chances:
    """Columns of one policy: of its probability of the logged action, of that of every action in order, or
    both.
    """

    single: str | None
    each: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return self.each if self.single is None else (self.single, *self.each)

    @property
    def by_one(self) -> bool:
        """Whether the logged action's probability has a column of its own."""
        return self.single is not None

    def of(self, batch: Any, code: Ints, actions: int, logged: Floats) -> Floats:
        """``(K, m)`` probabilities of a batch, with no rows where they are not known; fills ``logged`` where
        it has a column of its own.
        """
        rows = np.arange(len(code))
        whole = np.empty((len(self.each), len(code)))
        for place, name in enumerate(self.each):
            whole[place] = numbers_of(batch.column(name))
        if self.single is None:
            return whole
        logged[:] = numbers_of(batch.column(self.single))
        if self.each:
            if not (np.abs(whole[code, rows] - logged) <= _SAME).all():
                raise UnusualError("two columns that say different things")
        elif actions == 2:
            whole = np.empty((2, len(code)))
            whole[code, rows], whole[1 - code, rows] = logged, 1 - logged
        return whole


def logging_chances(table: Table, roles: Roles, actions: Sequence[Label]) -> Chances:
    """Columns of the logging policy."""
    said: Any = with_usual_propensity(roles, table).propensity
    if isinstance(said, str) and said in table:
        return Chances(said, proper_family(table, said, actions))
    names = isinstance(said, list | tuple) and all(isinstance(name, str) for name in said)
    if isinstance(said, dict):
        names = all(isinstance(name, str) for name in said.values())
    if not (names or isinstance(said, str)):
        raise UnusualError("propensities that are not in columns")
    return Chances(None, columns_by_action(table, said, tuple(actions), "propensity"))


def target_chances(log: LoggedBandit, target: TargetPolicy) -> Chances:
    """Columns of a target on the first rows of its log."""
    names, k = target.columns, log.n_actions
    if not all(name in log.table for name in names) or target.question is not None:
        raise UnusualError("a target that is not in columns")
    columns = [log.table.column(name) for name in names]
    if any(column.kind != "number" for column in columns):
        raise UnusualError("a target that is not in columns of numbers")
    rows = np.arange(log.n)
    if len(names) in (1, k + 1) and np.array_equal(columns[0].values, target.logged):
        return Chances(names[0], names[1:])
    if len(names) == k and np.array_equal(
        np.stack([column.values for column in columns])[log.action, rows], target.logged
    ):
        return Chances(None, names)
    raise UnusualError("a target in another form")
