"""What an interval method is, to everything that uses one."""

from __future__ import annotations

from typing import Protocol

from kwis.estimators.protocol import Estimator, S
from kwis.results import Interval
from kwis.typing import Seed


class IntervalMethod(Protocol):
    """A confidence interval for what an estimator estimates."""

    def interval(self, estimator: Estimator[S], sample: S, level: float = 0.95, rng: Seed = 0) -> Interval: ...
