"""Evaluations kept in a file, whole: every record and array, and nothing that could run.

A zip file of one JSON text, in which each record names its class, and of the arrays that it refers to. Only
records of this library are made again from it.
"""

from __future__ import annotations

import dataclasses
import io
import json
import math
import os
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kwis.data.read.limits import largest_expansion
from kwis.errors import InputError
from kwis.runtime.writing import writable, write_whole

if TYPE_CHECKING:
    from kwis.result.evaluation import Evaluation

_TEXT = "kwis-evaluation.json"
_MARK = _TEXT.encode()
# Modules that only define things: loading a file must not run a command, or start or write anything.
_TIERS = "bandwidth checks data estimators evaluation intervals kernel models policy result stats"
_RECORDS = ("kwis.results", "kwis.sample", *(f"kwis.{tier}." for tier in _TIERS.split()))
_SEQUENCES = {"tuple": tuple, "set": set, "frozenset": frozenset}


def save(evaluation: Evaluation, path: str | PathLike[str]) -> Path:
    """Write an evaluation to a file that :func:`load` reads; it appears whole or not at all."""
    target, packer, content = writable(path, marks=(_MARK,)), _Packer(), io.BytesIO()
    text = json.dumps(packer.packed(evaluation), allow_nan=False)
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(_TEXT, text)
        for number, array in enumerate(packer.arrays):
            part = io.BytesIO()
            np.save(part, array, allow_pickle=False)
            archive.writestr(f"{number}.npy", part.getvalue())
    return write_whole(target, content.getvalue())


def load(path: str | PathLike[str]) -> Evaluation:
    """Read an evaluation that ``evaluation.save(path)`` wrote.

    Parameters
    ----------
    path
        File that ``evaluation.save`` wrote.

    Returns
    -------
    Evaluation
        The evaluation that was saved, arrays included.

    See Also
    --------
    kwis.Evaluation.save : writes the file.
    kwis.diff : compares two evaluations.

    Examples
    --------
    >>> frame = kwis.sample_log(300, rng=1)
    >>> evaluation = kwis.evaluate(frame.read(), "p_new", estimators=["wis"], repair="never")
    >>> _ = evaluation.save("answer.kwis")
    >>> kwis.load("answer.kwis").targets
    ('p_new',)
    """
    from kwis.result.evaluation import Evaluation

    try:
        with zipfile.ZipFile(path) as archive:
            if sum(part.file_size for part in archive.infolist()) > largest_expansion(os.fspath(path)):
                raise InputError(f"`path` must not expand to far more than its size, got {str(path)!r}")
            found = _unpacked(json.loads(archive.read(_TEXT)), archive, {})
    except InputError:
        raise
    except Exception as problem:  # damaged in whatever way
        raise InputError(f"`path` must be a file that evaluation.save wrote, got {str(path)!r}") from problem
    if not isinstance(found, Evaluation):
        raise InputError(f"`path` must hold an evaluation, got {type(found).__name__}")
    return found


@dataclass(frozen=True, slots=True)
class _Packer:
    """Makes plain JSON of records and keeps their arrays, each once."""

    arrays: list[Any] = field(default_factory=list)
    places: dict[int, int] = field(default_factory=dict)

    def packed(self, value: Any) -> Any:
        if isinstance(value, np.generic):
            value = value.item()
        if isinstance(value, float) and not math.isfinite(value):
            return {"float": str(value)}
        if value is None or isinstance(value, bool | int | float | str):
            return value
        if isinstance(value, np.ndarray) and value.dtype.kind in "biufcUSmM":
            return {"array": self._place(value)}
        if isinstance(value, np.ndarray):
            return {"objects": [self.packed(entry) for entry in value.tolist()]}
        if dataclasses.is_dataclass(value) and type(value).__module__.startswith("kwis."):
            fields = {
                entry.name: self.packed(getattr(value, entry.name)) for entry in dataclasses.fields(value)
            }
            return {"record": f"{type(value).__module__}:{type(value).__qualname__}", "fields": fields}
        if isinstance(value, Mapping):
            return {"mapping": [[self.packed(key), self.packed(entry)] for key, entry in value.items()]}
        if isinstance(value, list):
            return [self.packed(entry) for entry in value]
        for name, kind in _SEQUENCES.items():
            if isinstance(value, kind):
                return {name: [self.packed(entry) for entry in value]}
        raise InputError(f"an evaluation with a {type(value).__name__} in it cannot be saved")

    def _place(self, array: Any) -> int:
        if id(array) not in self.places:
            self.places[id(array)] = len(self.arrays)
            self.arrays.append(array)
        return self.places[id(array)]


def _unpacked(value: Any, archive: zipfile.ZipFile, arrays: dict[int, Any]) -> Any:
    if isinstance(value, list):
        return [_unpacked(entry, archive, arrays) for entry in value]
    if not isinstance(value, dict):
        return value
    if "float" in value:
        return float(value["float"])
    if "array" in value:
        return _array(value["array"], archive, arrays)
    if "objects" in value:
        return np.array([_unpacked(entry, archive, arrays) for entry in value["objects"]], dtype=object)
    if "mapping" in value:
        pairs = value["mapping"]
        return {_unpacked(key, archive, arrays): _unpacked(entry, archive, arrays) for key, entry in pairs}
    if "record" in value:
        fields = {name: _unpacked(entry, archive, arrays) for name, entry in value["fields"].items()}
        return _record(value["record"], fields)
    ((kind, entries),) = value.items()
    return _SEQUENCES[kind](_unpacked(entry, archive, arrays) for entry in entries)


def _array(number: int, archive: zipfile.ZipFile, arrays: dict[int, Any]) -> Any:
    if number not in arrays:
        array = np.load(io.BytesIO(archive.read(f"{number}.npy")), allow_pickle=False)
        array.setflags(write=False)
        arrays[number] = array
    return arrays[number]


def _record(name: str, fields: dict[str, Any]) -> Any:
    module, _, kind = name.partition(":")
    if not module.startswith(_RECORDS):
        raise InputError(f"an evaluation holds records of kwis only, got one of {module!r}")
    made: Any = getattr(import_module(module), kind, None)
    if not isinstance(made, type) or not dataclasses.is_dataclass(made):
        raise InputError(f"this version of kwis has no record {name!r}; it was saved by another")
    known = {entry.name for entry in dataclasses.fields(made) if entry.init}
    build: Callable[..., Any] = made
    return build(**{key: entry for key, entry in fields.items() if key in known})
