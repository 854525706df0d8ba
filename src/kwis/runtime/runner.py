"""Who does the work: the threads of this process, or the workers of a Dask cluster
(:mod:`kwis.runtime.cluster`).

Work is cut into tasks that return arrays. What comes of a task is a handle: the value itself here, a future
on a cluster, where values stay on the workers until they are fetched.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from kwis.runtime.threads import each_block, meanwhile
from kwis.typing import Client

Handle = Any
Progress = Callable[[int, int, str], object]
Result = TypeVar("Result")


class Runner(Protocol):
    """Runs tasks; arguments that are handles arrive as values."""

    def call(self, function: Callable[..., Any], *arguments: Any) -> Handle:
        """One task that may use all threads of where it runs."""
        ...

    def each(self, function: Callable[..., Any], tasks: Iterable[tuple[Any, ...]], what: str) -> list[Handle]:
        """One task per tuple of arguments."""
        ...

    def fetch(self, handle: Handle) -> Any:
        """The value of a handle."""
        ...


@dataclass(slots=True)
class Steps:
    """Tells a callback how far one stage has come."""

    callback: Progress | None = None
    done: int = 0
    total: int = 0
    stage: str = ""

    def begin(self, stage: str, total: int) -> None:
        """``total`` more tasks of a stage, which may come in several waves."""
        if stage != self.stage:
            self.stage, self.done, self.total = stage, 0, 0
        self.total += total
        self.tell()

    def tick(self) -> None:
        self.done += 1
        self.tell()

    def tell(self) -> None:
        if self.callback is not None:
            self.callback(min(self.done, self.total), self.total, self.stage)


@dataclass(slots=True)
class Threads:
    """Tasks on the threads of this process."""

    steps: Steps = field(default_factory=Steps)

    def call(self, function: Callable[..., Any], *arguments: Any) -> Handle:
        return function(*arguments)

    def each(self, function: Callable[..., Any], tasks: Iterable[tuple[Any, ...]], what: str) -> list[Handle]:
        jobs = list(tasks)
        self.steps.begin(what, len(jobs))
        return each_block(self._ticking(function), jobs)

    def each_meanwhile(
        self,
        work: Callable[[], Result],
        function: Callable[..., Any],
        tasks: Iterable[tuple[Any, ...]],
        what: str,
    ) -> tuple[Result, list[Any]]:
        """What other work that comes first returns, and one task per tuple of arguments."""
        jobs = list(tasks)
        self.steps.begin(what, len(jobs))
        return meanwhile(work, self._ticking(function), jobs)

    def _ticking(self, function: Callable[..., Any]) -> Callable[[tuple[Any, ...]], Any]:
        def run(job: tuple[Any, ...]) -> Any:
            value = function(*job)
            self.steps.tick()
            return value

        return run

    def fetch(self, handle: Handle) -> Any:
        return handle


def runner_of(client: Client | None, progress: Progress | None = None) -> Runner:
    """Workers of the client's cluster, or without one the threads of this process."""
    if client is None:
        return Threads(Steps(progress))
    from kwis.runtime.cluster import Cluster

    return Cluster(client, Steps(progress))


_remote: ContextVar[Runner | None] = ContextVar("workers of a cluster", default=None)


def workers() -> Runner | None:
    """The cluster that large sums may use; None: the threads of this process do them."""
    return _remote.get()


@contextmanager
def working_on(client: Client | None, progress: Progress | None = None) -> Iterator[None]:
    """Let large sums use the workers of a cluster meanwhile; without a client nothing changes."""
    token = _remote.set(None if client is None else runner_of(client, progress))
    try:
        yield
    finally:
        _remote.reset(token)
