"""How wrong propensities may be before the decision turns.

If the true odds of every logged action are within a factor gamma of those logged, ``1/p`` lies between ``1 +
(1/p - 1) / gamma`` and ``1 + (1/p - 1) gamma``, and each weight in the same interval times the target's
probability (the marginal model of Tan, 2006). Over all weights in these boxes ``sum w r / sum w`` is largest
where the rows with the highest rewards have their largest weight and the others their smallest; so the
extremes are found by sorting and trying every threshold.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np

from kwis import _validation as check
from kwis._validation import read_only
from kwis.data.log import LoggedBandit
from kwis.data.read.arguments import LogArguments, refuse_said, refuse_unknown, takes_log_arguments
from kwis.data.read.collect import opened
from kwis.data.read.scan import Log
from kwis.errors import InputError, UnsupportedError
from kwis.policy.discrete import TargetPolicy
from kwis.policy.target import Targets, resolve_targets
from kwis.result.odds import Sensitivity, SensitivityAnalysis
from kwis.result.presentation import rewards_to_lower
from kwis.runtime.threads import engine
from kwis.typing import REPAIR_MODES, Classifier, Floats, RepairMode, Seed

NO_FEATURES = (
    "`action_features` has no place in a sensitivity analysis: it asks how wrong propensities of actions may "
    "be, and what that does to weights over features is not known"
)
_ROUNDING = 1e-12
_LARGEST = 1e6  # odds wrong by more than that are no error but another log


@takes_log_arguments
def sensitivity(
    log: Log,
    target: Targets,
    *,
    gamma: Sequence[float] = (1, 1.1, 1.5, 2),
    propensity_model: Classifier | str | None = None,
    repair: RepairMode = "auto",
    rng: Seed = 0,
    lower_is_better: bool | str | Sequence[str] = False,
    **said: Unpack[LogArguments],
) -> SensitivityAnalysis:
    """Range of WIS if the odds of the propensities are wrong by up to a factor ``gamma``, for every target
    and reward.

    Parameters
    ----------
    log, target, lower_is_better
        As in :func:`kwis.evaluate`; one target or several.
    gamma
        Factors of at least 1; 1 says that propensities are right.
    propensity_model, repair, rng
        Which propensities are put in doubt: those that :func:`kwis.evaluate` uses with the same arguments.
    {log arguments}

    Returns
    -------
    SensitivityAnalysis
        ``of(target, reward)`` has the range for every ``gamma``, and in ``flip`` the smallest factor at which
        the range reaches the logging policy's value. It prints as sentences.

    See Also
    --------
    kwis.evaluate : states that factor for its recommendation.
    kwis.propensity_report : tests the propensities.

    Examples
    --------
    >>> log = kwis.sample_log(200, rng=1).read()
    >>> print(repr(kwis.sensitivity(log, "p_new", gamma=[1, 2], repair="never")).split("; ")[0])
    p_new is estimated better than the logging policy on click (0.331 against 0.275)
    """
    if "action_features" in said:
        raise UnsupportedError(NO_FEATURES)
    refuse_unknown(said, "sensitivity")
    check.one_of(repair, "repair", REPAIR_MODES)
    factors = np.asarray(gamma).ravel()
    if (
        not factors.size
        or factors.dtype.kind not in "iuf"
        or not np.isfinite(factors).all()
        or (factors < 1).any()
    ):
        raise InputError(f"`gamma` must be finite numbers of at least 1, got {gamma!r}")
    factors = factors.astype(np.float64)
    if not isinstance(log, LoggedBandit):
        log = opened(log, said)
    else:
        refuse_said(said)
    lower = rewards_to_lower(lower_is_better, log.reward_names)
    targets = resolve_targets(log, target)
    # What computes is loaded now that the log is read: a wrong name of a column need not wait for it.
    from kwis.evaluation.prepare import prepare

    with engine():
        ready = prepare(log, targets, propensity_model=propensity_model, rng=rng).repaired(repair).pooled()
    mass = np.ones(ready.log.n) if ready.log.row_weight is None else ready.log.row_weight
    found = []
    for policy in ready.targets:
        for j, reward in enumerate(ready.log.reward_names):
            box = box_of(ready.log, policy, j)
            baseline = float(np.average(ready.log.reward[:, j], weights=mass))
            found.append(_sensitivity(box, factors, policy.name, reward, baseline, less=reward in lower))
    return SensitivityAnalysis(results=tuple(found))


def _sensitivity(
    box: Box, factors: Floats, target: str, reward: str, baseline: float, *, less: bool
) -> Sensitivity:
    ranges = np.array([box.range(factor) for factor in factors])
    value = box.range(1.0)[0]
    flip = box.flip(value, baseline)
    return Sensitivity(
        target=target,
        reward=reward,
        value=value,
        baseline=baseline,
        gammas=read_only(factors),
        lows=read_only(ranges[:, 0]),
        highs=read_only(ranges[:, 1]),
        flip=flip,
        words=_words(
            target, reward, value, baseline, None if box.equal(value, baseline) else flip, less=less
        ),
    )


@dataclass(frozen=True, slots=True, eq=False)
class Box:
    """Weights of one target as the odds allow, summed over the rows of each reward, from high to low; every
    query takes time in proportion to the number of different rewards.

    A weight is ``constant + odds``, of which the odds may be off by gamma either way; rows of weight 0 are
    left out. Rows of the same reward may share a weight: exchanging it between them changes no estimate.
    """

    constant: Floats
    odds: Floats
    reward: Floats

    @classmethod
    def of_weights(cls, logged: Floats, weight: Floats, reward: Floats) -> Box:
        """Box of a target from its probabilities of the logged actions and the weights."""
        some = np.where(logged > 0, weight, 1.0)
        return cls.of(logged, np.divide(logged, some, out=np.ones_like(some), where=logged > 0), reward)

    @classmethod
    def of(cls, logged: Floats, propensity: Floats, reward: Floats, mass: Floats | None = None) -> Box:
        """Box of a target from its probabilities of the logged actions."""
        weighted = logged > 0
        if not weighted.any():
            raise InputError(
                "`target` must sometimes take an action that was logged, got probability 0 in every row"
            )
        constant = logged if mass is None else mass * logged
        odds = constant * (1 / propensity - 1)
        high_first, place = np.unique(-reward[weighted], return_inverse=True)
        constant, odds = (np.bincount(place, part[weighted]).astype(np.float64) for part in (constant, odds))
        return cls(constant, odds, -high_first)

    def range(self, gamma: float) -> tuple[float, float]:
        """Smallest and largest WIS."""
        small, large = self.constant + self.odds / gamma, self.constant + self.odds * gamma
        return self._extreme(large, small, np.min), self._extreme(small, large, np.max)

    def _extreme(self, late: Floats, early: Floats, pick: Any) -> float:
        """Best over thresholds: rows before it have weight ``early``, the others ``late``."""
        load = np.concatenate([[0.0], np.cumsum(early)]) + np.concatenate(
            [np.cumsum(late[::-1])[::-1], [0.0]]
        )
        value = np.concatenate([[0.0], np.cumsum(early * self.reward)])
        value += np.concatenate([np.cumsum((late * self.reward)[::-1])[::-1], [0.0]])
        return float(pick(value / load))

    def equal(self, value: float, baseline: float) -> bool:
        """Whether two values of the policy differ by nothing but the rounding of sums."""
        return math.isclose(
            value, baseline, rel_tol=_ROUNDING, abs_tol=_ROUNDING * float(np.abs(self.reward).max())
        )

    def flip(self, value: float, baseline: float) -> float:
        """Smallest gamma whose range reaches ``baseline``."""
        return 1.0 if self.equal(value, baseline) else self._smallest(baseline, 1e-9)

    def moved(self, shift: float) -> float:
        """Smallest gamma that can move WIS by ``shift``, to three digits."""
        return self._smallest(self.range(1.0)[0] + shift, 1e-4)

    def _smallest(self, goal: float, precision: float) -> float:
        """Smallest gamma whose range reaches the goal, by bisection over its logarithm."""

        def reached(gamma: float) -> bool:
            low, high = self.range(gamma)
            return low <= goal <= high

        if not reached(_LARGEST):
            return math.inf
        low, high = 0.0, math.log(_LARGEST)
        while high - low > precision:
            middle = (low + high) / 2
            low, high = (low, middle) if reached(math.exp(middle)) else (middle, high)
        return math.exp(high)


def box_of(log: LoggedBandit, target: TargetPolicy, reward: int) -> Box:
    """Box of a target on a log with propensities; weights by all loggers keep their factor."""
    assert log.propensity is not None
    mass = log.row_weight
    if target.factor is not None:
        mass = target.factor if mass is None else mass * target.factor
    return Box.of(target.logged, log.propensity, log.reward[:, reward], mass)


def _words(target: str, reward: str, value: float, baseline: float, flip: float | None, *, less: bool) -> str:
    if flip is None:
        return f"{target} and the logging policy are estimated equal on {reward} ({value:.4g})"
    side = "better" if (value < baseline) == less else "worse"
    said = (
        f"{target} is estimated {side} than the logging policy on {reward} ({value:.4g} against "
        f"{baseline:.4g})"
    )
    if math.isinf(flip):
        return f"{said}, and no error in the odds of the propensities would turn that"
    return (
        f"{said}; propensities whose odds are wrong by a factor of {flip:.4g} could turn that, by the "
        "estimate alone (kwis.evaluate says at which factor its interval reaches 0)"
    )
