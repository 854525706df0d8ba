"""What a file holds, by its name and first lines: dsjson usually comes as ``.json`` or ``.log``."""

from __future__ import annotations

import json
import zlib

from kwis.data.read.files import format_of
from kwis.data.read.limits import LINE_BYTES, opened

_DSJSON = ("_label_cost", "_label_probability")


def recognised(path: str) -> str | None:
    """The format of a file; None if neither its name nor its content tells."""
    by_name = format_of(path)
    if by_name not in (None, "json"):
        return by_name
    return "dsjson" if _is_dsjson(path) else by_name


def _is_dsjson(path: str) -> bool:
    """Whether one of the first lines is a decision as Vowpal Wabbit logs it."""
    if path.lower().endswith(".zst"):
        return False
    try:
        with opened(path) as file:
            lines = [file.readline(LINE_BYTES) for _ in range(20)]
    except (OSError, EOFError, zlib.error):  # reading it will say what is wrong
        return False
    return any(_is_decision(line) for line in lines)


def _is_decision(line: bytes) -> bool:
    if not all(name.encode() in line for name in _DSJSON):
        return False
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return isinstance(entry, dict) and all(name in entry for name in _DSJSON)
