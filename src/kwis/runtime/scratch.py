"""Temporary folders that do not outlive the process for long, even if it was killed."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

PREFIX = "kwis-scratch-"
_TRIES = 5  # where no folder can be locked there is no use in making more of them


@contextmanager
def scratch() -> Iterator[str]:
    """A folder of one's own; those that killed processes left behind are removed first."""
    remove_left()
    folder, lock = _locked_folder()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if lock is not None:
            os.close(lock)


def remove_left() -> None:
    """Remove the folders of dead processes: those of this user that nobody holds the lock of."""
    try:
        left = list(Path(tempfile.gettempdir()).glob(f"{PREFIX}*"))
    except OSError:
        return
    for folder in left:
        try:
            if folder.lstat().st_uid != os.getuid():
                continue
            lock = _locked(str(folder))
        except (OSError, AttributeError):  # it is gone, or there are no users of this kind
            continue
        if lock is not None:
            shutil.rmtree(folder, ignore_errors=True)
            os.close(lock)


@cache
def remove_left_once() -> None:
    """The same, once in the life of a process."""
    remove_left()


def _locked_folder() -> tuple[str, int | None]:
    """A new folder and its lock. Another process may take it for one of the dead before it is locked, and
    then has the lock: the next one is tried.
    """
    for _ in range(_TRIES):
        folder = tempfile.mkdtemp(prefix=PREFIX)
        lock = _locked(folder)
        if lock is not None and _is(folder, lock):
            return folder, lock
        shutil.rmtree(folder, ignore_errors=True)
        if lock is not None:
            os.close(lock)
    return tempfile.mkdtemp(prefix=PREFIX), None


def _is(folder: str, opened: int) -> bool:
    try:
        return os.path.samestat(os.stat(folder), os.fstat(opened))
    except OSError:
        return False


def _locked(folder: str) -> int | None:
    """A lock that ends with the process; None if somebody has it, or there are no such locks."""
    try:
        import fcntl

        opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except (ImportError, AttributeError, OSError):
        return None
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(opened)
        return None
    return opened
