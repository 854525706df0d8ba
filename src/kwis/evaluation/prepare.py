"""From a log and whatever the user calls a target to clean policies with weights: the door of everything
here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from kwis import _validation as check
from kwis.checks.findings import PropensityReport
from kwis.checks.propensity import propensity_report
from kwis.data.copies import with_copies_grouped
from kwis.data.log import LoggedBandit
from kwis.errors import InputError
from kwis.evaluation.ids import row_order
from kwis.evaluation.lean.whole import Whole
from kwis.evaluation.measure import Policy, Reweighted
from kwis.evaluation.mend import Mended, mend
from kwis.evaluation.own_propensities import own_propensities
from kwis.evaluation.pooling import pooled
from kwis.evaluation.sharing import questions, with_shared_draws_grouped
from kwis.models.propensity.check import known_distribution, refuse_deterministic
from kwis.models.propensity.estimate import EstimatedPropensity
from kwis.models.reward import PredictedRewards
from kwis.policy.action_features import FeatureGroups
from kwis.policy.discrete import TargetPolicy, importance_weights, weigh
from kwis.policy.marginal import marginal
from kwis.result.records import LOGGING_POLICY, Row
from kwis.runtime.arrays import kept
from kwis.sample import WeightedSample
from kwis.typing import Classifier, Floats, Ints, RepairMode, Seed


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ready:
    """A log with propensities, targets on its rows, and the seed of everything random.

    Attributes
    ----------
    estimated
        The propensities, where they were estimated because the log had none.
    repair, mended
        When logged propensities are to be repaired, and what became of them where they were tested for it.
    own_report
        Tests of the propensities, where they were estimated.
    order
        Where the rows are in the log as it was read, if they were put in the order of their keys.
    whole
        All rows, where ``log`` and ``targets`` have some of them only.
    """

    log: LoggedBandit
    targets: tuple[TargetPolicy, ...]
    estimated: EstimatedPropensity | None
    seed: int
    repair: RepairMode = "auto"
    mended: Mended | None = None
    own_report: PropensityReport | None = None
    order: Ints | None = None
    whole: Whole | None = None

    @property
    def n(self) -> int:
        """Number of rows that estimates are from."""
        return self.log.n if self.whole is None else self.whole.n

    def policy(self, target: TargetPolicy, predictions: Sequence[PredictedRewards] = ()) -> Policy:
        """The log weighted for a target, once per reward; with the predictions of each reward, if there are
        any.
        """
        if self.whole is not None:
            return Policy(name=target.name, samples=self.whole.samples(target.name))
        samples = _samples(self.log, target, predictions)
        learnt = (
            self.mended.found.refits
            if self.mended is not None
            else None
            if self.estimated is None
            else self.estimated.refits
        )
        if learnt is None or not learnt.shape[1] or target.weight is not None:
            return Policy(name=target.name, samples=samples)
        given = self.as_given().log.propensity
        assert given is not None
        factor = 1.0 if target.factor is None else target.factor
        others = [importance_weights(target.logged, propensity) * factor for propensity in (given, *learnt.T)]
        reweighted = []
        for sample in samples:
            first, *refits = (sample.with_weight(weight) for weight in others)
            reweighted.append(Reweighted(given=first, refits=tuple(refits)))
        return Policy(name=target.name, samples=samples, reweighted=tuple(reweighted))

    def of_contexts(self, target: TargetPolicy) -> Policy:
        """The rows whose contexts are known, weighted for a target."""
        return Policy(name=target.name, samples=_samples(self.log, target, ()))

    def as_read(self, row: Row) -> Row:
        """A row of the answer whose arrays are in the order of the log as it was read."""
        one = row.estimate
        return replace(
            row,
            estimate=replace(
                one, influence=self.sorted_back(one.influence), leverage=self.sorted_back(one.leverage)
            ),
        )

    def sorted_back(self, array: Floats | None) -> Floats | None:
        """Numbers of the rows in the order of the log as it was read."""
        if array is None or self.order is None:
            return array
        back = np.empty_like(array)
        back[self.order] = array
        return kept(back)

    def repaired(self, mode: RepairMode) -> Ready:
        """The same with logged propensities tested and, if they need it, repaired."""
        if mode == "never" or self.estimated is not None:
            return replace(self, repair=mode)
        for target in self.targets:
            weigh(self.log, target)  # a weight that overflows is a matter of the log as it is
        found = mend(self.log, self.targets, mode, self.seed)
        return replace(self, log=found.log, repair=mode, mended=found)

    def pooled(self) -> Ready:
        """The same with weights that go by all loggers, where there are several and their probabilities are
        known.
        """
        return replace(self, targets=pooled(self.log, self.targets))

    def over_features(self, features: FeatureGroups | None) -> Ready:
        """The same with weights over features of the actions, if there are any."""
        if features is None:
            return self
        log = replace(self.log, behaviour=known_distribution(self.log))
        return replace(self, targets=tuple(marginal(log, target, features) for target in self.targets))

    def report(self) -> PropensityReport:
        """Tests of the propensities that estimates use."""
        report = self.tested()
        if self.whole is None:
            return report
        return replace(report, check=self.whole.check(report.check), notes=(*report.notes, self.whole.note))

    def tested(self) -> PropensityReport:
        """The same tests as they were made."""
        if self.mended is not None:
            return self.mended.report
        return self.own_report or propensity_report(self.log, self.targets, self.estimated)

    def as_given(self) -> Ready:
        """The same with the propensities as they were before any repair."""
        return self if self.mended is None else replace(self, log=self.mended.given, mended=None)

    def logging_samples(self) -> tuple[WeightedSample, ...]:
        """The log weighted for the logging policy itself: every weight is 1."""
        if self.whole is not None:
            return self.whole.samples()
        log = self.log
        return tuple(
            WeightedSample(
                context=log.context,
                weight=np.ones(log.n),
                reward=log.reward[:, j],
                categorical=log.categorical,
                group=log.group,
                mass=log.row_weight,
            )
            for j in range(len(log.reward_names))
        )


def _samples(
    log: LoggedBandit, target: TargetPolicy, predictions: Sequence[PredictedRewards]
) -> tuple[WeightedSample, ...]:
    samples = tuple(weigh(log, target, j) for j in range(len(log.reward_names)))
    if not predictions:
        return samples
    return tuple(made.attach(sample, target) for made, sample in zip(predictions, samples, strict=True))


def prepare(
    log: LoggedBandit,
    targets: tuple[TargetPolicy, ...],
    *,
    propensity_model: Classifier | str | None = None,
    rng: Seed = 0,
    by_time: bool = False,
) -> Ready:
    """Keep the columns of the targets out of the context, and estimate propensities where there are none.

    With ``by_time`` rows are put in the order of time, where the log has times.
    """
    seed = seed_of(rng)
    names = [policy.name for policy in targets]
    if LOGGING_POLICY in names:
        raise InputError(
            f"`target` must not be called {LOGGING_POLICY!r}, the name of the policy that every target is "
            f"compared with"
        )
    log = log.without_context(column for policy in targets for column in policy.columns)
    order = row_order(log, by_time=by_time)
    if order is not None:
        log, targets = log.take(order), tuple(policy.take(order) for policy in targets)
    log = with_shared_draws_grouped(with_copies_grouped(log))
    log = replace(log, notes=(*log.notes, *questions(log)))
    refuse_deterministic(log)
    if log.propensity is not None:
        return Ready(log=log, targets=targets, estimated=None, seed=seed, order=order)
    own = own_propensities(log, targets, propensity_model, seed)
    refuse_deterministic(log, own.estimated)
    return Ready(
        log=own.log,
        targets=targets,
        estimated=own.estimated,
        seed=seed,
        own_report=own.report,
        order=order,
    )


def seed_of(rng: Seed) -> int:
    """A seed that can be written down: the one given, or a number drawn from the generator given."""
    generator = check.generator(rng)
    return int(generator.integers(2**31)) if isinstance(rng, np.random.Generator) else int(rng)
