"""Many actions as one: rows that are alike take the same actions as often as their propensities say.

Among hundreds of items each is taken a few times, too few to be tested by itself. With ``e_i`` the indicator
of the action of row i less its propensities, and ``x_i`` one feature of the context, the statistic

    ``sum over i != j of x_i x_j <e_i, e_j> = |sum_i x_i e_i|^2 - sum_i |x_i e_i|^2``

adds up all items. Right propensities give it mean 0, whatever the features; it is the score of effects of the
feature on the odds of every action that are drawn at random, and so the locally most powerful test against
them. Pairs of rows of one group are left out, as they may share a draw.

There is one test of the actions by themselves, where the feature is 1, one of all features together, and
one for each column. Their spread and skewness are those in redrawn logs; the first two share a part of the
5 %, and the columns another.
"""
# mypy: disable-error-code="no-untyped-def, no-untyped-call, misc"

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
from scipy.special import ndtr

from kwis.checks.drawn import redrawn_actions
from kwis.checks.family import adjusted
from kwis.checks.features import features_of
from kwis.checks.findings import MeanTest
from kwis.checks.null import Null
from kwis.checks.regions import EVERYWHERE, Mask, time_column
from kwis.checks.spread import standardised
from kwis.data.log import LoggedBandit
from kwis.runtime.compile import compiled
from kwis.runtime.threads import each_block, row_blocks
from kwis.typing import Floats, Ints

FEWEST_ACTIONS = 21
"""With fewer, each action is tested by itself."""
_LEAST_DRAWS = 30  # rows or groups
_MOST_FEATURES = 50
_FARTHEST = 3.0  # standard deviations beyond which a number counts as that, so that no row decides alone
_CALIBRATION = 200  # redrawn logs that tell spread and skewness
_CALIBRATION_SEED = 1  # other logs than those that the family is compared with
_MOST_DRAWS = 999
_CELLS = 1 << 21  # entries of the sums in flight: draws times actions times features


@dataclass(frozen=True, slots=True)
class _Part:
    """One test: its features, and what it is about."""

    kind: Literal["actions", "context"]
    subject: str
    column: str | None
    features: tuple[int, ...]


