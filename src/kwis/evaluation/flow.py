"""An evaluation under way: from a log with propensities and its targets to the answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace

import numpy as np

from kwis._validation import read_only
from kwis.checks.balance import balances
from kwis.checks.diagnostics import target_diagnostics
from kwis.checks.drift import drift, drift_with_targets
from kwis.checks.findings import PropensityReport, TargetDiagnostics
from kwis.checks.local_map import Place, local_mean_weights
from kwis.checks.training import training_checks
from kwis.checks.verdict import combine
from kwis.estimators.protocol import Smoother
from kwis.estimators.traits import NEIGHBOURS
from kwis.evaluation.account import notes_of, settings_of
from kwis.evaluation.caveats import about_rewards, about_training, lone_share, rare, verdicts_of
from kwis.evaluation.claims import judged_together
from kwis.evaluation.compare import changes_of, rankings_of
from kwis.evaluation.ids import id_column, with_ids
from kwis.evaluation.intervals import Intervals
from kwis.evaluation.measure import (
    Measured,
    Policy,
    kernel_of,
    logging_policy,
    measure,
    resample,
    samples_of,
    selection_rows,
    selections,
    std_errors_of,
)
from kwis.evaluation.mend import repair_of
from kwis.evaluation.path import path_rows, paths_of
from kwis.evaluation.prepare import Ready
from kwis.evaluation.recommend import Pick, Role, has_heavy_weights, pick
from kwis.evaluation.refit import refitted
from kwis.evaluation.relative import with_relative
from kwis.evaluation.robustness import robustness_of
from kwis.evaluation.roster import Roster
from kwis.evaluation.rows import logging_rows, recommendations_of, target_rows
from kwis.evaluation.scope import scope_of
from kwis.evaluation.segments import KnownOfAll, segments_by
from kwis.evaluation.split import Split
from kwis.evaluation.statistic import Statistic
from kwis.models.reward import PredictedRewards, predict_rewards
from kwis.models.reward.predicted import PredictedSample
from kwis.result.evaluation import Evaluation
from kwis.result.records import Path
from kwis.results import Estimate, Verdict
from kwis.runtime.runner import Progress
from kwis.typing import Regressor


@dataclass(slots=True)
class Stages:
    """Tells a callback what is being done."""

    callback: Progress | None
    total: int
    done: int = -1

    def __call__(self, what: str) -> None:
        self.done += 1
        self.within(what)

    def within(self, what: str) -> None:
        """The same step, further on."""
        if self.callback is not None:
            self.callback(self.done, self.total, what)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Run:
    """One evaluation under way."""

    ready: Ready
    roster: Roster
    reward_model: Regressor | None
    intervals: Intervals
    splits: tuple[Split, ...]
    steps: Stages
    statistic: Statistic

    def evaluation(self) -> Evaluation:
        ready = self.ready
        predictions = self._predictions()
        policies = [
            ready.policy(target, predictions if self.roster.models(target) else ())
            for target in ready.targets
        ]
        heavy = self._heavy(policies, predictions)
        run = replace(self, roster=self.roster.with_heavy_weights()) if heavy else self
        return run._answer(policies, predictions, heavy)

    def _heavy(
        self, policies: Sequence[Policy], predictions: Sequence[PredictedRewards]
    ) -> set[tuple[str, str]]:
        """Policies and rewards whose weights are heavy."""
        explained = {made.reward: made.explained for made in predictions}
        return {
            (policy.name, reward)
            for policy in policies
            for reward, sample in zip(self.ready.log.reward_names, policy.samples, strict=True)
            if has_heavy_weights(sample, explained[reward] if isinstance(sample, PredictedSample) else None)
        }

    def _answer(
        self,
        policies: Sequence[Policy],
        predictions: tuple[PredictedRewards, ...],
        heavy: Set[tuple[str, str]],
    ) -> Evaluation:
        """The answer about ``policies``, of which those in ``heavy`` have heavy weights for a reward."""
        ready, intervals = self.ready, self.intervals
        measured, logging = self._measured(policies)
        report = ready.report()
        diagnostics = self._diagnostics(policies, measured, report)
        picks = self._picks(measured, report, predictions, heavy)
        chosen = {key: found.name for key, found in picks.items()}
        self.steps("comparing policies")
        changed = [drift(ready.log, j) for j in range(len(ready.log.reward_names))]
        about = about_rewards(
            ready.as_given().log,
            {made.reward: made.explained for made in predictions},
            changed,
            None if ready.whole is None else ready.whole.reward,
        )
        training = training_checks(
            ready.log, ready.targets, {made.reward: made.logged for made in predictions}, rng=ready.seed
        )
        learnt = about_training(ready.targets, training)
        verdicts = self._verdicts(measured, diagnostics, about, learnt)
        rows = (*logging_rows(logging, intervals), *target_rows(measured, verdicts, chosen, intervals))
        rows = tuple(ready.as_read(row) for row in rows)
        entries = [one for one in measured if chosen[one.target, one.reward] == one.estimate.name]
        rankings = rankings_of(entries, logging, rows, chosen, intervals)
        changes = changes_of(measured, logging, chosen, intervals, len(policies))
        changes = judged_together(changes, rankings, len(policies))
        changes = with_relative(changes, measured, logging)
        self.steps("estimating segments")
        bounded = {name for name, one in diagnostics.items() if one.weights.bounded}
        known = KnownOfAll(report=_with_training(report, learnt), rewards=about, bounded=bounded)
        segments = segments_by(self.splits, entries, logging, intervals, known)
        self.steps("following the bandwidth")
        paths = self._paths(policies, measured)
        recommendations = recommendations_of(picks, rows, changes, measured, intervals)
        found = Evaluation(
            rows=rows,
            changes=changes,
            recommendations=recommendations,
            diagnostics=diagnostics,
            propensity=report
            if ready.mended is None or ready.mended.found.kept
            else ready.mended.given_report,
            repair=None if ready.mended is None else repair_of(ready.mended, entries),
            rankings=rankings,
            paths=paths,
            segments=segments,
            drift=drift_with_targets(
                changed[0], ready.log, {policy.name: policy.samples[0] for policy in policies}
            ),
            weights={
                policy.name: read_only(ready.sorted_back(policy.samples[0].weight)) for policy in policies
            },
            notes=notes_of(ready, self.roster, predictions, intervals, paths, changed, measured),
            settings=settings_of(ready, self.roster, intervals, [*logging.values(), *measured], paths),
            # How far wrong propensities move a quantile, or weights over features, is not known.
            sensitivity=robustness_of(
                ready.log, ready.targets, recommendations, None if ready.whole is None else ready.whole.box
            )
            if self.statistic.is_mean and not any(target.weight is not None for target in ready.targets)
            else (),
            training=training,
            scope=scope_of(ready.log, report, diagnostics.values(), drift=changed[0] is not None),
        )
        self.steps("done")
        return found

    def _predictions(self) -> tuple[PredictedRewards, ...]:
        self.steps("predicting rewards")
        log, seed = self.ready.log, self.ready.seed
        if not any(self.roster.models(target) for target in self.ready.targets):
            return ()
        return tuple(
            predict_rewards(log, j, self.reward_model, rng=seed) for j in range(len(log.reward_names))
        )

    def _measured(self, policies: Sequence[Policy]) -> tuple[list[Measured], Mapping[str, Measured]]:
        ready, rewards = self.ready, self.ready.log.reward_names
        logging = logging_policy(ready.logging_samples(), rewards, self.statistic.estimator)
        measured = []
        subset = selection_rows(ready.log.n, ready.seed)
        estimators = [self.roster.of_target(target) for target in ready.targets]
        self.steps.within("selecting bandwidths")
        selected = selections(policies, estimators, subset)
        for policy, own, chosen in zip(policies, estimators, selected, strict=True):
            self.steps(f"estimating {policy.name}")
            measured += refitted(measure(policy, own, rewards, subset, chosen))
        self.steps("resampling")

        def tick(done: int, total: int) -> None:
            self.steps.within(f"resampling, {done:,} of {total:,}")

        drawn = resample(
            [*logging, *measured], self.intervals.resampled, self.intervals.replicates, ready.seed, tick
        )
        return drawn[len(logging) :], {one.reward: one for one in drawn[: len(logging)]}

    def _diagnostics(
        self, policies: Sequence[Policy], measured: Sequence[Measured], report: PropensityReport
    ) -> dict[str, TargetDiagnostics]:
        log, whole, found = self.ready.log, self.ready.whole, {}
        ids = None if whole is not None else id_column(log)
        self.steps.within("averaging weights around contexts")
        kernels = [kernel_of(measured, policy.name) for policy in policies]
        of_contexts = (
            policies if whole is None else [self.ready.of_contexts(one) for one in self.ready.targets]
        )
        maps = local_mean_weights(
            [_place(policy, kernel) for policy, kernel in zip(of_contexts, kernels, strict=True)],
            report,
            rng=self.ready.seed,
        )
        even = balances(log, [policy.samples[0].weight for policy in of_contexts])
        for target, policy, local, balanced in zip(self.ready.targets, of_contexts, maps, even, strict=True):
            self.steps(f"checking {target.name}")
            known = None if whole is None else whole.known_of(target)
            sample = policy.samples[0]
            about = target_diagnostics(
                log, target, report, sample=sample, whole=known, local=local, balanced=balanced
            )
            found[target.name] = with_ids(about, log, ids, None if whole is None else whole.action)
        return found

    def _verdicts(
        self,
        measured: Sequence[Measured],
        diagnostics: Mapping[str, TargetDiagnostics],
        rewards: Mapping[str, Sequence[Verdict]],
        training: Mapping[tuple[str, str], Verdict],
    ) -> list[Verdict]:
        targets = {name: found.verdict for name, found in diagnostics.items()}
        weights = {name: found.weights for name, found in diagnostics.items()}
        pairs = {
            key: (*([training[key]] if key in training else []), *rare(sample))
            for key, sample in samples_of(measured).items()
        }
        return verdicts_of(measured, targets, weights, lone_share(self.ready.log.context), rewards, pairs)

    def _picks(
        self,
        measured: Sequence[Measured],
        report: PropensityReport,
        predictions: Sequence[PredictedRewards],
        heavy: Set[tuple[str, str]],
    ) -> dict[tuple[str, str], Pick]:
        explained = {made.reward: made.explained for made in predictions}
        roles = {name: Role.of(estimator) for name, estimator in self.roster.by_name.items()}
        near: dict[tuple[str, str], Estimate] = {}
        for one in measured:
            if roles[one.estimate.name].normalised_over == NEIGHBOURS:
                near.setdefault((one.target, one.reward), one.estimate)
        alone = {key: one.isolation for key, one in near.items()}
        flat = {
            key for key, one in near.items() if one.bandwidth is not None and np.isinf(one.bandwidth).all()
        }
        return {
            key: pick(
                found,
                report,
                alone.get(key),
                explained.get(key[1]),
                self.ready.mended,
                flat=key in flat,
                heavy=key in heavy,
                roles=roles,
            )
            for key, found in std_errors_of(measured).items()
        }

    def _paths(self, policies: Sequence[Policy], measured: Sequence[Measured]) -> tuple[Path, ...]:
        shared = [(policy, kernel_of(measured, policy.name)) for policy in policies]
        chosen = [
            (policy, kernel)
            for policy, kernel in shared
            if kernel is not None and np.ndim(kernel.bandwidth) == 0
        ]
        rewards, level = self.ready.log.reward_names, self.intervals.level
        return tuple(paths_of(chosen, rewards, level, path_rows(self.ready.log.n, self.ready.seed), measured))


def _place(policy: Policy, kernel: Smoother | None) -> Place:
    """What the map of its local mean weight is made of; at an infinite bandwidth it would be flat and show
    nothing.
    """
    sample = policy.samples[0]
    if kernel is None:
        return Place(target=policy.name, sample=sample)
    bandwidth = None if np.isinf(kernel.bandwidth).any() else kernel.bandwidth
    return Place(target=policy.name, sample=sample, bandwidth=bandwidth, kernel=kernel.kernel)


def _with_training(report: PropensityReport, training: Mapping[tuple[str, str], Verdict]) -> PropensityReport:
    """The report with what is known about the training of each target, which holds in every segment too."""
    about: dict[str, list[Verdict]] = {}
    for (target, _), found in training.items():
        about.setdefault(target, []).append(found)
    return replace(
        report, targets={name: combine(report.verdict_on(name), *found) for name, found in about.items()}
    )
