"""What share of the rewards would be at or below each value, under every target and the logging policy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Unpack

import numpy as np

from kwis import _validation as check
from kwis._text import visible
from kwis.data.log import LoggedBandit
from kwis.data.read.arguments import LogArguments, refuse_said, refuse_unknown, takes_log_arguments
from kwis.data.read.collect import opened
from kwis.data.read.scan import Log
from kwis.intervals.distribution import RewardDistribution, reward_distribution
from kwis.policy.action_features import ActionFeatures, feature_groups
from kwis.policy.target import Targets, resolve_targets
from kwis.result.records import LOGGING_POLICY
from kwis.result.words import wrapped
from kwis.results import Verdict
from kwis.runtime.threads import engine
from kwis.typing import REPAIR_MODES, Classifier, Floats, RepairMode, Seed

_SHARES = (0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99)
"""Shares of the logging policy's rewards at which a table has a line; of few different rewards it has all."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class RewardDistributions:
    """Distributions of one reward under several policies, at the same values of the reward.

    Attributes
    ----------
    reward, level
        Of which reward they are, and with which probability the band of each policy holds everywhere at once.
    policies
        From each policy, the logging policy first, to its distribution.
    verdicts
        Whether to trust that of each target, from its weights and the propensities.

    See Also
    --------
    kwis.reward_distributions : makes it.

    Examples
    --------
    >>> log = kwis.sample_log(300, rng=1).read(reward="click")
    >>> found = kwis.reward_distributions(log, "p_new", repair="never")
    >>> isinstance(found, kwis.RewardDistributions), found.policies["p_new"].share.round(2)
    (True, array([0.68, 1.  ]))
    """

    reward: str
    level: float
    policies: Mapping[str, RewardDistribution]
    verdicts: Mapping[str, Verdict]

    def __repr__(self) -> str:
        first = self.policies[LOGGING_POLICY]
        rows = _lines(first.share)
        columns = [[self.reward, *(f"{first.reward[row]:.4g}" for row in rows)]]
        for name, one in self.policies.items():
            cells = (f"{one.share[i]:.3f} ({one.low[i]:.3f} to {one.high[i]:.3f})" for i in rows)
            columns.append([name, *cells])
        widths = [max(map(len, column)) for column in columns]
        table = [
            "  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True))
            for line in zip(*columns, strict=True)
        ]
        said = [
            wrapped(f"{name}: {'; '.join([one.level, *one.reasons])}", "")
            for name, one in self.verdicts.items()
        ]
        lead = f"share of {self.reward} at or below a value, with a band that holds at all values together"
        return visible("\n".join([f"{lead} ({self.level:.0%})", "", *table, "", *said]))


def _lines(share: Floats) -> Sequence[int]:
    """Points that a table shows: where the share first reaches the usual ones."""
    if share.size <= len(_SHARES):
        return range(share.size)
    reached = np.searchsorted(share, _SHARES, side="left").clip(max=share.size - 1)
    return [int(place) for place in np.unique(reached)]


@takes_log_arguments
def reward_distributions(
    log: Log,
    target: Targets,
    *,
    level: float = 0.95,
    propensity_model: Classifier | str | None = None,
    repair: RepairMode = "auto",
    action_features: ActionFeatures | None = None,
    rng: Seed = 0,
    **said: Unpack[LogArguments],
) -> RewardDistributions:
    """Estimate how a reward would be distributed under each target, beside the logging policy.

    Rows count by their weights, divided by the sum of these, as in WIS. Bands take the propensities, repaired
    ones too, to be right.

    Parameters
    ----------
    log, target, propensity_model, repair, action_features
        As for :func:`kwis.evaluate`; of several rewards the first.
    level
        Probability with which each band holds at all values of the reward together.
    rng
        A seed or a generator.
    {log arguments}

    Returns
    -------
    RewardDistributions
        ``policies["p_new"]`` has values of the reward, the share at or below each, and the band. It prints as
        a table.

    See Also
    --------
    kwis.evaluate : with ``statistic="quantile:0.95"`` compares a quantile between policies.
    kwis.reward_distribution : the same of a sample with weights.

    Examples
    --------
    >>> log = kwis.sample_log(300, rng=1).read(reward="click")
    >>> found = kwis.reward_distributions(log, "p_new", repair="never")
    >>> print(repr(found).splitlines()[0])
    share of click at or below a value, with a band that holds at all values together (95%)
    """
    refuse_unknown(said, "reward_distributions")
    check.one_of(repair, "repair", REPAIR_MODES)
    level = check.level(level)
    if not isinstance(log, LoggedBandit):
        log = opened(log, said)
    else:
        refuse_said(said)
    targets = resolve_targets(log, target)
    features = None if action_features is None else feature_groups(log, action_features)
    # What computes is loaded now that the log is read: a wrong name of a column need not wait for it.
    from kwis.checks.diagnostics import target_diagnostics
    from kwis.checks.verdict import combine
    from kwis.estimators.traits import careful
    from kwis.evaluation.prepare import prepare

    log = log if features is None else log.without_context(features.columns)
    with engine():
        ready = prepare(log, targets, propensity_model=propensity_model, rng=rng).repaired(repair)
        ready = ready.pooled().over_features(features)
        report = ready.report()
        samples = {LOGGING_POLICY: ready.logging_samples()[0]}
        samples |= {one.name: ready.policy(one).samples[0] for one in ready.targets}
        found = {
            one.name: target_diagnostics(ready.log, one, report, sample=samples[one.name], rng=ready.seed)
            for one in ready.targets
        }
        policies = {name: reward_distribution(sample, level, ready.seed) for name, sample in samples.items()}
    return RewardDistributions(
        reward=ready.log.reward_names[0],
        level=level,
        policies=policies,
        verdicts={
            one.name: combine(found[one.name].verdict, *([careful(one.question)] if one.question else []))
            for one in ready.targets
        },
    )
