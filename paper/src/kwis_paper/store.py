"""Results in an embedded SQLite file: resumable, idempotent, never half written.

One row per cell with its facts, one per chosen bandwidth, and one per cell and estimator with the estimates
on all test sets (arrays as little-endian float64); pipelines add intervals and measures of the cell. Every
write is one transaction, so a killed run leaves whole rows or none. A failed estimate is a row with its
error.
"""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, fields
from pathlib import Path

import numpy as np

from kwis import InputError
from kwis.typing import Floats
from kwis_paper.estimates import TestSetEstimates
from kwis_paper.owners import is_alive, this_owner
from kwis_paper.records import CellFacts, Measure, PipelineResults, StoredBandwidth, StoredEstimate
from kwis_paper.simulate import Design

VERSION = 1
LEVELS = (0.68, 0.8, 0.9, 0.95)

_SCHEMA = """
create table if not exists meta (name text primary key, value text not null) without rowid;
create table if not exists cells (
    key text primary key, dataset text not null, setting text not null, logging text not null,
    evaluation text not null,
    behaviour text not null, policy_type text not null, published integer not null,
    n_train integer not null, n_test integer not null,
    difference real not null, bucket text not null, truth_published real not null,
    truth_expected real not null
) without rowid;
create table if not exists bandwidths (
    key text, kind text, value blob not null, score real not null, evaluations integer not null,
    primary key (key, kind)
) without rowid;
create table if not exists estimates (
    key text, estimator text, value blob, std_error blob, kernel_average real, error text,
    primary key (key, estimator)
) without rowid;
create table if not exists bootstraps (
    key text, estimator text, replicates integer not null, ends blob not null, primary key (key, estimator)
) without rowid;
create table if not exists intervals (
    key text, estimator text, method text, ends blob not null, primary key (key, estimator, method)
) without rowid;
create table if not exists measures (key text, name text, value real, words text, primary key (key,
    name)) without rowid;
create table if not exists curves (dataset text, name text, value blob not null, primary key (dataset,
    name)) without rowid;
create table if not exists claims (work text primary key, owner text not null) without rowid;
create table if not exists timings (
    id integer primary key, dataset text not null, setting text not null, stage text not null,
    cells integer not null,
    seconds real not null, threads integer not null
);
"""


