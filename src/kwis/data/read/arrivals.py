"""Files that arrive in a folder, one after the other: which of them are there in full.

A file counts as whole when nothing says otherwise: it stopped changing, and it ends as a file of its format
does. A writer that puts its file elsewhere and then renames it is never in doubt.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from kwis.data.read.files import format_of
from kwis.data.read.folders import refuse_unreadable, walk
from kwis.errors import InputError

_PARQUET_END = b"PAR1"
_BLOCK = 1 << 20
_LONGEST_LINE = 1 << 24


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrived:
    """A file as it was found.

    Attributes
    ----------
    name
        Its path below the folder.
    size, changed
        Bytes, and when it was last changed, in nanoseconds.
    """

    path: str
    name: str
    size: int
    changed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """A file that is left for a later look, and why."""

    name: str
    reason: str


def arrived(folder: str | os.PathLike[str]) -> list[Arrived]:
    """Files of a format that can be read, below a folder, sorted by name; hidden ones are none."""
    base = os.fspath(folder)
    if not os.path.isdir(base):
        raise InputError(f"`folder` must be a folder that exists, got {base!r}")
    found = []
    for path in walk(base):
        if format_of(path) is None:
            continue
        refuse_unreadable(path)
        seen = os.stat(path)
        name = Path(os.path.relpath(path, base)).as_posix()
        found.append(Arrived(path=path, name=name, size=seen.st_size, changed=seen.st_mtime_ns))
    return sorted(found, key=lambda file: file.name)


def settled(
    files: Sequence[Arrived],
    settle: float,
    *,
    now: Callable[[], float] = time.time,
    sleep: Callable[[float], object] = time.sleep,
) -> tuple[list[Arrived], list[Waiting]]:
    """Files that have not changed for ``settle`` seconds and end as they should, and those that wait."""
    before = now() - settle
    if any(file.changed > before * 1e9 for file in files) and settle > 0:
        sleep(settle)
    whole, waiting = [], []
    for file in files:
        reason = "it is still being written" if is_changed(file) else unfinished(file.path)
        if reason is None:
            whole.append(file)
        else:
            waiting.append(Waiting(name=file.name, reason=reason))
    return whole, waiting


def is_changed(file: Arrived) -> bool:
    """Whether a file is another one than when it was found."""
    try:
        seen = os.stat(file.path)
    except FileNotFoundError:
        return True
    return (seen.st_size, seen.st_mtime_ns) != (file.size, file.changed)


def unfinished(path: str) -> str | None:
    """Why a file cannot be whole; None if it may be."""
    if os.path.getsize(path) == 0:
        return "it is empty so far"
    if path.lower().endswith(".gz"):
        return _broken_off(path)
    if path.lower().endswith(".zst"):
        return None  # one that is cut off is refused when it is read
    if format_of(path) == "parquet":
        with open(path, "rb") as file:
            file.seek(-min(len(_PARQUET_END), os.path.getsize(path)), os.SEEK_END)
            return None if file.read() == _PARQUET_END else "the end of its Parquet data is missing"
    last = _last_line(path)
    if last.endswith((b"\n", b"\r")) or (format_of(path) in ("json", "dsjson") and _is_json(path, last)):
        return None
    return "it ends within a line; a whole file ends with a line break"


def digest(path: str) -> str:
    """SHA-256 of the bytes of a file."""
    found = hashlib.sha256()
    with open(path, "rb") as file:
        for block in _blocks(file.read):
            found.update(block)
    return found.hexdigest()


def _blocks(read: Callable[[int], bytes]) -> Iterator[bytes]:
    while block := read(_BLOCK):
        yield block


def _broken_off(path: str) -> str | None:
    try:
        with gzip.open(path) as file:
            for _ in _blocks(file.read):
                pass
    except (EOFError, OSError, zlib.error):
        return "its compressed data break off"
    return None


def _last_line(path: str) -> bytes:
    size = os.path.getsize(path)
    with open(path, "rb") as file:
        file.seek(max(0, size - _LONGEST_LINE))
        end = file.read()
    return end[end.rstrip(b"\r\n").rfind(b"\n") + 1 :]


def _is_json(path: str, last: bytes) -> bool:
    """Whether the last line is JSON of its own, or ends a JSON array that is the file."""
    try:
        json.loads(last)
    except ValueError:
        with open(path, "rb") as file:
            return file.read(64).lstrip().startswith(b"[") and last.rstrip().endswith(b"]")
    return True
