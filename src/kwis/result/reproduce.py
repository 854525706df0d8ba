"""What makes an evaluation again: the calls in Python, and the command."""

from __future__ import annotations

import ast
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from kwis._call import Call

_OF_LOG = (
    *("action", "reward", "propensity", "propensity_source", "context", "categorical", "missing", "actions"),
    *(
        "row_weight",
        "group",
        "time",
        "logger",
        "query",
        "format",
        "candidates",
        "position",
        "position_in",
        "key",
    ),
)
_FLAGS = ("drop_missing", "skip_bad_lines")
_OF_QUESTION = (
    *("by", "estimators", "action_features", "repair", "level", "rng", "exact", "interval", "statistic"),
    *("unit", "per", "reward_label", "lower_is_better"),
)
_OPTIONS = {
    **{name: f"--{name.replace('_', '-')}" for name in (*_OF_LOG, *_OF_QUESTION)},
    "estimators": "--estimator",
    "rng": "--seed",
}
"""From arguments of ``read_log`` and ``evaluate`` to the options of ``kwis evaluate``."""
_SIMPLE = ("chosen", "probability", "distribution", "always", "uniform")
"""Functions that make a target, for which ``--target`` has a word of the same name."""
_SPLIT_ALWAYS = ("missing", "actions", "estimators")  # values with commas are no columns, and would be cut


@dataclass(frozen=True, slots=True, kw_only=True)
class Reproduction:
    """The calls that made an evaluation.

    Attributes
    ----------
    source
        Where the log came from: a path, or what kind of object it was.
    arguments
        Every argument of each call that was not its default, as Python.
    python
        Both calls, ready to be run; variables that have to be there first stand in comments.
    command
        The same as a command; None where it has no options for it, and ``no_command`` says why.
    """

    source: str = ""
    arguments: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    python: str = ""
    command: str | None = None
    no_command: str = ""


class _NoOptionError(Exception):
    """The command has no option for something; the message says for what."""


def reproduction(log: Call | None, question: Call, version: str, rows: int) -> Reproduction:
    """How to make an evaluation again from the calls that read its log and asked its question.

    ``log`` is None where the log was changed after it was read, or given to ``evaluate`` as a path or frame.
    """
    calls = [one for one in (log, question) if one is not None]
    variables: dict[str, str] = {}
    for one in calls:
        variables.update(one.variables)
    lines = ["import kwis", "", *(f"# {name}: {what}" for name, what in variables.items())]
    if log is None and question.arguments["log"] == "log":
        lines.append(f"# log: a log of {rows:,} rows that was changed after it was read")
    if log is not None:
        lines.append(f"log = {log.code}")
    lines.append(f"evaluation = {question.code}")
    try:
        command, why = _command(log, question), ""
    except _NoOptionError as missing:
        command, why = None, str(missing)
    return Reproduction(
        source=_source(log or question),
        arguments={one.function: dict(one.arguments) for one in calls},
        python="\n".join([f"# kwis {version}", *lines]),
        command=command,
        no_command=why,
    )


def _source(call: Call) -> str:
    code = call.arguments.get("source", call.arguments.get("log", ""))
    if code in call.variables:
        return call.variables[code]
    literal = _literal(code)
    return ", ".join(map(str, literal)) if isinstance(literal, list | tuple) else str(literal or code)


def _command(log: Call | None, question: Call) -> str:
    given = {**({} if log is None else log.arguments), **question.arguments}
    source = _literal(given.pop("source", "") or given["log"])
    given.pop("log", None)
    if not isinstance(source, str):
        raise _NoOptionError("the log is no file")
    words = ["kwis", "evaluate", source, *_targets(given.pop("target"))]
    for name, code in given.items():
        words += _option(name, code)
    return shlex.join(words)


def _option(name: str, code: str) -> list[str]:
    value = _literal(code)
    if name == "propensity" and value is False:
        return ["--estimate-propensity"]
    if name in _FLAGS and value is True:
        return [f"--{name.replace('_', '-')}"]
    if name == "exact" and value is not None:
        return ["--exact" if value else "--approximate"]
    if name == "lower_is_better" and value is True:
        return ["--minimise"]
    if name in ("unit", "reward_label") and isinstance(value, dict):
        return [word for reward, text in value.items() for word in (_OPTIONS[name], f"{reward}={text}")]
    if name == "propensity" and isinstance(value, dict):
        texts = [f"{key}={entry}" for key, entry in value.items() if isinstance(entry, str | float | int)]
        if len(texts) == len(value) and all("," not in text and text.count("=") == 1 for text in texts):
            return [_OPTIONS[name], ",".join(texts)]
    several = name in ("candidates", "action_features") and not isinstance(value, str)
    if name not in _OPTIONS or value is None or isinstance(value, bool | dict) or several:
        raise _NoOptionError(f"there is no option for {name}={code}")
    entries = value if isinstance(value, list | tuple) else [value]
    if any(not isinstance(entry, str | int | float) for entry in entries):
        raise _NoOptionError(f"there is no option for {name}={code}")
    texts = [entry if isinstance(entry, str) else repr(entry) for entry in entries]
    if name == "by" and isinstance(value, tuple) and len(value) > 1:
        raise _NoOptionError("there is no option for combinations of columns")
    return _listed(name, texts)


def _listed(name: str, texts: list[str]) -> list[str]:
    """Several values after one option, or one option for each where a value has a comma."""
    plain = all("," not in text and text == text.strip() and text for text in texts)
    if not plain and name in _SPLIT_ALWAYS:
        raise _NoOptionError(f"the option {_OPTIONS[name]} cannot hold commas")
    together = [",".join(texts)] if plain else texts
    return [word for text in together for word in (_OPTIONS[name], text)]


def _targets(code: str) -> Iterable[str]:
    node = ast.parse(code, mode="eval").body
    if isinstance(node, ast.Dict):
        names = [_constant(key) for key in node.keys if key is not None]
        texts = [f"{name}={_target(value)}" for name, value in zip(names, node.values, strict=True)]
    else:
        several = node.elts if isinstance(node, ast.List | ast.Tuple) else [node]
        texts = [_target(one) for one in several]
    return [word for text in texts for word in ("--target", text)]


def _target(node: ast.expr) -> str:
    """A target as the command takes it: a column, ``chosen:column`` for ``kwis.chosen("column")``, or
    ``file:column`` for one in another file.
    """
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and not node.keywords:
        values = [_literal(ast.unparse(one)) for one in node.args]
        if node.func.attr == "joined" and values and isinstance(values[0], str):
            inside = [one for one in node.args[1:] if ast.unparse(one) != "None"]
            return ":".join([values[0], *(_target(one) for one in inside)])
        flat = [
            entry for value in values for entry in (value if isinstance(value, tuple | list) else (value,))
        ]
        if node.func.attr in _SIMPLE and all(isinstance(entry, str | int) for entry in flat):
            return ":".join([node.func.attr, ",".join(map(str, flat))] if flat else [node.func.attr])
    raise _NoOptionError(f"no option stands for the target {ast.unparse(node)}")


def _constant(node: ast.expr) -> str:
    value = _literal(ast.unparse(node))
    if not isinstance(value, str) or "=" in value or value != value.strip():
        raise _NoOptionError(f"no option holds the name {value!r}")
    return value


def _literal(code: str) -> object:
    """The value of a literal; None where code is none."""
    try:
        value: object = ast.literal_eval(code)
    except (ValueError, SyntaxError):
        return None
    return value
