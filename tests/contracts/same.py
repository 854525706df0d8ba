"""Whether two answers are the same: every field of every record, numbers to 1e-10, everything else
exactly.
"""

from __future__ import annotations

import dataclasses
import math
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

import kwis

CLOSE = 1e-10
HOW_IT_WAS_READ = ("settings.call", "['settings']['call']")
"""What differs between doors by its nature: the call that reproduces the answer."""


@dataclasses.dataclass(frozen=True)
class Answer:
    """An evaluation, what was warned of on the way to it, and what it prints."""

    evaluation: kwis.Evaluation
    warned: tuple[str, ...]
    words: str


def answered(evaluate: Callable[[], kwis.Evaluation]) -> Answer:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = evaluate()
    ours = tuple(str(one.message) for one in caught if issubclass(one.category, kwis.KwisWarning))
    return Answer(found, ours, repr(found))


def worst_gap(one: Any, other: Any) -> float:
    """Largest gap between numbers of the same place, relative where they are above 1; an error where anything
    else differs.
    """
    return max((gap for _, gap in gaps(one, other, "")), default=0.0)


def gaps(one: Any, other: Any, place: str) -> Iterator[tuple[str, float]]:
    """Every pair of numbers, with where it is and how far apart they are."""
    if place.endswith(HOW_IT_WAS_READ):
        return
    assert type(one) is type(other) or {type(one), type(other)} <= {int, float}, (
        f"{place}: {one!r} is not {other!r}"
    )
    if dataclasses.is_dataclass(one):
        for field in dataclasses.fields(one):
            yield from gaps(getattr(one, field.name), getattr(other, field.name), f"{place}.{field.name}")
    elif isinstance(one, Mapping):
        assert list(one) == list(other), f"{place}: keys {list(one)} and {list(other)}"
        for key in one:
            yield from gaps(one[key], other[key], f"{place}[{key!r}]")
    elif isinstance(one, tuple | list):
        assert len(one) == len(other), f"{place}: {one!r} is not {other!r}"
        for number, (a, b) in enumerate(zip(one, other, strict=True)):
            yield from gaps(a, b, f"{place}[{number}]")
    elif isinstance(one, np.ndarray):
        assert one.shape == other.shape, f"{place}: shapes {one.shape} and {other.shape}"
        if one.dtype.kind in "fiub":
            yield from gaps(tuple(map(float, one.ravel())), tuple(map(float, other.ravel())), place)
        else:
            assert (one == other).all(), place
    elif isinstance(one, bool | str | type(None)):
        assert one == other, f"{place}: {one!r} is not {other!r}"
    elif isinstance(one, int | float | np.number):
        yield place, _gap(float(one), float(other), place)
    else:
        assert repr(one) == repr(other), f"{place}: {one!r} is not {other!r}"


def _gap(one: float, other: float, place: str) -> float:
    if not math.isfinite(one) or not math.isfinite(other):
        assert one == other or (math.isnan(one) and math.isnan(other)), f"{place}: {one} is not {other}"
        return 0.0
    gap = abs(one - other) / max(1.0, abs(one))
    assert gap <= CLOSE, f"{place}: {one} is not {other}"
    return gap
