"""How an evaluation was made: notes for the reader, settings to make it again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from importlib import metadata
from typing import Any

import numpy as np

from kwis._call import call_of
from kwis.checks.findings import Drift
from kwis.checks.regions import is_date, show_range
from kwis.data.log import LoggedBandit
from kwis.estimators import traits
from kwis.evaluation.claims import family_note
from kwis.evaluation.intervals import Intervals
from kwis.evaluation.measure import SELECTION_ROWS, Measured, kernel_of
from kwis.evaluation.prepare import Ready
from kwis.evaluation.roster import Roster
from kwis.evaluation.sketch import sketch_of
from kwis.models.propensity.repaired import ORIGIN as REPAIRED
from kwis.models.reward import PredictedRewards
from kwis.result.evaluation import Evaluation
from kwis.result.records import Path, Settings
from kwis.result.reproduce import reproduction

FEW_ROWS = 30


def few_rows(n: int) -> str | None:
    """What to say about a log that is too small for large-sample intervals; None if it is not."""
    return (
        f"the log has only {n} rows, too few for intervals that rest on large samples"
        if n < FEW_ROWS
        else None
    )


def notes_of(
    ready: Ready,
    roster: Roster,
    predictions: Sequence[PredictedRewards],
    intervals: Intervals,
    paths: Sequence[Path],
    changed: Sequence[Drift | None],
    measured: Sequence[Measured],
) -> tuple[str, ...]:
    """What was done to the log and decided on the way, in sentences."""
    return (
        *ready.as_given().log.notes,  # what repair did has a place of its own
        *([few] if (few := few_rows(ready.log.n)) is not None else []),
        *dict.fromkeys(finding for change in changed if change is not None for finding in change.findings),
        *(made.note for made in predictions),
        *(target.note for target in ready.targets if target.note is not None),
        *([] if ready.whole is None else [ready.whole.note]),
        *_left_out(ready, roster),
        *_size_rules(ready, roster, paths),
        *_precision(measured),
        *family_note(intervals.level, [target.name for target in ready.targets], ready.log.reward_names),
        *intervals.notes,
        *intervals.presentation.questions(ready.log.reward_names),
    )


def _left_out(ready: Ready, roster: Roster) -> Iterable[str]:
    unknown = [
        target.name for target in ready.targets if roster.all_that_apply and target.distribution is None
    ]
    if unknown:
        yield (
            f"no direct method or doubly robust estimate of {', '.join(unknown)}: they need its probability "
            f"of every action"
        )


def _size_rules(ready: Ready, roster: Roster, paths: Sequence[Path]) -> Iterable[str]:
    n, drawn = ready.log.n, f"drawn with seed {ready.seed}"
    if n > SELECTION_ROWS and roster.selects_bandwidth:
        yield f"bandwidths were selected on {SELECTION_ROWS:,} of the {n:,} rows, {drawn}"
    if paths and paths[0].rows < n:
        yield f"bandwidth paths were computed on {paths[0].rows:,} of the {n:,} rows, {drawn}"


def _precision(measured: Sequence[Measured]) -> Iterable[str]:
    """How far the approximation may have moved each estimate at most, in words."""
    known = [(one.estimate, one.estimate.precision) for one in measured if one.estimate.precision is not None]
    if known:
        estimate, worst = max(
            known, key=lambda both: both[1].error / both[0].std_error if both[0].std_error > 0 else 0.0
        )
        everyone = worst.neighbours == estimate.n
        source = (
            "all pairs in single precision"
            if everyone
            else f"{worst.neighbours:,} sampled neighbours of the {estimate.n:,} rows"
        )
        reach, share = 1.96 * worst.error, worst.error / estimate.std_error if estimate.std_error > 0 else 0.0
        size = "less than 0.1" if share < 0.001 else f"{100 * share:.1f}"
        place = " at the exact bandwidth" if worst.bandwidth else ""
        yield (
            f"Kernel-WIS is from {source}: {estimate.name} is within {reach:.1g} of the value from all "
            f"pairs{place}, an error of {size} % of its standard error; exact=True computes all pairs"
        )


def settings_of(
    ready: Ready, roster: Roster, intervals: Intervals, measured: Sequence[Measured], paths: Sequence[Path]
) -> Settings:
    """Everything that makes the same evaluation again."""
    log = ready.log
    kernels = {target.name: kernel_of(measured, target.name) for target in ready.targets}
    return Settings(
        version=metadata.version("kwis"),
        n=ready.n,
        level=intervals.level,
        seed=ready.seed,
        rewards=log.reward_names,
        targets={target.name: target.source for target in ready.targets},
        estimators=tuple(roster.by_name),
        sentences={name: traits.sentence(estimator) for name, estimator in roster.by_name.items()},
        intervals={one.estimate.name: intervals.describe(one) for one in measured},
        bandwidths={name: kernel.bandwidth for name, kernel in kernels.items() if kernel is not None},
        selection_rows=min(ready.n, SELECTION_ROWS),
        path_rows=paths[0].rows if paths else 0,
        context=log.context_columns,
        repair=ready.repair,
        propensities=_propensities(ready),
        propensity_source=log.propensity_source,
        presentation=intervals.presentation,
        decisions=float(ready.n if log.row_weight is None else log.row_weight.sum()),
        period=_period(log),
        sketch=sketch_of(log) if ready.whole is None else (),
    )


def _propensities(ready: Ready) -> str:
    """Where the propensities are from: a column, the call, or a model."""
    if ready.estimated is not None:
        return f"estimated from the context by {ready.estimated.model}"
    place, origin = ready.log.propensity_place, ready.log.propensity_origin
    return {"logged": place, REPAIRED: f"{place}, repaired from the logged actions"}.get(
        origin, f"{origin} {place}"
    )


def _period(log: LoggedBandit) -> str | None:
    """From when to when decisions were taken, where the log has dates."""
    if log.time is None or not is_date(log) or np.isnan(log.time).all():
        return None
    first, last = show_range(float(np.nanmin(log.time)), float(np.nanmax(log.time)), True)
    return first if first == last else f"{first} to {last}"


def with_call(answer: Evaluation, function: Callable[..., Any], given: Mapping[str, Any]) -> Evaluation:
    """The answer with the calls that make it again; ``given`` are the arguments of ``function``."""
    settings, log = answer.settings, given["log"]
    read = hasattr(log, "call")
    drawn = {"rng": settings.seed or None, "seed": None}  # a seed of 0 is what nobody need say
    question = call_of(function, {**given, **drawn, **({"log": "log"} if read else {})})
    if read:
        question = replace(question, arguments={**question.arguments, "log": "log"})
    call = reproduction(log.call if read else None, question, settings.version, settings.n)
    return replace(answer, settings=replace(settings, call=call))
