"""Feedback dictionaries of the Open Bandit Pipeline."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from kwis import _validation as check
from kwis.data.position import at_position
from kwis.data.read.frames import from_arrays
from kwis.data.read.source import Roles, Source
from kwis.errors import InputError

_MARKS = {"n_rounds", "n_actions", "action", "reward"}
_MOST_ACTIONS = 1_000_000
_PER_ROW = ("context", "action", "reward", "pscore", "position", "pi_b", "expected_reward")


def is_feedback(source: Mapping[Any, Any]) -> bool:
    """Whether a dictionary is a feedback dictionary, by its keys."""
    return _MARKS.issubset(source)


def from_feedback(feedback: Mapping[Any, Any]) -> Source:
    """Log of a feedback dictionary: ``pi_b``, if present, is the whole behaviour distribution, at the
    position of each row; positions are part of the context where there are several.
    """
    n_actions = check.whole(feedback["n_actions"], "n_actions", 1)
    if n_actions > _MOST_ACTIONS:
        raise InputError(f"`n_actions` must be at most {_MOST_ACTIONS:,}, got {n_actions:,}")
    arrays = {key: check.as_array(feedback[key], key) for key in _PER_ROW if feedback.get(key) is not None}
    for key in ("action", "reward", *arrays):
        if key not in arrays or arrays[key].ndim == 0:
            raise InputError(f"`{key}` must have one entry per row, got {feedback[key]!r}")
    if "position" in arrays and arrays["position"].dtype.kind not in "iuf":
        raise InputError("`position` must hold one whole number per row")
    for key in ("pi_b", "expected_reward"):
        if key in arrays and not _one_position(arrays[key]):
            arrays[key] = _at_positions(arrays[key], key, arrays.get("position"))
    several = "position" in arrays and len(np.unique(arrays["position"])) > 1
    if arrays["action"].ndim != 1:
        raise InputError(
            f"`action` must have shape (n,), got {arrays['action'].shape}; slates are not supported"
        )
    table = from_arrays(arrays)
    propensity = "pi_b" if "pi_b" in table.blocks else "pscore" if "pscore" in table else None
    context = "context" if "context" in arrays else ()
    roles = Roles(
        action="action",
        reward="reward",
        propensity=propensity,
        context=context,
        actions=range(n_actions),
        position="position" if several else None,
    )
    return Source(table=table, roles=roles)


def _at_positions(array: Any, name: str, position: Any) -> Any:
    """``(n, K)`` entries of an array ``(n, K, L)`` at the position of each row."""
    if array.ndim != 3 or position is None:
        raise InputError(
            f"`{name}` must have shape (n, K), or (n, K, L) beside `position`, got {array.shape}"
        )
    if position.dtype.kind not in "iu" or len(position) != len(array):
        raise InputError("`position` must hold one whole number per row")
    wrong = (position < 0) | (position >= array.shape[2])
    if wrong.any():
        row = int(np.argmax(wrong))
        raise InputError(
            f"`position` must be from 0 to {array.shape[2] - 1}, got {position[row]} at row {row}"
        )
    return at_position(array, position)


def _one_position(array: Any) -> bool:
    return array.ndim == 2 or (array.ndim == 3 and array.shape[2] == 1)
