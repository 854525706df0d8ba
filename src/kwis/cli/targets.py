"""Targets as the command line names them.

=================================  =======================================================================
``--target``                       meaning
=================================  =======================================================================
``COLUMN`` or ``NAME=COLUMN``      as :mod:`kwis.policy.target` takes a column or a prefix
``chosen:COLUMN``,                 the same, with what the column holds
``probability:COLUMN``
``distribution:A,B`` or            one column per action: in the order of the sorted actions, or by action
``distribution:x=A,y=B``           or a prefix; beside candidate sets one column of lists
``always:ACTION``, ``uniform``     simple policies
``FILE:COLUMN``, ``FILE``          a policy in another file, joined by ``--key``; or predictions of
                                   Vowpal Wabbit
=================================  =======================================================================
"""

from __future__ import annotations

import os
from collections.abc import Container
from typing import Any

from kwis.cli.options import listed
from kwis.errors import InputError

_SUFFIXES = (".csv", ".tsv", ".parquet", ".pq", ".json", ".jsonl", ".ndjson", ".pred", ".gz", ".zst")
KINDS = ("chosen", "probability", "distribution", "always")


def targets_of(texts: list[str], columns: Container[str]) -> Any:
    """Targets as :func:`kwis.evaluate` takes them: a list, or a mapping where any has a name of its own."""
    pairs = [(None, text) if text in columns else _target(text) for text in texts]
    if all(name is None for name, _ in pairs):
        return [target for _, target in pairs]
    named: dict[str, Any] = {}
    for (name, target), text in zip(pairs, texts, strict=True):
        key = name or getattr(target, "name", None) or _called(text)
        if key in named:
            raise InputError(f"`target` must have different names, got {key!r} twice")
        named[key] = target
    return named


def _called(text: str) -> str:
    """What to call a target that has no name of its own beside others that have one."""
    kind, _, what = text.partition(":")
    return f"always {what}" if kind == "always" else what if kind in KINDS and what else text


def _target(text: str) -> tuple[str | None, Any]:
    name, equals, rest = text.partition("=")
    if equals and not name.strip().startswith(tuple(f"{kind}:" for kind in KINDS)):
        label, what = name.strip(), rest.strip()
    else:
        label, what = None, text.strip()
    if not what or label == "":
        raise InputError(f"`target` must be COLUMN or NAME=COLUMN, got {text!r}")
    return label, _meant(what)


def _meant(text: str) -> Any:
    """What stands behind the name of a target."""
    from kwis.policy import discrete, simple

    if text == "uniform":
        return simple.uniform()
    file = _file_in(text)
    if file is not None:
        from kwis.policy.joined import joined

        column = text[len(file) + 1 :]
        return joined(file, _meant(column) if column else None)
    kind, colon, what = text.partition(":")
    if not colon or kind not in KINDS:
        return text
    if not what:
        raise InputError(f"`target` must say what is {kind}, got {text!r}")
    if kind == "always":
        return simple.always(what)
    if kind == "distribution":
        names = listed([what]) or []
        pairs = [name.partition("=") for name in names]
        by_action = all(equals for _, equals, _ in pairs)
        if by_action:
            return discrete.distribution({action.strip(): column.strip() for action, _, column in pairs})
        return discrete.distribution(names if len(names) > 1 else names[0])
    return discrete.chosen(what) if kind == "chosen" else discrete.probability(what)


def _file_in(text: str) -> str | None:
    """The file that a target starts with, or is; None if it names no file."""
    if os.path.isfile(text):
        return text
    places = [i for i, sign in enumerate(text) if sign == ":"]
    found = next((text[:i] for i in places if os.path.isfile(text[:i])), None)
    path = text.rpartition(":")[0]
    if found is None and places and (os.sep in path or path.lower().endswith(_SUFFIXES)):
        raise InputError(f"`target` must be in a file that exists, got {path!r}")
    return found
