"""Whether some actions seem not to be available in some rows, where nobody named the candidates.

If all K actions are available in every row and the propensities are right, ``1 / (K p)`` is 1 on average: it
is the weight of a uniform policy. If a row has m candidates, it is ``m / K``. A mean that is far below 1, by
more than chance, is what candidate sets look like. Propensities that are too large look the same, and only
the candidates tell the two apart; so the propensities are not called wrong for it, and the user is asked.

Chance: rare actions have the largest inverses, and a log without any of them has a low mean. The mean must be
well below that of every one of some logs whose actions are redrawn from the propensities, completed as if all
actions were available.
"""

from __future__ import annotations

import numpy as np

from kwis.checks.null import Null
from kwis.data.log import LoggedBandit
from kwis.models.propensity.check import Finding
from kwis.stats.subsets import drawn_rows
from kwis.typing import Floats

FAR_BELOW = 0.8
"""A mean of ``1 / (K p)`` below this is far below 1."""
_BELOW_CHANCE = (
    0.9  # of the smallest mean of the redrawn logs, as completed propensities are only near the true
)
_FEWEST_CANDIDATES = 3  # as many as one over the propensity says, to be candidates rather than a placeholder
_REDRAWN = 199
_CELLS = 2_000_000  # rows times actions: enough rows for an effect of this size
ASK = "some actions seem not to be available in some rows; name them with --candidates"


def mean_inverse(log: LoggedBandit) -> float:
    """Mean of ``1 / (K p)``, K the number of actions available in a row."""
    assert log.propensity is not None
    return float(np.average(1 / (log.set_sizes * log.propensity), weights=log.row_weight))


def unavailable(log: LoggedBandit, null: Null) -> Finding | None:
    """What to ask if the mean of ``1 / (K p)`` is far below 1 by more than chance, else None."""
    if null.whole or log.available is not None or log.propensity_origin != "logged":
        return None
    if mean_inverse(log) >= FAR_BELOW:
        return None
    most = max(1, _CELLS // log.n_actions)
    rows = drawn_rows(log.n, min(log.n, most))
    part = log.take(rows)
    mean = mean_inverse(part)
    assert part.propensity is not None
    propensity = null.propensity[rows]
    if np.median(1 / part.propensity) >= _FEWEST_CANDIDATES:
        # Where the least that each action seems to have sums to more than 1, they cannot all be available.
        propensity = null.chance[rows]
    if mean >= _BELOW_CHANCE * _redrawn_means(part, propensity, null.chance[rows]).min():
        return None
    because = f"1 / (number of actions x propensity) is {mean:.2f} on average, and 1 if all are"
    return Finding(kind="unavailable", serious=True, sentence=f"{ASK} ({because})")


def _redrawn_means(log: LoggedBandit, propensity: Floats, chance: Floats) -> Floats:
    """The mean of ``1 / (K p)`` in logs with redrawn actions; rows of a group share a draw."""
    rng = np.random.default_rng(0)
    inverse = 1 / (log.n_actions * np.where(propensity > 0, propensity, 1.0))
    ends = chance.cumsum(axis=1)
    ends = ends[:, :-1] / ends[:, -1:]
    draw = np.arange(log.n) if log.group is None else np.unique(log.group, return_inverse=True)[1]
    count = int(draw.max()) + 1
    means = []
    for _ in range(_REDRAWN):
        drawn = (rng.random(count)[draw][:, None] > ends).sum(axis=1)
        means.append(np.average(inverse[np.arange(log.n), drawn], weights=log.row_weight))
    return np.array(means)
