"""Tasks on the workers of a Dask cluster, through the client that the user has: its security settings, its
address, no port of ours.

Workers read files and partitions and sum kernels over blocks of rows. Tasks depend on nothing but their
arguments, so one that was lost with its worker is simply run again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from kwis.errors import InputError, KwisError
from kwis.runtime.runner import Handle, Steps
from kwis.typing import Client

_RETRIES = 2  # after an error of a task; a worker that dies is another matter, and up to the cluster


@dataclass(slots=True)
class Cluster:
    """Tasks as futures of a :class:`dask.distributed.Client`."""

    client: Client
    steps: Steps = field(default_factory=Steps)
    run: str = field(default_factory=lambda: uuid4().hex[:12])
    count: int = 0

    def __post_init__(self) -> None:
        if not hasattr(self.client, "submit") or not hasattr(self.client, "scheduler_info"):
            raise InputError(f"`client` must be a dask.distributed.Client, got {type(self.client).__name__}")
        if getattr(self.client, "asynchronous", False):
            raise InputError(
                "`client` must be a synchronous dask.distributed.Client, got an asynchronous one"
            )
        if getattr(self.client, "status", "running") != "running":
            raise InputError(
                f"`client` must be connected to its scheduler, got one that is {self.client.status}"
            )

    def call(self, function: Callable[..., Any], *arguments: Any) -> Handle:
        return self._submit(function, arguments, function.__name__.strip("_"))

    def each(self, function: Callable[..., Any], tasks: Iterable[tuple[Any, ...]], what: str) -> list[Handle]:
        return [self._submit(function, arguments, what) for arguments in tasks]

    def fetch(self, handle: Handle) -> Any:
        with self._clear_errors():
            return handle.result()

    def partitions(self, frame: Any) -> list[Handle]:
        """Partitions of a Dask dataframe, computed on the workers and kept there."""
        with self._clear_errors():
            return list(self.client.compute(frame.to_delayed()))

    def _submit(self, function: Callable[..., Any], arguments: tuple[Any, ...], what: str) -> Handle:
        self.count += 1
        # The name before the last hyphen is what Dask's dashboard shows.
        key = f"kwis {what}-{self.run}{self.count}"
        with self._clear_errors():
            future = self.client.submit(function, *arguments, key=key, pure=False, retries=_RETRIES)
        if self.steps.callback is not None:
            self.steps.begin(what, 1)
            future.add_done_callback(lambda _: self.steps.tick())
        return future

    @contextmanager
    def _clear_errors(self) -> Iterator[None]:
        from distributed import KilledWorker
        from distributed.comm.core import CommClosedError

        try:
            yield
        except KwisError:
            raise
        except KilledWorker as failure:
            raise KwisError(
                f"the Dask worker {failure.last_worker.address} died, as did others given the same task, "
                f"most likely for lack of memory: "
                "give workers more"
            ) from None
        except MemoryError:
            raise KwisError("a Dask worker ran out of memory: give workers more") from None
        except (CancelledError, CommClosedError, TimeoutError, OSError) as failure:
            if isinstance(failure, OSError | TimeoutError) and self.client.status == "running":
                raise
            where = getattr(self.client.scheduler, "address", None) or "the cluster"
            raise KwisError(
                f"the Dask scheduler of {where} went away before the result was there; nothing was written, "
                f"start it and run again"
            ) from None
