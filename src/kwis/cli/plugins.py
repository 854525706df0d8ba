"""The commands of ``kwis``, each imported when it is called: the library's own, and those that other packages
add.

A package adds a command by naming a :class:`typer.Typer` under the entry-point group ``kwis.commands`` in its
``pyproject.toml``::

    [project.entry-points."kwis.commands"]
    paper = "kwis_paper.cli:app"

``kwis paper`` then runs it. ``kwis --help`` shows the package's ``description`` beside the name; the package
itself is imported only when its command is called. A command of the library cannot be replaced.
:mod:`kwis.cli.terminal` has what makes a command behave like the library's own: the exit codes,
``clear_errors``, ``say`` and ``console``.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperCommand, TyperGroup

from kwis.cli.conversion import ConvertsWhenNeeded
from kwis.cli.terminal import clear_errors
from kwis.errors import UnsupportedError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

OWN = ("evaluate", "compare", "check", "plan", "sensitivity", "distribution", "watch", "diff", "demo")
"""Commands of the library in the order of the help; each is a function of the module of its name."""
GROUP = "kwis.commands"
_INSTALL = {
    "paper": "the paper's experiments are a package of their own: pip install ./paper in a checkout of kwis"
}


class Command(ConvertsWhenNeeded, TyperCommand):
    """A command of the library."""


class Commands(ConvertsWhenNeeded, TyperGroup):
    """The library's commands, followed by those of installed plug-ins."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 - the framework passes it
        """Names in the order of the help."""
        return [*OWN, *sorted(set(_plugins()) - set(OWN))]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002 - the framework passes it
        """A command of the library; for a plug-in, a stand-in with its help, for which nothing is
        imported.
        """
        if cmd_name in OWN:
            return _own(cmd_name)
        plugin = _plugins().get(cmd_name)
        return None if plugin is None else TyperCommand(cmd_name, help=_summary(plugin))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that was called, its plug-in imported."""
        name = args[0]
        if name not in OWN:
            with clear_errors():
                plugin = _plugins().get(name)
                if plugin is not None:
                    return name, typer.main.get_group(plugin.load()), args[1:]
                if name in _INSTALL:
                    raise UnsupportedError(f"`kwis {name}` is not installed; {_INSTALL[name]}")
        return super().resolve_command(ctx, args)


@cache
def _own(name: str) -> Any:
    module = import_module(f"kwis.cli.{name}")
    codes = "Exit codes: 0 done, 1 a gate failed, 2 bad input, 3 something unforeseen, 130 interrupted."
    app = typer.Typer(rich_markup_mode="rich", pretty_exceptions_enable=False, add_completion=False)
    epilog = "\n\n".join(["Examples:", *module.EXAMPLES, "", codes])
    app.command(name, cls=Command, epilog=epilog)(getattr(module, name))
    return typer.main.get_command(app)


def _plugins() -> dict[str, EntryPoint]:
    from importlib.metadata import entry_points

    return {plugin.name: plugin for plugin in entry_points(group=GROUP)}


def _summary(plugin: EntryPoint) -> str:
    """What the package says of itself in its metadata."""
    if plugin.dist is None or "Summary" not in plugin.dist.metadata:
        return ""
    return plugin.dist.metadata["Summary"]
