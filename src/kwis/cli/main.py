"""The ``kwis`` command: the library's own commands here, those of other packages through :mod:`kwis.cli.plugins`."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence
from importlib import metadata
from typing import Annotated

import typer

from kwis.cli import check, compare, demo, evaluate
from kwis.cli.plugins import Commands
from kwis.cli.terminal import BAD_INPUT, INTERRUPTED, say

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
        print(f"kwis {metadata.version('kwis')}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        print(context.get_help())


def _ending(examples: Sequence[str]) -> str:
    codes = "Exit codes: 0 done, 1 a gate failed, 2 bad input, 3 something unforeseen."
    return "\n\n".join(["Examples:", *examples, "", codes])


app.command(epilog=_ending(evaluate.EXAMPLES))(evaluate.evaluate)
app.command(epilog=_ending(compare.EXAMPLES))(compare.compare)
app.command(epilog=_ending(check.EXAMPLES))(check.check)
app.command(epilog=_ending(demo.EXAMPLES))(demo.demo)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code; nothing ends in a traceback."""
    command = typer.main.get_command(app)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that lacks a sign gets a question mark
    try:
        code = command.main(args=None if arguments is None else list(arguments), prog_name="kwis", standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except (KeyboardInterrupt, typer.Abort):
        say("interrupted")
        return INTERRUPTED
    except BrokenPipeError:  # the reader of a pipe has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as problem:
        if not hasattr(problem, "format_message"):
            raise
        context = getattr(problem, "ctx", None)
        path = "kwis" if context is None else context.command_path
        say(f"error: {problem.format_message().rstrip('.')}; see {path} --help")
        return BAD_INPUT


def run() -> None:
    """Entry point of the installed command."""
    sys.exit(main())


if __name__ == "__main__":
    run()
