"""The logs that people wait for: ``table(rows, columns, targets, segments)`` makes one, and ``python -m
benchmarks.everyday`` evaluates it by default and prints the time of each part.

Numeric features, five actions, a softmax logger whose propensities are right, and targets ``new0``, ``new1``,
... with a column per action. Clicks depend on two features and the action.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import kwis

ACTIONS = 5
SCANNED = 1_000_000  # rows from which a log is a folder of Parquet files that is scanned
_CHUNK = 125_000


@dataclass(frozen=True, kw_only=True)
class Case:
    """How large a log is, and what is asked about it."""

    rows: int
    columns: int = 10
    targets: int = 1
    segments: int = 0

    def __str__(self) -> str:
        more = [f"{self.columns} columns"] if self.columns != 10 else []
        more += [f"{self.targets} targets"] if self.targets != 1 else []
        more += [f"{self.segments:,} segments"] if self.segments else []
        return ", ".join([f"{self.rows:,} rows", *more])

    @property
    def roles(self) -> dict[str, Any]:
        return {"propensity": "propensity", "context": [f"x{j}" for j in range(self.columns)]}

    def log(self, folder: Path) -> Any:
        """The log in memory, or its folder if it is to be scanned, which is written unless it is there."""
        if self.rows < SCANNED:
            return self.log_of(self.table())
        if not folder.exists():
            self.write(folder)
        return kwis.scan_log(str(folder), **self.roles)

    def log_of(self, table: dict[str, np.ndarray]) -> Any:
        """A log in memory of these columns."""
        return kwis.read_log(table, **self.roles)

    def evaluated(self, log: Any, **options: Any) -> kwis.Evaluation:
        by = {"by": ["segment"]} if self.segments else {}
        return kwis.evaluate(log, [f"new{k}" for k in range(self.targets)], **by, **options)

    def table(self, rows: int | None = None, seed: int = 0) -> dict[str, np.ndarray]:
        """Columns by name; ``rows`` and ``seed`` for one part of a larger log."""
        n = self.rows if rows is None else rows
        fixed, rng = np.random.default_rng(1), np.random.default_rng([2, seed])
        slopes = 0.4 * fixed.normal(size=(10, ACTIONS))
        context = rng.normal(size=(n, self.columns))
        heard = context[:, :10]
        behaviour = _softmax(heard @ slopes[: heard.shape[1]])
        action = (rng.random(n)[:, None] > behaviour.cumsum(axis=1)[:, :-1]).sum(axis=1)
        rate = 1 / (1 + np.exp(1 - 0.5 * context[:, 0] - 0.4 * (action == 1) * context[:, 1]))
        table = {f"x{j}": context[:, j] for j in range(self.columns)}
        table["action"] = action
        table["reward"] = (rng.random(n) < rate).astype(np.float64)
        table["propensity"] = behaviour[np.arange(n), action]
        for k in range(self.targets):
            changed = slopes + 0.3 * fixed.normal(size=slopes.shape)
            target = _softmax(heard @ changed[: heard.shape[1]])
            table |= {f"new{k}_{a}": target[:, a] for a in range(ACTIONS)}
        if self.segments:
            table["segment"] = rng.integers(self.segments, size=n)
        return table

    def write(self, folder: Path, files: int = 8) -> None:
        """The log as a folder of Parquet files."""
        import pyarrow as pa
        from pyarrow import parquet

        folder.mkdir(parents=True)
        schema = pa.table(self.table(1)).schema
        seed = 0
        for number, size in enumerate(np.diff(np.linspace(0, self.rows, files + 1).astype(int))):
            with parquet.ParquetWriter(folder / f"part-{number:03d}.parquet", schema) as writer:
                for first in range(0, size, _CHUNK):
                    writer.write_table(pa.table(self.table(min(_CHUNK, int(size) - first), seed)))
                    seed += 1


def _softmax(scores: np.ndarray) -> np.ndarray:
    """Softmax, with one choice in ten left to chance."""
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return 0.9 * powers / powers.sum(axis=1, keepdims=True) + 0.1 / scores.shape[1]


def by_part(case: Case, folder: Path) -> None:
    """Print time and processor time of every step that an evaluation tells of, and the peak of memory."""
    Case(rows=700).evaluated(Case(rows=700).log(folder))  # compiles
    began = [(time.perf_counter(), time.process_time(), "reading")]

    def told(what: str) -> None:
        now = (time.perf_counter(), time.process_time())
        print(
            f"{began[-1][2]:40} {now[0] - began[-1][0]:7.2f} s, {now[1] - began[-1][1]:7.2f} s of processor",
            flush=True,
        )
        began.append((*now, what))

    log = case.log(folder)
    told("starting")
    evaluation = case.evaluated(log, progress=lambda _, __, what: "," in what or told(what))
    told("report")
    evaluation.to_html(folder.parent / "report.html")
    told("end")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(
        f"{case}: {began[-1][0] - began[0][0]:.1f} s, {began[-1][1] - began[0][1]:.1f} s of processor, "
        f"{peak:.2f} GB at most"
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.everyday", description=__doc__)
    for name, usual in (("rows", 20_000), ("columns", 10), ("targets", 1), ("segments", 0)):
        parser.add_argument(f"--{name}", type=int, default=usual)
    with tempfile.TemporaryDirectory() as place:
        by_part(Case(**vars(parser.parse_args())), Path(place) / "log")


if __name__ == "__main__":
    main()
