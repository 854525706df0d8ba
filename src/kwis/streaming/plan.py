"""What is to be done with every batch, decided before the pass: which columns are what, and what each target
means.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from kwis.checks.bound import Floor, least_positive
from kwis.errors import InputError
from kwis.streaming import values
from kwis.streaming.accumulator import Accumulator, Weighed, checked_terms
from kwis.streaming.promises import (
    Promises,
    Shares,
    ceiling_by_choice,
    ceiling_by_shares,
    promised_by_choice,
    promised_by_shares,
)
from kwis.streaming.rows import Layout, Rows
from kwis.streaming.source import Batch
from kwis.typing import Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class ByAction:
    """Probabilities of actions: of the logged one in a column, or one column per action by the text of its
    label.
    """

    column: str | None = None
    columns: Mapping[str, str] | None = None

    @property
    def names(self) -> tuple[str, ...]:
        return (
            (self.column,)
            if self.columns is None and self.column is not None
            else tuple((self.columns or {}).values())
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A policy to be evaluated: ``chosen`` names a column with the action it takes, ``chance`` its
    probabilities.

    ``elsewhere``: somebody said that it has not learnt from this log.
    """

    name: str
    source: str
    chosen: str | None = None
    chance: ByAction | None = None
    elsewhere: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        return (
            (self.chosen,)
            if self.chosen is not None
            else self.chance.names
            if self.chance is not None
            else ()
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Plan:
    """All that a worker has to know; it holds no rows and can be sent anywhere."""

    action: str
    rewards: tuple[str, ...]
    propensity: ByAction
    targets: tuple[Target, ...]
    context: tuple[str, ...]
    also: tuple[str, ...]
    row_weight: str | None
    group: str | None
    key: str | None
    pivots: Floats
    replicates: int
    seed: int
    subset: int
    tail: int
    states: bool

    @property
    def layout(self) -> Layout:
        return Layout(len(self.targets), len(self.rewards))

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column to be read, each once."""
        single = (self.row_weight, self.group, self.key)
        targets = [name for target in self.targets for name in target.names]
        named = (
            self.action,
            *self.rewards,
            *self.propensity.names,
            *targets,
            *self.context,
            *self.also,
            *single,
        )
        return tuple(dict.fromkeys(name for name in named if name is not None))

    def start(self) -> Accumulator:
        """An accumulator with nothing in it."""
        pivots = self.pivots if self.states else None
        return Accumulator.empty(
            self.layout,
            replicates=self.replicates,
            seed=self.seed,
            subset=self.subset,
            tail=self.tail,
            pivots=pivots,
        )

    def accumulated(self, batches: Iterable[Batch]) -> Accumulator:
        """Everything about some batches."""
        found = self.start()
        for batch in batches:
            if batch.n:
                found.add(self.weighed(batch))
        return found

    def weighed(self, batch: Batch) -> Weighed:
        """Checked arrays of a batch."""
        action = values.Labels.of(batch, self.action, "action")
        mass = values.masses(batch, self.row_weight)
        assumed, logger = self._propensity(batch, action)
        chances = [self._chance(batch, action, target, mass, logger) for target in self.targets]
        identity = batch.keys() if self.key is None else values.label_keys(batch, self.key, "key")
        rows = Rows(
            identity=identity,
            draw=identity if self.group is None else values.label_keys(batch, self.group, "group"),
            number=batch.numbers(),
            mass=mass,
            weight=np.stack([chance / assumed for chance, *_ in chances], axis=1),
            reward=np.stack([values.finite(batch, name, "reward") for name in self.rewards], axis=1),
        )
        context = None
        if self.states:
            context = np.stack([values.column_keys(batch, self.context, salt) for salt in (2, 3)], axis=1)
        promised = {
            target.name: promises
            for target, (_, promises, _) in zip(self.targets, chances, strict=True)
            if promises is not None
        }
        least = assumed if not logger else least_positive(np.stack(list(logger.values()), axis=1))
        return Weighed(
            rows=checked_terms(rows, batch.row),
            table=batch.table,
            context=context,
            actions=action.counts(),
            promised=promised,
            floor=Floor.of(least, rows.draw),
            ceilings=np.array([ceiling for _, _, ceiling in chances]),
        )

    def _propensity(self, batch: Batch, action: values.Labels) -> tuple[Floats, Shares]:
        """Probability of the logged action under the logger, and of every action where columns say it."""
        if self.propensity.columns is None:
            assert self.propensity.column is not None
            return values.propensities(batch, self.propensity.column), {}
        logged, shares = values.by_action(batch, dict(self.propensity.columns), action, "propensity")
        if (logged <= 0).any():
            row = int(np.argmax(logged <= 0))
            raise InputError(
                f"`propensity` must be positive where its action was taken, got {logged[row]} at "
                f"{batch.row(row)}"
            )
        return logged, shares

    @staticmethod
    def _chance(
        batch: Batch, action: values.Labels, target: Target, mass: Floats, logger: Shares
    ) -> tuple[Floats, Promises | None, float]:
        """Probability of the logged action under a target, what it promises every action and its largest
        possible weight where known.
        """
        if target.chosen is not None:
            choice = values.Labels.of(batch, target.chosen, "target")
            return (
                action.same(choice).astype(np.float64),
                promised_by_choice(choice, mass, logger),
                ceiling_by_choice(choice, logger),
            )
        assert target.chance is not None
        if target.chance.columns is None:
            assert target.chance.column is not None
            return values.probabilities(batch, target.chance.column, "target"), None, np.inf
        logged, shares = values.by_action(batch, dict(target.chance.columns), action, "target")
        return logged, promised_by_shares(shares, mass, logger), ceiling_by_shares(shares, logger)
