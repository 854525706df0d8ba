"""The pipelines of one cell on all its test sets: arrays in, estimates with the influence of every row out;
nothing here is stored.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from kwis import DoublyRobust, HalfNormalised, PredictedSample, WeightedSample
from kwis.estimators.joint import Contrast
from kwis.estimators.neighbourhood import LocalSums
from kwis.sample import safe_ratio
from kwis.typing import Bandwidth, Floats, Ints
from kwis_paper.beyond.columns import LOGGED, ORACLE, REPAIRED, WITH_ORACLE
from kwis_paper.beyond.rule import heavy_sets
from kwis_paper.beyond.workshop import Pair, Workshop
from kwis_paper.estimates import Influenced, local_of, mean_of, ratio_of
from kwis_paper.grid import Cell
from kwis_paper.pairs import Pairs

Found = dict[str, Influenced]

_CLIPPED = DoublyRobust(HalfNormalised("clipping"))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Bench:
    """A cell on its workbench: what was logged on the test rows, and what is predicted there; one column per
    test set.

    Attributes
    ----------
    evaluation, action, reward
        ``(n, K)`` probabilities of the policy evaluated, and ``(n, test_sets)`` each of what was logged.
    predicted, value
        ``(n, test_sets)`` predicted reward of the logged action, and ``(n, 1)`` that of the policy evaluated.
    """

    evaluation: Floats
    action: Ints
    reward: Floats
    predicted: Floats
    value: Floats

    @classmethod
    def of(cls, workshop: Workshop, cell: Cell) -> Bench:
        laboratory, expected = workshop.laboratory, workshop.rewards(cell.logging).test
        logs = [laboratory.log(cell.logging, number) for number in range(1, laboratory.design.test_sets + 1)]
        evaluation = laboratory.target(cell)[laboratory.rows[1]]
        action = np.stack([log.action for log in logs], axis=1)
        return cls(
            evaluation=evaluation,
            action=action,
            reward=np.stack([log.reward for log in logs], axis=1),
            predicted=taken(expected, action),
            value=np.einsum("ik,ik->i", evaluation, expected)[:, None],
        )

    def weight(self, behaviour: Floats) -> Floats:
        """``(n, test_sets)`` weights for a behaviour ``(n, K)``."""
        return self.weight_from(taken(behaviour, self.action))

    def weight_from(self, propensity: Floats) -> Floats:
        """``(n, test_sets)`` weights for propensities of the logged actions ``(n, test_sets)``."""
        return taken(self.evaluation, self.action) / propensity

    def direct(self) -> Influenced:
        """The direct method."""
        return mean_of(np.broadcast_to(self.value, self.reward.shape))

    def global_estimates(self, weight: Floats) -> Found:
        """Estimators without neighbours."""
        residual = self.reward - self.predicted
        return {
            "wis": ratio_of(weight, self.reward),
            "doubly-robust": mean_of(self.value + weight * residual, weight),
            "doubly-robust-wis": self.direct().plus(ratio_of(weight, residual)),
        }

    def refitted(self, refits: Floats, sums: LocalSums) -> dict[str, Floats]:
        """``(parts, test_sets)`` values of the estimators that repaired propensities are used with, by each
        refit of the repair.

        Parameters
        ----------
        refits
            ``(parts, n, test_sets)`` propensities of the logged actions.
        """
        weights = [self.weight_from(propensity) for propensity in refits]
        around = sums(np.concatenate([np.ones((len(self.reward), 1)), *weights], axis=1))
        near = np.split(around[:, 1:], len(weights), axis=1)
        local = [
            safe_ratio(w * around[:, :1], np.broadcast_to(m, w.shape))
            for w, m in zip(weights, near, strict=True)
        ]
        residual, direct = self.reward - self.predicted, self.value.mean(axis=0)
        found = {}
        for name, applied in (("wis", weights), ("normalised-kernel-wis", local)):
            found[name] = np.array([ratio_of(one, self.reward).value for one in applied])
            found[f"doubly-robust-{name}"] = direct + np.array(
                [ratio_of(one, residual).value for one in applied]
            )
        return found

    def clipped(self, number: int, context: Floats, weight: Floats, refits: Floats) -> Contrast:
        """What the rule recommends for heavy weights, on the test set with this number, counted from 0.

        ``weight`` is ``(n, test_sets)``, and ``refits`` are ``(parts, n, test_sets)`` propensities of the
        logged actions; empty where nothing was repaired.
        """

        def sample(weights: Floats) -> PredictedSample:
            logged = WeightedSample(context=context, weight=weights[:, number], reward=self.reward[:, number])
            return PredictedSample(
                logged, predicted=self.predicted[:, number], predicted_value=self.value[:, 0]
            )

        refitted = [_CLIPPED.estimate(sample(self.weight_from(one))).value for one in refits]
        found = Contrast.of(_CLIPPED, sample(weight))
        return replace(found, refitted=np.array(refitted)) if refitted else found

    def local_estimates(self, weight: Floats, sums: LocalSums) -> Found:
        """Estimators with weights divided by their local mean."""
        (plain, normalised), (_, rest) = local_of(weight, [self.reward, self.reward - self.predicted], sums)
        both = self.direct().plus(rest)
        return {
            "kernel-wis": plain,
            "normalised-kernel-wis": normalised,
            "doubly-robust-normalised-kernel-wis": both,
        }


def taken(table: Floats, action: Ints) -> Floats:
    """Entries ``(n, test_sets)`` of a table ``(n, K)`` at the actions."""
    return np.take_along_axis(table, action, axis=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bandwidths:
    """Bandwidths of a cell for its weights as given and as repaired."""

    given: Bandwidth
    repaired: Bandwidth


def main_pipelines(workshop: Workshop, cell: Cell, pairs: Pairs, bandwidths: Bandwidths) -> Found:
    """Everything the recommendation chooses among, and what oracle propensities would give."""
    laboratory, bench = workshop.laboratory, Bench.of(workshop, cell)
    repaired = workshop.repair(Pair.of(cell))
    rows = laboratory.rows[1]
    given = _both(
        bench, bench.weight(laboratory.probabilities(cell.behaviour)[rows]), pairs.sums(bandwidths.given)
    )
    after = given
    if not repaired.kept:
        sums = pairs.sums(bandwidths.repaired)
        after = _both(bench, bench.weight(repaired.test), sums)
        after |= {
            name: replace(after[name], refits=values)
            for name, values in bench.refitted(repaired.refits, sums).items()
        }
    truth = bench.global_estimates(bench.weight(laboratory.probabilities(cell.logging)[rows]))
    return {
        "direct-method": bench.direct(),
        **given,
        **{f"{REPAIRED}{name}": one for name, one in after.items()},
        **{f"{ORACLE}{name}": truth[name] for name in WITH_ORACLE},
    }


def clipped_pipelines(workshop: Workshop, cell: Cell) -> dict[int, Contrast]:
    """The clipped estimates of the test sets with heavy weights, by their number, from 0."""
    laboratory, repaired = workshop.laboratory, workshop.repair(Pair.of(cell))
    bench, context = Bench.of(workshop, cell), laboratory.test_context
    weight = bench.weight(repaired.test)
    heavy = heavy_sets(weight, context.shape[1], workshop.rewards(cell.logging).explained)
    return {number: bench.clipped(number, context, weight, repaired.refits) for number in heavy}


def _both(bench: Bench, weight: Floats, sums: LocalSums) -> Found:
    return {**bench.global_estimates(weight), **bench.local_estimates(weight, sums)}


def ablation(workshop: Workshop, cell: Cell, kinds: Iterable[str]) -> Found:
    """WIS with each part of the repair alone."""
    bench, pair = Bench.of(workshop, cell), Pair.of(cell)
    found: Found = {}
    for kind in kinds:
        repaired = workshop.repair(pair, kind)
        weight = bench.weight_from(repaired.test) if kind == LOGGED else bench.weight(repaired.test)
        found[f"{kind}-only-wis"] = ratio_of(weight, bench.reward)
    return found
