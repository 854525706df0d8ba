"""The smallest p-value of a family of tests on logs whose actions are drawn anew from the propensities.

The same contexts, propensities, regions, masses and groups; only the actions are new. A family of the log
itself that does not stand out among these has nothing to say against the propensities: with the whole
distribution known that is an exact test, whatever the p-values of the single tests are worth. Where more of
the redrawn logs are as bad as the log than a failure allows, no more are drawn (Besag and Clifford, 1991).

Random numbers are a function of the seed, the draw and the row, so the sums have the same bits whatever the
number of threads.
"""
# mypy: disable-error-code="no-untyped-def, no-untyped-call, misc"

from __future__ import annotations

import numpy as np

from kwis.checks.family import Family
from kwis.checks.null import Null
from kwis.runtime.compile import compiled
from kwis.runtime.threads import each_block, row_blocks
from kwis.typing import Floats, Ints

_MOST_DRAWS = 999
_LEAST_DRAWS = 199
_BATCH = 100
_WORK = 2e9  # additions that may be spent on more draws than the fewest
_ENOUGH = 50  # redrawn logs as bad as the log
_CELLS = 1 << 21  # entries of the largest array in flight
_TOGETHER = 16  # draws that go by a row at a time


def smallest_by_chance(family: Family, null: Null, seed: int = 0) -> Floats:
    """Sorted smallest p-values of a family, one for each log with redrawn actions."""
    sums = family.sums()
    own = family.p_values(sums.z()).min() * (1 + 1e-9)
    redrawn = _Redrawn(family, null, seed)
    smallest = np.empty(0)
    while len(smallest) < redrawn.most and (smallest <= own).sum() < _ENOUGH:
        powers = redrawn.sums(len(smallest), min(_BATCH, redrawn.most - len(smallest)))
        smallest = np.append(smallest, family.p_values(sums.spread.z(*powers)).min(axis=1))
    return np.sort(smallest)


