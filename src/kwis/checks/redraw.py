"""The smallest p-value of a family of tests on logs whose actions are drawn anew from the propensities.

The same contexts, propensities, regions, masses and groups; only the actions are new. If the smallest p-value
of the log itself does not stand out among these, nothing speaks against the propensities. With the whole
distribution known this test is exact, whatever the p-values of the single tests are worth. Drawing stops as
soon as so many redrawn logs are as bad as the log that it will hardly fail any more (Besag and Clifford,
1991), or where none of the first few hundred is, as it cannot pass any more.
"""
# mypy: disable-error-code="no-untyped-call"

from __future__ import annotations

import numpy as np

from kwis.checks.cells import Cells, columns_of
from kwis.checks.drawn import keys_of
from kwis.checks.family import Family
from kwis.checks.null import Null
from kwis.checks.pooled import Pooled
from kwis.checks.redrawing import TOGETHER, add_draws
from kwis.runtime.threads import each_block, row_blocks
from kwis.typing import Floats

_MOST_DRAWS = 999
_LEAST_DRAWS = 199
_BATCH = 100
_WORK = 2e9  # additions that may be spent on more draws than the fewest
_ENOUGH = 50  # redrawn logs as bad as the log; fewer near the level would decide by chance
_FEWEST, _ABOVE = (
    20,
    1.6,
)  # are enough where their share is so many times the level: once in 100 that is chance
_CLEAR = 300  # redrawn logs that are all less bad: with 1 in 20 as bad, none would be once in 5 million logs
_CELLS = 1 << 21  # entries of the largest array in flight
_FEW = 8  # actions that are quicker counted than searched, and added to all sums than to one


def smallest_by_chance(
    family: Family, null: Null, pooled: Pooled | None = None, level: float = 0.05
) -> Floats:
    """Sorted smallest p-values of a family and the pooled tests, one for each log with redrawn actions: so
    many that it is clear whether the tests fail at ``level``.
    """
    families: list[_Redrawn | Pooled] = [] if pooled is None else [pooled]
    if family.pairs:
        families.append(_Redrawn(family, null))
    own = min(one.own_p_values().min() for one in families) * (1 + 1e-9)
    most = min(one.most for one in families)
    smallest = np.empty(0)
    as_bad = 0
    while len(smallest) < most and not _is_clear(as_bad, len(smallest), level):
        draws = min(_BATCH, most - len(smallest))
        by_family = [one.redrawn_p_values(len(smallest), draws).min(axis=1) for one in families]
        smallest = np.append(smallest, np.min(by_family, axis=0))
        as_bad = int((smallest <= own).sum())
    return np.sort(smallest)


def _is_clear(as_bad: int, draws: int, level: float) -> bool:
    """Whether more logs need not be drawn, of which so many were as bad as the log."""
    if not as_bad:
        return draws >= _CLEAR
    return as_bad >= _ENOUGH or (as_bad >= _FEWEST and as_bad >= _ABOVE * level * draws)


