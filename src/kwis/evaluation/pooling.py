"""Which weights a log of several loggers is evaluated with: those of :mod:`kwis.policy.loggers` with the
smallest estimated variance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from kwis.checks.drift import drift
from kwis.data.log import LoggedBandit
from kwis.estimators.wis import WIS
from kwis.policy.discrete import TargetPolicy, weigh
from kwis.policy.loggers import balanced_factor, weighted_factor
from kwis.runtime.arrays import kept
from kwis.sample import WeightedSample
from kwis.typing import Floats

_DIFFERENT = 0.01  # p-value below which loggers are taken to have met different contexts


def pooled(log: LoggedBandit, targets: Sequence[TargetPolicy]) -> tuple[TargetPolicy, ...]:
    """The targets with the factors of their weights, and a note that says which were chosen and why."""
    if log.logger_propensity is None or log.logger is None:
        return tuple(targets)
    reason = _why_naive(log)
    if reason is not None:
        return tuple(
            target.noted(f"rows of each logger are weighted by that logger alone: {reason}")
            for target in targets
        )
    return tuple(_chosen(log, target) for target in targets)


def _why_naive(log: LoggedBandit) -> str | None:
    if log.propensity_origin != "logged":
        return f"its propensities were {log.propensity_origin}"
    change = drift(log)
    if change is not None and change.by == "logger" and change.context_p_value < _DIFFERENT:
        return f"loggers met different contexts (p = {change.context_p_value:.2g})"
    return None


def _chosen(log: LoggedBandit, target: TargetPolicy) -> TargetPolicy:
    assert log.logger is not None
    assert log.logger_propensity is not None
    samples = [weigh(log, target, reward) for reward in range(log.reward.shape[1])]
    naive = samples[0].weight
    if not naive.any():
        return target
    factors: dict[str, Floats] = {
        "naive": np.ones(log.n),
        "balanced": balanced_factor(log.logger_propensity, log.logger, log.row_weight),
        "weighted": weighted_factor(naive, log.logger, len(log.logger_names), log.row_weight),
    }
    variances = {name: _variance(samples, naive * factor) for name, factor in factors.items()}
    best = min(variances, key=lambda name: variances[name])
    others = ", ".join(
        f"{name} ones {np.sqrt(value / variances[best]):.2f} times"
        for name, value in variances.items()
        if name != best and variances[best] > 0 and np.isfinite(value)
    )
    note = (
        f"{target.name} has {best} weights over the {len(log.logger_names)} loggers, with the smallest "
        f"estimated standard error" + (f" ({others} that)" if others else "")
    )
    return replace(target, factor=kept(factors[best]) if best != "naive" else None).noted(note)


def _variance(samples: Sequence[WeightedSample], weight: Floats) -> float:
    """Estimated variance of WIS, on average over the rewards in units of their own."""
    return float(np.mean([_relative_error(sample.with_weight(weight)) ** 2 for sample in samples]))


def _relative_error(sample: WeightedSample) -> float:
    unit = float(sample.reward.std())
    return WIS().estimate(sample).std_error / (unit if unit > 0 else 1.0)
