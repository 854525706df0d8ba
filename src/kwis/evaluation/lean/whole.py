"""What is known of every row where contexts are known of some only: weights, rewards and their sums."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from kwis.checks.bound import Floor, is_bounded
from kwis.checks.diagnostics import KnownOfWeights
from kwis.data.columns import Label
from kwis.evaluation.lean.pass_sums import LoggingSums, TargetSums
from kwis.evaluation.sensitivity import Box
from kwis.models.propensity.check import PropensityCheck, of_every_row
from kwis.models.propensity.support import Support
from kwis.policy.discrete import TargetPolicy
from kwis.sample import WeightedSample
from kwis.typing import Floats, Ints


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WholeTarget:
    """A target in every row: the weight, and sums over all rows. By reward how far weights may move, where
    that is known; else there is the probability of the action taken.
    """

    weight: Floats
    logged: Floats | None
    boxes: tuple[Box | None, ...]
    sums: TargetSums


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Whole:
    """Every row of a log as estimators of weights and rewards see it.

    Attributes
    ----------
    action, reward
        ``(n,)`` codes of the actions taken, and the columns of the rewards.
    known
        Whether the logging policy's whole distribution is known.
    targets
        By name.
    note
        What was looked at in some rows only.
    """

    action: Ints
    action_names: tuple[Label, ...]
    reward: tuple[Floats, ...]
    known: bool
    logging: LoggingSums
    targets: Mapping[str, WholeTarget]
    note: str

    @property
    def n(self) -> int:
        return int(self.action.size)

    def samples(self, target: str | None = None) -> tuple[WeightedSample, ...]:
        """All rows weighted for a target, or for the logging policy itself, once per reward."""
        weight = np.broadcast_to(1.0, self.n) if target is None else self.targets[target].weight
        return tuple(WeightedSample.without_context(weight, column) for column in self.reward)

    def known_of(self, target: TargetPolicy) -> KnownOfWeights:
        """What sums over all rows say of the weights of a target."""
        found = self.targets[target.name]
        _, _, _, foreseen, lost, rows, ceiling = found.sums.sums
        never = tuple(
            name for name, count in zip(self.action_names, self.logging.taken, strict=True) if not count
        )
        both = self.known and target.distribution is not None
        floor = Floor(float(self.logging.ends[3]), tuple(range(min(int(self.logging.ends[4]), 3))))
        reach = Support(never_logged=never, beyond=None, rows=0)
        if target.distribution is not None:
            reach = Support(never_logged=never, beyond=float(lost / self.n), rows=int(rows))
        return KnownOfWeights(
            sample=self.samples(target.name)[0],
            bounded=is_bounded(floor, float(ceiling) if both else np.inf, float(found.weight.max())),
            expected_effective_n=self.n**2 / max(float(foreseen), 1e-300) if both else np.inf,
            support=reach,
        )

    def check(self, of_some: PropensityCheck) -> PropensityCheck:
        """Signs that some rows showed, with those that can be told of every row from all of them."""
        sums = self.logging
        return of_every_row(
            of_some,
            names=self.action_names,
            taken=sums.taken,
            certain=float(sums.ends[2] / self.n),
            surplus=sums.taken - sums.expected if self.known else None,
            expected=sums.expected,
            products=sums.products + np.tril(sums.products, -1).T,
        )

    def box(self, target: str, reward: int) -> Box:
        """How far weights may move as odds of the propensities do."""
        found = self.targets[target]
        made = found.boxes[reward]
        if made is not None:
            return made
        assert found.logged is not None
        return Box.of_weights(found.logged, found.weight, self.reward[reward])
