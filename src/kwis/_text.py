"""Text of unknown origin, made safe to show.

Names and values come from data, and a terminal obeys what it is sent: sequences that start with Escape can
colour, hide or move text, set the title, and on some terminals fill in what the user seems to type. Marks
that turn the direction of writing show a name as another.
"""

from __future__ import annotations

import re

_SEQUENCES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # Escape [ ...: colours, movements
    r"|\x9b[0-?]*[ -/]*[@-~]"  # the same in one sign
    # titles, links, the clipboard
    r"|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c|(?=\n)|\Z)"
    r"|\x1b[ -/]*[0-~]"
)
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_HALVES = re.compile("[\ud800-\udfff]")  # of signs: they stand for none, and no file can hold them
_IN_JSON = re.compile("[\ud800-\udfff\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def visible(text: str) -> str:
    """The text without what a terminal would obey instead of showing; line breaks and tabs stay."""
    if text.isprintable():
        return text
    return _HALVES.sub("\ufffd", _CONTROLS.sub("", _SEQUENCES.sub("", text)))


def escaped_in_json(text: str) -> str:
    """JSON in which signs that a terminal may obey are written by their numbers; it means the same."""
    return _IN_JSON.sub(lambda sign: f"\\u{ord(sign[0]):04x}", text)
