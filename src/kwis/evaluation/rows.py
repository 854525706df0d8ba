"""From measured estimates to the rows of the answer and its recommendations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from kwis.evaluation.claims import stretched
from kwis.evaluation.compare import Picks
from kwis.evaluation.intervals import Intervals
from kwis.evaluation.measure import Measured
from kwis.evaluation.recommend import Pick, disagreement
from kwis.result.presentation import scaled, scaled_change
from kwis.result.records import LOGGING_POLICY, Change, Recommendation, Row
from kwis.results import Interval, Verdict


def logging_rows(logging: Mapping[str, Measured], intervals: Intervals) -> list[Row]:
    """The logging policy, once per reward."""
    verdict = Verdict(level="trust", reasons=("the mean of the logged rewards, which needs no weights",))
    return [_row(one, verdict, True, intervals) for one in logging.values()]


def target_rows(
    measured: Sequence[Measured], verdicts: Sequence[Verdict], chosen: Picks, intervals: Intervals
) -> list[Row]:
    """Every target by every estimator, with the verdict on each."""
    return [
        _row(one, verdict, chosen[one.target, one.reward] == one.estimate.name, intervals)
        for one, verdict in zip(measured, verdicts, strict=True)
    ]


def _row(one: Measured, verdict: Verdict, recommended: bool, intervals: Intervals) -> Row:
    return Row(
        target=one.target,
        reward=one.reward,
        estimate=one.estimate,
        interval=intervals.of(one),
        verdict=verdict,
        recommended=recommended,
    )


def recommendations_of(
    picks: Mapping[tuple[str, str], Pick],
    rows: Sequence[Row],
    changes: Sequence[Change],
    measured: Sequence[Measured],
    intervals: Intervals,
) -> tuple[Recommendation, ...]:
    """The estimate picked for every target and reward, beside its runner-up."""
    row_of = {(row.target, row.reward, row.estimator): row for row in rows}
    change_of = {
        (one.target, one.reward, one.estimator): one for one in changes if one.baseline == LOGGING_POLICY
    }
    side_of = {(one.target, one.reward, one.estimate.name): one for one in measured}
    found = []
    for key, made in picks.items():
        first, runner_up, sentence = (*key, made.name), None, None
        if made.runner_up is not None:
            second = (*key, made.runner_up)
            runner_up = row_of[second]
            sentence = _disagreement(
                change_of[first],
                change_of[second],
                intervals.of(side_of[first].minus(side_of[second])),
                intervals.presentation.per,
            )
        found.append(
            Recommendation(
                target=key[0],
                reward=key[1],
                row=row_of[first],
                change=change_of[first],
                why=made.why,
                runner_up=runner_up,
                disagreement=sentence,
            )
        )
    return tuple(found)


def _disagreement(first: Change, second: Change, gap: Interval, per: float) -> str | None:
    """Where two estimates of one target disagree; as sure of it as of everything else that is said where
    there are several targets.
    """
    if first.policies > 1:
        gap, second = stretched(gap, first), replace(second, simultaneous=stretched(second.interval, first))
    return disagreement(scaled_change(first, per), scaled_change(second, per), scaled(gap, per))
