"""From a table of features to contexts: one-hot levels, missing as a level, every column standardised over
all rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kwis.typing import Floats, Ints

MISSING = "(missing)"


@dataclass(frozen=True, slots=True)
class Numbers:
    """A numeric feature; missing values are NaN."""

    name: str
    values: Floats


@dataclass(frozen=True, slots=True)
class Levels:
    """A categorical feature: ``codes`` into ``levels``, which are in text order with missing last."""

    name: str
    codes: Ints
    levels: tuple[str, ...]

    @classmethod
    def of(cls, name: str, values: Sequence[str | None]) -> Levels:
        present = sorted({value for value in values if value is not None})
        levels = (*present, MISSING) if any(value is None for value in values) else tuple(present)
        position = {level: code for code, level in enumerate(levels)}
        codes = np.array([position[MISSING if value is None else value] for value in values])
        return cls(name, codes, levels)


Feature = Numbers | Levels


@dataclass(frozen=True, slots=True)
class Table:
    """Features and the class label of every row, as text."""

    features: tuple[Feature, ...]
    label: tuple[str, ...]


def encode(features: Sequence[Feature]) -> Floats:
    """Contexts (n, d), each column of mean 0 and variance 1 over all rows.

    A categorical feature becomes one column per level, or a single one if it has two levels (or one); a
    missing number becomes the median of its column. Constant columns become 0.
    """
    raw = np.concatenate([_columns(feature) for feature in features], axis=1)
    centred = raw - raw.mean(axis=0)
    spread = centred.std(axis=0)
    # A constant column may keep a rounding error of the mean, which must not be blown up to variance 1.
    constant = np.ptp(raw, axis=0) == 0
    return np.where(constant, 0.0, centred / np.where(constant, 1.0, spread))


def _columns(feature: Feature) -> Floats:
    if isinstance(feature, Levels):
        indicators = (feature.codes[:, None] == np.arange(len(feature.levels))).astype(np.float64)
        return indicators[:, -1:] if len(feature.levels) <= 2 else indicators
    missing = np.isnan(feature.values)
    middle = np.median(feature.values[~missing]) if not missing.all() else 0.0
    return np.where(missing, middle, feature.values)[:, None]


def level_codes(features: Sequence[Feature]) -> Ints | None:
    """Integer codes (n, features) if every feature is categorical."""
    levels = [feature for feature in features if isinstance(feature, Levels)]
    return np.stack([feature.codes for feature in levels], axis=1) if len(levels) == len(features) else None


def label_codes(label: Sequence[str]) -> tuple[Ints, tuple[str, ...]]:
    """Codes of the labels and their names, in text order."""
    names, codes = np.unique(np.asarray(label, dtype=str), return_inverse=True)
    return codes, tuple(str(name) for name in names)
