"""Commands that other packages add to ``kwis``.

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

from importlib.metadata import EntryPoint, entry_points
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from kwis.cli.terminal import clear_errors
from kwis.errors import UnsupportedError

GROUP = "kwis.commands"
_INSTALL = {
    "paper": "the paper's experiments are a package of their own: pip install ./paper in a checkout of kwis"
}


class Commands(TyperGroup):
    """The library's commands, followed by those of installed plug-ins."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Names in the order of the help."""
        own = super().list_commands(ctx)
        return [*own, *sorted(set(_plugins()) - set(own))]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """A command of the library; for a plug-in, a stand-in with its help, for which nothing is
        imported.
        """
        own = super().get_command(ctx, cmd_name)
        plugin = None if own else _plugins().get(cmd_name)
        return own if plugin is None else TyperCommand(cmd_name, help=_summary(plugin))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that was called, its plug-in imported."""
        name = args[0]
        if super().get_command(ctx, name) is None:
            with clear_errors():
                plugin = _plugins().get(name)
                if plugin is not None:
                    return name, typer.main.get_group(plugin.load()), args[1:]
                if name in _INSTALL:
                    raise UnsupportedError(f"`kwis {name}` is not installed; {_INSTALL[name]}")
        return super().resolve_command(ctx, args)


def _plugins() -> dict[str, EntryPoint]:
    return {plugin.name: plugin for plugin in entry_points(group=GROUP)}


def _summary(plugin: EntryPoint) -> str:
    """What the package says of itself in its metadata."""
    if plugin.dist is None or "Summary" not in plugin.dist.metadata:
        return ""
    return plugin.dist.metadata["Summary"]
