"""A page as one self-contained file: style and script inside, nothing fetched, and nothing half-written."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import os
import tempfile
from functools import cache
from importlib.resources import files
from os import PathLike
from pathlib import Path
from string import Template

from kwis.errors import InputError
from kwis.evaluation.answer import Evaluation
from kwis.report.layout import body
from kwis.report.markup import element
from kwis.report.summary import page_of
from kwis.report.view import Page


def write_html(evaluation: Evaluation, path: str | PathLike[str]) -> Path:
    """Write the report of an evaluation, one self-contained HTML file, and return its path.

    The file appears whole or not at all: an older report stays as it is until the new one is complete.
    """
    target = _door(path)
    return write_page(page_of(evaluation), target)


def write_page(page: Page, path: str | PathLike[str]) -> Path:
    """Write any page, whole or not at all."""
    target = _door(path)
    _replace(target, render(page).encode("utf-8"))
    return target


def render(page: Page) -> str:
    """The page as HTML.

    Its policy of content allows the style and the script that are part of this package, by their hashes, and nothing else, so
    that no text of a user can run or fetch anything even if it were to slip through.
    """
    style, script = _asset("page.css"), _asset("page.js")
    policy = f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; base-uri 'none'; form-action 'none'"
    return Template(_asset("page.html")).substitute(
        policy=policy,
        title=element("title", page.title).text,
        style=style,
        script=script,
        body=body(page).text,
    )


@cache
def _asset(name: str) -> str:
    return files("kwis.report").joinpath("assets", name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")


def _door(path: str | PathLike[str]) -> Path:
    """The path, if a file can be written there; said before any work is done."""
    target = Path(path)
    folder = target.parent
    if target.is_dir():
        raise InputError(f"`path` must name a file, got the folder {str(path)!r}")
    if not folder.is_dir():
        raise InputError(f"`path` must be in a folder that exists, got {str(path)!r} and there is no {str(folder)!r}")
    if not os.access(folder, os.W_OK) or (target.exists() and not os.access(target, os.W_OK)):
        raise InputError(f"`path` must be in a place that can be written to, got {str(path)!r}")
    return target


def _replace(target: Path, content: bytes) -> None:
    """Put ``content`` in place of ``target`` in one step, by way of a file beside it."""
    try:
        handle, name = tempfile.mkstemp(prefix=f".{target.name[:40]}.", suffix=".part", dir=target.parent)
    except OSError as problem:
        raise InputError(f"`path` must be in a place that can be written to, got {str(target)!r} ({problem.strerror})") from problem
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
        os.chmod(name, _mode(target))
        os.replace(name, target)
    except OSError as problem:
        raise InputError(f"`path` must be in a place that can be written to, got {str(target)!r} ({problem.strerror})") from problem
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)


def _mode(target: Path) -> int:
    """Permissions of the file replaced, or those any new file would get."""
    if target.exists():
        return target.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
