"""Timing in interleaved rounds, and the lines that come of it."""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Settings:
    """``quick`` shrinks every size, and floors and goals no longer apply; ``pairs`` overrides the number of
    rounds.
    """

    quick: bool = False
    pairs: int | None = None

    def size(self, full: int, small: int) -> int:
        return small if self.quick else full

    def rounds(self, usual: int = 5) -> int:
        return self.pairs or usual


@dataclass(frozen=True)
class Check:
    """What was compared, by how much it differs and how much is allowed."""

    what: str
    error: float
    limit: float

    @property
    def ok(self) -> bool:
        return self.error <= self.limit

    def __str__(self) -> str:
        return f"{'ok' if self.ok else 'WRONG'}: {self.what} {self.error:.1e} <= {self.limit:g}"


@dataclass(frozen=True, kw_only=True)
class Line:
    name: str
    ours: float
    theirs: float
    ratio: float
    rounds: int
    check: Check
    floor: float | None = None
    goal: float | None = None
    cached: float | None = None
    unit: str = "s"
    against: str = "yardstick"
    notes: list[str] = field(default_factory=list)

    def verdict(self) -> str:
        """How the ratio stands; for memory smaller is better, so the ratio is what is allowed over what was
        used.
        """
        if self.floor is None:
            return "-"
        if self.ratio < self.floor:
            return "BELOW FLOOR"
        return "goal met" if self.goal is None or self.ratio >= self.goal else "floor met"

    @property
    def ok(self) -> bool:
        return self.check.ok and self.verdict() != "BELOW FLOOR"


@dataclass(frozen=True)
class Timed:
    """Seconds of every round and the last result."""

    seconds: list[float]
    result: Any

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)

    def over(self, other: Timed, per: float = 1.0) -> float:
        """Median over the rounds of this time divided by the other's."""
        return statistics.median(a / b for a, b in zip(self.seconds, other.seconds, strict=True)) / per


_LONG = 60.0  # seconds of one side after which a round is worth a word


def interleaved(rounds: int, *functions: Callable[[int], Any]) -> list[Timed]:
    """Run all functions in turn, round by round; each is told the number of the round."""
    seconds: list[list[float]] = [[] for _ in functions]
    results: list[Any] = [None] * len(functions)
    for number in range(rounds):
        for index, function in enumerate(functions):
            begin = time.perf_counter()
            results[index] = function(number)
            seconds[index].append(time.perf_counter() - begin)
            if seconds[index][-1] > _LONG:
                print(
                    f"    round {number + 1} of {rounds}: "
                    f"{' against '.join(f'{times[-1]:.1f} s' for times in seconds if times)}",
                    file=sys.stderr,
                )
    return [Timed(times, result) for times, result in zip(seconds, results, strict=True)]


_HEADER = (
    "benchmark",
    "ours",
    "other",
    "ratio",
    "floor",
    "goal",
    "verdict",
    "vs cached",
    "rounds",
    "correctness",
)
_WIDTHS = (50, 11, 11, 9, 8, 8, 12, 10, 7, 0)


def header() -> str:
    return _row(_HEADER)


def show(line: Line) -> str:
    cells = (
        line.name,
        _amount(line.ours, line.unit),
        _amount(line.theirs, line.unit),
        _times(line.ratio),
        _times(line.floor),
        _times(line.goal),
        line.verdict(),
        _times(line.cached),
        str(line.rounds),
        str(line.check),
    )
    notes = [
        f"    {note}"
        for note in ([] if line.against == "yardstick" else [f"against {line.against}"]) + line.notes
    ]
    return "\n".join([_row(cells), *notes])


def _row(cells: tuple[str, ...]) -> str:
    return " ".join(
        cell.ljust(width) if index == 0 else cell.rjust(width)
        for index, (cell, width) in enumerate(zip(cells, _WIDTHS, strict=True))
    )


def _amount(value: float, unit: str) -> str:
    return f"{value:.4g} {unit}"


def _times(value: float | None) -> str:
    return "-" if value is None else f"{value:,.1f}x" if value < 10 else f"{value:,.0f}x"
