"""Signs that a policy has learnt from the very rows that evaluate it.

Such a policy takes an action where that action happened to go well, against what it does in contexts nearby.
So two things go together in its rows that have nothing to do with each other in those of any other policy:

- its jitter ``u``: its probability of the logged action, minus the mean of its probabilities of that action
  in the ten nearest contexts;
- the luck ``e``: the reward, minus what a model that has not seen the row predicts for the logged action.

============  =====================================================  =========  ============
figure        meaning                                                with care  do not trust
============  =====================================================  =========  ============
``z``         ``sum(u e)`` in its standard errors                    2.6        2.6
``z * pull``  ``pull`` is ``mean(u e)`` over the deviation of ``e``  0.1        0.4
============  =====================================================  =========  ============

Both have to be reached. The size is asked for as well as the test because a very good policy shows a little
of the same where the reward model is poor, and a large log makes that significant. A policy that knows more
about the rewards than the context of the log tells shows it too, and cannot be told apart.
``kwis.trained_elsewhere`` answers the doubt of "with care".

A smooth policy with a few parameters, learnt from thousands of rows, has next to no jitter: it is not seen
here, and gains little.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from kwis.data.copies import together_of
from kwis.data.log import LoggedBandit
from kwis.kernel.nearest import nearest_rows
from kwis.policy.discrete import TargetPolicy
from kwis.results import Verdict
from kwis.stats.subsets import drawn_rows
from kwis.typing import Floats, Ints, Seed

NEIGHBOURS = 10
MOST_ROWS = 10_000
LEAST_Z = 2.6
STRENGTH = (0.1, 0.4)

_ROUNDING = 1e-12
_ALIKE = 25  # neighbours with the same action whose mean reward stands in for a model


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingCheck:
    """Whether a policy seems to have learnt from the rewards of the rows that evaluate it; the module
    explains the figures.

    Attributes
    ----------
    rows
        How many rows were looked at: all, or a seeded subset of a large log.
    """

    target: str
    reward: str
    pull: float
    z: float
    rows: int

    @property
    def verdict(self) -> Verdict:
        """Nothing against the policy, doubt, or a clear case."""
        reached = sum(self.z >= LEAST_Z and self.z * self.pull >= strength for strength in STRENGTH)
        if not reached:
            return Verdict(level="trust")
        seems = f"{self.target} {'seems to have' if reached == 2 else 'may have'} learnt from these very rows"
        found = f"it prefers the logged action where {self.reward} happened to be high (z = {self.z:.1f})"
        remedy = "evaluate it on rows it has not seen (kwis.cross_fit)"
        if reached == 1:
            remedy += ", or say kwis.trained_elsewhere(...) if these are such rows"
        reason = f"{seems}: {found}; {remedy}"
        return Verdict(level="do not trust" if reached == 2 else "with care", reasons=(reason,))


def training_check(
    log: LoggedBandit,
    target: TargetPolicy,
    reward: int | str = 0,
    predicted: Floats | None = None,
    *,
    rng: Seed = 0,
) -> TrainingCheck:
    """Look for signs that a target has learnt from one reward of this log; see :func:`training_checks`."""
    name = log.reward_names[log.reward_number(reward)]
    found = training_checks(log, [target], {} if predicted is None else {name: predicted}, rng=rng)
    return next(one for one in found if one.reward == name)


def training_checks(
    log: LoggedBandit, targets: Sequence[TargetPolicy], predicted: Mapping[str, Floats], *, rng: Seed = 0
) -> tuple[TrainingCheck, ...]:
    """Look for signs that targets have learnt from the rewards of this log: every target by every reward.

    Parameters
    ----------
    predicted
        From rewards to ``(n,)`` cross-fitted predictions for the logged actions; where there are none, the
        mean of rows nearby with the same action stands in.
    rng
        Draws the rows of a log of more than 10,000.
    """
    rows: Ints = np.arange(log.n)
    if log.n > MOST_ROWS:
        rows = drawn_rows(log.n, MOST_ROWS, rng)
        log, targets = log.take(rows), [target.take(rows) for target in targets]
    nearby, together = Nearby(features=log.features(), action=log.action), together_of(log)
    silent = rows.size <= 2 * NEIGHBOURS or not nearby.features.shape[1]
    lucks = {}
    for j, name in enumerate(log.reward_names):
        reward = log.reward[:, j]
        lucks[name] = (
            reward * 0
            if silent
            else reward - (predicted[name][rows] if name in predicted else nearby.alike(reward, _ALIKE))
        )
    mass = np.ones(log.n) if log.row_weight is None else log.row_weight / log.row_weight.mean()
    found = []
    for target in targets:
        moves = np.zeros(log.n) if silent else mass * nearby.jitter(target)
        for name, luck in lucks.items():
            scale = float(np.sqrt(np.average(luck**2, weights=mass)))
            z, pull = _figures(moves * luck, together, scale)
            found.append(TrainingCheck(target=target.name, reward=name, pull=pull, z=z, rows=rows.size))
    return tuple(found)


def _figures(terms: Floats, together: Ints, scale: float) -> tuple[float, float]:
    """Sum of the terms in its standard errors, rows that belong together being one draw, and their mean over
    the scale.
    """
    spread = float(np.sqrt((np.bincount(together, weights=terms) ** 2).sum()))
    return (
        (0.0, 0.0)
        if spread == 0.0 or scale == 0.0
        else (float(terms.sum() / spread), float(terms.mean() / scale))
    )


@dataclass(slots=True, kw_only=True, eq=False)
class Nearby:
    """Which rows are near which; sought once for all targets and rewards."""

    features: Floats
    action: Ints
    _near: Ints | None = None
    _same: list[tuple[Ints, Ints]] | None = None

    def jitter(self, target: TargetPolicy) -> Floats:
        """``(n,)`` probability of the logged action, minus its mean over the nearest contexts.

        Without the whole distribution only rows with the same action know that probability, and the nearest
        are sought among them.
        """
        if target.distribution is None:
            around = self.alike(target.logged, NEIGHBOURS)
        else:
            if self._near is None:
                self._near = nearest_rows(self.features, NEIGHBOURS)
            around = target.distribution[self._near, self.action[:, None]].mean(axis=1)
        found = target.logged - around
        return np.where(np.abs(found) > _ROUNDING, found, 0.0)

    def alike(self, values: Floats, count: int) -> Floats:
        """Mean of the values of the nearest other rows with the same action; a row that has none keeps its
        own.
        """
        if self._same is None:
            groups = [np.flatnonzero(self.action == code) for code in np.unique(self.action)]
            self._same = [
                (rows, nearest_rows(self.features[rows], min(_ALIKE, rows.size - 1), self.action.size))
                for rows in groups
                if rows.size > 1
            ]
        found = values.astype(np.float64)
        for rows, near in self._same:
            found[rows] = values[rows][near[:, :count]].mean(axis=1)
        return found
