"""The style of the drawings, which a page holds once and a file of its own needs inside."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

from kwis.report.markup import Markup


@cache
def sheet() -> str:
    """Style of the report's pages with what the paper's page adds to it."""
    report = files("kwis.report").joinpath("assets", "page.css").read_text(encoding="utf-8")
    return f"{report}\n{files('kwis_paper').joinpath('assets', 'paper.css').read_text(encoding='utf-8')}"


def standalone(drawing: Markup) -> str:
    """A drawing as an SVG file, with the light colours and the font of the page."""
    style = _for_drawings()
    opened = drawing.text.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" class="alone" ', 1)
    return opened.replace(">", f"><style>{style}</style>", 1) + "\n"


@cache
def _for_drawings() -> str:
    """Rules of the sheet that concern drawings: the colours and whatever names a class of theirs."""
    text = sheet()
    colours = re.search(r":root\s*{[^}]*}", text)
    rules = re.findall(r"^[^@{}\n]*(?:svg|\.k-|\.p-)[^{}\n]*{[^}]*}", text, flags=re.MULTILINE)
    font = "svg.alone { font-family: system-ui, sans-serif; background: #ffffff; }"
    return "\n".join(
        [colours.group() if colours else "", font, *(rule for rule in rules if not rule.startswith("figure"))]
    )
