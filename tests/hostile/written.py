"""What a process writes: by its calls of the system, where there is ``strace``, and by what its folders hold
afterwards. Calls show what native code does too, and what is gone again before the end.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

FOLDERS = {"TMPDIR": "temporary", "HOME": "home", "XDG_CACHE_HOME": "caches", "NUMBA_CACHE_DIR": "code"}
_CHANGING = (
    "bind|creat|mkdir|mknod|link|symlink|rename|unlink|rmdir|truncate|f?chmodat|chmod|l?chown|fchownat|utime|"
    "futimes|l?setxattr|l?removexattr"
)
_CHANGED = re.compile(rf"^({_CHANGING}|open\w*\(.*(O_WRONLY|O_RDWR|O_CREAT|O_TRUNC))")
_PATH = re.compile(r'(?:<(?P<folder>[^>"]*)>, |(?P<no_file>@))?"(?P<name>(?:[^"\\]|\\.)*)"')


@dataclass(frozen=True)
class Written:
    """What a process did to files.

    Attributes
    ----------
    calls
        Paths that it made, opened to write, renamed, changed or removed; None without ``strace``.
    nameless
        Folders in which it opened files that never had a name; None without ``strace``.
    left
        What its folders hold after it and did not hold before with the same bytes, or do not hold any more.
    """

    calls: frozenset[Path] | None
    nameless: frozenset[Path] | None
    left: frozenset[Path]


def run(arguments: Sequence[object], place: Path) -> Written:
    """Run Python with these arguments, with all its usual folders below ``place``; it must end well."""
    working, trace = place / "working", place / "trace"
    for name in ("working", "trace", *FOLDERS.values()):
        (place / name).mkdir(exist_ok=True)
    command = [sys.executable, *map(str, arguments)]
    if can_trace():  # a file for each thread, as lines of several would interrupt each other
        watched = ["-ff", "-y", "-qq", "-s", "4096", "-e", f"trace=/^(open|{_CHANGING})", "-e", "signal=none"]
        command = ["strace", *watched, "-o", str(trace / "of"), "--", *command]
    folders = {variable: str(place / name) for variable, name in FOLDERS.items()}
    before = _held(place)
    ended = subprocess.run(
        command,
        cwd=working,
        env={**os.environ, **folders, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    lines = [line for file in trace.iterdir() for line in file.read_text(errors="replace").splitlines()]
    for file in trace.iterdir():
        file.unlink()
    after = _held(place)
    left = frozenset(path for path in before | after if before.get(path, ...) != after.get(path, ...))
    if not can_trace():
        return Written(None, None, left)
    named = frozenset(path for line in lines if "O_TMPFILE" not in line for path in _paths(line, working))
    nameless = frozenset(path for line in lines if "O_TMPFILE" in line for path in _paths(line, working))
    return Written(named, nameless, left)


@cache
def can_trace() -> bool:
    """Whether there is ``strace``, and it may watch processes."""
    tried = ["strace", "-qq", "-o", os.devnull, "true"]
    return shutil.which("strace") is not None and subprocess.run(tried, check=False).returncode == 0


def _paths(line: str, working: Path) -> Iterator[Path]:
    """Paths in a line of a trace, if the call changed anything."""
    if re.search(r"\) += -1 ", line) or not _CHANGED.search(line):
        return
    for found in _PATH.finditer(line):
        if not found["no_file"]:
            yield working / (found["folder"] or "") / found["name"]


def _held(place: Path) -> dict[Path, bytes | None]:
    return {path: path.read_bytes() if path.is_file() else None for path in place.rglob("*")}
