"""Files that are written whole or not at all."""

from __future__ import annotations

import contextlib
import os
import tempfile
from os import PathLike
from pathlib import Path

from kwis.errors import InputError


def writable(path: str | PathLike[str], name: str = "path") -> Path:
    """The path, if a file can be written there; asked before the work whose result it is to hold."""
    target = Path(path)
    folder = target.parent
    if target.is_dir():
        raise InputError(f"`{name}` must name a file, got the folder {str(path)!r}")
    if not folder.is_dir():
        raise InputError(f"`{name}` must be in a folder that exists, got {str(path)!r} and there is no {str(folder)!r}")
    if not os.access(folder, os.W_OK) or (target.exists() and not os.access(target, os.W_OK)):
        raise InputError(f"`{name}` must be in a place that can be written to, got {str(path)!r}, which is read-only")
    try:  # permissions alone do not tell: file systems may be read-only, and administrators may ignore permissions
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as problem:
        raise _refusal(target, name, problem) from None
    return target


def write_whole(path: str | PathLike[str], content: bytes, name: str = "path") -> Path:
    """Put ``content`` in place of the file in one step: it appears whole, or an older one stays as it is."""
    target = Path(path)
    try:
        handle, beside = tempfile.mkstemp(prefix=f".{target.name[:40]}.", suffix=".part", dir=target.parent)
    except OSError as problem:
        raise _refusal(target, name, problem) from None
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
        os.chmod(beside, _mode(target))
        os.replace(beside, target)
    except OSError as problem:
        raise _refusal(target, name, problem) from None
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(beside)
    return target


def _refusal(target: Path, name: str, problem: OSError) -> InputError:
    return InputError(f"`{name}` must be in a place that can be written to, got {str(target)!r} ({problem.strerror})")


def _mode(target: Path) -> int:
    """Permissions of the file replaced, or those any new file would get."""
    if target.exists():
        return target.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
