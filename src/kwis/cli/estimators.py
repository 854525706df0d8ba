"""Estimators as the command line names them: by name or alias, or ``package.module:object`` for one from
elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from kwis.errors import InputError


def estimators_of(names: Sequence[str] | None) -> list[Any] | None:
    """What ``evaluate`` takes as ``estimators``: names as they are, objects imported, classes made without
    arguments.
    """
    return None if names is None else [_imported(name) if ":" in name else name for name in names]


def _imported(name: str) -> Any:
    module, _, member = name.partition(":")
    try:
        found = getattr(import_module(module), member)
    except (ImportError, AttributeError, ValueError) as failure:
        raise InputError(
            f"`estimator` must be a name or package.module:object, got {name!r}: {failure}"
        ) from None
    return found() if isinstance(found, type) else found
