"""Values of options are converted only where they have to be.

From 0.29 on, typer loads pydantic to convert any value, which takes as long as everything else that happens
before a log is read. Most values need no conversion: text that stays text, and defaults.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any


class ConvertsWhenNeeded:
    """A command or group of commands of typer whose options leave alone what has the right type already."""

    def get_params(self, ctx: Any) -> list[Any]:
        """The options and arguments, help included."""
        params: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for param in params:
            build = getattr(param, "get_runtime_param", None)  # older versions convert without pydantic
            if build is not None and "get_runtime_param" not in vars(param):
                param.get_runtime_param = partial(_Converter, build)
        return params


@dataclass(frozen=True, slots=True)
class _Converter:
    """Stands in for typer's own converter, which ``build`` makes."""

    build: Callable[[], Any]

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """The value as the command receives it."""
        several = param.multiple or param.nargs == -1
        kind = param.type_descriptor.annotation
        if value is None:
            return () if several else None
        if several and kind == list[str] and isinstance(value, list | tuple):
            return [*value]
        if type(value) is kind:
            return value
        return self.build().coerce(value, param=param, ctx=ctx)
