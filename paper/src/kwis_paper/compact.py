"""Compressed CSV that is the same bytes for the same results, and the lines of intervals and
measures in it.
"""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from kwis import InputError
from kwis_paper.records import Measure
from kwis_paper.results import Covered, Results, Spanned
from kwis_paper.store import LEVELS

Record = Mapping[str, str]


def interval_lines(results: Results, number: Mapping[str, int]) -> Iterator[list[object]]:
    for (estimator, method), found in results.intervals.items():
        for key, place in number.items():
            if key in found:
                one = found[key]
                yield [place, estimator, method, *both(one.covered), *one.width]


def measure_lines(results: Results, number: Mapping[str, int]) -> Iterator[list[object]]:
    for name, found in results.measures.items():
        for key, place in number.items():
            if key in found:
                yield [place, name, found[key].value, found[key].words]


def read_intervals(path: Path, keys: Sequence[str]) -> dict[tuple[str, str], dict[str, Spanned]]:
    found: dict[tuple[str, str], dict[str, Spanned]] = {}
    for row in read_csv(path) if path.is_file() else ():  # results of the paper's estimators alone have none
        covered = Covered(unpacked(row["covered_published"]), unpacked(row["covered_expected"]))
        width = tuple(float(row[f"width_{level:g}"]) for level in LEVELS)
        found.setdefault((row["estimator"], row["method"]), {})[keys[int(row["cell"])]] = Spanned(
            covered, width
        )
    return found


def read_measures(path: Path, keys: Sequence[str]) -> dict[str, dict[str, Measure]]:
    found: dict[str, dict[str, Measure]] = {}
    for row in read_csv(path) if path.is_file() else ():
        one = Measure(name=row["name"], value=float(row["value"]), words=row["words"])
        found.setdefault(row["name"], {})[keys[int(row["cell"])]] = one
    return found


def both(covered: Covered | None) -> tuple[str, str]:
    """Counts of both truths; a digit or more per level, separated where there may be more than nine test
    sets.
    """
    return ("", "") if covered is None else (packed(covered.published), packed(covered.expected))


def packed(counts: tuple[int, ...]) -> str:
    return "/".join(map(str, counts))


def unpacked(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split("/"))


def write_csv(path: Path, header: Iterable[str], lines: Iterable[Iterable[object]]) -> None:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(lines)
    write_gz(path, text.getvalue())


def write_gz(path: Path, text: str) -> None:
    # No time of writing inside, so that the same results are the same file.
    path.write_bytes(gzip.compress(text.encode("utf-8"), 9, mtime=0))


def read_csv(path: Path) -> Iterator[Record]:
    if not path.is_file():
        raise InputError(f"`results` must be a folder that holds {path.name}, got {str(path.parent)!r}")
    with gzip.open(path, "rt", encoding="utf-8", newline="") as stream:
        yield from csv.DictReader(stream)
