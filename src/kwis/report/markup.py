"""Markup that is safe by construction: text is escaped unless this module made it.

A page is built from :func:`element` alone. Strings are text, always escaped; only a :class:`Markup` is taken
as it is, and nothing outside the report makes one from what a user gave.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from html import escape

_VOID = frozenset(
    {"br", "circle", "col", "hr", "line", "link", "meta", "path", "polygon", "polyline", "rect"}
)
_SVG_SHAPES = frozenset({"circle", "line", "path", "polygon", "polyline", "rect"})
_HARMFUL = (
    "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ufffe\uffff\ud800-\udfff"
)
_NOT_FOR_DISPLAY = re.compile(f"[{_HARMFUL}]")
_NOT_AS_IT_IS = re.compile(f"[{_HARMFUL}&<>\"']")


@dataclass(frozen=True, slots=True)
class Markup:
    """A piece of HTML or SVG."""

    text: str

    def __str__(self) -> str:
        return self.text


Node = Markup | str | None
Attribute = str | float | bool | None


def clean(text: str) -> str:
    """Text without characters that break a page: controls, lone surrogates, and marks that reverse what
    follows them.
    """
    return _NOT_FOR_DISPLAY.sub("\ufffd", text)


def element(name: str, *children: Node, **attributes: Attribute) -> Markup:
    """Element ``name``; ``class_`` stands for ``class``, an underscore within a name for a hyphen, None for
    absence.
    """
    opening = name + "".join(_attribute(key, value) for key, value in attributes.items())
    inside = [shown for shown in children if shown is not None]
    if name in _VOID and not inside:
        return Markup(f"<{opening}/>" if name in _SVG_SHAPES else f"<{opening}>")
    return Markup(f"<{opening}>{joined(inside)}</{name}>")


def joined(nodes: Iterable[Node]) -> Markup:
    """Nodes one after the other."""
    return Markup("".join(_rendered(node) for node in nodes))


def coordinate(value: float) -> str:
    """Number for an attribute of a drawing: two decimals are a hundredth of a pixel."""
    if not math.isfinite(value):
        raise ValueError(f"a drawing needs finite coordinates, got {value}")
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def _attribute(key: str, value: Attribute) -> str:
    if value is None or value is False:
        return ""
    label = _label(key)
    if value is True:
        return f" {label}"
    shown = _escaped(value) if isinstance(value, str) else coordinate(value)
    return f' {label}="{shown}"'


@cache
def _label(key: str) -> str:
    label = key.rstrip("_").replace("_", "-")
    return _camel.get(label, label)


def _escaped(text: str) -> str:
    """Most text has nothing to escape, and a drawing has thousands of pieces: one look is enough for it."""
    return escape(clean(text), quote=True) if _NOT_AS_IT_IS.search(text) else text


def _rendered(node: Node) -> str:
    if node is None:
        return ""
    return node.text if isinstance(node, Markup) else _escaped(node)


# HTML parsers restore the case of SVG attributes; tools that read the file as XML do not.
_camel = {"viewbox": "viewBox", "preserveaspectratio": "preserveAspectRatio"}
