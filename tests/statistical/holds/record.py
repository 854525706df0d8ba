"""Everything the study keeps of one log: a flat record per target, plain numbers only."""

import math
import time
import warnings
from unittest.mock import patch

import numpy as np

import kwis
from tests.statistical.holds.claims import false_claims
from tests.statistical.holds.logs import draw

ESTIMATORS = ("wis", "normalised-kernel-wis", "doubly-robust-wis", "doubly-robust-normalised-kernel-wis")
LOGGING = "logging policy"
MOST_TARGETS = 3  # of a log with more, these have records; alarms and printed claims are about all


def records_of(world, seed, oracle):
    """Records of one log, one per target; ``oracle`` keeps estimates by true propensities, which regimes of a
    family share.
    """
    started = time.perf_counter()
    log = draw(world, seed)
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        read = kwis.read_log(log.table, **log.roles)
        by = "segment" if world.regime.segments else ()
        with patch(
            "kwis.evaluation.flow.paths_of", lambda *_: ()
        ):  # a picture: nothing judged here depends on it
            evaluation = kwis.evaluate(read, dict(log.targets), by=by)
        right = _oracle(world, seed, log, oracle) if world.regime.kind == "misreport" else {}
    whole = {
        "regime": world.regime.name,
        "variant": world.variant,
        "seed": seed,
        "kind": world.regime.kind,
        "n": read.n,
        "targets": len(log.targets),
        "warnings": sorted(
            {str(one.message)[:160] for one in heard if issubclass(one.category, kwis.KwisWarning)}
        ),
        "false_claims": false_claims(str(evaluation), log.truth),
        **_propensity(evaluation),
        "reward_min": float(log.table["reward"].min()),
        "reward_max": float(log.table["reward"].max()),
    }
    group = np.unique(log.table["user"], return_inverse=True)[1] if "group" in log.roles else None
    made = [
        {**whole, "target": name, **_target(evaluation, name, log.truth, group), "oracle": right.get(name)}
        for name in list(log.targets)[:MOST_TARGETS]
    ]
    seconds = round(time.perf_counter() - started, 3)
    return [{**record, "seconds": seconds} for record in made]


def alarms_of(world, seed):
    """The tests of the propensities alone, which are quick: a record per log."""
    from kwis.policy.target import resolve_targets

    log = draw(world, seed)
    read = kwis.read_log(log.table, **log.roles)
    report = kwis.propensity_report(read, resolve_targets(read, dict(log.targets)))
    whole = {
        "regime": world.regime.name,
        "variant": world.variant,
        "seed": seed,
        "kind": world.regime.kind,
        "n": read.n,
        "target": "t0",
    }
    return [{**whole, **_report(report)}]


def _oracle(world, seed, log, known):
    key = (world.variant, world.regime.family, seed)
    if key not in known:
        right = log.with_true_propensities()
        found = kwis.evaluate(kwis.read_log(right.table, **right.roles), dict(right.targets), repair="never")
        known[key] = {one.target: one.row.estimate.value for one in found.recommendations}
    return known[key]


def _report(report):
    return {
        "p_value": report.p_value,
        "contradicted": report.contradicted,
        "alarm": bool(report.failures),
        "propensity_verdict": report.verdict.level,
        "failed": [f"{test.kind} {test.subject} {test.region}"[:80] for test in report.failures[:3]],
    }


def _propensity(evaluation):
    repair = evaluation.repair
    repaired = repair is not None and not repair.kept
    return {
        **_report(evaluation.propensity),
        "repaired": repaired,
        "repair_p_value": None if repair is None else repair.p_value,
    }


def _target(evaluation, name, truth, group):
    found = next(one for one in evaluation.recommendations if one.target == name)
    weights = evaluation.diagnostics[name].weights
    repaired = [one for one in getattr(evaluation.repair, "estimates", ()) if one.target == name]
    record = {
        "estimator": found.row.estimator,
        "value": found.row.estimate.value,
        "low": found.row.interval.low,
        "high": found.row.interval.high,
        "truth": truth.targets[name],
        "difference": found.change.interval.value,
        "difference_low": found.change.interval.low,
        "difference_high": found.change.interval.high,
        "together_low": found.change.simultaneous.low,
        "together_high": found.change.simultaneous.high,
        "difference_truth": truth.difference(name),
        "verdict": found.row.verdict.level,
        "reasons": [reason[:140] for reason in found.row.verdict.reasons],
        "as_given": repaired[0].before if repaired else None,
        "pareto_k": None if math.isnan(weights.pareto_k) else weights.pareto_k,
        "effective_n": weights.effective_n,
        **_segments(evaluation, name, truth),
    }
    logging = next(row for row in evaluation.rows if row.target == LOGGING)
    record |= {"logging.value": logging.estimate.value, "logging.std_error": logging.estimate.std_error}
    record |= _moments("logging", logging.estimate.influence, group)
    changes = {
        one.estimator: one for one in evaluation.changes if (one.target, one.baseline) == (name, LOGGING)
    }
    for row in evaluation.rows:
        if row.target == name and row.estimator in ESTIMATORS:
            record |= _estimator(row, changes[row.estimator], logging.estimate.influence, group)
    return record


def _estimator(row, change, logging, group):
    """One estimator's answers, and the sums from which other intervals can be worked out."""
    estimate, key = row.estimate, row.estimator
    record = {
        f"{key}.value": estimate.value,
        f"{key}.low": row.interval.low,
        f"{key}.high": row.interval.high,
        f"{key}.std_error": estimate.std_error,
        f"{key}.difference_low": change.interval.low,
        f"{key}.difference_high": change.interval.high,
        f"{key}.difference_std_error": change.std_error,
        f"{key}.isolation": estimate.isolation,
    }
    if estimate.leverage is not None:
        record |= {
            f"{key}.leverage2": float((estimate.leverage**2).sum()),
            f"{key}.leverage_max": float(estimate.leverage.max()),
        }
    record |= _moments(key, estimate.influence, group)
    if estimate.influence is not None and logging is not None:
        record |= _moments(f"{key}.difference", estimate.influence - logging, group)
    return record


def _moments(key, influence, group):
    """Sums of powers of the influence of independent draws: rows, or groups."""
    if influence is None:
        return {}
    draws = influence if group is None else np.bincount(group, weights=influence)
    return {
        f"{key}.draws": int(draws.size),
        **{f"{key}.if{power}": float((draws**power).sum()) for power in (2, 3, 4)},
    }


def _segments(evaluation, name, truth):
    """Whether all simultaneous intervals of the segments' differences hold, and how many of the single ones
    do.
    """
    if not evaluation.segments:
        return {}
    pairs = [
        (change, truth.segments[name][segment.values[0]])
        for segment in evaluation.segments[0].segments
        for change in segment.changes
        if change.target == name and change.baseline == LOGGING
    ]
    return {
        "segments": len(pairs),
        "segments_together": all(
            change.simultaneous.low <= true <= change.simultaneous.high for change, true in pairs
        ),
        "segments_alone": sum(change.interval.low <= true <= change.interval.high for change, true in pairs),
    }
