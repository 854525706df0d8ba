"""The one orchestration function: from a log and target policies to an answer."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from typing import Any

import numpy as np

from kwis import _validation as check
from kwis._validation import read_only
from kwis.diagnostics import PropensityReport, TargetDiagnostics, drift, propensity_report, target_diagnostics
from kwis.errors import KwisWarning
from kwis.estimators.kernel_wis import KernelWIS
from kwis.evaluation.answer import Evaluation
from kwis.evaluation.compare import changes_of, ranking_of
from kwis.evaluation.intervals import NEIGHBOUR_ROWS, Intervals, averages_neighbours
from kwis.evaluation.measure import SELECTION_ROWS, Measured, Policy, logging_policy, measure, resample
from kwis.evaluation.path import path_rows, paths_of
from kwis.evaluation.prepare import Ready, prepare
from kwis.evaluation.recommend import Pick, pick
from kwis.evaluation.records import LOGGING_POLICY, Change, Path, Recommendation, Row, Settings
from kwis.evaluation.roster import needs_predictions, roster
from kwis.evaluation.segments import segments_by
from kwis.evaluation.split import splits_by
from kwis.evaluation.words import disagreement
from kwis.intervals import IntervalMethod
from kwis.logged import LoggedBandit
from kwis.outcome import PredictedRewards, predict_rewards
from kwis.policies import TargetPolicy
from kwis.results import Verdict
from kwis.smoothing.threads import engine
from kwis.typing import Ints, Seed

FEW_ROWS = 30
Progress = Callable[[int, int, str], object]


def evaluate(
    log: LoggedBandit,
    target: Any,
    *,
    estimators: Any = None,
    interval: IntervalMethod | None = None,
    level: float = 0.95,
    by: Any = (),
    reward_model: Any = None,
    propensity_model: Any = None,
    rng: Seed = 0,
    progress: Progress | None = None,
) -> Evaluation:
    """Estimate what target policies would have brought, compare them with the logging policy, and say whether to trust it.

    Parameters
    ----------
    log
        From :func:`kwis.read_log`.
    target
        A column, a classifier, a function or an array; a list of them, or a mapping from names of your choice. See
        :mod:`kwis.targets` for what each means.
    estimators
        Names or estimators; None: all that apply.
    interval
        An interval method for everything. None: the BCa bootstrap, or the influence function where resampling would take too
        long, as :mod:`kwis.evaluation.intervals` says.
    by
        Columns whose values make segments, each with estimates and differences of its own; a tuple of columns stands for their
        combinations.
    reward_model
        A regressor for the direct method and doubly robust estimators; None: the better of two. They take part if the target's
        probability of every action is known.
    propensity_model
        A classifier that estimates propensities where the log has none.
    rng
        A seed, or a generator that one is drawn from: everything random follows from it.
    progress
        Called as ``progress(done, total, what)`` at every step.
    """
    level = check.level(level)
    with engine():
        ready = prepare(log, target, propensity_model=propensity_model, rng=rng)
        check.two_draws(ready.log.n, ready.log.group)
        return _Run(
            ready=ready,
            estimators=roster(estimators, ready.seed),
            all_that_apply=estimators is None,
            reward_model=reward_model,
            intervals=Intervals(method=interval, level=level, seed=ready.seed),
            splits=splits_by(ready.log, by),
            steps=_Steps(progress, 2 * len(ready.targets) + 5),
        ).evaluation()


@dataclass(slots=True)
class _Steps:
    """Tells a callback what is being done."""

    callback: Progress | None
    total: int
    done: int = -1

    def __call__(self, what: str) -> None:
        self.done += 1
        if self.callback is not None:
            self.callback(self.done, self.total, what)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Run:
    """One evaluation under way."""

    ready: Ready
    estimators: tuple[Any, ...]
    all_that_apply: bool
    reward_model: Any
    intervals: Intervals
    splits: Any
    steps: _Steps

    def evaluation(self) -> Evaluation:
        ready, rewards = self.ready, self.ready.log.reward_names
        predictions = self._predictions()
        policies = [ready.policy(target, predictions if self._modelled(target) else ()) for target in ready.targets]
        measured, logging = self._measured(policies)
        self.steps("checking the propensities")
        report = propensity_report(ready.log, ready.targets, ready.estimated)
        diagnostics = self._diagnostics(policies, measured, report)
        picks = {(target.name, reward): self._pick(target.name, measured, report) for target in ready.targets for reward in rewards}
        chosen = {key: found.name for key, found in picks.items()}
        self.steps("comparing policies")
        rows = [*self._logging_rows(logging), *self._rows(measured, diagnostics, chosen)]
        changes = changes_of(measured, logging, chosen, self.intervals)
        entries = [one for one in measured if chosen[one.target, one.reward] == one.estimate.name]
        rankings = tuple(
            ranking_of(
                [logging[reward], *(one for one in entries if one.reward == reward)],
                [row for row in rows if row.reward == reward and row.recommended],
                chosen,
                self.intervals,
            )
            for reward in rewards
        )
        segments = segments_by(self.splits, entries, logging, self.intervals, report.verdict)
        self.steps("following the bandwidth")
        subset = path_rows(ready.log.n, ready.seed)
        paths = self._paths(policies, measured, subset)
        found = Evaluation(
            rows=tuple(rows),
            changes=changes,
            recommendations=tuple(self._recommendation(key, made, rows, changes, measured) for key, made in picks.items()),
            diagnostics=diagnostics,
            propensity=report,
            rankings=rankings,
            paths=paths,
            segments=segments,
            drift=drift(ready.log),
            weights={policy.name: read_only(policy.samples[0].weight) for policy in policies},
            notes=self._notes(predictions, paths),
            settings=self._settings([*logging.values(), *measured], paths),
        )
        self.steps("done")
        return found

    def _modelled(self, target: TargetPolicy) -> bool:
        """Whether rewards have to be predicted for this target."""
        return any(needs_predictions(one) for one in self.estimators) and not (self.all_that_apply and target.distribution is None)

    def _predictions(self) -> tuple[PredictedRewards, ...]:
        if not any(self._modelled(target) for target in self.ready.targets):
            return ()
        self.steps("predicting rewards")
        log, seed = self.ready.log, self.ready.seed
        return tuple(predict_rewards(log, j, self.reward_model, rng=seed) for j in range(len(log.reward_names)))

    def _measured(self, policies: Sequence[Policy]) -> tuple[list[Measured], Mapping[str, Measured]]:
        rewards = self.ready.log.reward_names
        logging = logging_policy(self.ready.logging_samples(), rewards)
        measured = []
        for target, policy in zip(self.ready.targets, policies, strict=True):
            self.steps(f"estimating {policy.name}")
            modelled = self._modelled(target)
            estimators = [one for one in self.estimators if modelled or not needs_predictions(one)]
            measured += measure(policy, estimators, rewards, self._selection_rows())
        self.steps("resampling")
        drawn = resample([*logging, *measured], self.intervals.resampled, self.intervals.replicates, self.ready.seed)
        return drawn[len(logging) :], {one.reward: one for one in drawn[: len(logging)]}

    def _selection_rows(self) -> Ints | None:
        n = self.ready.log.n
        if n <= SELECTION_ROWS:
            return None
        return np.sort(np.random.default_rng(self.ready.seed).choice(n, SELECTION_ROWS, replace=False))

    def _diagnostics(
        self, policies: Sequence[Policy], measured: Sequence[Measured], report: PropensityReport
    ) -> dict[str, TargetDiagnostics]:
        found = {}
        for target, policy in zip(self.ready.targets, policies, strict=True):
            self.steps(f"checking {target.name}")
            kernel = _kernel(measured, target.name)
            # At an infinite bandwidth the map would be flat and show nothing.
            bandwidth = None if kernel is None or np.isinf(kernel.bandwidth).any() else kernel.bandwidth
            found[target.name] = target_diagnostics(
                self.ready.log, target, report, sample=policy.samples[0], bandwidth=bandwidth, rng=self.ready.seed
            )
        return found

    def _pick(self, target: str, measured: Sequence[Measured], report: PropensityReport) -> Pick:
        return pick(list(dict.fromkeys(one.estimate.name for one in measured if one.target == target)), report)

    def _logging_rows(self, logging: Mapping[str, Measured]) -> list[Row]:
        verdict = Verdict(level="trust", reasons=("the mean of the logged rewards, which needs no weights",))
        return [
            Row(
                target=LOGGING_POLICY,
                reward=reward,
                estimate=one.estimate,
                interval=self.intervals.of(one),
                verdict=verdict,
                recommended=True,
            )
            for reward, one in logging.items()
        ]

    def _rows(
        self, measured: Sequence[Measured], diagnostics: Mapping[str, TargetDiagnostics], chosen: Mapping[tuple[str, str], str]
    ) -> list[Row]:
        return [
            Row(
                target=one.target,
                reward=one.reward,
                estimate=one.estimate,
                interval=self.intervals.of(one),
                verdict=diagnostics[one.target].verdict,
                recommended=chosen[one.target, one.reward] == one.estimate.name,
            )
            for one in measured
        ]

    def _recommendation(
        self, key: tuple[str, str], made: Pick, rows: Sequence[Row], changes: Sequence[Change], measured: Sequence[Measured]
    ) -> Recommendation:
        target, reward = key
        own = {row.estimator: row for row in rows if (row.target, row.reward) == key}
        against = {
            change.estimator: change
            for change in changes
            if (change.target, change.reward, change.baseline) == (target, reward, LOGGING_POLICY)
        }
        runner_up, sentence = None, None
        if made.runner_up is not None:
            runner_up = own[made.runner_up]
            sides = {one.estimate.name: one for one in measured if (one.target, one.reward) == key}
            gap = self.intervals.between(sides[made.name], sides[made.runner_up])
            sentence = disagreement(against[made.name], against[made.runner_up], gap)
        return Recommendation(
            target=target,
            reward=reward,
            row=own[made.name],
            change=against[made.name],
            why=made.why,
            runner_up=runner_up,
            disagreement=sentence,
        )

    def _paths(self, policies: Sequence[Policy], measured: Sequence[Measured], subset: Ints | None) -> tuple[Path, ...]:
        found: list[Path] = []
        for policy in policies:
            kernel = _kernel(measured, policy.name)
            if kernel is not None and np.ndim(kernel.bandwidth) == 0:
                found += paths_of(policy, kernel, self.ready.log.reward_names, self.intervals.level, subset)
        return tuple(found)

    def _notes(self, predictions: Sequence[PredictedRewards], paths: Sequence[Path]) -> tuple[str, ...]:
        n, notes = self.ready.log.n, [*self.ready.log.notes, *(made.note for made in predictions)]
        unknown = [target.name for target in self.ready.targets if target.distribution is None]
        if self.all_that_apply and unknown:
            notes.append(f"no direct method or doubly robust estimate of {', '.join(unknown)}: they need the probability of every action")
        if n < FEW_ROWS:
            few = f"the log has only {n} rows: intervals that rest on large samples say little"
            notes.append(few)
            warnings.warn(few, KwisWarning, stacklevel=5)
        neighbours = [one.name for one in self.estimators if averages_neighbours(one)]
        if self.intervals.method is None and n > NEIGHBOUR_ROWS and neighbours:
            notes.append(
                f"intervals of {', '.join(neighbours)} are from the influence function, as the log has more than {NEIGHBOUR_ROWS:,} rows"
            )
        if n > SELECTION_ROWS and any(isinstance(one, KernelWIS) and one.selects_bandwidth for one in self.estimators):
            notes.append(f"bandwidths were selected on {SELECTION_ROWS:,} of {n:,} rows, drawn with seed {self.ready.seed}")
        if paths and paths[0].rows < n:
            notes.append(f"bandwidth paths were computed on {paths[0].rows:,} of {n:,} rows, drawn with seed {self.ready.seed}")
        return (*notes, *self.intervals.notes)

    def _settings(self, measured: Sequence[Measured], paths: Sequence[Path]) -> Settings:
        log, n = self.ready.log, self.ready.log.n
        kernels = {target.name: _kernel(measured, target.name) for target in self.ready.targets}
        return Settings(
            version=metadata.version("kwis"),
            n=n,
            level=self.intervals.level,
            seed=self.ready.seed,
            rewards=log.reward_names,
            targets={target.name: target.source for target in self.ready.targets},
            estimators=tuple(one.name for one in self.estimators),
            intervals={one.estimate.name: self.intervals.describe(one) for one in measured},
            bandwidths={name: kernel.bandwidth for name, kernel in kernels.items() if kernel is not None},
            selection_rows=min(n, SELECTION_ROWS),
            path_rows=paths[0].rows if paths else 0,
            context=log.feature_names,
        )


def _kernel(measured: Sequence[Measured], target: str) -> KernelWIS | None:
    """The Kernel-WIS estimator of a target with the bandwidth it used, if there is one."""
    return next((one.estimator for one in measured if one.target == target and isinstance(one.estimator, KernelWIS)), None)
