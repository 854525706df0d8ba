"""How many decisions to log to tell a target from the logging policy.

From the standard error of the recommended estimate's difference, which falls with the root of the number of
decisions like those logged (:mod:`kwis.result.needed`). A log by another policy ``q`` has another variance: a
row with the action ``a`` counts there as ``(pi (r - v) - p (r - m)) / q``, with ``pi``, ``p`` and ``q`` the
probabilities of the action under the target, today's policy and ``q``, and ``v`` and ``m`` the values of the
first two. Its mean square under ``q`` is estimated on today's log: ``mean((pi (r - v) - p (r - m))^2 / (p
q))``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from kwis import _validation as check
from kwis._text import visible
from kwis.data.log import LoggedBandit
from kwis.data.read.arguments import LogArguments
from kwis.data.read.collect import opened
from kwis.data.read.scan import Log, ScannedLog
from kwis.errors import InputError, UnsupportedError
from kwis.evaluation.run import evaluate
from kwis.policy.target import Target, Targets, resolve_targets
from kwis.result.needed import POWER, decisions_needed, detectable, times_needed
from kwis.runtime.threads import engine
from kwis.typing import Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How many decisions it takes to tell a target from the logging policy.

    Attributes
    ----------
    target, reward
        What is compared with the logging policy, and by which reward.
    difference
        The difference to be told, in the unit of the reward per decision.
    power, level
        Probability of telling it, and level of the interval that tells it by leaving 0 out.
    rows
        Decisions needed, those logged already included; infinite for a difference of 0.
    logged
        Decisions in the log at hand.
    detectable
        The smallest difference that the log at hand tells with probability ``power``.
    logging
        Name of the policy that a new log is to be written by; None: as now.

    See Also
    --------
    kwis.plan : makes it.

    Examples
    --------
    >>> log = kwis.sample_log(200, rng=1).read()
    >>> plan = kwis.plan(log, "p_new", difference=0.05, estimators=["wis"], repair="never")
    >>> isinstance(plan, kwis.Plan), int(round(plan.rows, -1))
    (True, 160)
    """

    target: str
    reward: str
    difference: float
    power: float
    level: float
    rows: float
    logged: float
    detectable: float
    logging: str | None = None

    @property
    def words(self) -> str:
        """The same in a sentence."""
        how = "like these" if self.logging is None else f"logged by {self.logging}"
        return (
            f"to tell a difference of {abs(self.difference):.4g} in {self.reward} between {self.target} and "
            f"the logging policy with probability {self.power:.0%} (at {self.level:.0%}) takes "
            f"{decisions_needed(self.rows, self.logged, how)}; the {self.logged:,.0f} at hand tell "
            f"{self.detectable:.4g}"
        )

    def __repr__(self) -> str:
        return visible(self.words)