class Store:
    """The results of a run, in one file."""

    def __init__(self, path: Path | str, design: Design | None = None) -> None:
        self.path = Path(path)
        try:
            self._open(design)
        except InputError:
            raise
        except (sqlite3.Error, OSError, LookupError, TypeError, ValueError) as problem:
            raise InputError(
                f"`store` must be a file with results of a run, or none yet, got {str(path)!r} ({problem}); "
                f"restore it, or name another"
            ) from problem

    def _open(self, design: Design | None) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._connection = sqlite3.connect(self.path, timeout=60, isolation_level=None)
        tables = {name for (name,) in self._connection.execute("select name from sqlite_master")}
        if tables and "cells" not in tables:
            raise InputError(
                f"`store` must be a file with results of a run, or none yet, got the database "
                f"{str(self.path)!r} of something else; name another"
            )
        self._connection.execute("pragma journal_mode = wal")
        # In WAL mode this loses nothing when the process is killed, and no consistency when the machine is.
        self._connection.execute("pragma synchronous = normal")
        self._connection.executescript(_SCHEMA)
        self._owner = this_owner()
        self.design = self._settle(design)

    def close(self) -> None:
        self._connection.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _settle(self, design: Design | None) -> Design:
        """Design of the results in this file; the first one is kept, and another is refused."""
        found = self._one("select value from meta where name = 'design'")
        if found is None:
            chosen = design or Design()
            with self._transaction():
                self._put(
                    "meta", [("design", json.dumps({"version": VERSION, **asdict(chosen)}, sort_keys=True))]
                )
            return chosen
        stored = {"training": "once"} | json.loads(str(found))  # all they could be before there was a choice
        version = stored.pop("version")
        if version != VERSION:
            raise InputError(
                f"`{self.path.name}` must hold results of version {VERSION}, got version {version}"
            )
        if design is not None and asdict(design) != stored:
            raise InputError(
                f"`{self.path.name}` must be used with the design it was begun with, {stored}, got "
                f"{asdict(design)}"
            )
        return Design(**stored)

    @contextmanager
    def claimed(self, work: str) -> Iterator[bool]:
        """Claim a piece of work for as long as the block lasts; False if another living process has it."""
        with self._transaction():
            query = "select owner from claims where work = ?"
            row = self._connection.execute(query, (work,)).fetchone()
            free = row is None or not is_alive(row[0])
            if free:
                self._put("claims", [(work, self._owner)])
        try:
            yield free
        finally:
            if free:
                with self._transaction():
                    self._connection.execute("delete from claims where work = ?", (work,))

    def finished(self, estimators: Iterable[str]) -> set[tuple[str, str]]:
        """Pairs of key and estimator that have estimates; failed ones are not among them."""
        wanted = tuple(estimators)
        marks = ",".join("?" * len(wanted))
        query = f"select key, estimator from estimates where error is null and estimator in ({marks})"
        return set(self._connection.execute(query, wanted).fetchall())

    def bootstrapped(self, replicates: int) -> set[tuple[str, str]]:
        """Pairs of key and estimator that have bootstrap intervals from this many resamples."""
        return set(
            self._connection.execute(
                "select key, estimator from bootstraps where replicates = ?", (replicates,)
            ).fetchall()
        )

    def save_bandwidths(self, chosen: Iterable[StoredBandwidth]) -> None:
        """Keep bandwidths, all or none."""
        rows = [(one.key, one.kind, _blob(one.value), one.score, one.evaluations) for one in chosen]
        with self._transaction():
            self._put("bandwidths", rows)

    def bandwidth(self, key: str, kind: str) -> StoredBandwidth | None:
        """Bandwidth of one cell."""
        query = "select value, score, evaluations from bandwidths where key = ? and kind = ?"
        row = self._connection.execute(query, (key, kind)).fetchone()
        return (
            None
            if row is None
            else StoredBandwidth(key=key, kind=kind, value=_array(row[0]), score=row[1], evaluations=row[2])
        )

    def bandwidths(self, kind: str) -> dict[str, StoredBandwidth]:
        """Bandwidths of one kind, by the key of their cell."""
        rows = self._connection.execute(
            "select key, value, score, evaluations from bandwidths where kind = ?", (kind,)
        )
        return {
            key: StoredBandwidth(
                key=key, kind=kind, value=_array(value), score=score, evaluations=evaluations
            )
            for key, value, score, evaluations in rows
        }

    def save_estimates(
        self,
        facts: CellFacts,
        estimates: Iterable[tuple[str, TestSetEstimates]],
        intervals: Iterable[tuple[str, str, Floats]] = (),
    ) -> None:
        """Keep a cell, its estimates and its intervals (estimator, method, ends), all or none."""
        rows = [
            (facts.key, name, _blob(one.value), _blob(one.std_error), one.kernel_average, None)
            for name, one in estimates
        ]
        spans = [(facts.key, name, method, _blob(ends)) for name, method, ends in intervals]
        with self._transaction():
            self._put("cells", [tuple(asdict(facts).values())])
            self._put("estimates", rows)
            self._put("intervals", spans)

    def save_failure(self, key: str, estimators: Iterable[str], error: str) -> None:
        """Keep the error of a cell in place of its estimates."""
        with self._transaction():
            self._put("estimates", [(key, name, None, None, None, error) for name in estimators])

    def save_bootstrap(self, key: str, replicates: int, ends: Iterable[tuple[str, Floats]]) -> None:
        """Keep interval ends (levels, 2, test_sets) of a cell."""
        with self._transaction():
            self._put("bootstraps", [(key, name, replicates, _blob(values)) for name, values in ends])

    def save_pipelines(self, facts: CellFacts, results: PipelineResults) -> None:
        """Keep a cell, its estimates, intervals and measures, all or none."""
        estimates = [
            (facts.key, name, _blob(one.value), _blob(one.std_error), one.kernel_average, None)
            for name, one in results.estimates
        ]
        with self._transaction():
            self._put("cells", [tuple(asdict(facts).values())])
            self._put("estimates", estimates)
            self._put(
                "intervals",
                [(facts.key, name, method, _blob(ends)) for name, method, ends in results.intervals],
            )
            self._put("measures", [(facts.key, one.name, one.value, one.words) for one in results.measures])

    def intervals(self) -> Iterator[tuple[str, str, str, Floats]]:
        """Key, estimator, method and ends (levels, 2, test_sets) of every interval kept by a pipeline."""
        for key, estimator, method, ends in self._connection.execute(
            "select * from intervals order by estimator, method, key"
        ):
            yield key, estimator, method, _array(ends).reshape(len(LEVELS), 2, -1)

    def measures(self) -> Iterator[tuple[str, Measure]]:
        """Key of the cell and measure, by the name of the measure."""
        for key, name, value, words in self._connection.execute(
            "select key, name, value, words from measures order by name, key"
        ):
            yield key, Measure(name=name, value=math.nan if value is None else value, words=words)

    def save_curve(self, dataset: str, name: str, values: Floats) -> None:
        """Keep a curve of training, for the figures."""
        with self._transaction():
            self._put("curves", [(dataset, name, _blob(values))])

    def save_timing(
        self, dataset: str, setting: str, stage: str, cells: int, seconds: float, threads: int
    ) -> None:
        """Keep how long a stage took."""
        with self._transaction():
            self._connection.execute(
                "insert into timings (dataset, setting, stage, cells, seconds, threads) values (?, ?, ?, ?, "
                "?, ?)",
                (dataset, setting, stage, cells, seconds, threads),
            )

    def failures(self) -> list[tuple[str, str, str]]:
        """Key, estimator and error of everything that failed."""
        return self._connection.execute(
            "select key, estimator, error from estimates where error is not null order by key"
        ).fetchall()

    def cells(self) -> Iterator[CellFacts]:
        """All cells with results, in the order of their keys."""
        for row in self._connection.execute("select * from cells order by key"):
            yield CellFacts(**dict(zip((field.name for field in fields(CellFacts)), row, strict=True)))

    def estimates(self, estimator: str) -> Iterator[StoredEstimate]:
        """Results of one estimator, in the order of their keys."""
        query = (
            "select key, value, std_error, kernel_average, error from estimates where estimator = ? order by "
            "key"
        )
        for key, value, std_error, average, error in self._connection.execute(query, (estimator,)):
            yield StoredEstimate(
                key=key,
                estimator=estimator,
                value=None if value is None else _array(value),
                std_error=None if std_error is None else _array(std_error),
                kernel_average=average,
                error=error,
            )

    def bootstrap_ends(self, estimator: str) -> dict[str, Floats]:
        """Interval ends (levels, 2, test_sets) by the key of their cell."""
        rows = self._connection.execute("select key, ends from bootstraps where estimator = ?", (estimator,))
        return {key: _array(ends).reshape(len(LEVELS), 2, -1) for key, ends in rows}

    def curves(self) -> dict[tuple[str, str], Floats]:
        """Everything kept for the figures, by dataset and name."""
        rows = self._connection.execute("select dataset, name, value from curves order by dataset, name")
        return {(dataset, name): _array(value) for dataset, name, value in rows}

    def timings(self) -> list[tuple[str, str, str, int, float, int]]:
        """Dataset, setting, stage, cells, seconds and most threads of all stages, summed over their
        batches.
        """
        query = (
            "select dataset, setting, stage, sum(cells), sum(seconds), max(threads) from timings group by 1, "
            "2, 3 order by min(id)"
        )
        return self._connection.execute(query).fetchall()

    def replicates(self) -> int:
        """Resamples of the bootstrap intervals in this file; 0 if there are none."""
        return int(str(self._one("select coalesce(max(replicates), 0) from bootstraps")))

    def estimators(self) -> list[str]:
        """Names of the estimators with results, in alphabetical order."""
        return [
            name
            for (name,) in self._connection.execute(
                "select distinct estimator from estimates order by estimator"
            )
        ]

    def bandwidth_kinds(self) -> list[str]:
        """Kinds of bandwidths in this file, in alphabetical order."""
        return [
            kind for (kind,) in self._connection.execute("select distinct kind from bandwidths order by kind")
        ]

    def _put(self, table: str, rows: Sequence[Sequence[object]]) -> None:
        if rows:
            marks = ",".join("?" * len(rows[0]))
            self._connection.executemany(f"insert or replace into {table} values ({marks})", rows)

    def _one(self, query: str) -> object | None:
        with closing(self._connection.execute(query)) as cursor:
            row = cursor.fetchone()
        return None if row is None else row[0]

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._connection.execute("begin immediate")
        try:
            yield
        except BaseException:
            self._connection.execute("rollback")
            raise
        self._connection.execute("commit")


def _blob(values: Floats) -> bytes:
    return np.ascontiguousarray(np.atleast_1d(values), dtype="<f8").tobytes()


def _array(blob: bytes) -> Floats:
    return np.frombuffer(blob, dtype="<f8")
