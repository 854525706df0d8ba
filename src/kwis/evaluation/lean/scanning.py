"""The pass over all rows: weights and rewards into arrays, and sums of what is said of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kwis.data.log import LoggedBandit
from kwis.data.read.assemble import LARGEST_REWARD
from kwis.data.read.lean import Drawn, Stretch, UnusualError, Visit, numbers_of, visiting
from kwis.evaluation.lean.chances import Chances
from kwis.evaluation.lean.pass_sums import LoggingSums, OddsByValue, TargetSums, stirred
from kwis.evaluation.lean.whole import Whole, WholeTarget
from kwis.runtime.arrays import Pieces
from kwis.stats.long import few_values
from kwis.typing import Floats, Ints

_MOST_KEYS = 60_000  # rows that are looked through for repeated probabilities


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Part:
    """What came of one stretch; ``odds`` are by target and reward, ``keys`` are numbers of some rows, equal
    where all probabilities are.
    """

    logging: LoggingSums
    targets: tuple[TargetSums, ...]
    odds: dict[tuple[int, int], OddsByValue]
    keys: Any


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Scanning:
    """Which columns are read, and the arrays that they fill.

    Attributes
    ----------
    codes, actions
        ``(n,)`` codes of the actions taken, and how many actions there are.
    logging, targets
        Columns of the policies.
    levels
        Of each reward the values that the first rows have, if they are few.
    reward, weight, logged
        Columns of the rewards; of every target the weights and, unless all rewards have few values, its
        probability of the action taken.
    """

    codes: Ints
    actions: int
    rewards: tuple[str, ...]
    logging: Chances
    targets: tuple[Chances, ...]
    reward: tuple[Pieces, ...]
    levels: tuple[tuple[float, ...] | None, ...]
    logged: tuple[Pieces, ...]
    weight: tuple[Pieces, ...]

    @classmethod
    def of(cls, codes: Ints, head: LoggedBandit, logging: Chances, targets: Sequence[Chances]) -> Scanning:
        """For a log with such codes, of which ``head`` has the first rows."""
        rewards, n = head.reward_names, codes.size
        levels = tuple(_levels(column.copy()) for column in head.reward.T)
        return cls(
            codes=codes,
            actions=head.n_actions,
            rewards=rewards,
            logging=logging,
            targets=tuple(targets),
            reward=tuple(Pieces(n, large=True) for _ in rewards),
            levels=levels,
            logged=() if None not in levels else tuple(Pieces(n, large=True) for _ in targets),
            weight=tuple(Pieces(n, large=True) for _ in targets),
        )

    @property
    def known(self) -> bool:
        """Whether the whole distribution of the logging policy is known."""
        return bool(self.logging.each) or self.actions == 2

    def reading(
        self, every: Sequence[str], coded: Sequence[str], drawn: Drawn
    ) -> Callable[[Stretch], tuple[Part, list[Any]]]:
        """What reads a stretch; it returns what came of it, and the rows drawn with ``every`` column, of
        which those ``coded`` have few values.
        """
        policies = (self.logging, *self.targets)
        columns = dict.fromkeys([*self.rewards, *(name for one in policies for name in one.names)])
        never = np.array([not (self.codes == code).any() for code in range(self.actions)])
        return visiting(list(columns), every, coded, drawn, lambda _: self._part(never))

    def _part(self, never: Any) -> tuple[Visit, Part]:
        keys: list[Any] = []
        part = Part(
            logging=LoggingSums.of(self.actions),
            targets=tuple(TargetSums() for _ in self.targets),
            odds={
                (t, r): OddsByValue.of(levels or ())
                for t in range(len(self.targets))
                for r, levels in enumerate(self.levels)
            },
            keys=keys,
        )

        def act(rows: slice, batch: Any) -> None:
            code = self.codes[rows]
            logged, key = np.empty(code.size), np.zeros(code.size, dtype=np.uint64)
            chances = self.logging.of(batch, code, self.actions, logged)
            fine, low = part.logging.add(code, chances, logged, self.logging.by_one)
            stirred(key, chances if self.known else logged[None])
            rewards = [numbers_of(batch.column(name)) for name in self.rewards]
            for column, values in zip(self.reward, rewards, strict=True):
                fine &= bool(values.min() >= -LARGEST_REWARD and values.max() <= LARGEST_REWARD)
                column.put(rows, values)
            for place, columns in enumerate(self.targets):
                said, weight = np.empty((2, code.size))
                wanted = columns.of(batch, code, self.actions, said)
                sums = part.targets[place]
                fine &= sums.add(code, chances, low, logged, wanted, said, columns.by_one, never, weight)
                self.weight[place].put(rows, weight)
                if self.logged:
                    self.logged[place].put(rows, said)
                stirred(key, wanted if wanted.size else said[None])
                for number, few in enumerate(self.levels):
                    fine &= few is None or part.odds[place, number].add(said, weight, rewards[number])
            keys.append(key[key <= np.uint64(self._few)])
            if not fine:
                raise UnusualError("values that are refused, with their row")

        return act, part

    @property
    def _few(self) -> int:
        """Largest key of so many rows as are looked through."""
        return min(_MOST_KEYS * (1 << 64) // self.codes.size, (1 << 64) - 1)

    def whole(self, parts: Sequence[Part], some: LoggedBandit, names: Sequence[str], note: str) -> Whole:
        """The record of all rows."""
        return Whole(
            action=self.codes,
            action_names=some.action_names,
            reward=tuple(column.whole() for column in self.reward),
            known=self.known,
            logging=LoggingSums.total([part.logging for part in parts]),
            targets={
                name: WholeTarget(
                    logged=self.logged[place].whole() if self.logged else None,
                    weight=self.weight[place].whole(),
                    boxes=tuple(
                        None if few is None else OddsByValue.box([part.odds[place, number] for part in parts])
                        for number, few in enumerate(self.levels)
                    ),
                    sums=TargetSums.total([part.targets[place] for part in parts]),
                )
                for place, name in enumerate(names)
            },
            note=note,
        )


def _levels(rewards: Floats) -> tuple[float, ...] | None:
    found = few_values(rewards)
    return None if found is None else tuple(found[0].tolist())
