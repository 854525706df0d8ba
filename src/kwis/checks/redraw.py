"""The smallest p-value of a family of tests on logs whose actions are drawn anew from the propensities.

The same contexts, propensities, regions, masses and groups; only the actions are new. If the smallest p-value
of the log itself does not stand out among these, nothing speaks against the propensities. With the whole
distribution known this test is exact, whatever the p-values of the single tests are worth. Drawing stops as
soon as so many redrawn logs are as bad as the log that it cannot fail any more (Besag and Clifford, 1991), or
where none of the first few hundred is, as it cannot pass any more.
"""
# mypy: disable-error-code="no-untyped-def, no-untyped-call, misc"

from __future__ import annotations

import numpy as np

from kwis.checks.drawn import keys_of, place_in, uniform
from kwis.checks.family import Family
from kwis.checks.null import Null
from kwis.checks.pooled import Pooled
from kwis.runtime.compile import compiled
from kwis.runtime.threads import each_block, row_blocks
from kwis.typing import Floats, Ints

_MOST_DRAWS = 999
_LEAST_DRAWS = 199
_BATCH = 100
_WORK = 2e9  # additions that may be spent on more draws than the fewest
_ENOUGH = 50  # redrawn logs as bad as the log
_CLEAR = 300  # redrawn logs that are all less bad: with 1 in 20 as bad, none would be once in 5 million logs
_CELLS = 1 << 21  # entries of the largest array in flight
_TOGETHER = 16  # draws that go by a row at a time
_FEW = 8  # actions that are quicker counted than searched, and added to all sums than to one


def smallest_by_chance(family: Family, null: Null, pooled: Pooled | None = None) -> Floats:
    """Sorted smallest p-values of a family and the pooled tests, one for each log with redrawn actions."""
    families: list[_Redrawn | Pooled] = [] if pooled is None else [pooled]
    if family.pairs:
        families.append(_Redrawn(family, null))
    own = min(one.own_p_values().min() for one in families) * (1 + 1e-9)
    most = min(one.most for one in families)
    smallest = np.empty(0)
    as_bad = 0
    while len(smallest) < most and as_bad < _ENOUGH and (as_bad or len(smallest) < _CLEAR):
        draws = min(_BATCH, most - len(smallest))
        by_family = [one.redrawn_p_values(len(smallest), draws).min(axis=1) for one in families]
        smallest = np.append(smallest, np.min(by_family, axis=0))
        as_bad = int((smallest <= own).sum())
    return np.sort(smallest)


