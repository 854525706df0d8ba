"""Calls written down as Python, so that whoever reads an answer can make it again.

A value becomes the code that makes it. What no code can name (a data frame, a fitted model, a function)
becomes a variable, and a comment says what it has to be.
"""

from __future__ import annotations

import dataclasses
import inspect
import keyword
import math
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

_MAKERS = {
    "ProbabilityColumn": "probability",
    "ChosenColumn": "chosen",
    "DistributionColumns": "distribution",
    "TrainedElsewhere": "trained_elsewhere",
    "Always": "always",
    "Uniform": "uniform",
    "EpsilonGreedy": "epsilon_greedy",
    "Mix": "mix",
    "Joined": "joined",
}
"""Public functions that make records whose classes are not public."""
_LEFT_OUT = frozenset(("progress", "client"))  # they change no number
_WIDTH, _MOST_ENTRIES = 100, 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A call of a public function.

    Attributes
    ----------
    function
        Its name in ``kwis``.
    arguments
        From the name of each argument that is not its default to the code of its value.
    variables
        From the variables in that code to what they have to be.
    positional
        Arguments that are written without their names.
    """

    function: str
    arguments: Mapping[str, str]
    variables: Mapping[str, str] = field(default_factory=dict)
    positional: tuple[str, ...] = ()

    @property
    def code(self) -> str:
        """The call as an expression; one argument per line where it is long."""
        parts = [
            text if name in self.positional else f"{name}={text}" for name, text in self.arguments.items()
        ]
        line = f"kwis.{self.function}({', '.join(parts)})"
        if len(line) <= _WIDTH:
            return line
        return f"kwis.{self.function}(\n" + "".join(f"    {part},\n" for part in parts) + ")"


def call_of(function: Callable[..., Any], given: Mapping[str, Any]) -> Call:
    """The call of a public function with the arguments in ``given`` that are not their defaults."""
    parameters = inspect.signature(function).parameters
    writer, arguments = Writer(), {}
    for name, parameter in parameters.items():
        if name in _LEFT_OUT or name not in given or _is_default(given[name], parameter.default):
            continue
        arguments[name] = writer.code(given[name], name)
    positional = [name for name, one in parameters.items() if one.kind is not inspect.Parameter.KEYWORD_ONLY]
    return Call(
        function=function.__name__,
        arguments=arguments,
        variables=writer.variables,
        positional=tuple(positional),
    )


def _is_default(value: Any, default: Any) -> bool:
    if type(value) is float and type(default) is int:  # the command reads 1 as 1.0
        return value == default
    if default is inspect.Parameter.empty or type(value) is not type(default):
        return False
    return isinstance(value, str | int | float | tuple | type(None)) and value == default


@dataclass(frozen=True, slots=True)
class Writer:
    """Writes values as code and keeps the variables that it needed."""

    variables: dict[str, str] = field(default_factory=dict)

    def code(self, value: Any, role: str) -> str:
        """Python that makes ``value``; ``role`` names the variable where there is no such Python."""
        if isinstance(value, np.generic):
            value = value.item()
        if isinstance(value, float) and not math.isfinite(value):
            return f'float("{value}")'
        if value is None or isinstance(value, bool | int | float | str):
            return repr(value)
        if isinstance(value, os.PathLike):
            return repr(os.fspath(value))
        if isinstance(value, list | tuple) and len(value) <= _MOST_ENTRIES:
            return self._sequence(value, role)
        if isinstance(value, dict) and not any(_long(entry) for entry in value.values()):
            inside = (f"{self.code(key, role)}: {self.code(one, str(key))}" for key, one in value.items())
            return f"{{{', '.join(inside)}}}"
        return self._public(value) or self._variable(value, role)

    def _sequence(self, value: list[Any] | tuple[Any, ...], role: str) -> str:
        inside = [self.code(entry, role) for entry in value]
        if isinstance(value, tuple):
            return f"({', '.join(inside)}{',' if len(inside) == 1 else ''})"
        return f"[{', '.join(inside)}]"

    def _public(self, value: Any) -> str | None:
        """The code of what the library itself makes: settings, kernels, and what columns are said to hold."""
        import kwis

        kind = type(value).__name__
        if kind == "Kernel":
            named = (name for name in kwis.__all__ if getattr(kwis, name) is value)
            return next((f"kwis.{name}" for name in named), None)
        if not dataclasses.is_dataclass(value) or not type(value).__module__.startswith("kwis."):
            return None
        if kind in _MAKERS:
            return f"kwis.{_MAKERS[kind]}({', '.join(self._made_of(value))})"
        if kind not in kwis.__all__ or getattr(kwis, kind) is not type(value):
            return None
        parts = [
            f"{entry.name}={self.code(_short(getattr(value, entry.name)), entry.name)}"
            for entry in dataclasses.fields(value)
            if entry.init and not _is_field_default(getattr(value, entry.name), entry)
        ]
        return f"kwis.{kind}({', '.join(parts)})"

    def _made_of(self, value: Any) -> Iterator[str]:
        """Arguments of the function that makes a record: without their names but for those with a default."""
        for entry in dataclasses.fields(value):
            own = getattr(value, entry.name)
            if entry.default is dataclasses.MISSING and entry.name != "key":
                yield self.code(own, "target")
            elif own is not None:
                yield f"{entry.name}={self.code(own, entry.name)}"

    def _variable(self, value: Any, role: str) -> str:
        own = getattr(value, "__name__", "")
        wanted = own if own.isidentifier() and not keyword.iskeyword(own) else _identifier(value, role)
        name, number = wanted, 1
        while name in self.variables:
            number += 1
            name = f"{wanted}_{number}"
        self.variables[name] = described(value)
        return name


def described(value: Any) -> str:
    """What a value is, in a few words."""
    kind = type(value)
    if isinstance(value, Mapping):
        return f"a dictionary of {len(value)} columns"
    if isinstance(value, np.ndarray):
        return f"an array of shape {value.shape}"
    shape = getattr(value, "shape", None)
    if isinstance(shape, tuple) and len(shape) == 2 and all(isinstance(size, int) for size in shape):
        return f"a {kind.__module__.partition('.')[0]} {kind.__name__}, {shape[0]:,} rows, {shape[1]} columns"
    if hasattr(value, "__name__") and callable(value):
        return f"your function {value.__name__}"
    article = "an" if kind.__name__[:1] in "AEIOU" else "a"
    return f"{article} {kind.__name__} ({kind.__module__.partition('.')[0]})"


def _identifier(value: Any, role: str) -> str:
    frame = role in ("source", "log")
    wanted = ("table" if isinstance(value, Mapping) else "frame") if frame else role
    return wanted if wanted.isidentifier() and not keyword.iskeyword(wanted) else "policy"


def _long(value: Any) -> bool:
    """Whether a value is a column rather than an entry."""
    return hasattr(value, "__len__") and not isinstance(value, str) and len(value) > _MOST_ENTRIES


def _short(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray) and value.size <= _MOST_ENTRIES else value


def _is_field_default(value: Any, entry: dataclasses.Field[Any]) -> bool:
    default = entry.default
    if default is dataclasses.MISSING:
        return False
    return value is default or _is_default(value, default)
