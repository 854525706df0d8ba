"""What speaks against one estimator, or against every estimate of a reward, beyond what the diagnostics say
about its target.

=======================================  =======================  ==========================================
estimator                                verdict                  when
=======================================  =======================  ==========================================
``vis``, ``truncated-vis``,              with care                the mean weight is not 1 (p below 1 %):
                                                                  they do
``doubly-robust``                                                 not divide by it
``state-wis``, ``normalised-state-wis``  do not trust             over half of the rows have a context of
                                                                  their own: their weights cancel, whatever
                                                                  the target
``state-wis``                            with care, do not trust  2 %, 10 % of the rows have contexts in which
                                                                  the target's actions do not occur: their
                                                                  rewards count as 0
``normalised-state-wis``                 with care                so have 2 %: it leaves them out
``kernel-wis``                           with care                its weights average 2 % or more away from
                                                                  1, by which it is off even if every reward
                                                                  is the same
quantiles, means of tails                with care, do not trust  few effective rows beyond the quantile
``direct-method``                        with care                always: its interval takes the model for
                                                                  the truth
all of a reward                          with care                its model explains over 98 % of the
                                                                  held-out variance: the context may know
                                                                  what came after the action
..                                       with care                its mean changed over time (p below 0.1 %)
                                                                  and the actions did not
..                                       do not trust             all are the same
..                                       with care                rows that share a value of a column, or a
                                                                  context, agree in actions or in rewards
                                                                  (:mod:`kwis.evaluation.sharing`)
..                                       do not trust             ... and that more than doubles variances
all of a target and a reward             with care                the rewards that differ from the usual
                                                                  one, weighted, are worth fewer than 60
                                                                  equal ones
..                                       do not trust             fewer than 30; or than 10 if they are all
                                                                  the same, such as 1
..                                       with care, do not trust  the target seems to have learnt from these
                                                                  very rows (:mod:`kwis.checks.training`)
..                                       with care                it is a fitted model, and nobody said that
                                                                  other rows were used
everything                               with care                propensities come from a model, as
                                                                  somebody said
..                                       with care                no context was named, or a column looks
                                                                  like an outcome
                                                                  (:mod:`kwis.evaluation.known_before`)
..                                       with care                rows are copies of others
                                                                  (:mod:`kwis.data.copies`)
=======================================  =======================  ==========================================
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from kwis.checks.findings import Drift, WeightDiagnostics
from kwis.checks.training import TrainingCheck
from kwis.checks.verdict import combine
from kwis.data.copies import copies_in_words
from kwis.data.log import COPIES, LoggedBandit
from kwis.estimators import traits
from kwis.estimators.state_wis import state_codes
from kwis.estimators.traits import Circumstances, careful
from kwis.evaluation.known_before import revealing_columns, unnamed_context
from kwis.evaluation.measure import Measured
from kwis.evaluation.scope import source_doubt
from kwis.evaluation.sharing import shared_draws
from kwis.policy.discrete import TargetPolicy
from kwis.results import Verdict
from kwis.sample import WeightedSample, effective_size
from kwis.stats import long
from kwis.stats.influence import draw_sums
from kwis.typing import Floats

MOST_EXPLAINED = 0.98
FEW_OTHERS = (60, 30)
FEW_EQUAL_OTHERS = (60, 10)
CHANGED = 0.001
USUAL = 0.5


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
    pairs: Mapping[tuple[str, str], Sequence[Verdict]] | None = None,
) -> list[Verdict]:
    """Verdict on every estimate: that on its target, and its own caveats.

    Parameters
    ----------
    lone
        Share of the rows whose context no other row has.
    rewards
        What speaks against every estimate of a reward, see :func:`about_rewards`.
    pairs
        What speaks against every estimate of a target and a reward: see :func:`about_training` and
        :func:`rare`.
    """
    found = []
    for one in measured:
        shared = (*(pairs or {}).get((one.target, one.reward), ()), *(rewards or {}).get(one.reward, ()))
        found.append(combine(targets[one.target], *_caveats(one, weights[one.target], lone), *shared))
    return found


def about_training(
    targets: Sequence[TargetPolicy], checks: Sequence[TrainingCheck]
) -> dict[tuple[str, str], Verdict]:
    """Whether targets have learnt from the rows that evaluate them: what the check says, or else what has to
    be asked.
    """
    by_name = {target.name: target for target in targets}
    found = {}
    for one in checks:
        target, verdict = by_name[one.target], one.verdict
        if verdict.level == "with care" and target.elsewhere:
            verdict = Verdict(level="trust")
        elif verdict.level == "trust" and target.question is not None:
            verdict = careful(target.question)
        found[one.target, one.reward] = verdict
    return found


def about_rewards(
    log: LoggedBandit,
    explained: Mapping[str, float],
    changes: Sequence[Drift | None],
    rewards: Sequence[Floats] | None = None,
) -> dict[str, tuple[Verdict, ...]]:
    """What speaks against every estimate of a reward, by reward.

    Parameters
    ----------
    explained
        Share of the held-out variance that a model explains, where there is one.
    changes
        Of each reward.
    rewards
        Of all rows, where ``log`` has some of them only.
    """
    every = log.reward.T if rewards is None else rewards
    copies = tuple(_copies(log))
    return {
        name: (
            *copies,
            *source_doubt(log),
            *unnamed_context(log),
            *revealing_columns(log, j),
            *shared_draws(log, j),
            *same(every[j]),
            *_leaks(explained.get(name, 0.0)),
            *_history(changes[j]),
        )
        for j, name in enumerate(log.reward_names)
    }


def same(reward: Floats) -> Iterable[Verdict]:
    """Rewards that are all the same."""
    if np.ptp(reward) == 0:
        reason = f"every logged reward is {reward[0]:g}, so policies cannot be compared"
        yield Verdict(level="do not trust", reasons=(reason,))


def rare(sample: WeightedSample) -> Iterable[Verdict]:
    """Few rewards that make the difference: conversions, or amounts of which one counts as much as many
    others.

    Where one reward is the usual one, such as 0, the others decide. Weighted, they are worth ``(sum w d)^2 /
    sum (w d)^2`` equal ones, ``d`` their distance from the usual one. Of amounts that vary a log may have
    missed the largest, and its intervals cannot know that.
    """
    few = long.few_values(sample.reward) if long.is_long(sample.reward) else None
    values, counts = np.unique(sample.reward, return_counts=True) if few is None else few
    if values.size < 2 or counts.max() < USUAL * sample.n:
        return
    usual = values[counts.argmax()]
    worth, limits = _worth(sample, float(usual)), FEW_EQUAL_OTHERS if values.size == 2 else FEW_OTHERS
    missed = sum(worth < limit for limit in limits)
    if missed:
        others = (
            ""
            if values.size == 2
            else f", as a few large ones may outweigh the {sample.n - counts.max():,} there are"
        )
        reason = (
            f"rewards other than {usual:g} are worth only {worth:.0f} equal ones after weighting, fewer than "
            f"{limits[missed - 1]}{others}"
        )
        yield Verdict(level="with care" if missed == 1 else "do not trust", reasons=(reason,))


def _worth(sample: WeightedSample, usual: float) -> float:
    """How many equal ones the weighted distances of the rewards from the usual one are worth."""
    plain = sample.mass is None and sample.group is None
    if plain and long.is_long(sample.weight, sample.reward):
        total, squares = long.loads(sample.weight, sample.reward, usual)
        if long.in_range(total, squares):
            return total**2 / squares
    mass = np.ones(sample.n) if sample.mass is None else sample.mass
    return effective_size(draw_sums(sample.weight * np.abs(sample.reward - usual) * mass, sample.group))


def _history(change: Drift | None) -> Iterable[Verdict]:
    """Rewards that changed though actions did not; where both did, the one may have come of the other."""
    if change is None or change.by != "time":
        return
    if change.reward_p_value < CHANGED and not change.action_p_value < CHANGED:
        yield careful(
            f"mean {change.reward_name} changed over time (p < {CHANGED:g}), and this is an average over the "
            f"log's history"
        )


def _copies(log: LoggedBandit) -> Iterable[Verdict]:
    if log.group_origin == COPIES:
        yield careful(copies_in_words(log))


def _caveats(one: Measured, weights: WeightDiagnostics, lone: float) -> Iterable[Verdict]:
    """What the estimator says against its own estimate."""
    seen = Circumstances(
        estimate=one.estimate, mean_weight=weights.mean, mean_p_value=weights.p_value, lone=lone
    )
    return traits.caveats(one.asked, seen)


def _leaks(explained: float) -> Iterable[Verdict]:
    if explained > MOST_EXPLAINED:
        told = f"the reward model explains {explained:.0%} of the held-out variance"
        yield careful(
            f"{told}: is something decided after the action, such as another outcome, part of the context?"
        )
