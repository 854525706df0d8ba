"""Compiled functions whose machine code is kept between processes, wherever there is a place for it.

numba refuses to compile a cached function if it finds no folder to write to, and fails on a cache that is
damaged or on a full disk. A cache is there to save seconds, so here all of that costs seconds and nothing
else.
"""

from __future__ import annotations

import gc
import os
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from numba import njit
from numba.core import caching

from kwis.runtime.process import compilation, one_at_a_time, warn


def compiled(**options: Any) -> Callable[[Any], Any]:
    """Decorator: :func:`numba.njit` with these options and a cache that may fail."""

    def decorate(function: Any) -> Any:
        dispatcher = njit(no_cfunc_wrapper=True, **options)(function)  # Python alone calls it
        dispatcher._cache = _cache_of(function)
        compile_alone = dispatcher.compile

        def compile_one_at_a_time(signature: Any) -> Any:
            with one_at_a_time, _no_collection():
                return compile_alone(signature)

        dispatcher.compile = compile_one_at_a_time
        return dispatcher

    return decorate


@contextmanager
def _no_collection() -> Iterator[None]:
    """Without the collector of cycles: it looks through all that compiling makes again and again, for a tenth
    of the time, and finds little.
    """
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


class _Places(caching.CompileResultCacheImpl):
    """Where machine code is kept: numba's own places, then a folder of ours among the temporary ones."""

    def __init__(self, function: Any) -> None:
        usual: list[Any] = caching.CompileResultCacheImpl._locator_classes
        self._locator_classes = [
            *(place for place in usual if "UserWide" not in place.__name__ or _has_home()),
            _Temporary,
        ]
        super().__init__(function)


class _Temporary(caching._SourceFileBackedLocatorMixin, caching._CacheLocator):
    """A folder of this user's own among the temporary ones."""

    def __init__(self, function: Any, file: str) -> None:
        folder = temporary_cache()
        if folder is None:
            raise OSError("no temporary folder")
        self._py_file = file
        self._lineno = function.__code__.co_firstlineno
        self._path = str(folder / self.get_suitable_cache_subpath(file))

    def get_cache_path(self) -> str:
        return self._path

    @classmethod
    def from_function(cls, function: Any, file: str) -> Any:
        try:
            return super().from_function(function, file)
        except OSError:
            return None


class _Cache(caching.FunctionCache):
    """A cache that is rebuilt if it cannot be read, and done without if it cannot be written."""

    _impl_class = _Places

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        if isinstance(self._impl.locator, _Temporary):
            _say_once(
                f"compiled code is kept in {str(temporary_cache())!r}, as no lasting folder can be written to"
            )
        try:
            found = super().load_overload(sig, target_context)
        except Exception:  # whatever a damaged file leads to
            self._forget()
            found = None
        if found is None:
            _begin()
        return found

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            super().save_overload(sig, data)
        except Exception:  # a full disk, or a folder that went away
            self._forget()

    def _forget(self) -> None:
        """Remove the index, without which other files of this function are not looked at."""
        try:
            Path(self._cache_file._index_path).unlink(missing_ok=True)
        except OSError:
            self.disable()


class _NoCache(caching.NullCache):
    def load_overload(self, sig: Any, target_context: Any) -> None:  # noqa: ARG002 - numba's signature
        _say_once(
            "compiled code cannot be kept, as no folder can be written to: every process compiles anew, "
            "which takes about 5 seconds"
        )
        _begin()


def _begin() -> None:
    """Count a function that is compiled, and tell who waits at a prompt or a notebook why it takes long; the
    command says so itself.
    """
    if not compilation.functions and hasattr(sys, "ps1") and sys.stderr is not None:
        print("kwis is compiling, first run only: a few seconds", file=sys.stderr)
    compilation.functions += 1


def _cache_of(function: Any) -> Any:
    try:
        return _Cache(function)
    except (RuntimeError, OSError):  # numba's "no locator available"
        return _NoCache()


def temporary_cache() -> Path | None:
    """A folder that only this user can write to, as code is loaded from it; None if there cannot be one."""
    user = os.getuid() if hasattr(os, "getuid") else "user"
    try:
        folder = Path(tempfile.gettempdir()) / f"kwis-cache-{user}"
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
    except OSError:
        return None
    own = not hasattr(os, "getuid") or (
        found.st_uid == user and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    )
    return folder if own and stat.S_ISDIR(found.st_mode) else None


def _has_home() -> bool:
    """Without a home numba's folder for the user would be one called ``~`` in the working directory."""
    return os.path.isabs(os.path.expanduser("~"))


@cache
def _say_once(problem: str) -> None:
    warn(f"{problem}; NUMBA_CACHE_DIR names another", 2)
