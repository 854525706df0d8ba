"""From what one pass over a log found to the answer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import metadata
from typing import Any

from kwis.checks import PropensityReport, TargetDiagnostics, training_checks
from kwis.errors import UnsupportedError
from kwis.estimators import traits
from kwis.estimators.traits import PAIRS, STATES, SUMS
from kwis.evaluation.caveats import about_training, verdicts_of
from kwis.evaluation.claims import family_note, judged_together
from kwis.evaluation.compare import changes_of, rankings_of
from kwis.evaluation.measure import Measured, std_errors_of
from kwis.evaluation.recommend import pick
from kwis.evaluation.robustness import robustness_of
from kwis.evaluation.rows import logging_rows, recommendations_of, target_rows
from kwis.evaluation.scope import scope_of, source_doubt
from kwis.result.evaluation import Evaluation
from kwis.result.records import LOGGING_POLICY, Settings
from kwis.streaming.accumulator import Accumulator
from kwis.streaming.checks import Sampled, support_of, weight_diagnostics
from kwis.streaming.kernel import Kernels, kernel_notes, kernel_side
from kwis.streaming.plan import Plan
from kwis.streaming.scan import ScannedLog
from kwis.streaming.sides import Side, Sides, StreamIntervals
from kwis.streaming.state_totals import StateTotals
from kwis.streaming.totals import Totals


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Run:
    """From what one pass found to the answer."""

    log: ScannedLog
    plan: Plan
    found: Accumulator
    sampled: Sampled
    estimators: Mapping[str, Any]
    kernels: Kernels
    intervals: StreamIntervals

    def evaluation(self, notes: Iterable[str]) -> Evaluation:
        plan, intervals = self.plan, self.intervals
        totals = Totals(plan.layout, self.found.sums.finished(), self.found.rows)
        self._refuse_no_weight(totals)
        states = None if self.found.states is None else StateTotals.of(self.found.states, len(plan.targets))
        refusal = self.kernels.refusal(self.log, plan) if self.kernels.wanted else None
        kernels = (
            self.kernels.found(self.log, plan, plan.seed) if self.kernels.wanted and refusal is None else {}
        )
        sides = Sides(totals, plan.group is not None)
        logged = [
            sides.ratio(LOGGING_POLICY, reward, "mean of the log", totals.log_mean(k))
            for k, reward in enumerate(plan.rewards)
        ]
        measured = sides.measured([*logged, *self._sides(sides, totals, states, kernels)])
        logging, rest = {one.reward: one for one in measured[: len(logged)]}, measured[len(logged) :]
        report = self.sampled.report()
        diagnostics = self._diagnostics(totals, report)
        training = training_checks(self.sampled.log, self.sampled.targets, {}, rng=plan.seed)
        verdicts = verdicts_of(
            rest,
            {name: one.verdict for name, one in diagnostics.items()},
            {name: one.weights for name, one in diagnostics.items()},
            0.0 if states is None else states.lone,
            {reward: tuple(source_doubt(self.sampled.log)) for reward in plan.rewards},
            {key: (verdict,) for key, verdict in about_training(self.sampled.targets, training).items()},
        )
        picks = {key: pick(found, report) for key, found in std_errors_of(rest).items()}
        chosen = {key: made.name for key, made in picks.items()}
        bare = {key: _bare(one) for key, one in logging.items()}
        rows = (
            *logging_rows(bare, intervals),
            *target_rows([_bare(one) for one in rest], verdicts, chosen, intervals),
        )
        entries = [one for one in rest if chosen[one.target, one.reward] == one.estimate.name]
        rankings = rankings_of(entries, logging, rows, chosen, intervals)
        changes = judged_together(changes_of(rest, logging, chosen, intervals), rankings, len(plan.targets))
        recommendations = recommendations_of(picks, rows, changes, rest, intervals)
        return Evaluation(
            rows=rows,
            changes=changes,
            recommendations=recommendations,
            diagnostics=diagnostics,
            propensity=report,
            rankings=rankings,
            paths=(),
            segments=(),
            drift=self.sampled.drift(),
            weights=self.sampled.weights(),
            notes=(
                *notes,
                *self._notes(states, refusal),
                *(kernel_notes(kernels.values()) if kernels else ()),
            ),
            settings=self._settings([*logging.values(), *rest]),
            sensitivity=robustness_of(self.sampled.log, self.sampled.targets, recommendations),
            training=training,
            scope=scope_of(
                self.sampled.log, report, diagnostics.values(), drift=self.sampled.drift() is not None
            ),
        )

    def _refuse_no_weight(self, totals: Totals) -> None:
        for t, target in enumerate(self.plan.targets):
            if not totals.sums.total.rounded[totals.layout.weight(t)] > 0:
                raise UnsupportedError(
                    f"`target` must sometimes take an action that was logged, and {target.name} has "
                    f"probability 0 in every row"
                )

    def _sides(
        self, sides: Sides, totals: Totals, states: StateTotals | None, kernels: Mapping[tuple[str, str], Any]
    ) -> Iterable[Side]:
        """Every target by every estimator, and rewards within."""
        ratios = {"vis": totals.vis, "truncated-vis": totals.truncated_vis, "wis": totals.wis}
        for t, target in enumerate(self.plan.targets):
            for name, estimator in self.estimators.items():
                statistics = traits.statistics(estimator)
                for k, reward in enumerate(self.plan.rewards):
                    side = (target.name, reward)
                    if statistics == SUMS:
                        yield sides.ratio(*side, name, ratios[estimator.name](t, k))
                    elif statistics == PAIRS and kernels:
                        found = kernels[side].normalised if estimator.normalised else kernels[side].plain
                        yield kernel_side(estimator, found, side, (t, k), sides, self.sampled)
                    elif statistics == STATES and states is not None:
                        made = states.estimate(
                            t, k, normalised=estimator.normalised, mass=float(totals.mass), rows=totals.rows
                        )
                        yield sides.state(*side, name, made, t, k)

    def _diagnostics(self, totals: Totals, report: PropensityReport) -> dict[str, TargetDiagnostics]:
        return {
            target.name: self.sampled.diagnostics(
                t,
                weight_diagnostics(self.found, totals, t, self.plan.group is not None),
                support_of(self.found, target, float(totals.mass)),
                report,
                self.plan.seed,
            )
            for t, target in enumerate(self.plan.targets)
        }

    def _notes(self, states: StateTotals | None, refusal: str | None) -> Iterable[str]:
        plan, n, some = self.plan, self.found.rows, self.sampled.log.n
        yield f"the log was scanned once, {n:,} rows in batches, and never held in memory as a whole"
        if plan.replicates:
            drawn = (
                f"groups by `{plan.group}`"
                if plan.group
                else f"rows by `{plan.key}`"
                if plan.key
                else "rows by file and place"
            )
            what = "intervals are percentiles" if self.intervals.percentile else "standard errors are those"
            yield (
                f"{what} of a Poisson bootstrap with {plan.replicates} resamples, counts hashed from {drawn}"
            )
        if states is not None:
            yield (
                f"state-wis saw {states.count:,} different contexts; its intervals are from influence "
                f"functions, not resampled"
            )
        elif any(traits.statistics(estimator) == STATES for estimator in self.estimators.values()):
            reason = "standard errors by group need all rows" if plan.group else "there is no context"
            yield f"no state-wis: {reason}"
        if refusal is not None:
            yield f"no Kernel-WIS: {refusal}"
        yield "propensities were used as given: repair needs all rows in memory"
        yield from family_note(self.intervals.level, [target.name for target in plan.targets], plan.rewards)
        if some < n:
            checked = "propensities, training, local weights, balance and drift were checked"
            yield f"{checked} on {some:,} of the {n:,} rows, drawn with seed {plan.seed}"

    def _settings(self, measured: Sequence[Measured]) -> Settings:
        plan = self.plan
        bandwidths: Mapping[str, Any] = {
            one.target: one.estimate.bandwidth for one in measured if one.estimate.bandwidth is not None
        }
        return Settings(
            version=metadata.version("kwis"),
            n=self.found.rows,
            level=self.intervals.level,
            seed=plan.seed,
            rewards=plan.rewards,
            targets={target.name: target.source for target in plan.targets},
            estimators=tuple(
                dict.fromkeys(one.estimate.name for one in measured if one.target != LOGGING_POLICY)
            ),
            intervals={one.estimate.name: self.intervals.describe(one) for one in measured},
            bandwidths=bandwidths,
            sentences={name: traits.sentence(estimator) for name, estimator in self.estimators.items()},
            selection_rows=self.sampled.log.n,
            path_rows=0,
            context=plan.context,
            propensity_source=self.log.roles.propensity_source,
        )


def _bare(one: Measured) -> Measured:
    """Without the vector that stands for the influence of the rows, which is of no use outside
    comparisons.
    """
    return replace(one, estimate=replace(one.estimate, influence=None))
