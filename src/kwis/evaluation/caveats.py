"""What speaks against one estimator, or against every estimate of a reward, beyond what the diagnostics say about its target.

=======================================  =============  ==============================================
estimator                                verdict        when
=======================================  =============  ==============================================
``vis``, ``truncated-vis``,              with care      the mean weight is not 1 (p below 1 %): they do
``doubly-robust``                                       not divide by it
``state-wis``, ``normalised-state-wis``  do not trust   over half of the rows have a context of their own:
                                                        their weights cancel, whatever the target
``kernel-wis``                           with care      its weights average 2 % or more away from 1, by
                                                        which it is off even if every reward is the same
``direct-method``                        with care      always: its interval takes the model for the truth
all of a reward                          with care      its model explains over 98 % of the held-out variance:
                                                        the context may know what came after the action
..                                       with care      its mean changed over time (p below 0.1 %) and the actions
                                                        did not
..                                       with care      fewer than ten differ from the usual one
..                                       do not trust   all are the same
..                                       with care      rows that share a value of a column, or a context, agree in
                                                        actions or in rewards (:mod:`kwis.evaluation.sharing`)
..                                       do not trust   ... and that more than doubles variances
everything                               with care      rows are copies of others (:mod:`kwis.copies`)
=======================================  =============  ==============================================

Scans know those of single estimators only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from kwis.copies import copies_in_words
from kwis.diagnostics import Drift, WeightDiagnostics, combine
from kwis.estimators.state_wis import state_codes
from kwis.evaluation.measure import Measured
from kwis.evaluation.sharing import shared_draws
from kwis.logged import COPIES, LoggedBandit
from kwis.results import Verdict
from kwis.typing import Floats

MEAN_P_VALUE = 0.01
OWN_CONTEXT = 0.5
APPLIED_MEAN = 0.02
MOST_EXPLAINED = 0.98
FEW_OTHERS = 10
CHANGED = 0.001


def lone_share(context: Floats) -> float:
    """Share of the rows whose context no other row has."""
    codes = state_codes(context)
    return float((np.bincount(codes)[codes] == 1).mean())


def verdicts_of(
    measured: Sequence[Measured],
    targets: Mapping[str, Verdict],
    weights: Mapping[str, WeightDiagnostics],
    lone: float,
    rewards: Mapping[str, Sequence[Verdict]] | None = None,
) -> list[Verdict]:
    """Verdict on every estimate: that on its target, and its own caveats.

    Parameters
    ----------
    lone
        Share of the rows whose context no other row has.
    rewards
        What speaks against every estimate of a reward, see :func:`about_rewards`.
    """
    found = []
    for one in measured:
        own = _caveats(one, weights[one.target], lone)
        found.append(combine(targets[one.target], *own, *(rewards or {}).get(one.reward, ())))
    return found


def about_rewards(log: LoggedBandit, explained: Mapping[str, float], changes: Sequence[Drift | None]) -> dict[str, tuple[Verdict, ...]]:
    """What speaks against every estimate of a reward, by reward.

    Parameters
    ----------
    explained
        Share of the held-out variance that a model explains, where there is one.
    changes
        Of each reward.
    """
    copies = tuple(_copies(log))
    return {
        name: (*copies, *shared_draws(log, j), *rare(log.reward[:, j]), *_leaks(explained.get(name, 0.0)), *_history(changes[j]))
        for j, name in enumerate(log.reward_names)
    }


def rare(reward: Floats) -> Iterable[Verdict]:
    """Rewards that are all the same, or nearly."""
    values, counts = np.unique(reward, return_counts=True)
    usual, n = values[counts.argmax()], reward.size
    others = n - int(counts.max())
    if not others:
        reason = f"every logged reward is {usual:g}, so that the log tells nothing about others"
        yield Verdict(level="do not trust", reasons=(reason,))
    elif others < FEW_OTHERS and others < n / 2:
        yield _careful(f"only {others} of {n:,} logged rewards differ from {usual:g}")


def _history(change: Drift | None) -> Iterable[Verdict]:
    """Rewards that changed though actions did not; where both did, the one may have come of the other."""
    if change is None or change.by != "time":
        return
    if change.reward_p_value < CHANGED and not change.action_p_value < CHANGED:
        yield _careful(f"mean {change.reward_name} changed over time (p < {CHANGED:g}), and this is an average over the log's history")


def _copies(log: LoggedBandit) -> Iterable[Verdict]:
    if log.group_origin == COPIES:
        yield _careful(copies_in_words(log))


def _caveats(one: Measured, weights: WeightDiagnostics, lone: float) -> Iterable[Verdict]:
    name = one.estimate.name
    if name in ("vis", "truncated-vis", "doubly-robust") and weights.p_value < MEAN_P_VALUE:
        yield _careful(f"{name} does not divide by the mean weight, which is {weights.mean:.3g} instead of 1")
    if name in ("state-wis", "normalised-state-wis") and lone > OWN_CONTEXT:
        reason = f"{name} says little where {lone:.0%} of the rows have a context of their own: their weights cancel"
        yield Verdict(level="do not trust", reasons=(reason,))
    applied = one.estimate.mean_weight
    if name == "kernel-wis" and abs(applied - 1) >= APPLIED_MEAN:
        yield _careful(f"kernel-wis applies weights that average {applied:.3g} instead of 1; normalised-kernel-wis divides by that")
    if name == "direct-method":
        yield _careful("direct-method takes the reward model for the truth, and so does its interval")


def _leaks(explained: float) -> Iterable[Verdict]:
    if explained > MOST_EXPLAINED:
        told = f"the reward model explains {explained:.0%} of the held-out variance"
        yield _careful(f"{told}: is something decided after the action, such as another outcome, part of the context?")


def _careful(reason: str) -> Verdict:
    return Verdict(level="with care", reasons=(reason,))
