"""Results as compact files that can be committed: compressed CSV, one line per cell and estimator, and a
manifest.

::

    manifest.json                  command and version that made them, design, failures, timings cells.csv.gz
    one line per cell: policies, bucket, truths, bandwidths estimates-<setting>.csv.gz     one line per cell
    and estimator: errors against both truths, coverage counts intervals.csv.gz               one line per
    cell, estimator and method of a pipeline's interval: coverage counts, widths measures.csv.gz
    one line per cell and measure curves.json.gz                 curves of training, continuous rewards,
    sample pictures
    setups.csv                     ways to train policies that were tried
    <name>/                        results of another design, shown beside these
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Container, Hashable, Iterator, Mapping, Sequence
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import TypeVar

import numpy as np

from kwis import InputError
from kwis.typing import Floats
from kwis_paper.compact import (
    Record,
    both,
    interval_lines,
    measure_lines,
    read_csv,
    read_intervals,
    read_measures,
    unpacked,
    write_csv,
    write_gz,
)
from kwis_paper.reading import read_store
from kwis_paper.records import CellFacts
from kwis_paper.results import (
    ChosenBandwidth,
    Covered,
    Failure,
    Outcome,
    Provenance,
    Results,
    Timing,
    place_of,
    short,
)
from kwis_paper.setups import read_trials
from kwis_paper.simulate import Design
from kwis_paper.store import LEVELS

_FORMAT = 1
_MANIFEST = "manifest.json"
_TRIALS = "setups.csv"
_FACTS = tuple(field.name for field in fields(CellFacts))
_NUMBERS = ("value", "std_error", "error_published", "error_expected")
_COUNTS = ("influence_published", "influence_expected", "bootstrap_published", "bootstrap_expected")
_BANDWIDTH = tuple(field.name for field in fields(ChosenBandwidth))
Kept = TypeVar("Kept")
Name = TypeVar("Name", bound=Hashable)


def load(path: Path | str) -> Results:
    """Results from a store, or from a folder written by :func:`write`."""
    return read(Path(path)) if Path(path).is_dir() else read_store(path)


def merge(parts: Sequence[Results]) -> Results:
    """Results of several stores as one; where they hold the same dataset and setting, the later store counts.

    Their designs must agree in all but how continuous rewards are read; that of the last part with continuous
    results is kept.
    """
    whole = parts[0]
    for part in parts[1:]:
        if replace(part.design, rule=whole.design.rule, noise=whole.design.noise) != whole.design:
            raise InputError(f"`stores` must have the same design, got {whole.design} and {part.design}")
        whole = _joined(whole, part)
    return whole


def _joined(first: Results, second: Results) -> Results:
    places = {(facts.dataset, facts.setting) for facts in second.cells.values()}
    kept = {key: facts for key, facts in first.cells.items() if (facts.dataset, facts.setting) not in places}
    continuous = any(facts.setting == "continuous" for facts in second.cells.values())
    return replace(
        second,
        design=second.design if continuous else first.design,
        cells=dict(sorted((kept | dict(second.cells)).items(), key=lambda item: place_of(item[1]))),
        outcomes=_merged(first.outcomes, second.outcomes, kept),
        bandwidths=_merged(first.bandwidths, second.bandwidths, kept),
        curves=dict(first.curves) | dict(second.curves),
        timings=(
            *(timing for timing in first.timings if (timing.dataset, timing.setting) not in places),
            *second.timings,
        ),
        failures=(*first.failures, *second.failures),
        intervals=_merged(first.intervals, second.intervals, kept),
        measures=_merged(first.measures, second.measures, kept),
        replicates=max(first.replicates, second.replicates),
    )


def _merged(
    first: Mapping[Name, Mapping[str, Kept]], second: Mapping[Name, Mapping[str, Kept]], keys: Container[str]
) -> dict[Name, dict[str, Kept]]:
    """By name, what the first part has of the cells kept, and all of the second."""
    named = dict.fromkeys([*first, *second])
    return {
        name: {key: one for key, one in first.get(name, {}).items() if key in keys}
        | dict(second.get(name, {}))
        for name in named
    }


def write(results: Results, folder: Path | str) -> Path:
    """Write results into a folder, the same bytes for the same results."""
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    for old in target.glob("estimates-*.csv.gz"):
        old.unlink()
    settings = list(dict.fromkeys(facts.setting for facts in results.cells.values()))
    number = {key: place for place, key in enumerate(results.cells)}
    write_csv(
        target / "cells.csv.gz", (*_FACTS,), (asdict(facts).values() for facts in results.cells.values())
    )
    write_csv(target / "bandwidths.csv.gz", ("cell", "kind", *_BANDWIDTH), _bandwidth_lines(results, number))
    for setting in settings:
        lines = _estimate_lines(results, setting, number)
        write_csv(
            target / f"estimates-{setting}.csv.gz",
            ("cell", "estimator", *_NUMBERS, "kernel_average", *_COUNTS),
            lines,
        )
    widths = [f"width_{level:g}" for level in LEVELS]
    write_csv(
        target / "intervals.csv.gz",
        ("cell", "estimator", "method", "covered_published", "covered_expected", *widths),
        interval_lines(results, number),
    )
    write_csv(target / "measures.csv.gz", ("cell", "name", "value", "words"), measure_lines(results, number))
    curves = {"/".join(key): [short(value, 6) for value in values] for key, values in results.curves.items()}
    write_gz(target / "curves.json.gz", json.dumps(curves, separators=(",", ":")))
    manifest = {
        "format": _FORMAT,
        **asdict(results.provenance),
        "design": asdict(results.design),
        "levels": LEVELS,
        "replicates": results.replicates,
        "settings": settings,
        "cells": len(results.cells),
        "failures": [asdict(failure) for failure in results.failures],
        "timings": [asdict(timing) | {"seconds": round(timing.seconds, 3)} for timing in results.timings],
    }
    (target / _MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")
    return target


def read(folder: Path) -> Results:
    """Results that :func:`write` wrote."""
    if not (folder / _MANIFEST).is_file():
        raise InputError(f"`results` must be a folder that holds {_MANIFEST}, got {str(folder)!r}")
    manifest = json.loads((folder / _MANIFEST).read_text(encoding="utf-8"))
    if manifest["format"] != _FORMAT:
        raise InputError(f"`{_MANIFEST}` must be of format {_FORMAT}, got {manifest['format']}")
    facts = [_facts(row) for row in read_csv(folder / "cells.csv.gz")]
    outcomes: dict[str, dict[str, Outcome]] = {}
    for setting in manifest["settings"]:
        for row in read_csv(folder / f"estimates-{setting}.csv.gz"):
            outcomes.setdefault(row["estimator"], {})[facts[int(row["cell"])].key] = _outcome(row)
    bandwidths: dict[str, dict[str, ChosenBandwidth]] = {}
    for row in read_csv(folder / "bandwidths.csv.gz"):
        bandwidths.setdefault(row["kind"], {})[facts[int(row["cell"])].key] = _chosen(row)
    keys = [one.key for one in facts]
    return Results(
        design=Design(**({"training": "once"} | manifest["design"])),  # before there was a choice
        cells={one.key: one for one in facts},
        outcomes=outcomes,
        bandwidths=bandwidths,
        curves=_curves(folder / "curves.json.gz"),
        timings=tuple(Timing(**one) for one in manifest["timings"]),
        failures=tuple(Failure(**one) for one in manifest["failures"]),
        replicates=manifest["replicates"],
        provenance=Provenance(command=manifest["command"], version=manifest["version"]),
        intervals=read_intervals(folder / "intervals.csv.gz", keys),
        measures=read_measures(folder / "measures.csv.gz", keys),
        others={path.parent.name: read(path.parent) for path in sorted(folder.glob(f"*/{_MANIFEST}"))},
        trials=tuple(read_trials(folder / _TRIALS)) if (folder / _TRIALS).is_file() else (),
    )


def _estimate_lines(results: Results, setting: str, number: Mapping[str, int]) -> Iterator[list[object]]:
    for estimator, found in results.outcomes.items():
        for key, place in number.items():
            if key in found and results.cells[key].setting == setting:
                one = found[key]
                counts = (*both(one.influence), *both(one.bootstrap))
                numbers = [short(getattr(one, name)) for name in _NUMBERS]
                yield [
                    place,
                    estimator,
                    *numbers,
                    "" if one.kernel_average is None else short(one.kernel_average),
                    *counts,
                ]


def _bandwidth_lines(results: Results, number: Mapping[str, int]) -> Iterator[list[object]]:
    for kind, found in results.bandwidths.items():
        for key, place in number.items():
            if key in found:
                one = found[key]
                yield [place, kind, short(one.mean), short(one.std), one.features, one.evaluations]


def _facts(row: Record) -> CellFacts:
    whole, real = {"n_train", "n_test"}, {"difference", "truth_published", "truth_expected"}
    values = {
        name: int(row[name]) if name in whole else float(row[name]) if name in real else row[name]
        for name in _FACTS
    }
    return CellFacts(**{**values, "published": row["published"] == "True" or row["published"] == "1"})  # type: ignore[arg-type]


def _outcome(row: Record) -> Outcome:
    bootstrap = (
        Covered(unpacked(row["bootstrap_published"]), unpacked(row["bootstrap_expected"]))
        if row["bootstrap_published"]
        else None
    )
    return Outcome(
        value=float(row["value"]),
        std_error=float(row["std_error"]),
        error_published=float(row["error_published"]),
        error_expected=float(row["error_expected"]),
        influence=Covered(unpacked(row["influence_published"]), unpacked(row["influence_expected"])),
        bootstrap=bootstrap,
        kernel_average=float(row["kernel_average"]) if row["kernel_average"] else None,
    )


def _chosen(row: Record) -> ChosenBandwidth:
    return ChosenBandwidth(
        mean=float(row["mean"]),
        std=float(row["std"]),
        features=int(row["features"]),
        evaluations=int(row["evaluations"]),
    )


def _curves(path: Path) -> dict[tuple[str, str], Floats]:
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        stored = json.load(stream)
    return {
        (key.split("/", 1)[0], key.split("/", 1)[1]): np.array(values, dtype=np.float64)
        for key, values in stored.items()
    }
