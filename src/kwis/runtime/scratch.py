"""Temporary folders that do not outlive the process for long, even if it was killed."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PREFIX = "kwis-lines-"
YOUNG = 60.0  # seconds in which whoever made a folder has to lock it


@contextmanager
def scratch() -> Iterator[str]:
    """A folder of one's own; those that killed processes left behind are removed first."""
    with tempfile.TemporaryDirectory(prefix=PREFIX) as folder:
        lock = _locked(folder)
        try:
            _remove_left(Path(folder).parent)
            yield folder
        finally:
            if lock is not None:
                os.close(lock)


def _remove_left(place: Path) -> None:
    for folder in place.glob(f"{PREFIX}*"):
        try:
            about = folder.lstat()
            if about.st_uid != os.getuid() or time.time() - about.st_mtime < YOUNG:
                continue
            lock = _locked(str(folder))
        except (OSError, AttributeError):  # it is gone, or there are no users of this kind
            continue
        if lock is not None:
            shutil.rmtree(folder, ignore_errors=True)
            os.close(lock)


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
