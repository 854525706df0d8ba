"""Who does the work: the threads of this process, or the workers of a Dask cluster
(:mod:`kwis.large.cluster`).

Work is cut into tasks that read what they need and return arrays. What comes of a task is a handle: the value
itself here, a future on a cluster, where values stay on the workers until they are fetched. Sums are added in
one fixed order, so both give the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations_with_replacement, islice
from typing import Any, Protocol

import numpy as np

from kwis.runtime.threads import each_block, engine
from kwis.typing import Floats

Handle = Any
Progress = Callable[[int, int, str], object]

FAN_IN = 8
_TOGETHER = 32  # pairs of blocks whose sums are in memory at once


class Runner(Protocol):
    """Runs tasks; arguments that are handles arrive as values."""

    def call(self, function: Callable[..., Any], *arguments: Any) -> Handle:
        """One task that may use all threads of where it runs."""
        ...

    def each(self, function: Callable[..., Any], tasks: Iterable[tuple[Any, ...]], what: str) -> list[Handle]:
        """One task per tuple of arguments."""
        ...

    def pairs(
        self,
        function: Callable[..., Any],
        blocks: Sequence[tuple[Any, ...]],
        common: tuple[Any, ...],
        what: str,
    ) -> list[Handle]:
        """Sums over all pairs of blocks: ``function(*one, *other, *common)`` adds to both; with itself, a
        block comes as ``None``s.
        """
        ...

    def fetch(self, handle: Handle) -> Any:
        """The value of a handle."""
        ...


def reduced(runner: Runner, function: Callable[..., Any], handles: Sequence[Handle], what: str) -> Handle:
    """``function`` of all values, a few neighbours at a time, so that no task ever holds many."""
    while len(handles) > 1:
        groups = [tuple(handles[first : first + FAN_IN]) for first in range(0, len(handles), FAN_IN)]
        handles = runner.each(function, groups, what)
    return handles[0]


def pair_list(count: int) -> Iterator[tuple[int, int]]:
    """All pairs of blocks, each block with itself included, in the order in which their sums are added."""
    return combinations_with_replacement(range(count), 2)


@dataclass(slots=True)
class Steps:
    """Tells a callback how far one stage has come."""

    callback: Progress | None = None
    done: int = 0
    total: int = 0
    stages: list[str] = field(default_factory=list)

    def begin(self, what: str, total: int) -> None:
        self.stages.append(what)
        self.done, self.total = 0, total
        self.tell()

    def tick(self, count: int = 1) -> None:
        self.done += count
        self.tell()

    def tell(self) -> None:
        if self.callback is not None and self.stages:
            self.callback(min(self.done, self.total), self.total, self.stages[-1])


@dataclass(slots=True)
class Threads:
    """Tasks on the threads of this process."""

    steps: Steps = field(default_factory=Steps)

    def call(self, function: Callable[..., Any], *arguments: Any) -> Handle:
        return function(*arguments)

    def each(self, function: Callable[..., Any], tasks: Iterable[tuple[Any, ...]], what: str) -> list[Handle]:
        jobs = list(tasks)
        self.steps.begin(what, len(jobs))

        def one(job: tuple[Any, ...]) -> Any:
            found = function(*job)
            self.steps.tick()
            return found

        return each_block(one, jobs)

    def pairs(
        self,
        function: Callable[..., Any],
        blocks: Sequence[tuple[Any, ...]],
        common: tuple[Any, ...],
        what: str,
    ) -> list[Handle]:
        count = len(blocks)
        sums: list[Floats | None] = [None] * count
        every = pair_list(count)
        self.steps.begin(what, count * (count + 1) // 2)

        def one(pair: tuple[int, int]) -> tuple[Floats, Floats]:
            found = function(*pair_arguments(blocks, *pair), *common)
            self.steps.tick()
            return found

        with engine():
            while some := list(islice(every, _TOGETHER)):
                for (a, b), found in zip(some, each_block(one, some), strict=True):
                    for block, part in zip((a, b) if a != b else (a,), found, strict=False):
                        known = sums[block]
                        sums[block] = part if known is None else known + part
        return list(sums)

    def fetch(self, handle: Handle) -> Any:
        return handle


def pair_arguments(blocks: Sequence[tuple[Any, ...]], a: int, b: int) -> tuple[Any, ...]:
    """Arguments of the task of two blocks."""
    return (*blocks[a], *(blocks[b] if a != b else (None,) * len(blocks[b])))


def added(known: Floats | None, sides: Sequence[int], *found: tuple[Floats, Floats]) -> Floats:
    """``known`` plus one side of each pair, in order."""
    total = known
    for side, part in zip(sides, found, strict=True):
        total = part[side] if total is None else total + part[side]
    return np.asarray(total)
