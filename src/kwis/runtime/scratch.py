"""Temporary folders that do not outlive their process.

A folder goes when nobody needs it any more, at the latest when its process ends. A process that is killed
cannot tidy up; so each folder holds a file that its process keeps locked, and a folder whose lock is free is
removed by the next process that starts. The lock, not the number of the process, says who is alive:
containers share folders, but not numbers.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import time
import weakref
from functools import cache
from pathlib import Path
from types import TracebackType

try:
    import fcntl
except ImportError:  # on Windows, where open files cannot be removed and folders of dead processes stay
    fcntl = None  # type: ignore[assignment]

_PREFIX = "kwis-work-"
_LOCK = "in-use"
_UNLOCKED_SECONDS = 24 * 3600
"""A folder without a lock is being made, or was left half made; after so long it is the latter."""


_own: set[str] = set()


class Folder:
    """A temporary folder of this process; ``path`` is where it is."""

    def __init__(self) -> None:
        _sweep_once()
        self.path = tempfile.mkdtemp(prefix=_PREFIX)
        _own.add(self.path)
        self.remove = weakref.finalize(self, _remove, self.path, _locked(self.path), os.getpid())

    def __enter__(self) -> str:
        return self.path

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.remove()


def sweep() -> None:
    """Remove folders of processes that are dead."""
    if fcntl is None:
        return
    with contextlib.suppress(OSError):
        for path in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
            with contextlib.suppress(OSError):
                if path.lstat().st_uid == os.getuid() and _is_dead(path):
                    shutil.rmtree(path, ignore_errors=True)


def sweep_own() -> None:
    """Remove the folders of this process, which is about to end without more ado."""
    for path in tuple(_own):
        shutil.rmtree(path, ignore_errors=True)


@cache
def _sweep_once() -> None:
    sweep()


def _is_dead(path: Path) -> bool:
    try:
        handle = os.open(path / _LOCK, os.O_RDWR | os.O_NOFOLLOW)
    except FileNotFoundError:
        return time.time() - path.lstat().st_mtime > _UNLOCKED_SECONDS
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(handle)
    return True


def _locked(folder: str) -> int | None:
    """Lock the folder for as long as the process lives; the file appears under its name only when it is
    locked.
    """
    if fcntl is None:
        return None
    unfinished = os.path.join(folder, f"{_LOCK}.new")
    handle = os.open(unfinished, os.O_RDWR | os.O_CREAT, 0o600)
    with contextlib.suppress(
        OSError
    ):  # a file system without locks: the folder goes with the process, or stays
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.rename(unfinished, os.path.join(folder, _LOCK))
    return handle


def _remove(path: str, handle: int | None, process: int) -> None:
    if os.getpid() != process:  # a fork has no say in the folders of its parent
        return
    _own.discard(path)
    shutil.rmtree(path, ignore_errors=True)
    if handle is not None:
        os.close(handle)
