"""Suggestions where a role has no column, or the name of a column that does not exist."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Mapping, Sequence

import numpy as np

from kwis.data.columns import Column

MOST_ACTIONS = 200
FEW_VALUES = 20
SHOWN = 3
_NAMES = {
    "action": (
        "action",
        "arm",
        "treatment",
        "treated",
        "variant",
        "offer",
        "group",
        "policy",
        "choice",
        "item",
        "drug",
        "therapy",
        "channel",
        "campaign",
        "page",
        "message",
        "decision",
        "chosen",
    ),
    "reward": (
        "reward",
        "outcome",
        "click",
        "conversion",
        "converted",
        "revenue",
        "spend",
        "profit",
        "y",
        "visit",
    ),
}
_TARGETS = ("new", "target", "best", "predicted", "recommended", "p", "prob", "propensity", "pscore")
"""First words of columns that hold what another policy would do, or how probable something is."""
_NAMED = ("action", "reward")
"""Roles that have a usual name, so that nobody need have named the column."""


def absence(columns: Mapping[str, Column], name: str, role: str, others: tuple[str, ...] = ()) -> str:
    """What to say of a column that is not there: a name like it that could be meant, or what could have the
    role.
    """
    if role in _NAMED and name == role:
        likely = suggestions(columns, role)
        if likely:
            return f"which column is the {role}? likely: {', '.join(likely)}; pass {role}='...'"
    fitting = [*(key for key, column in columns.items() if could_be(column, role)), *others]
    family = [key for key in columns if key.startswith(name)] if role == "target" else []
    if len(family) > 1:
        return (
            f"`target` must name one column per action by what all begin with, and {name!r} begins "
            f"{_few(family)}, which do not end in the actions; map each action to its column: "
            f"{{'new': {{action: column, ...}}}}, or new=distribution:action=column,... in a command"
        )
    close = difflib.get_close_matches(name, fitting, n=1, cutoff=0.5)
    share = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*%", name)
    if role == "propensity" and share:
        close = [f"{float(share[1]) / 100:g}"]
    listed = [*columns, *others]
    hint = f"did you mean {close[0]!r}?" if close else f"the columns are {_few(listed)}"
    return f"`{role}` must name a column of the log, got {name!r}; {hint}"


def _few(names: Sequence[str]) -> str:
    return ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")


def suggestions(columns: Mapping[str, Column], role: str) -> list[str]:
    """The columns most likely to have a role, with how many values they take."""
    fitting = [name for name, column in columns.items() if could_be(column, role)]
    fitting.sort(key=lambda name: -_likeness(name, columns[name], role))
    return [f"{name} ({_values(columns[name])})" for name in fitting[:SHOWN]]


def could_be(column: Column, role: str) -> bool:
    """Whether a column's values fit a role."""
    if not len(column) or column.missing.all():
        return False
    if role == "action":
        return not column.missing.any() and 2 <= _distinct(column) <= min(MOST_ACTIONS, len(column) - 1)
    if role in ("reward", "row_weight"):
        return column.kind in ("number", "boolean") and _distinct(column) > 1
    if role == "propensity":
        return column.kind == "number" and bool(((column.values > 0) & (column.values <= 1)).all())
    if role == "time":
        return column.kind in ("date", "number")
    return True


def _likeness(name: str, column: Column, role: str) -> float:
    """How much a column looks like the one: its name counts most, then few labels for actions and an end of
    the table for rewards.
    """
    words = name.lower().replace("-", "_").split("_")
    by_name = 2.0 * any(word in words for word in _NAMES[role]) + any(
        word in name.lower() for word in _NAMES[role] if len(word) > 3
    )
    if role == "action":
        text = column.kind in ("text", "boolean")
        by_name -= words[0] in _TARGETS or any(word in words for word in _NAMES["reward"])
        return by_name + 0.5 * text + 1 / math.log2(2 * _distinct(column))
    policy = name.lower().startswith(("p_", "pi_", "prob")) or name.lower() in ("id", "age")
    return by_name - 2.0 * policy + (0.5 if _distinct(column) == 2 else 0.0)


def _distinct(column: Column) -> int:
    if column.kind == "text":
        return len(column.levels)
    return int(np.unique(column.values[~column.missing]).size)


def _values(column: Column) -> str:
    count = _distinct(column)
    if column.kind in ("number", "boolean") and count > FEW_VALUES:
        present = column.values[~column.missing]
        return f"numbers from {present.min():g} to {present.max():g}"
    return f"{count} values"
