"""Values and differences per segment of the log: per country, per device, per quarter of an age."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from kwis.checks.findings import PropensityReport
from kwis.checks.verdict import combine, verdict
from kwis.checks.weight import weight_diagnostics
from kwis.estimators.joint import Contrast, Joint, independent_critical_value
from kwis.evaluation.caveats import rare, same
from kwis.evaluation.compare import change
from kwis.evaluation.families import compared_alone
from kwis.evaluation.intervals import Intervals
from kwis.evaluation.measure import Measured, resample
from kwis.evaluation.refit import refitted
from kwis.evaluation.split import Split
from kwis.result.records import LOGGING_POLICY, Change, Row
from kwis.result.segmented import Segment, Segments
from kwis.results import Verdict
from kwis.typing import Floats, Ints

_MOST_SIMULATED = (
    50  # beyond, segments times rows would not fit into memory; their errors are independent or nearly so
)


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownOfAll:
    """What is known of the whole log and holds in every segment.

    Attributes
    ----------
    report
        On the propensities.
    rewards
        From reward to what is said of every estimate of it.
    bounded
        Targets whose weights have a known bound, and so no tail.
    """

    report: PropensityReport
    rewards: Mapping[str, Sequence[Verdict]]
    bounded: Collection[str]


def segments_by(
    splits: Sequence[Split],
    entries: Sequence[Measured],
    logging: Mapping[str, Measured],
    intervals: Intervals,
    known: KnownOfAll,
) -> tuple[Segments, ...]:
    """The segments of each split.

    ``entries`` are the recommended estimates of all targets and rewards; each is done again on the rows of a
    segment, with the bandwidth it had on the whole log.
    """
    among_few = replace(intervals, few_rows=True)
    return tuple(_segments(parts, entries, logging, among_few, known) for parts in splits)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Part:
    """What was measured on the rows of one segment."""

    rows: Ints
    targets: tuple[Measured, ...]
    logging: Mapping[str, Measured]

    @classmethod
    def of(
        cls, rows: Ints, entries: Sequence[Measured], logging: Mapping[str, Measured], intervals: Intervals
    ) -> _Part:
        seen = [one for one in entries if one.sample.weight[rows].any()]
        here = refitted(_within(one, rows) for one in (*logging.values(), *seen))
        drawn = resample(here, intervals.resampled, intervals.replicates, intervals.seed)
        count = len(logging)
        return cls(
            rows=rows, targets=tuple(drawn[count:]), logging={one.reward: one for one in drawn[:count]}
        )

    def difference(self, one: Measured) -> Contrast:
        """Of a target to the logging policy in this segment."""
        return one.minus(self.logging[one.reward])

    def influence(self, one: Measured, n: int) -> Floats:
        """Influence of all rows of the log on a difference in this segment: none outside."""
        full = np.zeros(n)
        inside = self.difference(one).influence
        if inside is not None:
            full[self.rows] = inside
        return full


def _within(one: Measured, rows: Ints) -> Measured:
    sample = one.sample.take(rows)
    estimate = one.estimator.estimate(sample)
    reweighted = None if one.reweighted is None else one.reweighted.take(rows)
    return replace(
        one,
        sample=sample,
        estimate=replace(estimate, name=one.estimate.name),
        resampled=None,
        reference=None,
        reweighted=reweighted,
    )


def _segments(
    parts: Split,
    entries: Sequence[Measured],
    logging: Mapping[str, Measured],
    intervals: Intervals,
    known: KnownOfAll,
) -> Segments:
    found = [_Part.of(rows, entries, logging, intervals) for rows in parts.rows]
    notes = [
        f"{one.target} takes no action that was logged where {', '.join(label)}"
        for label, part in zip(parts.labels, found, strict=True)
        for one in entries
        if one.target not in {other.target for other in part.targets}
    ]
    critical = {(one.target, one.reward): _critical(found, one, intervals) for one in entries}
    segments = tuple(
        Segment(
            columns=parts.columns,
            values=label,
            n=part.rows.size,
            rows=tuple(_rows(part, intervals, known)),
            changes=tuple(_changes(part, critical, intervals)),
        )
        for label, part in zip(parts.labels, found, strict=True)
    )
    return Segments(columns=parts.columns, segments=segments, notes=(*parts.notes, *dict.fromkeys(notes)))


def _critical(parts: Sequence[_Part], one: Measured, intervals: Intervals) -> float:
    """Over all segments of one target and reward; groups may reach across segments."""
    same = [
        (part, other)
        for part in parts
        for other in part.targets
        if (other.target, other.reward) == (one.target, one.reward)
    ]
    if len(same) > _MOST_SIMULATED:
        return independent_critical_value(len(same), intervals.level)
    influences = [part.influence(other, one.sample.n) for part, other in same]
    if not influences:
        return 0.0
    return Joint.of(influences, one.sample.group).critical_value(intervals.level, intervals.seed)


def _rows(part: _Part, intervals: Intervals, known: KnownOfAll) -> list[Row]:
    found = []
    for one in (*part.logging.values(), *part.targets):
        own = one.target == LOGGING_POLICY
        others = (
            known.report.verdict_on(one.target),
            *known.rewards[one.reward],
            *same(one.sample.reward),
            *rare(one.sample),
        )
        weights = weight_diagnostics(one.sample, bounded=one.target in known.bounded)
        level = Verdict(level="trust") if own else combine(verdict(weights), *others)
        interval = intervals.of(one)
        row = Row(
            target=one.target,
            reward=one.reward,
            estimate=one.estimate,
            interval=interval,
            verdict=level,
            recommended=True,
        )
        found.append(row)
    return found


def _changes(part: _Part, critical: Mapping[tuple[str, str], float], intervals: Intervals) -> list[Change]:
    found = []
    for one in part.targets:
        baseline, reach = part.logging[one.reward], critical[one.target, one.reward]
        made = compared_alone(part.difference(one), intervals, reach)
        found.append(replace(change(one, baseline, made, {}, intervals), recommended=True))
    return found
