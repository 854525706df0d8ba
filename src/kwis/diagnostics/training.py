"""Signs that a policy has learnt from the very rows that evaluate it.

Such a policy takes an action where that action happened to go well, against what it does in contexts nearby. So two things go together
in its rows that have nothing to do with each other in those of any other policy:

- its jitter ``u``: its probability of the logged action, minus the mean of its probabilities of that action in the ten nearest contexts;
- the luck ``e``: the reward, minus what a model that has not seen the row predicts for the logged action.

============  =====================================================  =========  ============
figure        meaning                                                with care  do not trust
============  =====================================================  =========  ============
``z``         ``sum(u e)`` in its standard errors                    2.6        2.6
``z * pull``  ``pull`` is ``mean(u e)`` over the deviation of ``e``  0.1        0.4
============  =====================================================  =========  ============

Both have to be reached. The size is asked for as well as the test because a very good policy shows a little of the same where the reward
model is poor, and a large log makes that significant. A policy that knows more about the rewards than the context of the log tells shows
it too, and cannot be told apart.

A smooth policy with a few parameters, learnt from thousands of rows, has next to no jitter: it is not seen here, and gains little.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kwis import _validation as check
from kwis.copies import together_of
from kwis.logged import LoggedBandit
from kwis.policies import TargetPolicy
from kwis.results import Verdict
from kwis.typing import Floats, Ints, Seed

NEIGHBOURS = 10
MOST_ROWS = 10_000
LEAST_Z = 2.6
STRENGTH = (0.1, 0.4)

_ROUNDING = 1e-12
_ALIKE = 25  # neighbours with the same action whose mean reward stands in for a model


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingCheck:
    """Whether a policy seems to have learnt from the rewards of the rows that evaluate it; the module explains the figures.

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
        reason = f"{seems}: {found}; evaluate it on rows it has not seen (kwis.cross_fit)"
        return Verdict(level="do not trust" if reached == 2 else "with care", reasons=(reason,))


def training_check(
    log: LoggedBandit, target: TargetPolicy, reward: int | str = 0, predicted: Floats | None = None, *, rng: Seed = 0
) -> TrainingCheck:
    """Look for signs that a target has learnt from the rewards of this log.

    Parameters
    ----------
    predicted
        ``(n,)`` cross-fitted predictions of the reward of the logged actions; None: the mean of rows nearby with the same action.
    rng
        Draws the rows of a log of more than 10,000.
    """
    index = log.reward_number(reward)
    name = log.reward_names[index]
    rows = np.arange(log.n)
    if log.n > MOST_ROWS:
        rows = np.sort(check.generator(rng).choice(log.n, MOST_ROWS, replace=False))
        predicted = None if predicted is None else predicted[rows]
        log, target = log.take(rows), target.take(rows)
    empty = TrainingCheck(target=target.name, reward=name, pull=0.0, z=0.0, rows=rows.size)
    features = log.features()
    if rows.size <= 2 * NEIGHBOURS or not features.shape[1]:
        return empty
    luck = log.reward[:, index] - (_alike(features, log.action, log.reward[:, index]) if predicted is None else predicted)
    mass = np.ones(log.n) if log.row_weight is None else log.row_weight / log.row_weight.mean()
    terms = mass * jitter(features, log.action, target) * luck
    spread = float(np.sqrt((np.bincount(together_of(log), weights=terms) ** 2).sum()))
    scale = float(np.sqrt(np.average(luck**2, weights=mass)))
    if spread == 0.0 or scale == 0.0:
        return empty
    return TrainingCheck(target=target.name, reward=name, pull=float(terms.mean() / scale), z=float(terms.sum() / spread), rows=rows.size)


def jitter(features: Floats, action: Ints, target: TargetPolicy) -> Floats:
    """``(n,)`` probability of the logged action, minus its mean over the nearest contexts.

    Without the whole distribution only the rows with the same action know that probability, and the nearest are sought among them.
    """
    if target.distribution is None:
        around = _alike(features, action, target.logged, NEIGHBOURS)
    else:
        around = target.distribution[_nearest(features, NEIGHBOURS), action[:, None]].mean(axis=1)
    found = target.logged - around
    return np.where(np.abs(found) > _ROUNDING, found, 0.0)


def _alike(features: Floats, action: Ints, values: Floats, count: int = _ALIKE) -> Floats:
    """Mean of the values of the nearest other rows with the same action; a row that has none keeps its own."""
    found = values.astype(np.float64)
    for code in np.unique(action):
        rows = np.flatnonzero(action == code)
        if rows.size > 1:
            found[rows] = values[rows][_nearest(features[rows], min(count, rows.size - 1))].mean(axis=1)
    return found


def _nearest(features: Floats, count: int) -> Ints:
    """``(n, count)`` numbers of the nearest other rows."""
    from sklearn.neighbors import NearestNeighbors
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        found = NearestNeighbors(n_neighbors=count).fit(features).kneighbors(return_distance=False)
    return np.asarray(found, dtype=np.int64)
