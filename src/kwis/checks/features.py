"""The context as named numbers, one at a time: what balance and drift compare."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from kwis.data.log import LoggedBandit
from kwis.typing import Floats

_MOST_LEVELS = 20
_MOST_FEATURES = 600


@dataclass(frozen=True, slots=True, eq=False)
class NamedNumbers:
    """A number by its name, or a level of a category as 0 and 1; and the raw column it is of."""

    name: str
    values: Floats
    source: str


def features_of(log: LoggedBandit) -> Iterator[NamedNumbers]:
    """Numbers as encoded, up to 20 levels of each category as indicators; one at a time, so that wide logs
    fit in memory.
    """
    share = max(1, min(_MOST_LEVELS, _MOST_FEATURES // max(1, len(log.categorical))))
    for j, feature in enumerate(log.encoding.features):
        values = log.context[:, j]
        if feature.kind != "category":
            if feature.source:
                yield NamedNumbers(feature.name, values, feature.source)
            continue
        codes = values.astype(np.int64)
        counts = np.bincount(codes, minlength=len(feature.levels))
        frequent = np.sort(np.argsort(-counts, kind="stable")[:share])
        if len(feature.levels) == 2:
            frequent = frequent[-1:]
        for code in frequent:
            yield NamedNumbers(
                f"{feature.name} = {_shown(feature.levels[code])}",
                (codes == code).astype(np.float64),
                feature.source,
            )


def _shown(level: object) -> str:
    return {True: "yes", False: "no"}[level] if isinstance(level, bool) else str(level)
