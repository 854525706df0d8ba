"""Files that are written whole or not at all, and never in place of something that kwis did not write."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
import tempfile
from collections.abc import Sequence
from os import PathLike
from pathlib import Path

from kwis.errors import InputError

MARKS = (b'<meta name="generator" content="kwis">', b'"schema": "kwis-')
"""Reports and JSON that kwis wrote have one of these near their beginning; other files have theirs at one
end.
"""

_BEGINNING, _ENDING = 2_000, 60_000


def writable(path: str | PathLike[str], name: str = "path", marks: Sequence[bytes] = MARKS) -> Path:
    """Where a file can be written, asked before the work whose result it is to hold; a symbolic link is
    followed.

    Only a file with one of the ``marks`` of kwis, or an empty one, is ever replaced.
    """
    try:
        return _checked(Path(os.path.realpath(path)), path, name, marks)
    except InputError:
        raise
    except (OSError, ValueError) as problem:  # a name that is too long, or has a zero byte in it
        raise _refusal(Path(path), name, problem) from None


def _checked(target: Path, path: str | PathLike[str], name: str, marks: Sequence[bytes]) -> Path:
    folder = target.parent
    if target.is_dir():
        raise InputError(f"`{name}` must name a file, got the folder {str(path)!r}")
    if not folder.is_dir():
        raise InputError(
            f"`{name}` must be in a folder that exists, got {str(path)!r} and there is no {str(folder)!r}"
        )
    if not os.access(folder, os.W_OK) or (target.exists() and not os.access(target, os.W_OK)):
        raise InputError(
            f"`{name}` must be in a place that can be written to, got {str(path)!r}, which is read-only"
        )
    # permissions alone do not tell: file systems may be read-only, and administrators may ignore permissions
    _refuse_to_replace(
        target, f"`{name}` must not replace anything but a file that kwis wrote, got {str(path)!r}", marks
    )
    with tempfile.TemporaryFile(dir=folder):
        pass
    return target


def _refuse_to_replace(target: Path, sentence: str, marks: Sequence[bytes]) -> None:
    try:
        kind = target.lstat()
    except FileNotFoundError:
        return
    if not stat.S_ISREG(kind.st_mode):
        raise InputError(f"{sentence}, which is no regular file")
    if kind.st_size:
        with target.open("rb") as file:
            ends = file.read(_BEGINNING)
            file.seek(max(len(ends), kind.st_size - _ENDING))
            ends += file.read()
        if not any(mark in ends for mark in marks):
            raise InputError(f"{sentence}, which it did not; remove it, or name another")


def same_file(one: str | PathLike[str], other: str | PathLike[str]) -> bool:
    """Whether two paths lead to the same file, which may not exist yet."""
    try:
        return os.path.realpath(one) == os.path.realpath(other) or os.path.samefile(one, other)
    except (OSError, ValueError):
        return False


def write_whole(path: str | PathLike[str], content: bytes, name: str = "path") -> Path:
    """Put ``content`` in place of the file in one step: it appears whole, or an older one stays as it is."""
    target = Path(os.path.realpath(path))
    beside = target.parent / f".{target.name[:40]}.{secrets.token_hex(8)}.part"
    try:
        handle = os.open(
            beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666
        )  # less what the mask of the process takes away
    except OSError as problem:
        raise _refusal(target, name, problem) from None
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
        with contextlib.suppress(FileNotFoundError):
            os.chmod(beside, target.stat().st_mode & 0o777)
        os.replace(beside, target)
    except OSError as problem:
        raise _refusal(target, name, problem) from None
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(beside)
    return target


def _refusal(target: Path, name: str, problem: OSError | ValueError) -> InputError:
    why = getattr(problem, "strerror", None) or problem
    return InputError(f"`{name}` must be in a place that can be written to, got {str(target)!r} ({why})")
