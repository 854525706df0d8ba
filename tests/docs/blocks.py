"""Code blocks of README and the site: run in order, a page in a folder of its own, and compared with what they show.

A block of `python` or `sh` is run; a block of `text` right after it is what it prints. A block whose line before is a
comment ``<!-- not run: reason -->`` is shown only, and so is one of `sh` that only calls other programs (make, pip).
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import warnings
from dataclasses import dataclass
from pathlib import Path

from kwis.cli.main import main

ROOT = Path(__file__).parents[2]
FENCE = re.compile(
    r"(?P<skip><!-- not run: [^>]+ -->\n+)?^```(?P<language>python|sh)\n(?P<code>.*?)^```\n(?P<gap>\n*)"
    r"(?:^```text\n(?P<shown>.*?)^```\n)?",
    re.DOTALL | re.MULTILINE,
)

OURS = re.compile(r"^kwis (?!paper)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Block:
    language: str
    code: str
    shown: str | None
    skipped: bool
    span: tuple[int, int]
    """Where the block of text begins and ends."""


def pages() -> list[Path]:
    """README and the pages of the site that hold code to be run."""
    found = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    return [page for page in found if any(not block.skipped for block in blocks(page.read_text("utf-8")))]


def blocks(text: str) -> list[Block]:
    return [
        Block(
            language=match["language"],
            code=match["code"],
            shown=match["shown"],
            skipped=match["skip"] is not None
            or (match["language"] == "sh" and not OURS.search(match["code"])),
            span=match.span("shown"),
        )
        for match in FENCE.finditer(text)
    ]


def run(text: str, folder: Path) -> list[tuple[Block, str]]:
    """Every block that is not skipped with what it printed, run in ``folder``."""
    names: dict[str, object] = {"__name__": "__main__"}
    done: list[tuple[Block, str]] = []
    with contextlib.chdir(folder), _width(), warnings.catch_warnings():
        warnings.simplefilter("error")
        for block in blocks(text):
            if block.skipped:
                continue
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                if block.language == "python":
                    exec(compile(block.code, "<page>", "exec"), names)
                else:
                    _commands(block.code)
            done.append((block, "\n".join(line.rstrip() for line in printed.getvalue().splitlines()) + "\n"))
    return done


def rewritten(text: str, folder: Path) -> str:
    """The page with what its blocks print now."""
    for block, printed in reversed(run(text, folder)):
        if block.shown is not None:
            text = text[: block.span[0]] + printed + text[block.span[1] :]
    return text


def _commands(code: str) -> None:
    for line in code.replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True)
        if not words:
            continue
        program, *arguments = words
        if program != "kwis":
            raise AssertionError(f"only `kwis` is run in a block of sh, got {line!r}")
        code_of_exit = main(arguments)
        if code_of_exit:
            print(f"exit code {code_of_exit}")


@contextlib.contextmanager
def _width():
    before = os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = "110"
    try:
        yield
    finally:
        os.environ.pop("COLUMNS") if before is None else os.environ.update(COLUMNS=before)