def plan(
    log: Log,
    target: Targets,
    *,
    difference: float | None = None,
    power: float = POWER,
    reward: str | None = None,
    logging: Target | None = None,
    **options: Any,
) -> Plan:
    """Say how many decisions tell a target from the logging policy.

    Parameters
    ----------
    log, target
        As for :func:`kwis.evaluate`; one target.
    difference
        Between the two, per decision, that should not be missed; None: the one estimated.
    power
        Probability with which it is told.
    reward
        One of the log's rewards, or the column of a path or a data frame; None: the first.
    logging
        A policy, in any form that a target has, that a new log is to be written by; None: as now.
    options
        Further arguments of :func:`kwis.evaluate`.

    Returns
    -------
    Plan
        The number of decisions needed, and the smallest difference that this log can tell. It prints as a
        sentence.

    See Also
    --------
    kwis.evaluate : estimates the difference.
    kwis.watch : looks at a log again and again while it grows.

    Examples
    --------
    >>> log = kwis.sample_log(200, rng=1).read()
    >>> plan = kwis.plan(log, "p_new", difference=0.05, estimators=["wis"], repair="never")
    >>> plan.target, plan.difference
    ('p_new', 0.05)
    """
    if isinstance(power, bool) or not isinstance(power, int | float) or not 0.5 <= power < 1:
        raise InputError(f"`power` must be a number from 0.5 to below 1, got {power!r}")
    if difference is not None and not (isinstance(difference, int | float) and math.isfinite(difference)):
        raise InputError(f"`difference` must be a finite number, got {difference!r}")
    if logging is not None and options.get("action_features") is not None:
        raise InputError(
            "`logging` must go without `action_features`: what another policy logs is foretold from weights "
            "over actions"
        )
    if logging is not None and options.get("statistic", "mean") != "mean":
        raise InputError(
            "`logging` must go without `statistic`: what another policy logs is foretold of means"
        )
    if not isinstance(log, LoggedBandit):
        said = {name: options.pop(name) for name in LogArguments.__annotations__ if name in options}
        if reward is not None and not isinstance(log, ScannedLog):
            said["reward"] = reward
        log = opened(log, cast("LogArguments", said), options.get("client"), options.get("progress"))
    if logging is not None:
        try:
            resolve_targets(log, logging)  # a wrong name is found before the evaluation
        except InputError as trouble:
            raise InputError(str(trouble).replace("`target`", "`logging`")) from None
    found = evaluate(log, target, **options)
    if len(found.targets) > 1:
        raise InputError(f"`target` must be one policy, got {len(found.targets)}")
    name = found.rewards[0] if reward is None else check.one_of(reward, "reward", found.rewards)
    change = found.recommendation(reward=name).change
    if not change.std_error > 0:
        raise UnsupportedError("a plan needs rewards that differ and an estimator with a standard error")
    size = change.interval.value if difference is None else float(difference)
    times, by = times_needed(change, size, power), None
    if logging is not None:
        ratio, by = _another_log(log, target, logging, found.rewards.index(name), options)
        times *= ratio
    decisions = found.settings.decisions or found.settings.n
    return Plan(
        target=found.targets[0],
        reward=name,
        difference=size,
        power=power,
        level=found.settings.level,
        rows=times * decisions,
        logged=decisions,
        detectable=detectable(change, power),
        logging=by,
    )


def _another_log(
    log: LoggedBandit, target: Targets, logging: Target, reward: int, options: dict[str, Any]
) -> tuple[float, str]:
    """Variance of the difference per decision of a new log, in parts of that of the log at hand."""
    single: Any = target[0] if isinstance(target, list | tuple) else target
    if isinstance(single, dict) and len(single) == 1:
        single = next(iter(single.values()))
    from kwis.evaluation.prepare import prepare

    known = {name: options[name] for name in ("propensity_model", "rng") if name in options}
    with engine():
        ready = prepare(log, resolve_targets(log, [single, logging]), **known).repaired(
            options.get("repair", "auto")
        )
    first, second = ready.targets
    now = ready.log.propensity
    assert now is not None
    mass = np.ones(ready.log.n) if ready.log.row_weight is None else ready.log.row_weight
    lost = second.logged <= 0
    if lost.any():
        raise UnsupportedError(
            f"`logging` must sometimes take every action that was logged, and {second.name} has probability "
            f"0 at row {int(np.argmax(lost))}"
        )
    ratio = variance_ratio(first.logged, now, second.logged, ready.log.reward[:, reward], mass)
    return ratio, second.name


def variance_ratio(target: Floats, now: Floats, new: Floats, reward: Floats, mass: Floats) -> float:
    """Variance under a new logging policy over that under today's, by WIS; arguments are the probabilities of
    the logged actions.
    """
    weight = mass * target / now
    value, mean = float(weight @ reward / weight.sum()), float(mass @ reward / mass.sum())
    share = target * (reward - value) - now * (reward - mean)
    return float((mass * share**2 / (now * new)).sum() / (mass * share**2 / now**2).sum())
