"""What a target would do that the log cannot speak about."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kwis.data.columns import Label
from kwis.data.log import LoggedBandit
from kwis.policy.discrete import TargetPolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class Support:
    """How much of a target's probability is on actions that the logger could not take.

    Attributes
    ----------
    never_logged
        Actions that no row took.
    beyond
        Mean probability that the target gives to actions that were never logged, or whose logged probability
        is 0 in that row; None where the target's distribution is unknown. Where weights are over features of
        the actions, the same of features.
    rows
        Rows in which that probability is positive.
    """

    never_logged: tuple[Label, ...]
    beyond: float | None
    rows: int


def support(log: LoggedBandit, target: TargetPolicy) -> Support:
    """Support of a target in a log; estimates say nothing about the part ``beyond``."""
    counts = np.bincount(log.action, minlength=log.n_actions)
    never = tuple(name for name, count in zip(log.action_names, counts, strict=True) if not count)
    if target.distribution is None:
        return Support(never_logged=never, beyond=None, rows=0)
    evaluated = target.over(target.distribution)
    impossible = np.broadcast_to(target.over(counts.astype(np.float64)) == 0, evaluated.shape)
    if log.behaviour is not None:
        impossible = impossible | (target.over(log.behaviour) == 0)
    lost = (evaluated * impossible).sum(axis=1)
    return Support(
        never_logged=never, beyond=float(np.average(lost, weights=log.row_weight)), rows=int((lost > 0).sum())
    )
