"""The ``kwis`` command; :mod:`kwis.cli.plugins` finds the commands below it."""

from __future__ import annotations

import io
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated

import typer

from kwis import cli
from kwis.cli.plugins import Commands
from kwis.cli.terminal import BAD_INPUT, INTERRUPTED, TERMINATED, hush, say, unforeseen

app = typer.Typer(
    name="kwis",
    cls=Commands,
    help="How good would another policy have been on the decisions already logged?",
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    add_completion=False,
)


@app.callback(invoke_without_command=True)
def start(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and stop.")] = False,
) -> None:
    if version:
        from importlib import metadata

        print(f"kwis {metadata.version('kwis')}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        print(context.get_help())


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code; nothing ends in a traceback."""
    if arguments is not None:  # by a program, which may have been running for long
        cli.began = time.monotonic()
    if sys.stdout is None:  # closed by whoever started the command
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115 - until the process ends
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that lacks a sign gets a question mark
    with _termination() as terminated:
        try:
            return _finished(_code(arguments))
        except (KeyboardInterrupt, typer.Abort):
            say("terminated" if terminated else "interrupted")
            return TERMINATED if terminated else INTERRUPTED


@contextmanager
def _termination() -> Iterator[list[int]]:
    """Turn signals that end a process into an interruption, which tidies up; the list then holds
    the signal.
    """
    received: list[int] = []

    def interrupt(number: int, _: object) -> None:
        received.append(number)
        for other in signals:
            signal.signal(other, signal.SIG_IGN)  # tidying up is not to be interrupted again
        raise KeyboardInterrupt

    signals = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    if threading.current_thread() is not threading.main_thread():
        signals = []
    signals = [
        number for number in signals if signal.getsignal(number) is signal.SIG_DFL
    ]  # others have a say of their own
    for number in signals:
        signal.signal(number, interrupt)
    try:
        yield received
    finally:
        for number in signals:
            signal.signal(number, signal.SIG_DFL)


def _code(arguments: Sequence[str] | None) -> int:
    command = typer.main.get_command(app)
    try:
        code = command.main(
            args=None if arguments is None else list(arguments), prog_name="kwis", standalone_mode=False
        )
        if code == INTERRUPTED:  # the framework takes an interruption for an ending like others
            raise KeyboardInterrupt
        return code if isinstance(code, int) else 0
    except SystemExit:  # the way in which the framework takes a closed pipe while it prints its help
        hush()
        return 0
    except typer.Abort:
        raise
    except Exception as problem:
        if not hasattr(problem, "format_message"):
            return unforeseen(problem)
        context = getattr(problem, "ctx", None)
        path = "kwis" if context is None else context.command_path
        say(f"error: {problem.format_message().rstrip('.')}; see {path} --help")
        return BAD_INPUT


def _finished(code: int) -> int:
    """The code, once all is printed; what cannot be printed is said."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:  # the reader of a pipe has seen enough
        hush()
    except OSError as problem:
        hush()
        say(f"error: the answer cannot be written to stdout ({problem.strerror})")
        return code or BAD_INPUT
    return code


def run() -> None:
    """Entry point of the installed command."""
    sys.exit(main())


if __name__ == "__main__":
    run()
