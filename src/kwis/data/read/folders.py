"""Which files a path, a pattern or a folder means, and what the names of folders (``country=DE``) say about
their rows.

Nothing is left out silently: a folder or file that cannot be read is refused by name. Folders and files whose
names start with a dot or an underscore are no part of a log. A folder called ``key=value`` below the one
given adds the column ``key`` to the rows of its files, unless one of the files has a column of that name.
"""

from __future__ import annotations

import glob
import os
import re
import stat
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import unquote

from kwis.errors import InputError

FolderValue = str | int | float | None
_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
_WILD = re.compile(r"[*?\[]")


def walk(folder: str) -> Iterator[str]:
    """Files below a folder, those behind links too; each folder once."""
    seen: set[str] = set()

    def unreadable(failure: OSError) -> None:
        raise InputError(f"cannot read {failure.filename!r}: {failure.strerror or 'no permission'}")

    for place, inner, files in os.walk(folder, onerror=unreadable, followlinks=True):
        inner[:] = sorted(name for name in inner if not name.startswith((".", "_")))
        if os.path.realpath(place) in seen:
            inner.clear()
            continue
        seen.add(os.path.realpath(place))
        yield from (os.path.join(place, name) for name in files if not name.startswith((".", "_")))


def matching(pattern: str) -> list[str]:
    """Files that a pattern matches; folders on the way that cannot be read are refused."""
    parts = Path(pattern).parts
    for end in range(1, len(parts)):
        above = str(Path(*parts[:end]))
        if "**" in parts[:end]:
            for _ in walk(base_of(pattern) or "."):  # refuses what it cannot read
                pass
            break
        for folder in glob.glob(above) if _WILD.search(above) else [above]:
            if os.path.isdir(folder) and not os.access(folder, os.R_OK | os.X_OK):
                raise InputError(f"cannot read {folder!r}: Permission denied")
    return [path for path in glob.glob(pattern, recursive=True) if os.path.isfile(path)]


def refuse_unreadable(path: str) -> None:
    """Refuse a file that cannot be opened, with its name; links to nowhere are such files."""
    with named(path):
        try:
            os.stat(path)
        except FileNotFoundError:
            raise InputError(f"cannot read {path!r}: it is a link to a file that does not exist") from None
        if not os.access(path, os.R_OK):
            raise InputError(f"cannot read {path!r}: Permission denied")


@contextmanager
def named(path: str) -> Iterator[None]:
    """What the system says of a file that it does not open, in a sentence with its name."""
    try:
        yield
    except OSError as failure:
        raise InputError(f"cannot read {path!r}: {failure.strerror or failure}") from None


def refuse_pipe(path: str) -> None:
    """Refuse what can be read only once, or never ends: a log is looked at more than once."""
    if path == "-":
        if behind := _redirected():
            raise InputError(
                f"`source` must be a file, and '-' (standard input) comes from one: give its name, {behind!r}"
            )
        raise InputError(
            "`source` must be a file, and '-' (standard input) can be read only once: save it to a file first"
        )
    if not os.path.exists(path) or os.path.isdir(path) or os.path.isfile(path):
        return
    mode = os.stat(path).st_mode
    what = "a pipe" if stat.S_ISFIFO(mode) else "a socket" if stat.S_ISSOCK(mode) else "a device"
    raise InputError(
        f"`source` must be a file, and {path!r} is {what}, which can be read only once: save it to a file "
        f"first"
    )


def _redirected() -> str | None:
    """The file that standard input comes from, where it is one and the system tells its name."""
    path = os.path.realpath("/dev/stdin")
    return path if os.path.isfile(path) else None


def base_of(source: str) -> str | None:
    """The folder below which names of folders count; None for a single file."""
    if os.path.isdir(source):
        return source
    if os.path.isfile(source):
        return None
    fixed: list[str] = []
    for part in Path(source).parts:
        if _WILD.search(part):
            break
        fixed.append(part)
    return str(Path(*fixed)) if fixed else "."


def folder_columns(paths: Sequence[str], base: str | None) -> dict[str, list[FolderValue]]:
    """Values that the names of folders give each file, for names that they give every file."""
    if base is None:
        return {}
    found = [_said(os.path.relpath(os.path.dirname(path) or ".", base)) for path in paths]
    shared = [name for name in found[0] if all(name in said for said in found)]
    return {name: _typed([said[name] for said in found]) for name in shared}


def unused_folders(columns: Mapping[str, Sequence[FolderValue]], own: Collection[str]) -> tuple[str, ...]:
    """Columns of folders that the files have themselves, whatever the case of their letters."""
    names = {name.casefold() for name in own}
    return tuple(name for name in columns if name.casefold() in names)


def note_on(unused: Sequence[str]) -> tuple[str, ...]:
    if not unused:
        return ()
    return (
        (
            f"the files have {', '.join(f'`{name}`' for name in unused)} themselves, so the names of their "
            f"folders were not used for it"
        ),
    )


def _said(place: str) -> dict[str, str | None]:
    pairs = (part.partition("=") for part in Path(place).parts)
    return {
        unquote(name): None if value == _NO_VALUE else unquote(value)
        for name, equals, value in pairs
        if equals and name
    }


def _typed(values: Sequence[str | None]) -> list[FolderValue]:
    """Whole numbers, numbers, or text; leading zeros make labels, as in CSV files."""
    filled = [value for value in values if value is not None]
    if filled and all(re.fullmatch(r"[+-]?(0|[1-9]\d{0,17})", value) for value in filled):
        return [None if value is None else int(value) for value in values]
    if filled and all(re.fullmatch(r"[+-]?(0|[1-9]\d{0,17})?\.\d+", value) for value in filled):
        return [None if value is None else float(value) for value in values]
    return list(values)
