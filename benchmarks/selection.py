"""Bandwidth selections end to end."""

from __future__ import annotations

import math
import time

import numpy as np

import kwis
from benchmarks import data, yardstick
from benchmarks.cached import CachedDistances
from benchmarks.harness import Check, Line, Settings, interleaved


def shared_selection(settings: Settings) -> list[Line]:
    log = data.numeric(settings.size(5_000, 750), 16)

    def ours(_):
        return kwis.select_bandwidth(log.context, log.weight, folds=log.folds)

    def plain(_):
        return yardstick.select(log.context, log.weight, log.folds)

    def cached(_):
        return CachedDistances(log.context, log.folds).select(log.weight)

    ours(0)
    mine, theirs, distances = interleaved(settings.rounds(), ours, plain, cached)
    return [
        Line(
            name=f"shared selection, n={len(log.weight):,}, d=16",
            ours=mine.median,
            theirs=theirs.median,
            ratio=theirs.over(mine),
            rounds=settings.rounds(),
            cached=distances.over(mine),
            check=Check("score above its best", mine.result.score / theirs.result.score - 1, 1e-9),
            floor=None if settings.quick else 140,
            goal=None if settings.quick else 200,
            notes=[
                f"evaluations: {mine.result.evaluations} ours, {theirs.result.evaluations} of the yardstick"
            ],
        )
    ]


def many_selections(settings: Settings) -> list[Line]:
    """Each round runs the yardstick on another weight vector, and ours on all of them."""
    log = data.numeric(settings.size(5_000, 750), 16)
    weights = data.many_weights(log, settings.size(200, 20))
    count = weights.shape[1]
    best = {}

    def ours(_):
        return kwis.select_bandwidths(log.context, weights, folds=log.folds)

    def plain(number):
        best[number] = yardstick.select(log.context, weights[:, number], log.folds).score

    def cached(number):
        return CachedDistances(log.context, log.folds).select(weights[:, number])

    ours(0)
    mine, theirs, distances = interleaved(settings.rounds(), ours, plain, cached)
    excess = [
        _true_score(log, weights[:, number], mine.result[number]) / score - 1
        for number, score in best.items()
    ]
    return [
        Line(
            name=f"{count} weight vectors, n={len(log.weight):,}, d=16, per vector",
            ours=mine.median / count,
            theirs=theirs.median,
            ratio=theirs.over(mine, per=1 / count),
            rounds=settings.rounds(),
            cached=distances.over(mine, per=1 / count),
            check=Check(f"true score above its best, {len(best)} vectors", max(excess), 1e-6),
            floor=None if settings.quick else 2_000,
            goal=None if settings.quick else 3_000,
        )
    ]


def _true_score(log, weight, choice) -> float:
    return kwis.cv_score(log.context, weight, choice.value, log.folds)[0]


def per_feature_selection_small(settings: Settings) -> list[Line]:
    return [_per_feature(settings, settings.size(1_250, 400), settings.size(16, 4), 5, (18, 30))]


def per_feature_selection_large(settings: Settings) -> list[Line]:
    """The yardstick takes a quarter of an hour: each time it is stopped just above the floor, and the ratio
    is then a lower bound.
    """
    return [_per_feature(settings, settings.size(5_000, 800), settings.size(16, 4), 5, (35, 60), patience=36)]


def _found_by_its_search(log: data.Log) -> float:
    """The score where the yardstick's search ends, quickly: with the score computed by us, which equals the
    yardstick's to 1e-10.
    """
    starts = np.outer(yardstick.STARTS, np.ones(log.context.shape[1]))
    return yardstick.minimum(
        lambda x: kwis.cv_score(log.context, log.weight, np.exp(x), log.folds), starts
    ).score


def _per_feature(
    settings: Settings, n: int, d: int, usual: int, marks: tuple[float, float], patience: float = math.inf
) -> Line:
    """Every round takes another dataset; the yardstick gives up after ``patience`` times our time."""
    rounds = settings.rounds(usual)
    logs = [data.numeric(n, d, seed) for seed in range(rounds)]
    mine, best, spent = {}, {}, {}

    def ours(number):
        log = logs[number]
        begin = time.perf_counter()
        mine[number] = kwis.select_bandwidth(log.context, log.weight, folds=log.folds, per_feature=True)
        spent[number] = time.perf_counter() - begin

    def plain(number):
        log = logs[number]
        seconds = patience * spent[number]
        best[number] = yardstick.select(log.context, log.weight, log.folds, per_feature=True, seconds=seconds)

    kwis.cv_score(
        logs[0].context, logs[0].weight, np.ones(d), logs[0].folds
    )  # compiled before the clock starts
    kwis.select_bandwidth(logs[0].context, logs[0].weight, folds=logs[0].folds)
    timed, theirs = interleaved(rounds, ours, plain)
    stopped = [number for number in range(rounds) if best[number].starts < yardstick.STARTS.size]
    scores = [
        _found_by_its_search(logs[number]) if number in stopped else best[number].score
        for number in range(rounds)
    ]
    excess = [mine[number].score / scores[number] - 1 for number in range(rounds)]
    ratios = ", ".join(f"{theirs.seconds[number] / timed.seconds[number]:.0f}x" for number in range(rounds))
    return Line(
        name=f"per-feature selection, n={n:,}, d={d}",
        ours=timed.median,
        theirs=theirs.median,
        ratio=theirs.over(timed),
        rounds=rounds,
        check=Check(
            f"median score above its search's, {rounds} dataset{'s' * (rounds > 1)}",
            float(np.median(excess)),
            1e-4,
        ),
        floor=None if settings.quick else marks[0],
        goal=None if settings.quick else marks[1],
        notes=[
            (
                f"by dataset: {ratios}; score above the yardstick's: "
                f"{', '.join(f'{value:+.1e}' for value in excess)}"
            ),
            (
                f"evaluations: {sum(m.evaluations for m in mine.values())} ours, "
                f"{sum(b.evaluations for b in best.values())} of the yardstick"
            ),
            *(
                [
                    (
                        f"stopped at {patience:g} times ours in {len(stopped)} of {rounds} rounds: at least "
                        f"this "
                        f"ratio"
                    )
                ]
                if stopped
                else []
            ),
        ],
    )
