"""Change of rewards, actions and contexts over time, or from logger to logger.

Change in the actions is no fault as long as the propensities follow it, which :mod:`kwis.checks.propensity`
tests by period and logger. Change in the rewards or the contexts means that an average over the log is an
average over its history, and that tomorrow may be different.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from scipy.special import fdtrc

from kwis._validation import read_only
from kwis.checks.features import features_of
from kwis.checks.findings import Drift, Period, TargetPeriod
from kwis.checks.regions import Mask, is_date, show_range, time_column
from kwis.data.log import LoggedBandit
from kwis.estimators.wis import WIS
from kwis.sample import WeightedSample
from kwis.stats.influence import draw_sums
from kwis.typing import Floats, Ints

_PERIODS = 4
_LEAST_ROWS = 50
_LEAST_GROUPS = 30
_FALSE_ALARMS = 0.01
_ROUNDING = 1e-9  # part of a standard deviation that equal means may differ by
_NAMED = 3


def drift(log: LoggedBandit, reward: int = 0) -> Drift | None:
    """Change between loggers, or else over four periods of equally many rows; None if the log has neither, or
    too few rows or groups.
    """
    split = _by_logger(log) or _by_time(log)
    if split is None:
        return None
    outcome = _Change.of(log.reward_names[reward], log.reward[:, reward], split, log)
    shares = [
        _Change.of(repr(name), (log.action == code).astype(np.float64), split, log)
        for code, name in enumerate(log.action_names)
        if (log.action == code).sum() >= _LEAST_ROWS
    ]
    contexts = [
        _Change.of(feature.name, feature.values, split, log)
        for feature in features_of(log)
        if feature.name != split.name and feature.values.any()
    ]
    level = _FALSE_ALARMS / (1 + len(shares) + len(contexts))
    return Drift(
        by=split.by,
        reward_name=log.reward_names[reward],
        action_names=log.action_names,
        periods=_periods(log, split, outcome),
        reward_p_value=outcome.p_value,
        action_p_value=_smallest(shares),
        context_p_value=_smallest(contexts),
        findings=tuple(_findings(split, outcome, shares, contexts, level)),
    )


def drift_with_targets(
    found: Drift | None, log: LoggedBandit, samples: Mapping[str, WeightedSample]
) -> Drift | None:
    """The same with the value of every target in every period; ``samples`` weigh the rows of ``log``."""
    split = _by_logger(log) or _by_time(log)
    if found is None or split is None:
        return found
    parts = [(label, np.flatnonzero(split.codes == j)) for j, label in enumerate(split.labels)]
    return replace(
        found,
        targets={
            name: tuple(_target_period(sample, label, rows) for label, rows in parts)
            for name, sample in samples.items()
        },
    )


def _target_period(sample: WeightedSample, label: str, rows: Ints) -> TargetPeriod:
    part = sample.take(rows)
    if not part.weight.any():
        return TargetPeriod(label=label, n=rows.size, value=math.nan, std_error=math.nan)
    estimate = WIS().estimate(part)
    return TargetPeriod(label=label, n=rows.size, value=estimate.value, std_error=estimate.std_error)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Split:
    by: Literal["time", "logger"]
    name: str
    codes: Ints
    labels: tuple[str, ...]


def _by_logger(log: LoggedBandit) -> _Split | None:
    if log.logger is None:
        return None
    counts = np.bincount(log.logger, minlength=len(log.logger_names))
    kept = [code for code in np.flatnonzero(counts >= _LEAST_ROWS) if _enough_groups(log, log.logger == code)]
    if len(kept) < 2:
        return None
    new = np.full(len(counts), -1)
    new[kept] = np.arange(len(kept))
    return _Split(
        by="logger",
        name="logger",
        codes=new[log.logger],
        labels=tuple(str(log.logger_names[code]) for code in kept),
    )


def _by_time(log: LoggedBandit) -> _Split | None:
    if log.time is None or np.isnan(log.time).any():
        return None
    edges = np.unique(np.quantile(log.time, np.arange(1, _PERIODS) / _PERIODS, method="inverted_cdf"))
    codes = np.unique(np.searchsorted(edges, log.time), return_inverse=True)[1]
    if codes.max() < 1 or np.bincount(codes).min() < _LEAST_ROWS:
        return None
    periods = range(codes.max() + 1)
    if not all(_enough_groups(log, codes == j) for j in periods):
        return None
    ends = [show_range(log.time[codes == j].min(), log.time[codes == j].max(), is_date(log)) for j in periods]
    return _Split(
        by="time", name=time_column(log), codes=codes, labels=tuple(f"{low} to {high}" for low, high in ends)
    )


def _enough_groups(log: LoggedBandit, rows: Mask) -> bool:
    return log.group is None or np.unique(log.group[rows]).size >= _LEAST_GROUPS


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Change:
    """Means of one variable by period, their standard errors, and the test that they are equal."""

    name: str
    means: Floats
    errors: Floats
    spread: float
    p_value: float

    @classmethod
    def of(cls, name: str, values: Floats, split: _Split, log: LoggedBandit) -> _Change:
        mass = np.ones(len(log)) if log.row_weight is None else log.row_weight
        inside = (split.codes[:, None] == np.arange(len(split.labels))).astype(np.float64) * mass[:, None]
        shares = inside / inside.sum(axis=0)
        means = values @ shares
        draws = draw_sums(shares * (values[:, None] - means), log.group)
        covariance = draws.T @ draws
        contrast = np.eye(len(means))[1:] - np.eye(len(means))[:1]
        gaps, between = contrast @ means, contrast @ covariance @ contrast.T
        varied = np.ptp(values) > 0  # the average of equal numbers may be off by rounding
        spread = (
            float(np.sqrt(np.average((values - np.average(values, weights=mass)) ** 2, weights=mass)))
            if varied
            else 0.0
        )
        return cls(
            name=name,
            means=means,
            errors=np.sqrt(np.diag(covariance)),
            spread=spread,
            p_value=_p_value(gaps, between, draws.shape[0], spread),
        )


def _p_value(gaps: Floats, covariance: Floats, draws: int, spread: float) -> float:
    """Chance of such gaps between equal means (Hotelling); ``nan`` where nothing varies, 0 where gaps do that
    chance cannot open.
    """
    if spread == 0:
        return float("nan")
    inverse = np.linalg.pinv(covariance, hermitian=True)
    if np.abs(gaps - covariance @ inverse @ gaps).max() > _ROUNDING * spread:
        return 0.0
    rank = int(np.linalg.matrix_rank(covariance, hermitian=True))
    if rank == 0 or draws <= rank:
        return float("nan")
    statistic = gaps @ inverse @ gaps * (draws - rank) / (rank * (draws - 1))
    return float(fdtrc(float(rank), float(draws - rank), max(float(statistic), 0.0)))


def _smallest(changes: list[_Change]) -> float:
    """Smallest p-value, times how many there are."""
    found = [change.p_value for change in changes if not np.isnan(change.p_value)]
    return min(1.0, min(found) * len(found)) if found else float("nan")


def _periods(log: LoggedBandit, split: _Split, outcome: _Change) -> tuple[Period, ...]:
    periods = []
    for j, label in enumerate(split.labels):
        rows = split.codes == j
        mass = None if log.row_weight is None else log.row_weight[rows]
        actions = np.bincount(log.action[rows], mass, minlength=log.n_actions)
        period = Period(
            label=label,
            n=int(rows.sum()),
            reward=float(outcome.means[j]),
            std_error=float(outcome.errors[j]),
            actions=read_only(actions / actions.sum()),
        )
        periods.append(period)
    return tuple(periods)


def _findings(
    split: _Split, outcome: _Change, shares: list[_Change], contexts: list[_Change], level: float
) -> list[str]:
    said = []
    if outcome.p_value < level:
        low, high = _ends(split, outcome)
        said.append(
            f"mean {outcome.name} was {outcome.means.min():.4g} {low} and {outcome.means.max():.4g} {high}"
        )
    for change in _strongest(shares, level):
        low, high = _ends(split, change)
        said.append(
            f"{change.name} was {change.means.min():.0%} of the actions {low} and {change.means.max():.0%} "
            f"{high}"
        )
    for change in _strongest(contexts, level):
        low, high = _ends(split, change)
        said.append(
            f"the mean of {change.name} was {np.ptp(change.means) / change.spread:.2f} standard deviations "
            f"higher {high} than {low}"
        )
    return said


def _ends(split: _Split, change: _Change) -> tuple[str, str]:
    """Where the mean is lowest and highest, in words."""
    word = "from" if split.by == "time" else "by logger"
    return (
        f"{word} {split.labels[int(change.means.argmin())]}",
        f"{word} {split.labels[int(change.means.argmax())]}",
    )


def _strongest(changes: list[_Change], level: float) -> list[_Change]:
    return sorted(
        (change for change in changes if change.p_value < level), key=lambda change: change.p_value
    )[:_NAMED]
