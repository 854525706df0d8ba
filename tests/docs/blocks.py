"""Code blocks of README and the site: run in order, a page in a folder of its own, and compared with what they show.

A block of `python` or `sh` is run; a block of `text` right after it is what it prints. A block that cannot be run has
a comment ``<!-- not run: reason -->`` on the line before. In a block of `sh` only `kwis` is run.
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
    r"(?:^<!-- not run: (?P<reason>[^>]+) -->\n)?^```(?P<language>\w+)\n(?P<code>.*?)^```\n"
    r"(?:\n*^```text\n(?P<shown>.*?)^```\n)?",
    re.DOTALL | re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Block:
    language: str
    code: str
    shown: str | None
    reason: str | None
    """Why the block is not run."""
    span: tuple[int, int]
    """Where the text that it prints begins and ends."""


def every_page() -> list[Path]:
    """README, the pages of the site, and the files that these include."""
    included = [ROOT / name for name in ("CHANGELOG.md", "CONTRIBUTING.md", "README.md", "SECURITY.md")]
    return [*included, *sorted((ROOT / "docs").glob("*.md"))]


def pages() -> list[Path]:
    """The pages with code to be run."""
    return [page for page in every_page() if any(b.reason is None for b in blocks(page.read_text("utf-8")))]


def blocks(text: str) -> list[Block]:
    """Blocks of code; a block of `text` that no code comes before is a picture."""
    return [
        Block(match["language"], match["code"], match["shown"], match["reason"], match.span("shown"))
        for match in FENCE.finditer(text)
        if match["language"] != "text"
    ]


def run(text: str, folder: Path) -> list[tuple[Block, str]]:
    """Every block that can be run with what it printed, run in ``folder``."""
    names: dict[str, object] = {"__name__": "__main__"}
    done: list[tuple[Block, str]] = []
    with contextlib.chdir(folder), _width(), warnings.catch_warnings():
        warnings.simplefilter("error")
        for block in blocks(text):
            if block.reason is not None:
                continue
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                if block.language == "python":
                    exec(compile(block.code, "<page>", "exec"), names)
                else:
                    _commands(block.code)
            done.append((block, "".join(f"{line.rstrip()}\n" for line in printed.getvalue().splitlines())))
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
