"""One value and gradient of the cross-validated error, in both precisions."""

from __future__ import annotations

import numpy as np

import kwis
from benchmarks import data, yardstick
from benchmarks.cached import CachedDistances
from benchmarks.harness import Check, Line, Settings, Timed, interleaved
from kwis.kernel import cross_validation
from kwis.kernel.geometry import Geometry
from kwis.kernel.held_out import Folds

BANDWIDTH = 2.0


def shared_evaluation(settings: Settings) -> list[Line]:
    log = data.numeric(settings.size(10_000, 1_000), 16)
    cached = CachedDistances(log.context, log.folds)
    return _lines(settings, log, BANDWIDTH, {"float64": (16, 25), "float32": (35, 50)}, cached)


def per_feature_evaluation(settings: Settings) -> list[Line]:
    log = data.numeric(settings.size(10_000, 1_000), 16)
    return _lines(
        settings, log, BANDWIDTH * np.linspace(0.7, 1.5, 16), {"float64": (30, 40), "float32": (60, 80)}, None
    )


def _lines(settings, log, bandwidth, marks, cached) -> list[Line]:
    plan = cross_validation(Geometry.of(log.context, ()), Folds.of(log.folds), kwis.RBF)
    centred = log.weight - log.weight.mean()  # as a selection does before it locates in float32

    def exact(_):
        return kwis.cv_score(log.context, log.weight, bandwidth, log.folds)

    def located(_):
        score = plan.locate.score(centred, bandwidth)
        return score.value, score.gradient

    def plain(_):
        return yardstick.score_and_gradient(log.context, log.weight, log.folds, np.log(bandwidth))

    def kept(_):
        return None if cached is None else cached.score_and_gradient(log.weight, np.log(bandwidth))

    exact(0), located(0)  # compiled before the clock starts
    ours64, ours32, theirs, distances = interleaved(settings.rounds(), exact, located, plain, kept)
    kind = "per-feature" if np.ndim(bandwidth) else "shared"
    return [
        _line(
            settings,
            f"{kind} evaluation, n={len(log.weight):,}, d=16, {name}",
            ours,
            theirs,
            distances if cached else None,
            marks[name],
        )
        for name, ours in (("float64", ours64), ("float32", ours32))
    ]


def _line(
    settings, name: str, ours: Timed, theirs: Timed, distances: Timed | None, marks: tuple[float, float]
) -> Line:
    value, gradient = ours.result
    expected, slope = theirs.result
    error = max(
        abs(value / expected - 1), np.abs(gradient - slope).max() / max(np.abs(slope).max(), 1e-3 * expected)
    )
    exact = name.endswith("float64")
    return Line(
        name=name,
        ours=ours.median,
        theirs=theirs.median,
        ratio=theirs.over(ours),
        rounds=settings.rounds(),
        cached=None if distances is None else distances.over(ours),
        check=Check("value and gradient", error, 1e-10 if exact else 1e-4),
        floor=None if settings.quick else marks[0],
        goal=None if settings.quick else marks[1],
        notes=[]
        if exact
        else ["through the engine's locating plan, which a selection uses before it finishes in float64"],
    )
