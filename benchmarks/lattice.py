"""Contexts on a categorical lattice; the yardstick sees them as dummies, whose RBF kernel is the same."""

from __future__ import annotations

import time

import numpy as np

import kwis
from benchmarks import data, yardstick
from benchmarks.harness import Check, Line, Settings, interleaved

LEVELS = (4, 4, 8, 8, 8, 8)


def _problem(settings: Settings) -> tuple[data.Log, tuple[int, ...], tuple[int, ...]]:
    """Log, levels and columns; few enough cells for the lattice plan at either size."""
    levels = LEVELS[:3] if settings.quick else LEVELS
    return data.categorical(settings.size(14_000, 1_500), levels), levels, tuple(range(len(levels)))


def lattice_shared_selection(settings: Settings) -> list[Line]:
    """The yardstick takes several minutes: it is stopped at the goal, and its ratio is then a lower bound.

    What its search would have found is known all the same: it is run to its end with the same score computed
    by us.
    """
    log, levels, columns = _problem(settings)
    encoded = data.dummies(log.context, levels)
    patience = 1_250
    spent = {}

    def ours(number):
        begin = time.perf_counter()
        choice = kwis.select_bandwidth(log.context, log.weight, folds=log.folds, categorical=columns)
        spent[number] = time.perf_counter() - begin
        return choice

    def plain(number):
        return yardstick.select(encoded, log.weight, log.folds, seconds=patience * spent[number])

    ours(0)
    mine, theirs = interleaved(settings.rounds(), ours, plain)
    search = yardstick.minimum(
        lambda x: kwis.cv_score(log.context, log.weight, np.exp(x[0]), log.folds, categorical=columns),
        yardstick.STARTS,
    )
    stopped = theirs.result.starts < yardstick.STARTS.size
    return [
        Line(
            name=f"lattice, shared selection, n={len(log.weight):,}",
            ours=mine.median,
            theirs=theirs.median,
            ratio=theirs.over(mine),
            rounds=settings.rounds(),
            check=Check("score above its search", mine.result.score / search.score - 1, 1e-9),
            floor=None if settings.quick else 800,
            goal=None if settings.quick else 1_200,
            notes=[
                (
                    f"evaluations: {mine.result.evaluations} ours, {search.evaluations} of the yardstick's "
                    f"search"
                ),
                *([f"stopped at {patience:,} times ours: at least this ratio"] if stopped else []),
            ],
        )
    ]


def lattice_per_feature_evaluation(settings: Settings) -> list[Line]:
    log, levels, columns = _problem(settings)
    encoded = data.dummies(log.context, levels)
    column = np.repeat(columns, levels)
    bandwidth = np.linspace(0.8, 1.6, len(columns))

    def ours(_):
        return kwis.cv_score(log.context, log.weight, bandwidth, log.folds, categorical=columns)

    def plain(_):
        return yardstick.score_and_gradient(encoded, log.weight, log.folds, np.log(bandwidth[column]))

    ours(0)
    mine, theirs = interleaved(settings.rounds(), ours, plain)
    (value, gradient), (expected, by_dummy) = mine.result, theirs.result
    slope = np.bincount(column, by_dummy)
    error = max(
        abs(value / expected - 1), np.abs(gradient - slope).max() / max(np.abs(slope).max(), 1e-3 * expected)
    )
    return [
        Line(
            name=f"lattice, per-feature evaluation, n={len(log.weight):,}",
            ours=mine.median,
            theirs=theirs.median,
            ratio=theirs.over(mine),
            rounds=settings.rounds(),
            check=Check("value and gradient", error, 1e-10),
            floor=None if settings.quick else 400,
            goal=None if settings.quick else 800,
        )
    ]
