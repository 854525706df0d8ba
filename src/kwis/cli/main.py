"""The ``kwis`` command."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import metadata
from typing import Annotated

import typer

from kwis.cli.terminal import BAD_INPUT, INTERRUPTED, say

app = typer.Typer(
    name="kwis",
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


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code; nothing ends in a traceback."""
    command = typer.main.get_command(app)
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