class _Redrawn:
    """Logs with new actions, as far as the tests of a family look at them."""

    def __init__(self, family: Family, null: Null, seed: int = 0) -> None:
        self.family, self.null, self.seed = family, null, seed
        self.without: Floats | None = None
        self.own = family.sums()
        of_subject, self.of_region = np.array(family.pairs, dtype=np.int64).T
        used = [family.subjects[s] for s in np.unique(of_subject)]
        self.actions = [one for one in used if one.code is not None]
        self.others = sorted(
            (one for one in used if one.code is None), key=lambda one: one.kind == "confidence"
        )
        column = {id(one): j for j, one in enumerate([*self.actions, *self.others])}
        self.of_column = np.array([column[id(family.subjects[s])] for s in of_subject], dtype=np.int64)
        self.everywhere = sum(one.kind == "confidence" for one in self.others)
        self.cells = Cells.of(family)
        self.mass = np.ones(family.n) if family.mass is None else family.mass
        self.powers = (1,) if family.known.all() else (1, 2, 3)
        width = len(self.powers) * (1 + len(self.others))
        self.block = max(1, _CELLS // (null.chance.shape[1] * (len(self.powers) + len(self.others))))
        self.most = int(
            np.clip(_WORK / (family.n * (8 + len(columns_of(family)) * width)), _LEAST_DRAWS, _MOST_DRAWS)
        )

    def own_p_values(self) -> Floats:
        """``(m,)`` p-values of the log, times their rivals."""
        return self.family.p_values(self.own.z())

    def redrawn_p_values(self, first: int, draws: int) -> Floats:
        """``(draws, m)`` the same in redrawn logs."""
        return self.family.p_values(self.own.spread.z(*self.sums(first, draws)))

    def sums(self, first: int, draws: int) -> tuple[Floats, ...]:
        """``(draws, m)`` sums of scores by test and, where they are used, of their squares and cubes."""
        blocks = row_blocks(self.family.n, self.block)
        added = np.sum(each_block(lambda rows: self._block(rows, first, draws), blocks), axis=0)
        if self.without is None:
            self.without = np.sum(each_block(self._without_actions, blocks), axis=0)
        return tuple(added + self.without[:, None, :])

    def _block(self, rows: slice, first: int, draws: int) -> Floats:
        """What is added over some of the rows, ``(powers, draws, m)``."""
        ends = self.null.chance[rows].cumsum(axis=1)
        slot = np.full(ends.shape[1], -1, dtype=np.int64)
        slot[[one.code for one in self.actions]] = np.arange(len(self.actions))
        whole = -(-draws // TOGETHER) * TOGETHER
        out = np.empty((len(self.powers), whole, len(self.of_column)))
        group = (
            np.empty(0, dtype=np.int64)
            if self.family.group is None or self.family.shared == 0
            else self.family.group[rows].astype(np.int64)
        )
        few = ends.shape[1] <= _FEW
        sums = (len(self.actions) + len(self.others)) * len(self.powers) * TOGETHER
        add_draws(
            keys_of(self.seed, first, whole),
            rows.start,
            ends / ends[:, -1:],
            self._gains(rows),
            slot,
            self.everywhere,
            self.cells.of_row[rows],
            group,
            np.sqrt(self.family.shared),
            self.of_column,
            self.cells.starts[self.of_region],
            self.cells.starts[self.of_region + 1],
            self.cells.of_region,
            np.empty((2, TOGETHER)),
            np.empty((2, TOGETHER), dtype=np.int64),
            np.zeros(sums),
            None if few else np.empty(len(self.powers) * TOGETHER),
            np.empty((self.cells.number, sums)),
            out,
        )
        return out[:, :draws]

    def _gains(self, rows: slice) -> Floats:
        """``(n, K, powers + others)`` what drawing an action adds to the sums: to those of the action itself,
        by power, then to those of the others, whose powers are left to be taken.
        """
        mass, powers = self.mass[rows, None], len(self.powers)
        gains = np.zeros((*self.null.chance[rows].shape, powers + len(self.others)))
        for one in self.actions:
            mean, amount = self.mass[rows] * one.mean[rows], self.mass[rows] * one.amount[rows]
            for i, power in enumerate(self.powers):
                gains[:, one.code, i] = (amount - mean) ** power - (-mean) ** power
        for j, one in enumerate(self.others, start=powers):
            real = mass * (one.null.variance[rows] > 0)[:, None]
            gains[:, :, j] = (one.amount[rows] - one.mean[rows][:, None]) * real
        return gains

    def _without_actions(self, rows: slice) -> Floats:
        """``(powers, m)`` the sums if no row took any of the actions tested."""
        inside = np.stack([region.rows[rows] for region in self.family.regions], axis=1).astype(np.float64)
        means = np.reshape([-self.mass[rows] * one.mean[rows] for one in self.actions], (-1, len(inside)))
        sums = np.zeros((len(self.powers), len(means) + len(self.others), inside.shape[1]))
        raised = np.ones_like(means)
        for of_power in sums:
            raised *= means
            of_power[: len(means)] = raised @ inside
        return sums[:, self.of_column, self.of_region]
