"""Rows of a log as arrays, weighted for every target: what a batch becomes before anything is summed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kwis.typing import Floats, Ints


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Rows:
    """Some rows of a log.

    Attributes
    ----------
    identity
        ``(n,)`` 64 bits that tell a row from all others: hashed from its file and row number, or from its
        key.
    draw
        ``(n,)`` 64 bits of what a resample draws: the row, or the group it belongs to.
    number
        ``(n,)`` its number in the whole log, for messages and tables.
    mass, weight, reward
        ``(n,)`` interactions it stands for; ``(n, T)`` weight for every target; ``(n, K)`` rewards.
    """

    identity: Ints
    draw: Ints
    number: Ints
    mass: Floats
    weight: Floats
    reward: Floats

    @property
    def n(self) -> int:
        return int(self.mass.shape[0])

    @classmethod
    def none(cls, targets: int, rewards: int) -> Rows:
        key = np.empty(0, dtype=np.uint64)
        flat = np.empty(0)
        number = np.empty(0, dtype=np.int64)
        return cls(
            identity=key,
            draw=key,
            number=number,
            mass=flat,
            weight=np.empty((0, targets)),
            reward=np.empty((0, rewards)),
        )

    def take(self, picked: Any) -> Rows:
        """The rows picked, by number or by a mask."""
        return Rows(**{name: getattr(self, name)[picked] for name in self.__slots__})


def joined(parts: Sequence[Rows]) -> Rows:
    """All rows, one after the other."""
    return Rows(**{name: np.concatenate([getattr(part, name) for part in parts]) for name in Rows.__slots__})


@dataclass(frozen=True, slots=True)
class Layout:
    """Where each term of a row is: ``m (1, r_k, w_t, w_t r_k)`` with mass m, rewards k and targets t."""

    targets: int
    rewards: int

    @property
    def width(self) -> int:
        return (1 + self.targets) * (1 + self.rewards)

    def reward(self, k: int) -> int:
        return 1 + k

    def weight(self, t: int) -> int:
        return (1 + t) * (1 + self.rewards)

    def load(self, t: int, k: int) -> int:
        """Place of ``w_t r_k``."""
        return self.weight(t) + 1 + k

    def terms(self, rows: Rows, cap: float = np.inf) -> Floats:
        """``(n, width)``, weights cut off at the cap."""
        weights = np.concatenate([np.ones((rows.n, 1)), np.minimum(rows.weight, cap)], axis=1)
        rewards = np.concatenate([np.ones((rows.n, 1)), rows.reward], axis=1)
        return np.ascontiguousarray(
            (rows.mass[:, None, None] * weights[:, :, None] * rewards[:, None, :]).reshape(rows.n, self.width)
        )