class _Redrawn:
    """Logs with new actions, as far as the tests of a family look at them."""

    def __init__(self, family: Family, null: Null, seed: int = 0) -> None:
        self.family, self.null, self.seed = family, null, seed
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
        self.places = _places(family)
        self.mass = np.ones(family.n) if family.mass is None else family.mass
        self.powers = (1,) if family.known.all() else (1, 2, 3)
        width = len(self.powers) * (1 + len(self.others))
        self.block = max(1, _CELLS // (null.chance.shape[1] * (len(self.powers) + len(self.others))))
        self.most = int(
            np.clip(_WORK / (family.n * (8 + self.places.shape[1] * width)), _LEAST_DRAWS, _MOST_DRAWS)
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
        return tuple(np.sum(each_block(lambda rows: self._block(rows, first, draws), blocks), axis=0))

    def _block(self, rows: slice, first: int, draws: int) -> Floats:
        """Sums over some of the rows, ``(powers, draws, m)``."""
        ends = self.null.chance[rows].cumsum(axis=1)
        slot = np.full(ends.shape[1], -1, dtype=np.int64)
        slot[[one.code for one in self.actions]] = np.arange(len(self.actions))
        whole = -(-draws // _TOGETHER) * _TOGETHER
        out = np.empty((len(self.powers), whole, len(self.of_column)))
        group = (
            np.empty(0, dtype=np.int64)
            if self.family.group is None or self.family.shared == 0
            else self.family.group[rows].astype(np.int64)
        )
        few = ends.shape[1] <= _FEW
        sums = (len(self.actions) + len(self.others)) * len(self.powers) * _TOGETHER
        _redraw(
            keys_of(self.seed, first, whole),
            rows.start,
            ends / ends[:, -1:],
            self._gains(rows),
            slot,
            self.everywhere,
            self.places[rows],
            group,
            np.sqrt(self.family.shared),
            self.of_column,
            self.of_region,
            np.empty((2, _TOGETHER)),
            np.empty((2, _TOGETHER), dtype=np.int64),
            np.zeros(sums),
            None if few else np.empty(len(self.powers) * _TOGETHER),
            np.empty((len(self.family.regions), sums)),
            out,
        )
        return out[:, :draws] + self._without_actions(rows)[:, None, :]

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


# Whatever needs memory is handed in: every array made in compiled code adds to the time it takes to compile.
# Where ``own`` is None, as with few actions, what it would be used for is left out.
@compiled(nogil=True, error_model="numpy")
def _redraw(
    keys,
    start,
    ends,
    gains,
    slot,
    everywhere,
    places,
    group,
    sharing,
    of_column,
    of_region,
    numbers,
    chosen,
    added,
    own,
    total,
    out,
):
    """For each draw new actions, and the sums of what they add, by power, subject and region.

    The last ``everywhere`` of the subjects are summed over the whole log alone. Each row looks up a uniform
    number of its own or, as often as ``sharing`` says, that of its group. ``_TOGETHER`` draws go by the row
    together, so that what they add is added to sums beside each other: of draw ``d`` in ``added`` and in
    every region's ``total`` at ``(subject * powers + power) * _TOGETHER + d``. Powers of what others add are
    taken here: looking them up would take longer.
    """
    n, k, width = gains.shape
    powers = out.shape[0]
    step = powers * _TOGETHER
    others = (width - powers) * step
    actions = added.shape[0] - others
    number, which = numbers[0], numbers[1]
    taken, place = chosen[0], chosen[1]
    for begin in range(0, out.shape[1], _TOGETHER):
        for r in range(total.shape[0]):
            for z in range(total.shape[1]):
                total[r, z] = 0.0
        for i in range(n):
            for d in range(_TOGETHER):
                number[d] = uniform(keys[0, begin + d], start + i)
            if group.shape[0] > 0:
                for d in range(_TOGETHER):
                    which[d] = uniform(keys[2, begin + d], start + i)
                for d in range(_TOGETHER):
                    if which[d] < sharing:
                        number[d] = uniform(keys[1, begin + d], group[i])
            if own is None:
                for d in range(_TOGETHER):
                    taken[d] = 0
                for a in range(k - 1):
                    for d in range(_TOGETHER):
                        taken[d] += ends[i, a] <= number[d]
            else:
                for d in range(_TOGETHER):
                    taken[d] = place_in(ends, i, number[d])
            for j in range(width - powers):
                z = actions + j * step
                for d in range(_TOGETHER):
                    added[z + d] = gains[i, taken[d], powers + j]
                for p in range(1, powers):
                    for d in range(_TOGETHER):
                        added[z + p * _TOGETHER + d] = added[z + (p - 1) * _TOGETHER + d] * added[z + d]
            for z in range(actions):
                added[z] = 0.0
            for d in range(_TOGETHER):
                place[d] = slot[taken[d]] * step + d
                if place[d] < 0:
                    continue
                for c in range(powers):
                    if own is None:
                        added[place[d] + c * _TOGETHER] = gains[i, taken[d], c]
                    else:
                        own[c * _TOGETHER + d] = gains[i, taken[d], c]
            begun = 0
            if own is not None:
                begun = actions
            for c in range(places.shape[1]):
                r = places[i, c]
                if r < 0:
                    continue
                stop = added.shape[0] if c == 0 else added.shape[0] - everywhere * step
                part, more = total[r, begun:stop], added[begun:stop]
                for z in range(more.shape[0]):
                    part[z] += more[z]
                if own is not None:
                    for d in range(_TOGETHER):
                        if place[d] >= 0:
                            for p in range(powers):
                                total[r, place[d] + p * _TOGETHER] += own[p * _TOGETHER + d]
        for p in range(powers):
            for d in range(_TOGETHER):
                for t in range(of_column.shape[0]):
                    out[p, begin + d, t] = total[of_region[t], of_column[t] * step + p * _TOGETHER + d]
