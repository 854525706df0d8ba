"""What of the rewards is estimated: their mean, a quantile, the mean of a tail, the share above a threshold.

A statistic is named by a word and a number: ``"mean"``, ``"quantile:0.95"``, ``"cvar:0.95"`` (the mean of the
highest 5 %), ``"lower-cvar:0.05"`` (the mean of the lowest 5 %), ``"above:10"`` (the share of rewards above
10). A share above a threshold is the mean of a reward of 0 and 1, so every estimator applies; quantiles and
tails are those of the distribution under the weights of WIS.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kwis._validation import read_only
from kwis.data.log import LoggedBandit
from kwis.errors import InputError, UnsupportedError
from kwis.estimators.protocol import Estimator, Estimators
from kwis.estimators.quantile import Quantile
from kwis.estimators.tail_mean import TailMean
from kwis.estimators.wis import WIS

FORMS = "mean, quantile:p, cvar:p, lower-cvar:p, above:x"
_DISTRIBUTIONAL: dict[str, tuple[Callable[[float], Any], str]] = {
    "quantile": (Quantile, "quantile {:g} of {}"),
    "cvar": (TailMean, "mean above quantile {:g} of {}"),
    "lower-cvar": (lambda share: TailMean(share, upper=False), "mean below quantile {:g} of {}"),
}


@dataclass(frozen=True, slots=True)
class Statistic:
    """A statistic of the rewards.

    Attributes
    ----------
    kind, number
        The parts of its name; the mean has no number.
    """

    kind: str = "mean"
    number: float = float("nan")

    @classmethod
    def of(cls, name: str) -> Statistic:
        """From its name."""
        kind, colon, number = name.partition(":") if isinstance(name, str) else ("", "", "")
        if name == "mean":
            return cls()
        known = kind == "above" or kind in _DISTRIBUTIONAL
        try:
            value = float(number)
        except ValueError:
            known = False
        if not known or not colon or not np.isfinite(value):
            raise InputError(f"`statistic` must be one of {FORMS}, got {name!r}")
        if kind in _DISTRIBUTIONAL and not 0 < value < 1:
            raise InputError(f"`statistic` must have a share between 0 and 1, got {name!r}")
        return cls(kind, value)

    @property
    def is_mean(self) -> bool:
        """Whether it is a mean of rewards, as they are or made into 0 and 1."""
        return self.kind not in _DISTRIBUTIONAL

    @property
    def estimator(self) -> Estimator[Any]:
        """What estimates it from the rows of the log itself."""
        return WIS() if self.is_mean else _DISTRIBUTIONAL[self.kind][0](self.number)

    def estimators(self, named: Estimators | None) -> Estimators | None:
        """The estimators of an evaluation, from those the user names."""
        if self.is_mean:
            return named
        names = list(named) if isinstance(named, Iterable) and not isinstance(named, str) else [named]
        if any(name not in (None, WIS.name, *WIS.aliases) for name in names):
            raise UnsupportedError(
                f"`estimators` must be left out, or wis, for {self.kind}, which is that of the distribution "
                f"under the weights of WIS; got {named!r}"
            )
        return [self.estimator]

    def log(self, log: LoggedBandit) -> LoggedBandit:
        """The log with rewards named after the statistic, and made into 0 and 1 where it is a share."""
        names = tuple(map(self.named, log.reward_names))
        if self.kind == "above":
            above = read_only((log.reward > self.number).astype(np.float64))
            return replace(log, reward=above, reward_names=names)
        return replace(log, reward_names=names)

    def named(self, reward: str) -> str:
        """What it is called, of a reward."""
        if self.kind == "mean":
            return reward
        if self.kind == "above":
            return f"share of {reward} above {self.number:g}"
        return _DISTRIBUTIONAL[self.kind][1].format(self.number, reward)
