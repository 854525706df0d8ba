"""One pool of threads for everything.

The engine splits its work into row blocks of fixed size and hands them to Python threads; the compiled
kernels and BLAS release the interpreter lock. BLAS itself is held to one thread meanwhile: two pools on the
same cores slow each other down two- to fourfold. Blocks do not depend on the number of threads, and each is
summed by one of them, so results have the same bits for any number.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from contextvars import copy_context
from functools import cache
from typing import Any, TypeVar

Block = TypeVar("Block")
Result = TypeVar("Result")
Other = TypeVar("Other")

_state = threading.local()


def default_threads() -> int:
    """``KWIS_THREADS`` if set, else the cores this process may use."""
    asked = os.environ.get("KWIS_THREADS", "")
    if asked.isdigit() and int(asked) > 0:
        return int(asked)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@cache
def _blas() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="blas")


def _limit_blas() -> Any:
    """One thread from now on; returns what restores the number before."""
    return _blas().limit(limits=1)


class _OneBlasThread:
    """Holds BLAS at one thread from the first user to the last: users in several threads must not restore
    each other's limit.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users = 0
        self._limit: Any = None

    def __enter__(self) -> None:
        with self._lock:
            if self._users == 0:
                self._take_over()
                self._limit = _limit_blas()
            self._users += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._users -= 1
            if self._users == 0:
                self._take_over()
                self._limit.restore_original_limits()
                self._take_over()

    @staticmethod
    def _take_over() -> None:
        # threadpoolctl 3.8 ignores every thread but the one that set a limit first, and the last user may be
        # another.
        for library in _blas().lib_controllers:
            if hasattr(library, "clear_controlling_thread"):
                library.clear_controlling_thread(force=True)


one_blas_thread = _OneBlasThread()


class _Pool(ThreadPoolExecutor):
    threads: int


@contextmanager
def engine(threads: int | None = None) -> Iterator[None]:
    """Hold BLAS at one thread and keep the pool open; nested uses share the outermost one."""
    if getattr(_state, "pool", None) is not None:
        yield
        return
    count = threads or default_threads()
    # Some builds of BLAS count threads per calling thread, so the pool's own threads are limited as well.
    with one_blas_thread, _Pool(count, initializer=_limit_blas) as pool:
        pool.threads = count
        _state.pool = pool
        try:
            yield
        finally:
            _state.pool = None


def each_block(function: Callable[[Block], Result], blocks: Iterable[Block]) -> list[Result]:
    """Results of ``function`` for every block, in the order of the blocks."""
    blocks = list(blocks)
    with engine():
        if len(blocks) == 1:
            return [function(blocks[0])]
        return list(_state.pool.map(function, blocks))


@contextmanager
def beside(function: Callable[[], Result]) -> Iterator[Callable[[], Result]]:
    """Do something meanwhile: yields what waits for its result. It has a thread of its own for what is not
    divided into blocks, and the same pool as the caller. With a pool of one thread it is done when its result
    is asked for.
    """
    with engine():
        pool = _state.pool
        if pool.threads == 1:
            yield cache(function)
            return
        context = copy_context()

        def work() -> Result:
            _state.pool = pool
            return context.run(function)

        with ThreadPoolExecutor(1, initializer=_limit_blas) as other:
            yield other.submit(work).result


def meanwhile(
    work: Callable[[], Other], function: Callable[[Block], Result], blocks: Iterable[Block]
) -> tuple[Other, list[Result]]:
    """Results of ``function`` for every block, while other work is done that comes first: until it is done
    one thread is left to it, so that what it divides into blocks need not wait for these. ``function`` does
    not divide its blocks further.
    """
    left = deque(enumerate(blocks))
    found: dict[int, Result] = {}

    def go_on(_: object = None) -> None:
        while True:
            try:
                place, block = left.popleft()
            except IndexError:
                return
            found[place] = function(block)

    with engine():
        pool = _state.pool
        busy = [pool.submit(go_on) for _ in range(1, pool.threads)]
        try:
            done = work()
            each_block(go_on, range(pool.threads))
        finally:
            left.clear()
            wait(busy)
        for one in busy:
            one.result()
    return done, [found[place] for place in sorted(found)]


def row_blocks(stop: int, size: int, start: int = 0) -> list[slice]:
    """Consecutive slices of at most ``size`` rows, from ``start`` to ``stop``."""
    return [slice(first, min(first + size, stop)) for first in range(start, stop, size)]
