"""A page as one self-contained file: style and script inside, nothing fetched, and nothing half-written."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import replace
from functools import cache
from importlib.resources import files
from os import PathLike
from pathlib import Path
from string import Template

from kwis.report.layout import body
from kwis.report.markup import element
from kwis.report.summary import page_of
from kwis.report.view import Page
from kwis.result.evaluation import Evaluation
from kwis.result.segmented import SEGMENTS_SHOWN
from kwis.runtime.writing import writable, write_whole


def write_html(evaluation: Evaluation, path: str | PathLike[str], *, segments: int = SEGMENTS_SHOWN) -> Path:
    """Write the report of an evaluation, one self-contained HTML file, and return its path.

    The file appears whole or not at all: an older report stays as it is until the new one is complete, and no
    other file is replaced.
    """
    target = writable(path)
    shown = replace(evaluation, segments=tuple(found.largest(segments) for found in evaluation.segments))
    return write_page(page_of(shown), target)


def write_page(page: Page, path: str | PathLike[str]) -> Path:
    """Write any page, whole or not at all."""
    return write_whole(writable(path), render(page).encode("utf-8"))


def render(page: Page) -> str:
    """The page as HTML.

    Its policy of content allows the style and the script that are part of this package, by their hashes, and
    nothing else, so that no text of a user can run or fetch anything even if it were to slip through.
    """
    style, script = asset("page.css"), asset("page.js")
    policy = (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; base-uri 'none'; "
        f"form-action 'none'"
    )
    return Template(asset("page.html")).substitute(
        policy=policy,
        title=element("title", page.title).text,
        style=style,
        script=script,
        body=body(page).text,
    )


@cache
def asset(name: str) -> str:
    """A file of the page: its style, its script or its frame."""
    return files("kwis.report").joinpath("assets", name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")
