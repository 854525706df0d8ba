"""Figures of the pipelines: error against the degree of misspecification, its divergence, and the smoothness
of the policies.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from kwis.report.charts.axes import Scale, linear
from kwis.typing import Floats
from kwis_paper.beyond.columns import PIPELINES, RECOMMENDED
from kwis_paper.beyond.naming import NAMES, NO_RESULTS
from kwis_paper.beyond.summary import degree_of, error, finished, measured, settings_of
from kwis_paper.figures.lines import Lines, Trace
from kwis_paper.figures.record import Figure
from kwis_paper.further import MISREPORTS
from kwis_paper.overall import ESTIMATORS, OURS
from kwis_paper.records import CellFacts
from kwis_paper.results import Results

_FAMILIES = {
    "of the paper": (
        "logged-mean",
        "vis",
        "truncated-vis",
        "state-wis",
        "wis",
        "kernel-wis",
        RECOMMENDED,
        "oracle-wis",
    ),
    "with repaired propensities": (
        "wis",
        "normalised-kernel-wis",
        "repaired-wis",
        "repaired-kernel-wis",
        "repaired-normalised-kernel-wis",
        RECOMMENDED,
        "oracle-wis",
    ),
    "with a reward model": (
        "direct-method",
        "doubly-robust",
        "doubly-robust-wis",
        "doubly-robust-normalised-kernel-wis",
        "repaired-doubly-robust",
        "repaired-doubly-robust-wis",
        "repaired-doubly-robust-normalised-kernel-wis",
        "oracle-doubly-robust-wis",
    ),
}
_LABELS = ESTIMATORS | OURS | NAMES
_HIGHEST = 0.6
_WORDS = {
    "fitted": "share of the training log left out of the fit",
    "rounded": "step of rounding",
    "stale": "accuracy lost since",
    "tempered": "power",
    "dropped-covariate": "share of columns dropped",
}
_BINS = 6


def further_figures(results: Results) -> list[Figure]:
    """All figures, in the order of the page; none where no pipeline was run."""
    return all_figures(results) if any(name in results.outcomes for name in PIPELINES) else []


def all_figures(results: Results) -> list[Figure]:
    """All figures, in the order of the page."""
    return [
        *(_degrees(results, how) for how in MISREPORTS),
        _against_misfit(results),
        _against_smoothness(results),
    ]


def _degrees(results: Results, how: str) -> Figure:
    cells = finished(results, how)
    degrees = sorted({degree_of(facts) for facts in cells})
    groups = [(degree, [facts for facts in cells if degree_of(facts) == degree]) for degree in degrees]
    return _figure(
        f"degree-{how}",
        f"Error against degree: {how}",
        f"Mean absolute error against the expected truth over all datasets, by degree ({_WORDS[how]}).",
        [_panel(results, groups, family, _WORDS[how]) for family in _FAMILIES] if cells else [],
        how,
    )


def _against_misfit(results: Results) -> Figure:
    cells = [facts for setting in settings_of(results) for facts in finished(results, setting)]
    return _by_measure(
        results,
        cells,
        "misfit",
        "Error against divergence, all settings",
        "Mean absolute error by how far the given propensities are from those that logged (mean "
        "Kullback–Leibler divergence in nats), "
        "experiments of all settings in groups of equal size; those without any divergence are a group of "
        "their own.",
        "divergence of the given propensities (square root, nats)",
        np.sqrt,
    )


def _against_smoothness(results: Results) -> Figure:
    cells = [
        facts
        for setting in settings_of(results)
        for facts in finished(results, setting)
        if setting != "oracle"
    ]
    return _by_measure(
        results,
        cells,
        "smoothness",
        "Error against smoothness of the policies, all but the oracle suite",
        "The paper supposes that Kernel-WIS does better the smoother the policies are. Mean absolute error "
        "by the smoothness of the "
        "rougher of evaluation and behaviour policy: one minus the mean total variation between a row and "
        "its nearest neighbour; "
        "experiments in groups of equal size.",
        "smoothness (1: never changes)",
        np.asarray,
    )


def _by_measure(
    results: Results,
    cells: Sequence[CellFacts],
    name: str,
    title: str,
    caption: str,
    axis: str,
    scale: Callable[[Floats], Floats],
) -> Figure:
    groups = equal_groups(scale(np.maximum(measured(results, name, cells), 0.0)), cells) if cells else []
    return _figure(
        f"{name}-all",
        title,
        caption,
        [_panel(results, groups, family, axis) for family in _FAMILIES] if groups else [],
        "",
    )


def equal_groups(values: Floats, cells: Sequence[CellFacts]) -> list[tuple[float, list[CellFacts]]]:
    """Cells in groups of about equal size by value, each with its mean value; what rounds to zero is a group
    of its own.
    """
    none = values < 1e-6
    made = [(0.0, none)] if none.any() else []
    rest = np.flatnonzero(~none & np.isfinite(values))
    for part in np.array_split(rest[np.argsort(values[rest], kind="stable")], _BINS):
        if part.size:
            mask = np.zeros(values.size, dtype=bool)
            mask[part] = True
            made.append((float(values[part].mean()), mask))
    return [
        (where, [facts for facts, chosen in zip(cells, mask, strict=True) if chosen]) for where, mask in made
    ]


def _panel(
    results: Results, groups: Sequence[tuple[float, list[CellFacts]]], family: str, axis: str
) -> Lines:
    traces = tuple(
        Trace(
            name=_LABELS[name],
            look=place,
            points=tuple((where, error(results, name, cells)) for where, cells in groups),
        )
        for place, name in enumerate(_FAMILIES[family], start=1)
    )
    heights = [y for trace in traces for _, y in trace.points]
    # Plain estimates may run away where propensities are tiny, and would press all others to the floor.
    top = linear((min(height, _HIGHEST) for height in heights if math.isfinite(height)), include=(0.0,))
    return Lines(
        title=f"Error, estimators {family}",
        description=f"Mean absolute error against {axis}, estimators {family}.",
        x=linear((where for where, _ in groups), margin=0.05),
        y=Scale(0.0, top.high),
        x_name=axis,
        y_name=f"Mean absolute error, {family}",
        traces=traces,
    )


def _figure(key: str, title: str, caption: str, panels: Sequence[Lines], setting: str) -> Figure:
    notes = () if panels else (NO_RESULTS,)
    edge = f" Errors beyond {_HIGHEST} are drawn on the upper edge."
    return Figure(
        key=f"beyond-{key}",
        title=title,
        caption=caption + edge,
        panels=tuple(panels),
        setting=setting,
        notes=notes,
    )