@dataclass(frozen=True, kw_only=True, eq=False)
class Pooled:
    """The pooled tests of one log.

    Attributes
    ----------
    action
        Those of the log.
    features
        ``(n, d)``, times the mass of the row; the first is 1.
    group
        Rows of one are not compared with each other; None if each row is a draw.
    """

    action: Ints
    features: Floats
    parts: tuple[_Part, ...]
    null: Null
    group: Ints | None
    most: int = _MOST_DRAWS

    @property
    def rivals(self) -> Floats:
        """With how many tests each shares its part of the 5 %."""
        alike = Counter(part.column is None for part in self.parts)
        return np.array([alike[part.column is None] for part in self.parts], dtype=np.float64)

    @property
    def size(self) -> float:
        """How many parts of the 5 % these are."""
        return float((1 / self.rivals).sum())

    @cached_property
    def moments(self) -> tuple[Floats, Floats]:
        """Standard deviations and skewnesses of the statistics if the propensities are right."""
        redrawn = self._statistics(
            redrawn_actions(self.null, self.group, 0, _CALIBRATION, seed=_CALIBRATION_SEED)
        )
        spread = np.sqrt((redrawn**2).mean(axis=0))
        return spread, (redrawn**3).mean(axis=0) / np.where(spread > 0, spread, 1.0) ** 3

    def own_p_values(self) -> Floats:
        """``(m,)`` p-values of the log, times their rivals."""
        return self._p_values(self.z())

    def redrawn_p_values(self, first: int, draws: int) -> Floats:
        """``(draws, m)`` the same in redrawn logs."""
        actions = redrawn_actions(self.null, self.group, first, draws)
        return self._p_values(self._z(self._statistics(actions)))

    def z(self) -> Floats:
        """``(m,)`` statistics of the log in standard deviations, corrected for skewness."""
        return np.asarray(self._z(self._own))

    def judged(self, smallest: Floats, size: float) -> tuple[MeanTest, ...]:
        """Records of the tests; p-values allow for all tests, of which there are ``size`` parts."""
        z = self.z()
        p = adjusted(self._p_values(z), smallest, size)
        return tuple(
            MeanTest(
                kind=part.kind,
                subject=part.subject,
                region=EVERYWHERE,
                column=part.column,
                n=len(self.action),
                mean=self._factor(j),
                low=float("nan"),
                high=float("nan"),
                z=float(z[j]),
                p_value=float(p[j]),
            )
            for j, part in enumerate(self.parts)
        )

    def without(self, rows: Mask) -> Pooled:
        """The same tests on the other rows."""
        left = np.flatnonzero(~rows)
        return replace(
            self,
            action=self.action[left],
            features=self.features[left],
            null=replace(self.null, propensity=self.null.propensity[left], chance=self.null.chance[left]),
            group=None if self.group is None else self.group[left],
        )

    @property
    def enough(self) -> bool:
        """Whether there are draws enough to test anything."""
        draws = len(self.action) if self.group is None else np.unique(self.group).size
        return draws >= _LEAST_DRAWS

    @cached_property
    def _own(self) -> Floats:
        return np.asarray(self._statistics(self.action[None, :])[0])

    def _factor(self, j: int) -> float:
        """By what factor effects of the size that the log shows typically change the odds of an action.

        With effects of variance ``v`` the statistic has, to first order, the mean ``v / 2`` times its
        variance.
        """
        spread = self.moments[0][j]
        variance = max(2 * self._own[j] / spread**2, 0.0) if spread > 0 else 0.0
        size = (self.features[:, self.parts[j].features] ** 2).sum(axis=1).mean()
        return float(np.exp(np.sqrt(variance * size)))

    def _p_values(self, z: Floats) -> Floats:
        return np.asarray(ndtr(-z) * self.rivals)

    def _z(self, statistics: Floats) -> Floats:
        spread, skewness = self.moments
        varies = spread > 0
        return standardised(statistics / np.where(varies, spread, 1.0), skewness) * varies

    def _statistics(self, actions: Ints) -> Floats:
        """``(draws, m)`` statistics of ``(draws, n)`` actions."""
        labels = np.arange(actions.shape[1]) if self.group is None else self.group
        order = np.argsort(labels, kind="stable")
        starts = np.concatenate([[0], np.flatnonzero(np.diff(labels[order])) + 1, [len(order)]])
        chance, features = self.null.chance[order], self.features[order]
        together = max(1, _CELLS // (chance.shape[1] * features.shape[1]))

        def by_feature(draws: slice) -> Floats:
            return np.asarray(_pairs(actions[draws][:, order], starts, chance, features))

        each = np.concatenate(each_block(by_feature, row_blocks(len(actions), together)))
        return np.stack([each[:, part.features].sum(axis=1) for part in self.parts], axis=1)


def pooled_of(log: LoggedBandit, null: Null) -> Pooled | None:
    """The pooled tests of a log; None where actions are few, or their distribution is not known."""
    if not null.whole or log.n_actions < FEWEST_ACTIONS:
        return None
    columns = dict[str, list[Floats]]()
    for feature in features_of(log):
        columns.setdefault(feature.source, []).append(feature.values)
    if log.time is not None and time_column(log) not in columns:
        columns[time_column(log)] = [_scaled(log.time)]
    if log.logger is not None and len(log.logger_names) > 1:
        columns["logger"] = [(log.logger == code).astype(np.float64) for code in range(len(log.logger_names))]
    parts, values = [_Part("actions", "", None, (0,))], [np.ones(log.n)]
    for name, own in columns.items():
        kept = own[: _MOST_FEATURES - len(values)]
        if kept:
            parts.append(_Part("context", name, name, tuple(range(len(values), len(values) + len(kept)))))
            values += [np.clip(one - one.mean(), -_FARTHEST, _FARTHEST) for one in kept]
    if len(parts) > 1:
        parts.insert(1, _Part("context", "the context", None, tuple(range(1, len(values)))))
    features = np.column_stack(values)
    if log.row_weight is not None:
        features *= (log.row_weight / log.row_weight.mean())[:, None]
    found = Pooled(action=log.action, features=features, parts=tuple(parts), null=null, group=log.group)
    return found if found.enough else None


def _scaled(time: Floats) -> Floats:
    spread = np.nanstd(time)
    return np.nan_to_num((time - np.nanmean(time)) / (spread if spread > 0 else 1.0))


@compiled(nogil=True, error_model="numpy")
def _pairs(actions, starts, chance, features):
    """``(draws, d)`` sums over the pairs of rows of different groups; rows lie group by group."""
    draws, k, d = actions.shape[0], chance.shape[1], features.shape[1]
    taken, apart = np.zeros((draws, k, d)), np.zeros((draws, d))
    expected, of_group, by_group = np.zeros((k, d)), np.zeros((k, d)), np.zeros((k, d))
    alone = np.zeros(d)
    for g in range(len(starts) - 1):
        rows = range(starts[g], starts[g + 1])
        for i in rows:
            for a in range(k):
                if chance[i, a] > 0:
                    for c in range(d):
                        of_group[a, c] += features[i, c] * chance[i, a]
        for t in range(draws):
            for i in rows:
                for c in range(d):
                    by_group[actions[t, i], c] += features[i, c]
            for i in rows:
                a = actions[t, i]
                for c in range(d):
                    apart[t, c] += features[i, c] * (by_group[a, c] - 2 * of_group[a, c])
                    taken[t, a, c] += features[i, c]
            for i in rows:
                by_group[actions[t, i], :] = 0.0
        for i in rows:
            for a in range(k):
                if chance[i, a] > 0:
                    for c in range(d):
                        expected[a, c] += of_group[a, c]
                        alone[c] += of_group[a, c] ** 2
                        of_group[a, c] = 0.0
    out = np.zeros((draws, d))
    for t in range(draws):
        for a in range(k):
            for c in range(d):
                out[t, c] += (taken[t, a, c] - expected[a, c]) ** 2
        for c in range(d):
            out[t, c] -= apart[t, c] + alone[c]
    return out
