"""Diagnostics of a scanned log: of the weights from all rows, of the propensities and contexts from a random
subset of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kwis._validation import read_only
from kwis.checks import (
    Drift,
    PropensityReport,
    TargetDiagnostics,
    WeightDiagnostics,
    drift,
    propensity_report,
)
from kwis.checks.balance import balance
from kwis.checks.bound import is_bounded
from kwis.checks.findings import InfluentialRow
from kwis.checks.local_map import local_mean_weight
from kwis.checks.pareto import pareto_k
from kwis.checks.verdict import verdict
from kwis.checks.weight import PROBABILITIES
from kwis.data.columns import Label
from kwis.data.log import LoggedBandit
from kwis.data.read.assemble import assemble
from kwis.data.read.frames import from_frame
from kwis.data.read.source import Roles
from kwis.data.read.source import Source as TableSource
from kwis.errors import InputError
from kwis.evaluation.measure import p_value
from kwis.models.propensity import refuse_deterministic
from kwis.models.propensity.support import Support
from kwis.policy.discrete import (
    ChosenColumn,
    DistributionColumns,
    ProbabilityColumn,
    TargetPolicy,
    trained_elsewhere,
    weigh,
)
from kwis.policy.target import resolve_targets
from kwis.runtime.process import muted
from kwis.sample import WeightedSample
from kwis.streaming.accumulator import Accumulator
from kwis.streaming.plan import Plan, Target
from kwis.streaming.totals import Totals
from kwis.typing import Floats

_MOST_INFLUENTIAL = 10


def weight_diagnostics(found: Accumulator, totals: Totals, t: int, grouped: bool) -> WeightDiagnostics:
    """The weights of a target: exact but for the quantiles, which are to 0.2 %, and the influential rows.

    Those are sought among the rows with the largest weights; a row of moderate weight and enormous reward can
    escape.
    """
    spread, largest = found.spreads[t], found.largest[t].finished()
    mean = totals.mean_weight(t)
    loads = largest.mass * largest.weight[:, t]
    total = totals.sums.total.rounded[totals.layout.weight(t)]
    distance = mean.value - 1 if abs(mean.value - 1) > 1e-12 else 0.0
    error = float(np.nanstd(mean.resampled, ddof=1)) if grouped else totals.std_error(mean.coefficients)
    bounded = is_bounded(found.floor, float(found.ceilings[t]), spread.largest)
    return WeightDiagnostics(
        n=totals.rows,
        effective_n=mean.effective_n,
        largest_share=float(loads[0] / total) if loads.size else 0.0,
        zero_share=spread.zero_mass / float(totals.mass),
        mean=mean.value,
        std_error=error,
        p_value=p_value(distance, error),
        probabilities=read_only(np.array(PROBABILITIES)),
        quantiles=read_only(spread.quantiles(np.array(PROBABILITIES))),
        pareto_k=pareto_k(loads, spread.positive, bounded),
        bounded=bounded,
        influential=_influential(found, totals, t),
    )


def _influential(found: Accumulator, totals: Totals, t: int) -> tuple[InfluentialRow, ...]:
    rows, wis = found.largest[t].finished(), totals.wis(t, 0).value
    shares = rows.mass * rows.weight[:, t] / totals.sums.total.rounded[totals.layout.weight(t)]
    effects = shares * (rows.reward[:, 0] - wis)
    return tuple(
        InfluentialRow(
            row=int(rows.number[i]),
            weight=float(rows.weight[i, t]),
            reward=float(rows.reward[i, 0]),
            share=float(shares[i]),
            effect=float(effects[i]),
        )
        for i in np.argsort(-np.abs(effects), kind="stable")[:_MOST_INFLUENTIAL]
    )


def support_of(found: Accumulator, target: Target, mass: float) -> Support:
    """How much of a target's probability is on actions that no row took, or that the logger could not take in
    that row.

    It is known where the target's choices or its distribution are; ``mass`` is how many interactions the log
    stands for.
    """
    promised = found.promised.get(target.name)
    if promised is None:
        return Support(never_logged=(), beyond=None, rows=0)
    taken = {str(label) for label in found.actions}
    never = {label: one for label, one in promised.items() if str(label) not in taken}
    barred = [one for label, one in promised.items() if label not in never]
    beyond = sum(one.mass for one in never.values()) + sum(one.barred_mass for one in barred)
    rows = sum(one.rows for one in never.values()) + sum(one.barred_rows for one in barred)
    return Support(
        never_logged=tuple(never), beyond=beyond / mass, rows=rows if target.chosen is not None else 0
    )


def known_actions(found: Accumulator, plan: Plan, listed: Sequence[Label] | None) -> tuple[Label, ...]:
    """All actions: those listed, or else those taken; a target may choose no other."""
    if listed is None:
        known = tuple(sorted(found.actions, key=lambda label: (str(type(label)), label)))
    else:
        known = tuple(listed)
        strange = [label for label in found.actions if label not in known]
        if strange:
            raise InputError(
                f"`{plan.action}` must hold only the actions listed, got {strange[0]!r} in "
                f"{found.actions[strange[0]]:,} rows"
            )
    for target in plan.targets:
        labels = found.promised.get(target.name, {})
        strange = [label for label in labels if target.chosen is not None and label not in known]
        if strange:
            raise InputError(
                f"`{target.chosen}` (target) must hold actions of the log, got {strange[0]!r} in "
                f"{labels[strange[0]].rows:,} rows; "
                "an action that exists but was never taken must be listed in scan_log(actions=[...])"
            )
    return known


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Sampled:
    """A random subset of the rows as a log of its own, with the targets on it."""

    log: LoggedBandit
    targets: tuple[TargetPolicy, ...]

    @classmethod
    def of(cls, table: Any, plan: Plan, roles: Roles, actions: tuple[Label, ...]) -> Sampled:
        complete = replace(roles, context=plan.context, actions=actions)
        with muted():  # a short log is warned about once, as a whole
            log = assemble(TableSource(table=from_frame(table)), complete)
        refuse_deterministic(log)
        return cls(
            log=log, targets=resolve_targets(log, {target.name: _asked(target) for target in plan.targets})
        )

    def report(self) -> PropensityReport:
        return propensity_report(self.log, self.targets)

    def drift(self) -> Drift | None:
        return drift(self.log)

    def sample(self, t: int, k: int = 0) -> WeightedSample:
        """The subset weighted for a target, with one of the rewards."""
        return weigh(self.log, self.targets[t], k)

    def diagnostics(
        self, t: int, weights: WeightDiagnostics, support: Support, report: PropensityReport, seed: int
    ) -> TargetDiagnostics:
        """Everything about a target; what is local, and balance, from the subset."""
        name, sample = self.targets[t].name, self.sample(t)
        return TargetDiagnostics(
            target=name,
            weights=weights,
            local=local_mean_weight(sample, name, report, rng=seed),
            balance=balance(self.log, sample.weight),
            support=support,
            verdict=verdict(weights, support, report, name),
        )

    def weights(self) -> dict[str, Floats]:
        return {target.name: read_only(self.sample(t).weight) for t, target in enumerate(self.targets)}


def _asked(target: Target) -> Any:
    return trained_elsewhere(_column(target)) if target.elsewhere else _column(target)


def _column(target: Target) -> ChosenColumn | ProbabilityColumn | DistributionColumns:
    if target.chosen is not None:
        return ChosenColumn(target.chosen)
    assert target.chance is not None
    if target.chance.columns is not None:
        columns: dict[Label, str] = {}
        columns.update(target.chance.columns.items())
        return DistributionColumns(columns)
    assert target.chance.column is not None
    return ProbabilityColumn(target.chance.column)
