"""The one orchestration function: from a log and target policies to an answer."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any, Unpack

import numpy as np

from kwis import _validation as check
from kwis._validation import read_only
from kwis.checks import (
    PropensityReport,
    TargetDiagnostics,
    combine,
    drift,
    drift_with_targets,
    target_diagnostics,
    training_checks,
)
from kwis.data.log import LoggedBandit
from kwis.data.read.arguments import LogArguments, refuse_said, refuse_unknown, takes_log_arguments
from kwis.data.read.assemble import checked_source
from kwis.data.read.collect import opened
from kwis.errors import InputError, KwisWarning
from kwis.estimators.traits import NEIGHBOURS
from kwis.evaluation.account import few_rows, notes_of, settings_of, with_call
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
    std_errors_of,
)
from kwis.evaluation.mend import REPAIR_MODES, RepairMode, repair_of
from kwis.evaluation.path import path_rows, paths_of
from kwis.evaluation.prepare import Ready, prepare
from kwis.evaluation.recommend import Pick, Role, has_heavy_weights, pick
from kwis.evaluation.refit import refitted
from kwis.evaluation.relative import with_relative
from kwis.evaluation.robustness import robustness_of
from kwis.evaluation.roster import Roster
from kwis.evaluation.rows import logging_rows, recommendations_of, target_rows
from kwis.evaluation.scope import scope_of
from kwis.evaluation.segments import KnownOfAll, segments_by
from kwis.evaluation.split import Split, splits_by
from kwis.evaluation.statistic import Statistic
from kwis.intervals import IntervalMethod
from kwis.intervals.names import interval_method
from kwis.kernel.profiles import RBF
from kwis.models.reward import PredictedRewards, predict_rewards
from kwis.result.evaluation import Evaluation
from kwis.result.presentation import Presentation
from kwis.result.records import Path
from kwis.results import Estimate, Verdict
from kwis.runtime.runner import working_on
from kwis.runtime.threads import engine
from kwis.typing import Seed

Progress = Callable[[int, int, str], object]


@takes_log_arguments
def evaluate(
    log: Any,
    target: Any,
    *,
    estimators: Any = None,
    interval: IntervalMethod | str | None = None,
    level: float = 0.95,
    by: Any = (),
    reward_model: Any = None,
    propensity_model: Any = None,
    repair: RepairMode = "auto",
    exact: bool | None = None,
    statistic: str = "mean",
    unit: str | Mapping[str, str] | None = None,
    per: float = 1,
    reward_label: str | Mapping[str, str] | None = None,
    lower_is_better: bool | str | Sequence[str] = False,
    rng: Seed | None = None,
    seed: int | None = None,
    client: Any = None,
    progress: Progress | None = None,
    **said: Unpack[LogArguments],
) -> Evaluation:
    """Estimate what target policies would have brought, compare them with the logging policy, and say whether
    to trust it.

    Parameters
    ----------
    log
        A path, a data frame or anything else that :func:`kwis.read_log` reads, with its arguments below; or
        what it or :func:`kwis.scan_log` returned. The answer does not depend on which of these it is.
    target
        A column, a classifier, a function or an array; a list of them, or a mapping from names of your
        choice. See :mod:`kwis.policy.target` for what each means.
    estimators
        Names or estimators; None: all that apply.
    interval
        An interval method for everything: :class:`kwis.StudentInterval` (None means the same),
        :class:`kwis.Bootstrap`, :class:`kwis.InfluenceInterval`, or a bound that holds at every sample size,
        :class:`kwis.LogarithmicSmoothing` or :class:`kwis.EmpiricalBernstein`, for the estimator it applies
        to; or the name of one, such as ``"bootstrap"``.
    by
        Columns whose values make segments, each with estimates and differences of its own: one, or a list; a
        tuple of columns, alone or in the list, stands for their combinations.
    reward_model
        A regressor for the direct method and doubly robust estimators; None: the better of two. They take
        part if the target's probability of every action is known.
    propensity_model
        A classifier that estimates propensities where the log has none; None: the better of two.
    repair
        Whether to repair logged propensities from the actions taken: ``"auto"`` where their tests fail,
        ``"never"`` or ``"always"``; see :mod:`kwis.evaluation.mend`.
    exact
        Kernel-WIS from all pairs of rows (True), or from sampled neighbours and with an error bar (False), as
        :mod:`kwis.estimators.sampled` describes; None: by the number of rows.
    statistic
        What of the rewards is estimated: ``"mean"``, ``"quantile:0.95"``, ``"cvar:0.95"``,
        ``"lower-cvar:0.05"`` or ``"above:10"``, see :mod:`kwis.evaluation.statistic`.
    unit, reward_label
        Unit of the rewards and what they are called in words and charts: text, or a mapping from rewards.
    per
        Over how many decisions values are shown, such as 1000; frames and JSON stay per decision.
    lower_is_better
        Whether less is better, as for costs and latencies: True, or the rewards that it holds for.
    client
        A :class:`dask.distributed.Client` whose workers read files and Dask partitions; the answer is the
        same without it.
    rng, seed
        A seed, or a generator that one is drawn from: everything random follows from it. ``seed`` is another
        name for a seed; without either it is 0.
    progress
        Called as ``progress(done, total, what)`` at every step.
    {log arguments}

    Examples
    --------
    >>> frame = kwis.sample_log(300, rng=1)
    >>> evaluation = kwis.evaluate(frame.read(), "p_new", estimators=["wis"], repair="never")
    >>> evaluation.targets
    ('p_new',)
    >>> round(evaluation.recommended["p_new"].row.estimate.value, 2)
    0.32
    """
    arguments = {**locals(), **said}
    refuse_unknown(said, "evaluate")
    check.one_of(repair, "repair", REPAIR_MODES)
    method, rng = interval_method(interval), check.one_seed(rng, seed)
    level, origin = check.level(level), checked_source(said.get("propensity_source"))
    if not isinstance(log, LoggedBandit):
        log = opened(log, said, client, progress)
    else:
        refuse_said(said)
    if origin is not None:
        log = replace(log, propensity_source=origin)
    wanted = Statistic.of(statistic)
    estimators, log = wanted.estimators(estimators), wanted.log(log)
    try:
        ready = prepare(log, target, propensity_model=propensity_model, rng=rng)
    except InputError as trouble:
        raise InputError(log.placed(str(trouble))) from None
    check.two_draws(ready.log.n, ready.log.group)
    few = few_rows(ready.log.n)
    if few is not None:
        warnings.warn(few, KwisWarning, stacklevel=2)
    roster, splits = Roster.of(estimators, ready.seed, exact), splits_by(ready.log, by)
    how = Presentation.of(ready.log.reward_names, unit, per, reward_label, lower_is_better)
    intervals = Intervals(method=method, level=level, seed=ready.seed, presentation=how)
    steps = _Steps(progress, 2 * len(ready.targets) + 6)
    with engine(), working_on(client, progress):
        steps("checking the propensities")
        ready = ready.repaired(repair).pooled()
        answer = _Run(
            ready=ready,
            roster=roster,
            reward_model=reward_model,
            intervals=intervals,
            splits=splits,
            steps=steps,
            statistic=wanted,
        ).evaluation()
    return with_call(answer, evaluate, arguments)


@dataclass(slots=True)
class _Steps:
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
class _Run:
    """One evaluation under way."""

    ready: Ready
    roster: Roster
    reward_model: Any
    intervals: Intervals
    splits: tuple[Split, ...]
    steps: _Steps
    statistic: Statistic

    def evaluation(self) -> Evaluation:
        ready = self.ready
        predictions = self._predictions()
        policies = [
            ready.policy(target, predictions if self.roster.models(target) else ())
            for target in ready.targets
        ]
        heavy = {policy.name for policy in policies if has_heavy_weights(policy.samples[0])}
        run = replace(self, roster=self.roster.with_heavy_weights()) if heavy else self
        return run._answer(policies, predictions, heavy)

    def _answer(
        self, policies: Sequence[Policy], predictions: tuple[PredictedRewards, ...], heavy: Set[str]
    ) -> Evaluation:
        """The answer about ``policies``, of which those in ``heavy`` have heavy weights."""
        ready, intervals = self.ready, self.intervals
        measured, logging = self._measured(policies)
        report = ready.report()
        diagnostics = self._diagnostics(policies, measured, report)
        picks = self._picks(measured, report, predictions, heavy)
        chosen = {key: found.name for key, found in picks.items()}
        self.steps("comparing policies")
        changed = [drift(ready.log, j) for j in range(len(ready.log.reward_names))]
        about = about_rewards(
            ready.as_given().log, {made.reward: made.explained for made in predictions}, changed
        )
        training = training_checks(
            ready.log, ready.targets, {made.reward: made.logged for made in predictions}, rng=ready.seed
        )
        learnt = about_training(ready.targets, training)
        verdicts = self._verdicts(measured, diagnostics, about, learnt)
        rows = (*logging_rows(logging, intervals), *target_rows(measured, verdicts, chosen, intervals))
        entries = [one for one in measured if chosen[one.target, one.reward] == one.estimate.name]
        rankings = rankings_of(entries, logging, rows, chosen, intervals)
        changes = judged_together(changes_of(measured, logging, chosen, intervals), rankings, len(policies))
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
            propensity=report if ready.mended is None else ready.mended.given_report,
            repair=None if ready.mended is None else repair_of(ready.mended, entries),
            rankings=rankings,
            paths=paths,
            segments=segments,
            drift=drift_with_targets(
                changed[0], ready.log, {policy.name: policy.samples[0] for policy in policies}
            ),
            weights={policy.name: read_only(policy.samples[0].weight) for policy in policies},
            notes=notes_of(ready, self.roster, predictions, intervals, paths, changed, measured),
            settings=settings_of(ready, self.roster, intervals, [*logging.values(), *measured], paths),
            # How far wrong propensities move a quantile is not known.
            sensitivity=robustness_of(ready.log, ready.targets, recommendations)
            if self.statistic.is_mean
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
        for target, policy in zip(ready.targets, policies, strict=True):
            self.steps(f"estimating {policy.name}")
            measured += refitted(measure(policy, self.roster.of_target(target), rewards, subset))
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
        log, found = self.ready.log, {}
        ids = id_column(log)
        for target, policy in zip(self.ready.targets, policies, strict=True):
            self.steps(f"checking {target.name}")
            kernel = kernel_of(measured, target.name)
            # At an infinite bandwidth the map would be flat and show nothing.
            bandwidth = None if kernel is None or np.isinf(kernel.bandwidth).any() else kernel.bandwidth
            about = target_diagnostics(
                log,
                target,
                report,
                sample=policy.samples[0],
                bandwidth=bandwidth,
                kernel=RBF if kernel is None else kernel.kernel,
                rng=self.ready.seed,
            )
            found[target.name] = with_ids(about, log, ids)
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
        heavy: Set[str],
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
                heavy=key[0] in heavy,
                roles=roles,
            )
            for key, found in std_errors_of(measured).items()
        }

    def _paths(self, policies: Sequence[Policy], measured: Sequence[Measured]) -> tuple[Path, ...]:
        found: list[Path] = []
        rows = path_rows(self.ready.log.n, self.ready.seed)
        for policy in policies:
            kernel = kernel_of(measured, policy.name)
            if kernel is not None and np.ndim(kernel.bandwidth) == 0:
                found += paths_of(
                    policy, kernel, self.ready.log.reward_names, self.intervals.level, rows, measured
                )
        return tuple(found)


def _with_training(report: PropensityReport, training: Mapping[tuple[str, str], Verdict]) -> PropensityReport:
    """The report with what is known about the training of each target, which holds in every segment too."""
    about: dict[str, list[Verdict]] = {}
    for (target, _), found in training.items():
        about.setdefault(target, []).append(found)
    return replace(
        report, targets={name: combine(report.verdict_on(name), *found) for name, found in about.items()}
    )