class _Redrawn:
    """Logs with new actions, as far as the tests of a family look at them."""

    def __init__(self, family: Family, null: Null, seed: int) -> None:
        self.family, self.null, self.seed = family, null, seed
        of_subject, self.of_region = np.array(family.pairs, dtype=np.int64).T
        used = [family.subjects[s] for s in np.unique(of_subject)]
        self.actions = [one for one in used if one.code is not None]
        self.others = sorted(
            (one for one in used if one.code is None), key=lambda one: one.kind == "confidence"
        )
        column = {id(one): j for j, one in enumerate([*self.actions, *self.others])}
        self.of_column = np.array([column[id(family.subjects[s])] for s in of_subject], dtype=np.int64)
        self.everywhere = sum(one.kind == "confidence" for one in self.others)
        self.places = _places(family)
        self.mass = np.ones(family.n) if family.mass is None else family.mass
        self.powers = (1,) if family.known.all() else (1, 2, 3)
        width = len(self.powers) * (1 + len(self.others))
        self.block = max(1, _CELLS // (null.chance.shape[1] * width))
        self.most = int(
            np.clip(_WORK / (family.n * (8 + self.places.shape[1] * width)), _LEAST_DRAWS, _MOST_DRAWS)
        )

    def sums(self, first: int, draws: int) -> tuple[Floats, ...]:
        """``(draws, m)`` sums of scores by test and, where they are used, of their squares and cubes."""
        blocks = row_blocks(self.family.n, self.block)
        return tuple(np.sum(each_block(lambda rows: self._block(rows, first, draws), blocks), axis=0))

    def _block(self, rows: slice, first: int, draws: int) -> Floats:
        """Sums over some of the rows, ``(powers, draws, m)``."""
        ends = self.null.chance[rows].cumsum(axis=1)
        slot = np.full(ends.shape[1], -1, dtype=np.int64)
        slot[[one.code for one in self.actions]] = np.arange(len(self.actions))
        out = np.empty((len(self.powers), draws, len(self.of_column)))
        group = (
            np.empty(0, dtype=np.int64)
            if self.family.group is None
            else self.family.group[rows].astype(np.int64)
        )
        _redraw(
            np.uint64(self.seed),
            first,
            rows.start,
            ends / ends[:, -1:],
            self._gains(rows),
            slot,
            len(self.actions),
            self.everywhere,
            self.places[rows],
            len(self.family.regions),
            group,
            np.sqrt(self.family.shared),
            self.of_column,
            self.of_region,
            out,
        )
        return out + self._without_actions(rows)[:, None, :]

    def _gains(self, rows: slice) -> Floats:
        """``(n, K, powers, 1 + others)`` what drawing an action adds to the sums: those of the action itself,
        then those of the others.
        """
        mass = self.mass[rows, None]
        gains = np.zeros((*self.null.chance[rows].shape, len(self.powers), 1 + len(self.others)))
        for one in self.actions:
            mean = self.mass[rows] * one.mean[rows]
            for i, power in enumerate(self.powers):
                gains[:, one.code, i, 0] = (self.mass[rows] * one.amount[rows] - mean) ** power - (
                    -mean
                ) ** power
        for j, one in enumerate(self.others, start=1):
            score = (
                mass * (one.amount[rows] - one.mean[rows][:, None]) * (one.null.variance[rows] > 0)[:, None]
            )
            for i, power in enumerate(self.powers):
                gains[:, :, i, j] = score**power
        return gains

    def _without_actions(self, rows: slice) -> Floats:
        """``(powers, m)`` the sums if no row took any of the actions tested."""
        inside = np.stack([region.rows[rows] for region in self.family.regions], axis=1).astype(np.float64)
        means = np.stack(
            [
                *(-self.mass[rows] * one.mean[rows] for one in self.actions),
                *(np.zeros(len(inside)) for _ in self.others),
            ]
        )
        return np.stack([(means**power @ inside)[self.of_column, self.of_region] for power in self.powers])


def _places(family: Family) -> Ints:
    """``(n, columns)`` numbers of the regions that each row is in, -1 for none; regions of one column never
    overlap.
    """
    used = sorted({r for _, r in family.pairs})
    columns = list(dict.fromkeys([None, *(family.regions[r].column for r in used)]))
    places = np.full((family.n, len(columns)), -1, dtype=np.int64)
    for r in used:
        places[family.regions[r].rows, columns.index(family.regions[r].column)] = r
    return places


@compiled(nogil=True, error_model="numpy", inline="always")
def _mixed(x):
    """SplitMix64."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@compiled(nogil=True, error_model="numpy", inline="always")
def _uniform(key, number):
    return (_mixed(key + np.uint64(number) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(11)) * (
        1.0 / 9007199254740992.0
    )


@compiled(nogil=True, error_model="numpy")
def _redraw(
    seed,
    first,
    start,
    ends,
    gains,
    slot,
    actions,
    everywhere,
    places,
    regions,
    group,
    sharing,
    of_column,
    of_region,
    out,
):
    """For each draw new actions, and the sums of what they add, by power, subject and region.

    The last ``everywhere`` of the subjects are summed over the whole log alone. Each row looks up a uniform
    number of its own or, as often as ``sharing`` says, that of its group. Draws go by the row together, so
    that what they add is added to sums beside each other.
    """
    n, k, powers, width = gains.shape
    others = width - 1
    subjects, step = actions + others, powers * _TOGETHER
    total = np.zeros((regions, subjects * step))
    added = np.zeros(subjects * step)
    keys = np.zeros((3, _TOGETHER), np.uint64)
    taken, place = np.zeros(_TOGETHER, np.int64), np.zeros(_TOGETHER, np.int64)
    own = np.zeros(step)
    for begin in range(0, out.shape[1], _TOGETHER):
        some = min(_TOGETHER, out.shape[1] - begin)
        total[:] = 0.0
        for d in range(some):
            key = _mixed(
                seed * np.uint64(4) + np.uint64(first + begin + d + 1) * np.uint64(0xD1342543DE82EF95)
            )
            keys[0, d], keys[1, d], keys[2, d] = key, _mixed(key + np.uint64(1)), _mixed(key + np.uint64(2))
        for i in range(n):
            for d in range(some):
                u = _uniform(keys[0, d], start + i)
                if group.shape[0] > 0 and _uniform(keys[2, d], start + i) < sharing:
                    u = _uniform(keys[1, d], group[i])
                low, high = 0, k - 1
                while low < high:
                    middle = (low + high) // 2
                    if ends[i, middle] > u:
                        high = middle
                    else:
                        low = middle + 1
                taken[d], place[d] = low, slot[low] * step + d
            for p in range(powers):
                for d in range(some):
                    for j in range(others):
                        added[(actions + j) * step + p * _TOGETHER + d] = gains[i, taken[d], p, 1 + j]
                    own[p * _TOGETHER + d] = gains[i, taken[d], p, 0]
            for c in range(places.shape[1]):
                r = places[i, c]
                if r < 0:
                    continue
                sums = total[r]
                for z in range(actions * step, (subjects if c == 0 else subjects - everywhere) * step):
                    sums[z] += added[z]
                for d in range(some):
                    if place[d] >= 0:
                        for p in range(powers):
                            sums[place[d] + p * _TOGETHER] += own[p * _TOGETHER + d]
        for p in range(powers):
            for d in range(some):
                for t in range(of_column.shape[0]):
                    out[p, begin + d, t] = total[of_region[t], of_column[t] * step + p * _TOGETHER + d]
