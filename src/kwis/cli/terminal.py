"""What every command says to a terminal, and how it ends.

Answers go to stdout; warnings, errors and progress to stderr, one line each. Exit codes:

====  ==========================================================
code  meaning
====  ==========================================================
0     done, and every gate passed
1     a gate failed
2     bad input: an option, a column, a file
3     something unforeseen; KWIS_TRACEBACK=1 shows where
130   interrupted
====  ==========================================================
"""

from __future__ import annotations

import os
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, TextIO, cast

import typer

from kwis.errors import KwisError, KwisWarning

if TYPE_CHECKING:
    from rich.console import Console

GATE_FAILED, BAD_INPUT, UNFORESEEN, INTERRUPTED = 1, 2, 3, 130

_WIDE = 160


@contextmanager
def clear_errors() -> Iterator[None]:
    """Errors of ours become one line on stderr and exit code 2; warnings, one line each."""
    said: set[str] = set()

    def show(message: Warning | str, *_: object, **__: object) -> None:
        line = f"warning: {_as_options(str(message))}"
        subject = re.split("[;,]", line, maxsplit=1)[0]  # reading and evaluating may both find that a log is short
        if subject not in said:
            said.add(subject)
            say(line)

    with warnings.catch_warnings():
        warnings.simplefilter("always", KwisWarning)
        warnings.showwarning = show
        try:
            yield
        except KwisError as problem:
            say(f"error: {_as_options(str(problem))}")
            raise typer.Exit(BAD_INPUT) from None
        except (typer.Exit, typer.Abort, KeyboardInterrupt, BrokenPipeError):
            raise
        except Exception as problem:
            if os.environ.get("KWIS_TRACEBACK"):
                raise
            say(f"error: unforeseen {type(problem).__name__}: {problem}; KWIS_TRACEBACK=1 shows where")
            raise typer.Exit(UNFORESEEN) from None


def say(line: str) -> None:
    """One line on stderr, whatever line breaks were in it."""
    print(" ".join(line.split()), file=sys.stderr, flush=True)


def console() -> Console:
    """Where answers go: as wide as the terminal, or wide enough for any table when they are piped."""
    from rich.console import Console

    piped = not sys.stdout.isatty()
    target = cast(IO[str], _Trimmed(sys.stdout)) if piped else None
    return Console(file=target, width=_WIDE if piped else None, highlight=False, markup=False, emoji=False)


@dataclass(frozen=True, slots=True)
class _Trimmed:
    """A stream that drops the blanks with which tables fill their lines."""

    stream: TextIO

    def write(self, text: str) -> int:
        return self.stream.write("\n".join(line.rstrip(" ") for line in text.split("\n")))

    def flush(self) -> None:
        self.stream.flush()


@contextmanager
def progress(what: str) -> Iterator[Callable[[int, int, str], None]]:
    """A bar on stderr to be told ``(done, total, what)``; on anything but a terminal it stays silent."""
    if not sys.stderr.isatty():
        yield lambda *_: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(bar_width=30), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total, what: bar.update(task, completed=done, total=total, description=what)


def _as_options(sentence: str) -> str:
    """What the library asks for in Python, as it is written in a shell."""
    sentence = re.sub(r"kwis\.(chosen|probability)\('([^']*)'\)", r"--target \1:\2", sentence)
    sentence = sentence.replace("kwis.distribution([...])", "--target distribution:a,b,c")
    sentence = re.sub(r"pass propensity='([^']*)'", r"pass --propensity \1", sentence)
    return sentence.replace("read_log(actions=[...])", "--actions a,b,c").replace("`source`", "LOG")
