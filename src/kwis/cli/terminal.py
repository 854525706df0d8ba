"""What every command says to a terminal, and how it ends.

Answers go to stdout; warnings, errors and progress to stderr, one line each. Exit codes:

====  ==================================================
code  meaning
====  ==================================================
0     done, and every gate passed
1     a gate failed
2     bad input: an option, a column, a file, a limit
3     something unforeseen; KWIS_TRACEBACK=1 shows where
130   interrupted
143   terminated
====  ==================================================
"""

from __future__ import annotations

import ast
import os
import re
import shlex
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any, TextIO, cast

import typer

from kwis._text import visible
from kwis.errors import InputError, KwisError, KwisWarning

if TYPE_CHECKING:
    from rich.console import Console

GATE_FAILED, BAD_INPUT, UNFORESEEN, INTERRUPTED, TERMINATED = 1, 2, 3, 130, 143

_WIDE = 160


@contextmanager
def clear_errors() -> Iterator[None]:
    """Errors of ours become one line on stderr and exit code 2; warnings, one line each."""
    said: set[str] = set()

    def show(message: Warning | str, *_: object, **__: object) -> None:
        line = f"warning: {as_options(str(message))}"
        subject = re.split("[;,]", line, maxsplit=1)[
            0
        ]  # reading and evaluating may both find that a log is short
        if subject not in said:
            said.add(subject)
            say(line)

    with warnings.catch_warnings():
        warnings.simplefilter("always", KwisWarning)
        warnings.showwarning = show
        try:
            yield
        except KwisError as problem:
            say(f"error: {as_options(str(problem))}")
            raise typer.Exit(BAD_INPUT) from None
        except (typer.Exit, typer.Abort, KeyboardInterrupt):
            raise
        except MemoryError:
            say("error: out of memory; Parquet files need the least")
            raise typer.Exit(BAD_INPUT) from None
        except Exception as problem:
            raise typer.Exit(unforeseen(problem)) from None


def unforeseen(problem: Exception) -> int:
    """Say that something is a fault of kwis, and return its exit code; or raise it to whoever wants to see
    where it happened.
    """
    if os.environ.get("KWIS_TRACEBACK"):
        raise problem
    kind = f"unforeseen {type(problem).__name__}: {problem}"
    say(
        f"error: {kind}; this is a fault of kwis: please report it to its maintainers, with what "
        f"KWIS_TRACEBACK=1 shows"
    )
    return UNFORESEEN


def say(line: str) -> None:
    """One line on stderr, whatever line breaks were in it; if nobody listens, none."""
    with suppress(OSError, ValueError):
        if sys.stderr is not None:
            print(visible(re.sub(r"[ \t\n\r\f\v]+", " ", line).strip()), file=sys.stderr, flush=True)


def print_answer(text: str) -> None:
    """Print to stdout."""
    with _to_stdout():
        print(text, flush=True)


@contextmanager
def _to_stdout() -> Iterator[None]:
    """A reader of a pipe who has seen enough changes nothing about how the command ends; a full
    disk is said.
    """
    try:
        yield
    except BrokenPipeError:
        hush()
    except OSError as problem:
        hush()
        raise InputError(f"the answer cannot be written to stdout ({problem.strerror})") from None


def hush() -> None:
    """Send what else is printed nowhere, as stdout takes no more."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def console() -> Console:
    """Where answers go: as wide as the terminal, or wide enough for any table when they are piped."""
    piped = not sys.stdout.isatty()
    target = cast(IO[str], _Trimmed(sys.stdout)) if piped else None
    return safe_console(file=target, width=_WIDE if piped else None)


def safe_console(**options: Any) -> Console:
    """A console that shows data and never obeys it."""
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.segment import Segment

    class Safe(Console):
        def render(
            self, renderable: RenderableType, options: ConsoleOptions | None = None
        ) -> Iterable[Segment]:
            for text, style, control in super().render(renderable, options):
                yield Segment(text if control else visible(text), style, control)

    return Safe(highlight=False, markup=False, emoji=False, **options)


@dataclass(frozen=True, slots=True)
class _Trimmed:
    """A stream that drops the blanks with which tables fill their lines."""

    stream: TextIO

    def write(self, text: str) -> int:
        with _to_stdout():
            return self.stream.write("\n".join(line.rstrip(" ") for line in text.split("\n")))
        return len(text)

    def flush(self) -> None:
        with _to_stdout():
            self.stream.flush()


_TEXT = r"""('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"""  # as Python writes it


def as_options(sentence: str) -> str:
    """What the library asks for in Python, as it is written in a shell."""
    sentence = re.sub(r"kwis\.joined\('([^']*)', kwis\.(\w+)\('([^']*)'\)\)", r"--target \1:\2:\3", sentence)
    sentence = re.sub(r"kwis\.(chosen|probability)\('([^']*)'\)", r"--target \1:\2", sentence)
    sentence = re.sub(r"pass (action|reward)='\.\.\.'", r"pass --\1", sentence)
    sentence = re.sub(r"pass propensity='([^']*)'", r"pass --propensity \1", sentence)
    sentence = re.sub(r"\b(group|propensity_source)='([^']*)'", _as_single, sentence)
    sentence = re.sub(r"\blower_is_better=\['([^']*)'\]", r"--lower-is-better \1", sentence)
    sentence = re.sub(r"\bwith group=(?!\S)", "with --group", sentence)
    sentence = re.sub(rf"\bmissing=\[{_TEXT}\] (if it stands for a gap), or ", _as_gap, sentence)
    sentence = re.sub(rf"\b(missing|categorical)=\[{_TEXT}\]", _as_option, sentence)
    sentence = re.sub(rf"\bquery={_TEXT}", _as_query, sentence)
    sentence = re.sub(r"\bpropensity=\{([^}]*)\}", _as_shares, sentence)
    for python, shell in _IN_A_SHELL.items():
        sentence = sentence.replace(python, shell)
    return sentence


def _as_option(found: re.Match[str]) -> str:
    return f"--{found[1]} {shlex.quote(ast.literal_eval(found[2]))}"


def _as_gap(found: re.Match[str]) -> str:
    value = ast.literal_eval(found[1])
    typed = value.isprintable() and "," not in value  # a comma would make two values of it
    return f"--missing {shlex.quote(value)} {found[2]}, or " if typed else ""


def _as_single(found: re.Match[str]) -> str:
    return f"--{found[1].replace('_', '-')} {shlex.quote(found[2])}"


def _as_query(found: re.Match[str]) -> str:
    query = ast.literal_eval(found[1])
    safe = re.search(r'["$`\\!]', query) is None  # nothing that a shell obeys between double quotes
    return f'--query "{query}"' if safe else f"--query {shlex.quote(query)}"


def _as_shares(found: re.Match[str]) -> str:
    shares = ast.literal_eval(f"{{{found[1]}}}")
    return "--propensity " + ",".join(f"{action}={share:g}" for action, share in shares.items())


_IN_A_SHELL = {
    "candidates=...": "--candidates",
    "bounds=(low, high)": "--bounds LOW,HIGH",
    "context=[...]": "--context",
    "drop_missing=True": "--drop-missing",
    "skip_bad_lines=True": "--skip-bad-lines",
    "kwis.distribution([...])": "--target distribution:a,b,c",
    "read_log(actions=[...])": "--actions a,b,c",
    "scan_log(actions=[...])": "--actions a,b,c",
    "(kwis.plan)": "(kwis plan)",
    "`source`": "LOG",
    "`client`": "`scheduler`",
    "`estimators`": "`estimator`",
    "`propensity_source`": "`propensity-source`",
    "`row_weight`": "`row-weight`",
}
