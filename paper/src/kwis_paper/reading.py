"""From a store to results: estimates on all test sets reduced to what tables need."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from scipy.special import ndtri

from kwis import InputError
from kwis.typing import Floats
from kwis_paper.beyond.columns import PIPELINES
from kwis_paper.records import CellFacts, Measure, StoredEstimate
from kwis_paper.results import (
    DIGITS,
    ChosenBandwidth,
    Covered,
    Failure,
    Outcome,
    Results,
    Spanned,
    Timing,
    place_of,
    short,
)
from kwis_paper.store import LEVELS, Store

_PIPELINE_DIGITS = 4


def read_store(path: Path | str) -> Results:
    """Results in a store, of finished cells only."""
    if not Path(path).is_file():
        raise InputError(f"`store` must be a file with results, got {str(path)!r} and there is none")
    with Store(path) as store:
        cells = {facts.key: facts for facts in store.cells()}
        estimators = store.estimators()
        return Results(
            design=store.design,
            cells=dict(sorted(cells.items(), key=lambda item: place_of(item[1]))),
            outcomes={name: _outcomes(store, name, cells) for name in estimators},
            bandwidths={kind: _bandwidths(store, kind) for kind in store.bandwidth_kinds()},
            curves=store.curves(),
            timings=tuple(
                Timing(
                    dataset=dataset,
                    setting=setting,
                    stage=stage,
                    cells=count,
                    seconds=seconds,
                    threads=threads,
                )
                for dataset, setting, stage, count, seconds, threads in store.timings()
            ),
            failures=tuple(Failure(*row) for row in store.failures()),
            replicates=store.replicates(),
            intervals=_intervals(store, cells),
            measures=_measures(store),
        )


def _outcomes(store: Store, estimator: str, cells: Mapping[str, CellFacts]) -> dict[str, Outcome]:
    stored = [one for one in store.estimates(estimator) if one.error is None and one.key in cells]
    if not stored:
        return {}
    # Pipelines are many, and a few MB is what can be committed.
    digits = _PIPELINE_DIGITS if estimator in PIPELINES else DIGITS
    return dict(
        zip(
            (one.key for one in stored),
            summarise(stored, cells, store.bootstrap_ends(estimator), digits),
            strict=True,
        )
    )


def summarise(
    stored: Sequence[StoredEstimate],
    cells: Mapping[str, CellFacts],
    ends: Mapping[str, Floats],
    digits: int = DIGITS,
) -> list[Outcome]:
    """Reduce the estimates on all test sets to what tables need, many cells at once."""
    value = np.stack([one.value for one in stored if one.value is not None])
    std_error = np.stack([one.std_error for one in stored if one.std_error is not None])
    truths = np.array([[cells[one.key].truth_published, cells[one.key].truth_expected] for one in stored])
    errors = np.abs(value[:, None, :] - truths[:, :, None]).mean(axis=2)
    reach = ndtri((1 + np.array(LEVELS)) / 2)[:, None] * std_error[:, None, :]
    influence = _covered(value[:, None, :] - reach, value[:, None, :] + reach, truths)
    bootstrapped = [place for place, one in enumerate(stored) if one.key in ends]
    bootstrap: dict[int, Covered] = {}
    if bootstrapped:
        both = np.stack([ends[stored[place].key] for place in bootstrapped])
        bootstrap = dict(
            zip(bootstrapped, _covered(both[:, :, 0], both[:, :, 1], truths[bootstrapped]), strict=True)
        )
    return [
        Outcome(
            value=short(value[place].mean(), digits),
            std_error=short(std_error[place].mean(), digits),
            error_published=short(errors[place, 0], digits),
            error_expected=short(errors[place, 1], digits),
            influence=influence[place],
            bootstrap=bootstrap.get(place),
            kernel_average=None if one.kernel_average is None else short(one.kernel_average, digits),
        )
        for place, one in enumerate(stored)
    ]


def _covered(low: Floats, high: Floats, truths: Floats) -> list[Covered]:
    """Counts from interval ends ``(cells, levels, test_sets)`` and truths ``(cells, 2)``."""
    inside = [
        ((low <= truth) & (truth <= high)).sum(axis=2).tolist()
        for truth in (truths[:, 0, None, None], truths[:, 1, None, None])
    ]
    return [Covered(tuple(published), tuple(expected)) for published, expected in zip(*inside, strict=True)]


def _intervals(store: Store, cells: Mapping[str, CellFacts]) -> dict[tuple[str, str], dict[str, Spanned]]:
    found: dict[tuple[str, str], dict[str, Spanned]] = {}
    for key, estimator, method, ends in store.intervals():
        if key in cells:
            truths = np.array([[cells[key].truth_published, cells[key].truth_expected]])
            covered = _covered(ends[None, :, 0], ends[None, :, 1], truths)[0]
            width = tuple(
                short(value, _PIPELINE_DIGITS - 1) for value in (ends[:, 1] - ends[:, 0]).mean(axis=1)
            )
            found.setdefault((estimator, method), {})[key] = Spanned(covered, width)
    return found


def _measures(store: Store) -> dict[str, dict[str, Measure]]:
    found: dict[str, dict[str, Measure]] = {}
    for key, one in store.measures():
        found.setdefault(one.name, {})[key] = Measure(
            name=one.name, value=short(one.value, _PIPELINE_DIGITS), words=one.words
        )
    return found


def _bandwidths(store: Store, kind: str) -> dict[str, ChosenBandwidth]:
    return {key: _spread(one.value, one.evaluations) for key, one in store.bandwidths(kind).items()}


def _spread(value: Floats, evaluations: int) -> ChosenBandwidth:
    with np.errstate(over="ignore", invalid="ignore"):
        mean, std = float(value.mean()), float(value.std())
    # The spread of infinite bandwidths is no number; it is kept as the overflow it is.
    return ChosenBandwidth(
        mean=short(mean),
        std=math.inf if math.isnan(std) else short(std),
        features=value.size,
        evaluations=evaluations,
    )
